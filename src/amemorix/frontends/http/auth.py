"""Who may call over HTTP."""

from __future__ import annotations

import ipaddress
import logging
import socket
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from ...audit_context import Grant
from ...errors import Forbidden, MemoryFault
from ...locale import localised, spoken
from .docs_page import DOCS_PATH
from .json_response import encoded
from .tokens import Tokens

__all__ = [
    "GRANT", "STANDS", "Guard", "JsonAnswer", "bound_scope", "fault_answer", "from_another_site", "is_loopback", "resolves_to_loopback",
]  # fmt: skip

log = logging.getLogger(__name__)
OPEN_PATHS = ("/healthz", "/readyz", DOCS_PATH)
"""Answer without a token: for whoever watches the process, and the page in which a token is typed."""
GRANT = "amemorix.grant"
"""Where a request carries what its token allows; absent on an open path without a token."""
STANDS = "amemorix.stands"
"""Where a request carries what tells whether its token still allows that; absent where no token is needed."""
REASONS = {
    "missing": "it brought no token", "wrong": "its token is wrong", "host": "it was not addressed to localhost",
    "page": "it came from a web page",
}  # fmt: skip
LOGGED_A_MINUTE = 10
"""Refusals that are logged one by one; more of them are counted, so that a caller cannot fill the log."""


class JsonAnswer(Response):
    """A JSON response, its sentences in the language that is spoken."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        return encoded(localised(content))

    def init_headers(self, headers: Mapping[str, str] | None = None) -> None:
        super().init_headers(headers)
        if spoken() == "zh":
            self.headers.update({"Content-Language": "zh-CN", "Vary": "Accept-Language"})


def bound_scope(grant: Grant) -> tuple[str, str]:
    """(chat, user) of the one chat that a token is bound to: a private one is its user's; both empty for other tokens."""
    if len(grant.chats) != 1:
        return "", ""
    private = grant.chats[0].removeprefix("private:")
    return ("", private) if private != grant.chats[0] else (private, "")


def fault_answer(fault: MemoryFault, *, status: int = 0, headers: Mapping[str, str] | None = None) -> JsonAnswer:
    """The error's wire form under its HTTP status, or under another."""
    return JsonAnswer(fault.to_dict(), status_code=status or fault.status, headers=headers)


class Guard:
    """With tokens, lets in who knows one; without any, only callers that address this machine as itself.

    The second rule keeps web pages out. A page whose name was pointed at 127.0.0.1 sends that name as `Host`. Every other
    page, one of another port of this machine included, sends an `Origin` (browsers do so with each POST to elsewhere) or a
    `Sec-Fetch-Site` that is not its own, and is refused unless both name this very server. A header of our own, or a
    content type that forms cannot send, would do as much, but it would have to be sent by `curl -d` too.
    """

    def __init__(
        self, app: ASGIApp, *, tokens: Tokens, count: Callable[[str], None], clock: Callable[[], float] = time.monotonic
    ) -> None:
        """`count` is told the reason of each refusal: `missing`, `wrong`, `host` or `page`."""
        self._app = app
        self._tokens = tokens
        self._count = count
        self._clock = clock
        self._minute, self._logged = float("-inf"), 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        refusal = self._refusal(scope, Headers(scope=scope)) if scope["type"] == "http" else None
        await (refusal or self._app)(scope, receive, send)

    def _refusal(self, scope: Scope, headers: Headers) -> JsonAnswer | None:
        if not self._tokens:
            reason, fault = _not_from_here(headers)
            scope[GRANT] = Grant("admin", on_loopback=fault is None)
            return None if fault is None else self._refused(scope, reason, fault_answer(fault))
        scheme, _, given = headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not given.strip():
            if scope["path"] in OPEN_PATHS or scope["path"] == "/" or scope["path"].startswith("/ui/"):
                return None
            return self._refused(scope, "missing", _unknown("A token is needed: send `Authorization: Bearer TOKEN`."))
        token = given.strip().encode("latin-1")
        grant = self._tokens.grant(token)
        if grant is None:
            return self._refused(scope, "wrong", _unknown("The token is wrong.", "invalid_token"))
        scope[STANDS] = self._tokens.standing(token, grant)
        scope[GRANT] = replace(grant, on_loopback=is_loopback(host_of(headers.get("host", ""))))
        return None

    def _refused(self, scope: Scope, reason: str, answer: JsonAnswer) -> JsonAnswer:
        """Count and log a refusal: by whom and why, never what was sent."""
        self._count(reason)
        now = self._clock()
        if now - self._minute >= 60:
            if self._logged > LOGGED_A_MINUTE:
                log.warning("%d more calls were refused in that minute", self._logged - LOGGED_A_MINUTE)
            self._minute, self._logged = now, 0
        self._logged += 1
        if self._logged <= LOGGED_A_MINUTE:
            peer = (scope.get("client") or ("unknown", 0))[0]
            log.warning("a call of %s was refused (%s)", peer, REASONS[reason])
        return answer


def _unknown(sentence: str, error: str = "") -> JsonAnswer:
    """The answer to a caller who brings no token that is known (RFC 6750, section 3.1)."""
    return fault_answer(
        Forbidden(sentence), status=401, headers={"WWW-Authenticate": f'Bearer error="{error}"' if error else "Bearer"}
    )


def _not_from_here(headers: Headers) -> tuple[str, Forbidden | None]:
    """(reason, fault) of a call that this machine did not make by itself."""
    host, origin = headers.get("host", ""), headers.get("origin")
    if not is_loopback(host_of(host)):
        return "host", Forbidden(f"Without a token only calls to localhost are answered, not to {host!r}.", host=host)
    if from_another_site(headers):
        return "page", Forbidden(f"Without a token pages of {origin or 'elsewhere'!r} may not call.", origin=origin)
    return "", None


def from_another_site(headers: Headers) -> bool:
    """Whether a page calls that is not of this very server."""
    origin = headers.get("origin")
    if origin is not None and not _same_origin(origin, headers.get("host", "")):
        return True
    return headers.get("sec-fetch-site", "none") not in ("same-origin", "none")


def _same_origin(origin: str, host: str) -> bool:
    try:
        parts = urlsplit(origin)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and parts.netloc.lower() == host.lower()


def host_of(netloc: str) -> str:
    """The host of `host:port`, lower case and without brackets; empty if it cannot be read."""
    try:
        return urlsplit(f"//{netloc}").hostname or ""
    except ValueError:
        return ""


def is_loopback(name: str) -> bool:
    """True for `localhost`, names below it, 127.0.0.0/8 and ::1; no name is looked up."""
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


def resolves_to_loopback(name: str) -> bool:
    """True if every address of a name is of this machine alone. Raises OSError for a name that has none."""
    found = socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)
    return all(is_loopback(str(address[0])) for *_, address in found)
