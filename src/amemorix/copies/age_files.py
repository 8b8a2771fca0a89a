"""Exports in the age format (age-encryption.org/v1): encrypted to public keys, or by a passphrase."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, Literal

from ..errors import InvalidRequest, StorageFailure
from ..extras import require

__all__ = ["AGE", "ExportKey", "is_age"]

PASSPHRASE_TRIALS = 5
"""So often age may measure how long the passphrase's work would take, before its refusal counts."""
AGE = b"age-encryption.org/v1"


@dataclass(frozen=True, slots=True)
class ExportKey:
    """What an export is encrypted with, or opened by; nothing for one in the clear."""

    recipients: Sequence[str] = ()
    """Public keys, `age1…`."""
    identity: str = field(default="", repr=False)
    """The private key of one of them, `AGE-SECRET-KEY-1…`."""
    passphrase: str = field(default="", repr=False)

    @classmethod
    def of_environment(
        cls,
        environ: Mapping[str, str],
        *,
        recipients: Sequence[str] = (),
        identity_env: str = "",
        passphrase_env: str = "",
    ) -> ExportKey:
        """With the secrets that these variables hold. Raises InvalidRequest if one is not set."""
        found: dict[str, str] = {}
        for name, variable in (("identity", identity_env), ("passphrase", passphrase_env)):
            found[name] = environ.get(variable, "") if variable else ""
            if variable and not found[name]:
                raise InvalidRequest(f"{name}_env: the variable {variable} is not set.", field=f"{name}_env")
        if recipients and found["passphrase"]:
            raise InvalidRequest("passphrase_env: give recipients or a passphrase, not both.", field="passphrase_env")
        return cls(recipients, **found)

    def __bool__(self) -> bool:
        return bool(self.recipients or self.identity or self.passphrase)

    @contextmanager
    def writing(self, file: BinaryIO) -> Generator[BinaryIO]:
        """What is written comes encrypted into the file; with a passphrase it is held in memory until the end."""
        if not self:
            yield file
            return
        age = _library()
        try:
            keys = [age.x25519.Recipient.from_str(one) for one in self.recipients]
        except age.RecipientError as exc:
            raise InvalidRequest(f"recipients: {exc}", field="recipients") from exc

        def encrypt(plain: BinaryIO) -> None:
            if keys:
                age.encrypt_io(plain, file, keys)
            else:
                file.write(age.passphrase.encrypt(plain.read(), self.passphrase))

        with _piped(encrypt, "wb") as (plain, done):
            yield plain
            plain.close()
            done.result()

    @contextmanager
    def reading(self, path: Path) -> Generator[BinaryIO]:
        """What a file holds, as it was written. Raises InvalidRequest if it is encrypted and this does not open it."""
        if not is_age(path):
            with path.open("rb") as file:
                yield file
            return
        age = _library()
        if not (self.identity or self.passphrase):
            told = f"path: {path} is encrypted (age): give its identity or passphrase."
            raise InvalidRequest(told, field="identity_env")

        def decrypt(plain: BinaryIO) -> None:
            with path.open("rb") as file:
                if self.identity:
                    age.decrypt_io(file, plain, [age.x25519.Identity.from_str(self.identity.strip())])
                else:
                    plain.write(_by_passphrase(age, file.read(), self.passphrase))

        with _piped(decrypt, "rb") as (plain, done):
            if not plain.peek(1):
                _raise_refusal(done.exception(), path, age)
            yield plain
            if not plain.peek(1):
                _raise_refusal(done.exception(), path, age)


def is_age(path: Path) -> bool:
    """Whether a file begins like one in the age format."""
    try:
        with path.open("rb") as file:
            return file.read(len(AGE)) == AGE
    except OSError:
        return False


def _by_passphrase(age: Any, raw: bytes, passphrase: str) -> bytes:
    """What is decrypted; age refuses what it measures to take long, and on a busy machine it measures far too much."""
    for _ in range(PASSPHRASE_TRIALS - 1):
        try:
            return age.passphrase.decrypt(raw, passphrase)
        except age.DecryptError as exc:
            if "Excessive" not in str(exc):
                raise
    return age.passphrase.decrypt(raw, passphrase)


def _raise_refusal(exc: BaseException | None, path: Path, age: Any) -> None:
    if isinstance(exc, (age.DecryptError, age.IdentityError)) or (isinstance(exc, OSError) and exc.errno is None):
        raise InvalidRequest(f"path: {path} cannot be decrypted: {exc}", field="path") from exc
    if exc is not None:
        raise exc


@contextmanager
def _piped(work: Callable[[BinaryIO], None], mode: Literal["rb", "wb"]) -> Generator[tuple[Any, Future[None]]]:
    """Our end of a pipe, to read from or to write to, while a thread works with the other end; and how that ended."""
    reading, writing = os.pipe()
    ours, theirs = (reading, writing) if mode == "rb" else (writing, reading)

    def at_the_other_end() -> None:
        with suppress(BrokenPipeError), open(theirs, "wb" if mode == "rb" else "rb") as end:
            work(end)  # a pipe that breaks is closed by whoever has read what they wanted

    with ThreadPoolExecutor(1, "amemorix-age") as thread:
        done = thread.submit(at_the_other_end)
        with open(ours, mode) as end:
            yield end, done


def _library() -> Any:
    require("encryption", "An encrypted export", fault=StorageFailure)
    import pyrage

    return pyrage
