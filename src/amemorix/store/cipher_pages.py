"""The pages of files that SQLCipher 4 wrote, decrypted from their bytes: to tell which key is theirs, and to look through them.

Layout (zetetic.net/sqlcipher/design): AES-256-CBC over a page but its last 80 bytes, which are the IV of 16 and an HMAC-SHA512 of
ciphertext, IV and page number; page 1 begins with 16 bytes of salt. The HMAC's key is two rounds of PBKDF2 of the page key.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterator

from .driver import PLAIN_HEADER

__all__ = ["PAGE", "fits", "first_page", "in_clear", "is_sound", "mac_key", "unsound_pages"]

PAGE = 4096
_IV, _MAC, _SALT = 16, 64, 16
_LOG_HEADER, _FRAME_HEADER = 32, 24
_MASK = 0x3A


def fits(page: bytes, key: bytes) -> bool:
    """Whether the first page of a file was written with this key."""
    return len(page) == PAGE and is_sound(page, 1, mac_key(page, key))


def unsound_pages(chunks: Iterator[bytes], key: bytes) -> Iterator[int]:
    """Numbers of the pages of a database that are not what was written, from the bytes of the file.

    A page that is written meanwhile may be among them.
    """
    rest, number, mac = b"", 0, b""
    for chunk in chunks:
        data = rest + chunk
        for at in range(0, len(data) - PAGE + 1, PAGE):
            page, number = data[at : at + PAGE], number + 1
            mac = mac or mac_key(page, key)
            if not is_sound(page, number, mac):
                yield number
        rest = data[len(data) // PAGE * PAGE :]


def mac_key(first: bytes, key: bytes) -> bytes:
    """The key of the HMACs of a file, whose salt is at the beginning of its first page."""
    return hashlib.pbkdf2_hmac("sha512", key, bytes(byte ^ _MASK for byte in first[:_SALT]), 2, 32)


def is_sound(page: bytes, number: int, mac: bytes) -> bool:
    """Whether a page is what was written with this key of HMACs; one of zeros alone was never written."""
    sealed = page[_SALT * (number == 1) : -_MAC] + number.to_bytes(4, "little")
    return hmac.compare_digest(hmac.digest(mac, sealed, "sha512"), page[-_MAC:]) or not any(page)


def first_page(page: bytes, key: bytes) -> bytes:
    """The first page in the clear, as a plain file would begin with it."""
    return PLAIN_HEADER + _decrypted(page, key, first=True)


def in_clear(chunks: Iterator[bytes], key: bytes, *, log: bool = False) -> Iterator[bytes]:
    """The pages of a database, or of the frames of its write-ahead log, from the bytes of the file; whatever they hold."""
    before = _FRAME_HEADER if log else 0
    rest, first, skip = b"", True, _LOG_HEADER if log else 0
    for chunk in chunks:
        data = rest + chunk
        at, pages = skip, list[bytes]()
        while at + before + PAGE <= len(data):
            is_first = data[at : at + 4] == b"\0\0\0\1" if log else first
            pages.append(_decrypted(data[at + before : at + before + PAGE], key, first=is_first))
            first, at = False, at + before + PAGE
        rest, skip = data[at:], 0
        yield b"".join(pages)


def _decrypted(page: bytes, key: bytes, *, first: bool) -> bytes:
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

    cbc = modes.CBC(page[-_IV - _MAC : -_MAC])
    return Cipher(algorithms.AES(key), cbc).decryptor().update(page[_SALT * first : -_IV - _MAC])
