"""The keys of an encrypted memory: random data keys in `memory.keys`, wrapped by a secret from outside the data directory."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import logging
import os
import secrets
import subprocess
import threading
from collections.abc import Container, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..config.model import Encryption
from ..errors import StorageFailure
from . import cipher_pages, driver
from .driver import PLAIN_HEADER, PageKey
from .file_swap import DATABASE_FILE, finish_exchange
from .private_files import replace_text

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

__all__ = ["KEYS_FILE", "DataKey", "Keyring", "Secret", "derived", "is_plain", "open_keyring", "read_secret"]

log = logging.getLogger(__name__)
KEYS_FILE = "memory.keys"
FORMAT = "amemorix-keys/1"
LEAST_CHARS = 12
"""Of a passphrase."""
COMMAND_SECONDS = 60
MARK = "\ufeff"
"""What some editors put before a text: a byte order mark."""
CHECK_BYTES = 4
"""Of the checksum in a recovery code."""
_ARGON2 = {"kdf": "argon2id", "memory_kib": 65_536, "iterations": 3, "lanes": 1}
"""RFC 9106, second choice, but in one lane: OpenSSL 3 hangs where several threads derive in several lanes at once."""


def derived(key: bytes, purpose: str, salt: bytes = b"") -> bytes:
    """32 bytes for one purpose (HKDF-SHA256, RFC 5869)."""
    extracted = hmac.digest(salt or bytes(32), key, "sha256")
    return hmac.digest(extracted, purpose.encode() + b"\1", "sha256")


@dataclass(frozen=True, slots=True)
class DataKey:
    """What a database and the files beside it are encrypted with."""

    id: str
    raw: bytes = field(repr=False)
    created_at: float
    retired_at: float | None = None

    @property
    def pages(self) -> bytes:
        return derived(self.raw, "amemorix/database")

    @property
    def files(self) -> bytes:
        return derived(self.raw, "amemorix/files")

    @property
    def recovery_code(self) -> str:
        """The key and a checksum, to be written down."""
        return base64.b64encode(self.raw + hashlib.sha256(self.raw).digest()[:CHECK_BYTES]).decode()


@dataclass(frozen=True, slots=True)
class Secret:
    """What wraps the data keys: a key of 32 bytes, or a passphrase."""

    value: bytes = field(repr=False)
    is_key: bool = False
    with_mark: Secret | None = None
    """The same behind the byte order mark that it was given with: versions before 0.1.2 took the mark for a part of it."""


@dataclass(frozen=True, slots=True)
class _Wrapping:
    """How data keys are wrapped: what is written of it, and the key."""

    told: dict[str, Any]
    key: bytes = field(repr=False)

    @classmethod
    def of(cls, secret: Secret, told: Mapping[str, Any] | None = None) -> _Wrapping:
        """With these parameters, or new ones."""
        kind: dict[str, Any] = {"kind": "raw"} if secret.is_key else {"kind": "passphrase", **_ARGON2}
        known = dict(told or {**kind, "salt": secrets.token_hex(16)})
        salt = bytes.fromhex(known["salt"])
        if known["kind"] == "raw":
            return cls(known, derived(secret.value, "amemorix/wrapping", salt))
        from cryptography.hazmat.primitives.kdf.argon2 import Argon2id

        argon = Argon2id(
            salt=salt, length=32, iterations=known["iterations"], lanes=known["lanes"], memory_cost=known["memory_kib"]
        )
        return cls(known, argon.derive(secret.value))

    def wrap(self, raw: bytes, about: str) -> str:
        nonce = secrets.token_bytes(12)
        return base64.b64encode(nonce + self._aead.encrypt(nonce, raw, about.encode())).decode()

    def unwrap(self, wrapped: str, about: str) -> bytes:
        sealed = base64.b64decode(wrapped)
        return self._aead.decrypt(sealed[:12], sealed[12:], about.encode())

    def seal(self, held: Mapping[str, Any]) -> str:
        """What tells that every word of the file is the one that was written: which key is used, for instance."""
        return hmac.digest(
            derived(self.key, "amemorix/keyring"), json.dumps(held, sort_keys=True).encode(), "sha256"
        ).hex()

    @property
    def _aead(self) -> AESGCM:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        return AESGCM(self.key)


class Keyring:
    """The data keys of one memory, in the clear, and the file that holds them wrapped."""

    def __init__(
        self, folder: Path, *, id: str, secret: Secret, wrapping: _Wrapping, keys: Iterable[DataKey], current: str,
        cache_mb: int = 64,
    ) -> None:  # fmt: skip
        self.folder = folder
        self._id = id
        self._secret = secret
        self._wrapping = wrapping
        self._keys = {key.id: key for key in keys}
        self._current = current
        self._cache_mb = cache_mb
        self._text = ""
        """What the file holds; empty while it holds something else, after a start from `memory.keys.1`."""
        self._seen: tuple[int, ...] = ()
        """By what the file is told from another one that took its place."""
        self.superseded = False
        """True if it was opened by the secret before the last change: it reads, and writes no keys."""
        self._writing = threading.Lock()
        """Held while the file is written: between its renaming and `_seen` it is not taken for a stranger's."""

    @classmethod
    def create(
        cls,
        folder: Path,
        secret: Secret,
        *,
        now: float,
        cache_mb: int = 64,
        recovery: str = "",
        database: Path | None = None,
    ) -> Keyring:
        """A new keyring with one random key, or that of a recovery code, saved.

        Raises StorageFailure for a code that is misspelt, or not that of the database.
        """
        key = DataKey("k1", _recovered(recovery) if recovery else secrets.token_bytes(32), now)
        if database and (page := _first_page(database)) and not cipher_pages.fits(page, key.pages):
            raise StorageFailure(f"{database} is encrypted with another key.", file=str(database))
        made = cls(
            folder, id=secrets.token_hex(8), secret=secret, wrapping=_Wrapping.of(secret), keys=[key], current=key.id,
            cache_mb=cache_mb,
        )  # fmt: skip
        made.save()
        return made

    @classmethod
    def read(cls, file: Path, secret: Secret, *, cache_mb: int = 64) -> Keyring:
        """The keyring in a file. Raises StorageFailure if it cannot be read or the secret does not fit."""
        from cryptography.exceptions import InvalidTag

        try:
            seen, text = _stat(file), file.read_text("utf-8")
            held = json.loads(text)
            seal = held.pop("seal")
            if held["format"] != FORMAT:
                raise StorageFailure(f"{file} is of another format: a newer version wrote it.", file=str(file))
            wrapping = _Wrapping.of(secret, held["secret"])
            keys = [
                DataKey(one["id"], wrapping.unwrap(one["wrapped"], _about(held["id"], one["id"])), one["created_at"], one.get("retired_at"))
                for one in held["keys"]
            ]  # fmt: skip
            if not hmac.compare_digest(seal, wrapping.seal(held)):
                raise StorageFailure(f"{file} is damaged: put the one of a backup in its place.", file=str(file))
            made = cls(
                file.parent, id=held["id"], secret=secret, wrapping=wrapping, keys=keys, current=held["current"],
                cache_mb=cache_mb,
            )  # fmt: skip
            if file.name == KEYS_FILE:
                made._text, made._seen = text, seen
            return made
        except InvalidTag as exc:
            if secret.with_mark:
                return cls.read(file, secret.with_mark, cache_mb=cache_mb)
            raise StorageFailure(f"The secret does not fit {file}.", file=str(file), wrong_secret=True) from exc
        except OSError as exc:
            raise StorageFailure(f"{file} cannot be read: {exc.strerror}.", file=str(file)) from exc
        except (ArithmeticError, ValueError, KeyError, TypeError, AttributeError, MemoryError) as exc:
            raise StorageFailure(f"{file} is damaged: put the one of a backup in its place.", file=str(file)) from exc

    @property
    def current(self) -> DataKey:
        """What is written anew is encrypted with it."""
        return self._keys[self._current]

    @property
    def all(self) -> list[DataKey]:
        """The current key first, then the retired ones, the last first."""
        others = [key for key in reversed(self._keys.values()) if key.id != self._current]
        return [self.current, *others]

    @property
    def kind(self) -> str:
        """`raw` or `passphrase`: what the secret is."""
        return self._wrapping.told["kind"]

    def save(self) -> None:
        """Write the file by renaming; the one before stays as `memory.keys.1` until the memory was opened with the new one."""
        file, before = self.folder / KEYS_FILE, self.folder / f"{KEYS_FILE}.1"
        if self.superseded:
            raise StorageFailure(
                f"The settings name the secret that {file} had before it was changed: put the new one into "
                "storage.encryption first, or the change would be taken back.",
                field="storage.encryption",
            )
        known = [
            {
                "id": key.id, "created_at": key.created_at, "retired_at": key.retired_at,
                "wrapped": self._wrapping.wrap(key.raw, _about(self._id, key.id)),
            }
            for key in self._keys.values()
        ]  # fmt: skip
        held = {
            "format": FORMAT, "id": self._id, "secret": self._wrapping.told, "current": self._current, "keys": known,
        }  # fmt: skip
        held["seal"] = self._wrapping.seal(held)
        with self._writing:
            if file.exists():
                before.unlink(missing_ok=True)
                with suppress(OSError):
                    os.link(file, before)
            self._write(json.dumps(held, indent=1))

    def _write(self, text: str) -> None:
        replace_text(self.folder / KEYS_FILE, text)
        self._text, self._seen = text, _stat(self.folder / KEYS_FILE)

    def ensure_on_disk(self) -> None:
        """Raise StorageFailure if the file is gone or is another one than was written, once it is written again.

        What is encrypted with keys that no file holds could never be read again.
        """
        if self._text and _stat(self.folder / KEYS_FILE) != self._seen:
            with self._writing:
                self._write_again()

    def _write_again(self) -> None:
        file = self.folder / KEYS_FILE
        if (seen := _stat(file)) == self._seen:
            return
        with suppress(OSError, ValueError):
            if file.is_file() and file.read_text("utf-8") == self._text:  # another copy of it was put there
                self._seen = seen
                return
        try:
            self._write(self._text)
        except OSError as exc:
            raise StorageFailure(
                f"{file} is gone or changed and cannot be written again ({exc.strerror or exc}): nothing is stored until it can be, for it "
                "could not be read after the next start. Leave this process running, it knows the keys.",
                file=str(file),
            ) from exc
        raise StorageFailure(
            f"{file} was gone or changed: it has been written again from memory, and nothing of this call was stored. Give it "
            "again, and find out what removed the keys; `amemorix key verify` looks through backups.",
            file=str(file),
        )

    def copy_to(self, folder: Path) -> None:
        """Put the file beside a copy of the memory."""
        replace_text(folder / KEYS_FILE, self._text or (self.folder / KEYS_FILE).read_text("utf-8"))

    def confirm(self) -> None:
        """The memory was opened with it: forget the version before, and what a crash left of another."""
        for end in ("1", "draft"):
            (self.folder / f"{KEYS_FILE}.{end}").unlink(missing_ok=True)

    def change(self, secret: Secret) -> None:
        """Wrap the data keys by another secret."""
        self._wrapping, self._secret = _Wrapping.of(secret), secret
        self.save()

    def add(self, now: float) -> DataKey:
        """One more random key, saved; what is written is encrypted with it once it is made the current one."""
        key = DataKey(f"k{1 + max(int(id_[1:]) for id_ in self._keys)}", secrets.token_bytes(32), now)
        self._keys = {**self._keys, key.id: key}
        self.save()
        return key

    def make_current(self, key: DataKey, now: float) -> None:
        """Encrypt with this key from now on, and retire every other."""
        known = {
            id_: replace(one, retired_at=None if id_ == key.id else one.retired_at or now)
            for id_, one in self._keys.items()
        }
        if (known, key.id) != (self._keys, self._current):
            self._keys, self._current = known, key.id
            self.save()

    def forget_retired(self, but: Container[str]) -> None:
        """Forget the retired keys that are not among these."""
        kept = {id_: key for id_, key in self._keys.items() if key.retired_at is None or id_ in but}
        if kept != self._keys:
            self._keys = kept
            self.save()
            self.confirm()

    # which key a file has

    def fitting(self, path: Path) -> DataKey | None:
        """The key of an encrypted database that no connection of this process has open; None for any other file."""
        page = _first_page(path)
        own = next((key for key in self.all if cipher_pages.fits(page, key.pages)), None)
        beside = path.with_name(KEYS_FILE)
        if own is None and len(page) == cipher_pages.PAGE and path.parent != self.folder and beside.exists():
            with suppress(StorageFailure):
                others = Keyring.read(beside, self._secret).all
                own = next((key for key in others if cipher_pages.fits(page, key.pages)), None)
        return own

    def page_key(self, path: Path | None = None) -> PageKey:
        """How to open a database that no connection of this process has open; a new one with the current key."""
        if path is not None and is_plain(path):
            return PageKey(None, self._cache_mb)
        key = self.fitting(path) if path is not None else None
        return PageKey((key or self.current).pages, self._cache_mb)

    def page_key_of(self, key: DataKey) -> PageKey:
        """How to open a database that has this key."""
        return PageKey(key.pages, self._cache_mb)


def is_plain(path: Path) -> bool:
    """Whether a file is a database that is not encrypted."""
    return _first_page(path).startswith(PLAIN_HEADER)


def _stat(file: Path) -> tuple[int, ...]:
    try:
        found = file.stat()
    except OSError:
        return ()
    return found.st_ino, found.st_mtime_ns, found.st_ctime_ns, found.st_size


def _first_page(path: Path) -> bytes:
    try:
        with path.open("rb", buffering=0) as file:
            return file.read(cipher_pages.PAGE)
    except OSError:
        return b""


def _about(keyring: str, key: str) -> str:
    return f"{FORMAT}|{keyring}|{key}"


def _recovered(code: str) -> bytes:
    with suppress(ValueError):
        held = base64.b64decode("".join(code.split()), validate=True)
        raw, check = held[:-CHECK_BYTES], held[-CHECK_BYTES:]
        if len(raw) == 32 and hashlib.sha256(raw).digest()[:CHECK_BYTES] == check:
            return raw
    raise StorageFailure("It is no recovery code: something in it is misspelt.")


def open_keyring(settings: Encryption, folder: Path, environ: Mapping[str, str], *, now: float) -> Keyring | None:
    """The keyring of a data directory; None for a memory that is not encrypted. A new memory gets a new one.

    Raises StorageFailure if the settings do not fit what lies there, or the secret is not to be had.
    """
    database, file = folder / DATABASE_FILE, folder / KEYS_FILE
    finish_exchange(database)
    if not settings.enabled:
        if file.exists() and _first_page(database) and not is_plain(database):
            raise StorageFailure(
                f"{database} is encrypted: set storage.encryption.enabled = true, as `amemorix key enable` does, and give its "
                f"secret ({settings.key_env}, key_file or key_command); `amemorix key disable` takes the encryption away.",
                field="storage.encryption.enabled",
            )
        return None
    if is_plain(database):
        if file.exists():
            text = (
                f"{database} is not encrypted, and storage.encryption.enabled is true: if you asked for that, `amemorix key "
                "disable` keeps it so; `amemorix key enable` encrypts it. If you did not, somebody put it there."
            )
        else:
            text = f"{database} is not encrypted, and storage.encryption.enabled is true: `amemorix key enable` encrypts it."
        raise StorageFailure(text, field="storage.encryption.enabled")
    driver.cipher()
    secret = read_secret(settings, folder, environ)
    if not file.exists():
        if _first_page(database):
            raise StorageFailure(
                f"{file} is missing, and {database} cannot be read without it: put the one of a backup in its place.",
                file=str(file),
            )
        return Keyring.create(folder, secret, now=now, cache_mb=settings.cache_mb)
    try:
        keys = Keyring.read(file, secret, cache_mb=settings.cache_mb)
    except StorageFailure as exc:
        before = file.with_name(f"{KEYS_FILE}.1")
        if not before.exists():
            raise
        keys = Keyring.read(before, secret, cache_mb=settings.cache_mb)
        if exc.details.get("wrong_secret"):
            keys.superseded = True
            log.warning("the settings name the secret that %s had before it was changed: put the new one there", file)
        return keys
    if (key := keys.fitting(database)) is not None:  # another one than the file names: a rotation was cut short
        keys.make_current(key, now)
        keys.confirm()
    return keys


# where the secret comes from


def read_secret(settings: Encryption, folder: Path, environ: Mapping[str, str]) -> Secret:
    """The secret that the settings name: 32 bytes, or a passphrase. Raises StorageFailure unless there is just one source."""
    known = environ.get(settings.key_env, "") if settings.key_env else ""
    given = [
        name
        for name, there in (("key_env", known), ("key_file", settings.key_file), ("key_command", settings.key_command))
        if there
    ]
    if len(given) != 1:
        told = (
            f"they are {' and '.join(given)}" if given else f"the variable {settings.key_env or 'key_env'} is not set"
        )
        raise StorageFailure(
            f"An encrypted memory wants just one source of its secret (storage.encryption.key_env, key_file or key_command): {told}.",
            field="storage.encryption",
        )
    if given == ["key_file"]:
        known = _of_file(Path(settings.key_file).expanduser(), folder)
    elif given == ["key_command"]:
        known = _of_command(settings.key_command)
    return _understood(known)


def _of_file(file: Path, folder: Path) -> str:
    try:
        real = file.resolve()
        if real.is_relative_to(folder.resolve()):
            raise StorageFailure(
                f"The key file {file} is within the data directory: whoever has the one has the other. Put it elsewhere.",
                field="storage.encryption.key_file",
            )
        if os.name != "nt" and real.stat().st_mode & 0o077:
            raise StorageFailure(
                f"The key file {file} can be read by others: chmod 600 {file}.", field="storage.encryption.key_file"
            )
        return real.read_text("utf-8")
    except (OSError, ValueError) as exc:
        why = exc.strerror if isinstance(exc, OSError) else "it is no text"
        raise StorageFailure(
            f"The key file {file} cannot be read: {why}.", field="storage.encryption.key_file"
        ) from exc


def _of_command(command: Iterable[str]) -> str:
    try:
        done = subprocess.run(
            [*command], capture_output=True, timeout=COMMAND_SECONDS, check=True, stdin=subprocess.DEVNULL
        )
        return done.stdout.decode()
    except (OSError, ValueError, subprocess.SubprocessError) as exc:  # what it printed is not repeated
        raise StorageFailure(
            f"storage.encryption.key_command gave no secret ({type(exc).__name__}).",
            field="storage.encryption.key_command",
        ) from exc


def _understood(text: str) -> Secret:
    """64 hex digits or base64 of 32 bytes are a key, anything else a passphrase; a byte order mark before them is passed over."""
    text = text.strip()
    if text.startswith(MARK):
        return replace(_understood(text.removeprefix(MARK)), with_mark=Secret(text.encode()))
    with suppress(ValueError):
        if len(text) == 64:
            return Secret(bytes.fromhex(text), is_key=True)
    with suppress(ValueError):
        raw = base64.b64decode(text, validate=True)
        if len(raw) == 32:
            return Secret(raw, is_key=True)
    if len(text) < LEAST_CHARS:
        raise StorageFailure(
            f"The secret of an encrypted memory has at least {LEAST_CHARS} characters, or it is a key of 32 bytes "
            "(64 hex digits, or base64: `openssl rand -base64 32`)."
        )
    return Secret(text.encode())
