"""Files sealed with AES-256-GCM in chunks, so that they are written and read without ever being whole in the clear.

`AMXSEAL1`, 16 random bytes, then chunks of 1 MiB and a tag of 16 bytes each. The key of a file is derived from those 16 bytes
and the name of the file in its folder; a chunk's nonce is its number and whether it is the last (the STREAM construction,
Hoang et al. 2015). So a chunk that is changed, moved, missing or of another file does not open.
"""

from __future__ import annotations

import io
import os
import secrets
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .keys import DataKey, Keyring, derived
from .private_files import private_opener

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

__all__ = [
    "MAGIC", "Folder", "SealedFolder", "SealedWriter", "create", "folder_of", "is_sealed", "key_of", "load_array", "load_bytes",
    "new_file", "opened_chunks", "size_of", "save_array",
]  # fmt: skip

MAGIC = b"AMXSEAL1"
_SALT, _TAG, CHUNK = 16, 16, 1 << 20
UNBOUND = ("memory.toml",)
"""Files whose folder is renamed when it is whole: they are bound to their own name alone."""


class SealedWriter:
    """A new file that is sealed as it is written; whole and on disk when it is closed."""

    def __init__(self, path: Path, keys: Keyring, *, as_: Path | None = None) -> None:
        """`as_` is the name that it is bound to, if it gets that later."""
        salt = secrets.token_bytes(_SALT)
        self._key = _key(keys.current.files, salt, as_ or path)
        self._file = open(path, "xb", opener=private_opener)  # noqa: SIM115 - closed by `close`
        self._file.write(MAGIC + salt)
        self._rest, self._number, self._size = bytearray(), 0, 0

    def write(self, data: bytes) -> int:
        """Append; at most one chunk waits in memory."""
        self._rest += data
        self._size += len(data)
        while len(self._rest) > CHUNK:
            self._put(bytes(self._rest[:CHUNK]), last=False)
            del self._rest[:CHUNK]
        return len(data)

    def tell(self) -> int:
        """Bytes that were written, as they will be read."""
        return self._size

    def flush(self) -> None:
        """What waits is written by `close`, for the last chunk is sealed as the last."""

    def fileno(self) -> int:
        return self._file.fileno()

    def close(self) -> None:
        """Seal the last chunk and let go of the file; it is durable then."""
        if self._file.closed:
            return
        try:
            self._put(bytes(self._rest), last=True)
            self._file.flush()
            os.fsync(self._file.fileno())
        finally:
            self._file.close()

    def __enter__(self) -> SealedWriter:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def _put(self, chunk: bytes, *, last: bool) -> None:
        self._file.write(_aead(self._key).encrypt(_nonce(self._number, last), chunk, None))
        self._number += 1


def new_file(path: Path, keys: Keyring | None, *, as_: Path | None = None) -> Any:
    """A new file to write bytes to, sealed if there are keys, for the name `as_` if it gets that later."""
    return SealedWriter(path, keys, as_=as_) if keys else open(path, "xb", opener=private_opener)


@dataclass(frozen=True, slots=True)
class SealedFolder:
    """A folder whose files are sealed."""

    path: Path
    keys: Keyring


Folder = Path | SealedFolder
"""Where the files of an index are, in the clear or sealed."""


def folder_of(path: Path, keys: Keyring | None) -> Folder:
    """The folder, whose files are sealed if there are keys."""
    return SealedFolder(path, keys) if keys else path


def create(folder: Folder, name: str) -> Any:
    """A new file in the folder to write bytes to; one that is there is replaced."""
    if isinstance(folder, SealedFolder):
        return SealedWriter(folder.path / name, folder.keys)
    return (folder / name).open("wb")


def save_array(folder: Folder, name: str, array: NDArray[Any]) -> None:
    """Write an `.npy` file."""
    with create(folder, name) as file:
        np.save(file, array, allow_pickle=False)


def load_array(folder: Folder, name: str) -> NDArray[Any]:
    """What `save_array` wrote, mapped if it is in the clear. Raises OSError or ValueError if it cannot be used."""
    if isinstance(folder, SealedFolder):
        return np.load(io.BytesIO(_joined(folder, name)), allow_pickle=False)
    return np.asarray(np.load(folder / name, mmap_mode="r", allow_pickle=False)).view(np.ndarray)


def load_bytes(folder: Folder, name: str) -> NDArray[np.uint8]:
    """The bytes of a file, mapped if it is in the clear. Raises OSError or ValueError if it cannot be used."""
    if isinstance(folder, SealedFolder):
        return np.frombuffer(_joined(folder, name), np.uint8)
    return np.asarray(np.memmap(folder / name, np.uint8, "r"))


def _joined(folder: SealedFolder, name: str) -> bytes:
    return b"".join(opened_chunks(folder.path / name, folder.keys))


def key_of(path: Path, keys: Keyring) -> DataKey | None:
    """The key that a file is sealed with; None if it is not sealed, or with none of these."""
    with path.open("rb") as sealed:
        if sealed.read(len(MAGIC)) != MAGIC:
            return None
        salt, chunk, more = sealed.read(_SALT), sealed.read(CHUNK + _TAG), sealed.read(1)
    for key in keys.all:
        with suppress(ValueError):
            _first_opened([_key(key.files, salt, path)], _nonce(0, not more), chunk, path)
            return key
    return None


def is_sealed(path: Path) -> bool:
    """Whether a file begins like a sealed one."""
    with path.open("rb", buffering=0) as file:
        return file.read(len(MAGIC)) == MAGIC


def size_of(path: Path) -> int:
    """The size of what a file holds, sealed or not."""
    size = path.stat().st_size
    if not is_sealed(path):
        return size
    body = size - len(MAGIC) - _SALT
    return max(0, body - -(-body // (CHUNK + _TAG)) * _TAG)


def opened_chunks(path: Path, keys: Keyring) -> Iterator[bytes]:
    """What a sealed file holds, a chunk at a time.

    Raises ValueError where it is not what was written, or sealed with a key that is not there.
    """
    with path.open("rb") as sealed:
        if sealed.read(len(MAGIC)) != MAGIC:
            raise ValueError(f"{path.name} is not sealed")
        salt, chunk = sealed.read(_SALT), sealed.read(CHUNK + _TAG)
        keys_left = [_key(key.files, salt, path) for key in keys.all]
        number = 0
        while True:
            following = sealed.read(CHUNK + _TAG)
            key, plain = _first_opened(keys_left, _nonce(number, not following), chunk, path)
            keys_left = [key]
            yield plain
            if not following:
                return
            chunk, number = following, number + 1


def _first_opened(keys: list[bytes], nonce: bytes, chunk: bytes, path: Path) -> tuple[bytes, bytes]:
    from cryptography.exceptions import InvalidTag

    for key in keys:
        try:
            return key, _aead(key).decrypt(nonce, chunk, None)
        except InvalidTag:
            continue
    raise ValueError(f"{path.name} is damaged, or sealed with a key that is not there")


def _key(files: bytes, salt: bytes, path: Path) -> bytes:
    name = path.name if path.name in UNBOUND else f"{path.parent.name}/{path.name}"
    return derived(files, f"amemorix/sealed/{name}", salt)


def _nonce(number: int, last: bool) -> bytes:
    return number.to_bytes(11, "big") + bytes([last])


def _aead(key: bytes) -> AESGCM:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    return AESGCM(key)
