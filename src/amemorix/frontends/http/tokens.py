"""The tokens that open the HTTP front door, and what each of them allows."""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from ...audit_context import Grant
from ...config.model import Http
from ...errors import InvalidConfig
from ...lazy_regex import lazy_regex
from ...ops import Role
from .json_response import usable_token

__all__ = ["Tokens", "make_token", "tokens_path"]

_HASH = lazy_regex(r"\b[0-9a-f]{64}\b")


class TokenEntry(BaseModel):
    """One token: itself (in the environment) or its SHA-256 (in a file), its role, and the chats that it is bound to."""

    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)

    name: str = Field("", max_length=100)
    role: Role
    chats: tuple[Annotated[str, Field(min_length=1, max_length=512)], ...] = ()
    token: str = ""
    sha256: str = Field("", pattern=r"^([0-9a-f]{64})?$")

    @model_validator(mode="after")
    def _whole(self) -> Self:
        if bool(self.token) == bool(self.sha256):
            raise ValueError("give token or sha256")
        if self.chats and self.role == "admin":
            raise ValueError("a token that is bound to chats has the role read or write")
        return self


class Tokens:
    """Known tokens by their SHA-256. Where none is set up, callers on this machine may do everything.

    A made token has 256 random bits, so that a plain hash of it can neither be guessed back nor found in a table.
    """

    def __init__(self, grants: Mapping[bytes, Grant]) -> None:
        self._grants = dict(grants)
        self._needed = bool(self._grants)

    def __bool__(self) -> bool:
        """Whether a token is needed: also once the last of them is revoked, else that would open the memory to all."""
        return self._needed

    @classmethod
    def read(cls, settings: Http, environ: Mapping[str, str], base: Path) -> Tokens:
        """Those of the environment and of `http.tokens_file` below `base`.

        Raises InvalidConfig, which never shows a token; also where a list is named and nobody holds a token.
        """
        lines = _lines(tokens_path(settings, base)) if settings.tokens_file else []
        grants, faults = _collected(settings, environ, base, lines, {})
        if faults:
            raise faults[0]
        if not grants and (settings.tokens_file or environ.get(settings.tokens_env, "").strip()):
            named = f"http.tokens_file {settings.tokens_file}" if settings.tokens_file else settings.tokens_env
            raise InvalidConfig(
                f"{named} holds no token, and without any every program on this machine may do everything: add a line of "
                "`amemorix token`, or leave the setting empty.",
                field="http.tokens_file" if settings.tokens_file else "http.tokens_env",
            )
        return cls(grants)

    def revise(
        self, settings: Http, environ: Mapping[str, str], base: Path, content: bytes
    ) -> tuple[int, int, list[InvalidConfig]]:
        """Take the saved `content` of `http.tokens_file`: (tokens that are new, that are revoked, lines that cannot be read).

        Each line stands for itself. A token whose hash is in no line any more is revoked, whatever is wrong beside; one whose line
        cannot be read keeps what it was allowed, and a new one of such a line is allowed nothing.
        """
        lines = content.decode("utf-8", "replace").splitlines()
        grants, faults = _collected(settings, environ, base, lines, self._grants)
        before, self._grants = self._grants, grants
        return len(grants.keys() - before.keys()), len(before.keys() - grants.keys()), faults

    def grant(self, given: bytes) -> Grant | None:
        """What a token allows, None for one that is not known; takes the same time for any."""
        digest, found = hashlib.sha256(given).digest(), None
        for known, grant in self._grants.items():
            if hmac.compare_digest(digest, known):
                found = grant
        return found

    def standing(self, given: bytes, grant: Grant) -> Callable[[], bool]:
        """Tells, as often as it is asked, whether the token still allows this: for what goes on after its request."""
        digest = hashlib.sha256(given).digest()

        def stands() -> bool:
            now = self._grants.get(digest)
            return now is not None and (now.role, now.chats) == (grant.role, grant.chats)

        return stands


def make_token(role: Role, chats: Iterable[str], name: str) -> tuple[str, str]:
    """(a new token, its line for `http.tokens_file`). Raises InvalidConfig."""
    token = secrets.token_urlsafe(32)
    entry = {"name": name, "role": role, "chats": list(chats), "sha256": _digest(token).hex()}
    try:
        TokenEntry.model_validate(entry)
    except ValidationError as exc:
        raise InvalidConfig(f"{exc.errors()[0]['msg']}.", field="role") from None
    return token, json.dumps({key: value for key, value in entry.items() if value}, ensure_ascii=False)


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode()).digest()


def tokens_path(settings: Http, base: Path) -> Path:
    """The file that `http.tokens_file` names."""
    return base / Path(settings.tokens_file).expanduser()


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as exc:
        raise InvalidConfig(f"http.tokens_file {path} cannot be read: {exc}.", field="http.tokens_file") from exc


def _collected(
    settings: Http, environ: Mapping[str, str], base: Path, lines: Sequence[str], held: Mapping[bytes, Grant]
) -> tuple[dict[bytes, Grant], list[InvalidConfig]]:
    """(what each token allows, what cannot be read); a token of a line that cannot be read keeps what it `held`."""
    grants: dict[bytes, Grant] = {}
    faults: list[InvalidConfig] = []
    if token := usable_token(environ.get(settings.token_env, ""), settings.token_env):
        grants[_digest(token)] = Grant("admin", name=settings.token_env)
    try:
        listed = json.loads(environ.get(settings.tokens_env, "").strip() or "[]")
    except (ValueError, RecursionError):
        listed = None
    if not isinstance(listed, list):
        told = (
            f'{settings.tokens_env} must be a JSON list such as [{{"token": "…", "role": "read", "chats": ["qq:42"]}}].'
        )
        raise InvalidConfig(told, field="http.tokens_env")
    path = tokens_path(settings, base)
    entries: list[tuple[str, object]] = [(settings.tokens_env, one) for one in listed]
    entries += [
        (f"{path} line {number}", line)
        for number, line in enumerate(lines, 1)
        if line.strip() and not line.lstrip().startswith("#")
    ]
    for n, (where, raw) in enumerate(entries, 1):
        try:
            digest, grant = _entry(where, raw, n, of_file=where != settings.tokens_env)
            if digest in grants:
                told = f"{where}: token {n} is there twice; {grants[digest].name} is the same."
                raise InvalidConfig(told, field="http.tokens_file")
            grants[digest] = grant
        except InvalidConfig as fault:
            faults.append(fault)
            named = _HASH.findall(raw) if isinstance(raw, str) else []
            for digest in map(bytes.fromhex, named):
                if digest in held:
                    grants.setdefault(digest, held[digest])
    return grants, faults


def _entry(where: str, raw: object, n: int, *, of_file: bool) -> tuple[bytes, Grant]:
    """(hash of a token, what it allows). Raises InvalidConfig."""
    if of_file:
        try:
            raw = json.loads(str(raw))
        except (ValueError, RecursionError):
            raise InvalidConfig(f"{where} is no line of `amemorix token`.", field="http.tokens_file") from None
    try:
        entry = TokenEntry.model_validate(raw)
    except ValidationError as exc:
        told = "; ".join(f"{'.'.join(map(str, one['loc']))} {one['msg']}".strip() for one in exc.errors())
        raise InvalidConfig(f"{where}: token {n}: {told}.", field="http.tokens_file") from None
    if entry.token and of_file:
        raise InvalidConfig(
            f"{where}: the file holds the SHA-256 of a token and never the token: `amemorix token` makes its line.",
            field="http.tokens_file",
        )
    token = usable_token(entry.token, where)
    digest = _digest(token) if token else bytes.fromhex(entry.sha256)
    return digest, Grant(entry.role, entry.chats, entry.name or f"token {n}")
