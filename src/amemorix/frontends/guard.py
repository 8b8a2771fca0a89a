"""Who may call over HTTP."""

from __future__ import annotations

import hmac
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from ..errors import Forbidden
from .answers import JsonAnswer, fault_answer
from .loopback import host_of, is_loopback

__all__ = ["OPEN_PATH", "Guard"]

OPEN_PATH = "/healthz"
"""Answers without a token, for whoever watches the process."""


class Guard:
    """With a token, lets in who knows it; without one, only callers that address this machine as itself.

    The second rule keeps web pages out: a page whose name was pointed at 127.0.0.1 sends its own name as `Host`, and a
    page that posts here from elsewhere sends its own as `Origin`.
    """

    def __init__(self, app: ASGIApp, *, token: str = "") -> None:
        self._app = app
        self._token = token.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or answer 401 or 403."""
        refusal = self._refusal(Headers(scope=scope), scope["path"]) if scope["type"] == "http" else None
        await (refusal or self._app)(scope, receive, send)

    def _refusal(self, headers: Headers, path: str) -> JsonAnswer | None:
        if self._token:
            return None if path == OPEN_PATH else self._without_token(headers)
        return _not_from_here(headers)

    def _without_token(self, headers: Headers) -> JsonAnswer | None:
        scheme, _, given = headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not given.strip():
            fault = Forbidden("A token is needed: send `Authorization: Bearer TOKEN`.")
            return fault_answer(fault, status=401, headers={"WWW-Authenticate": "Bearer"})
        if not hmac.compare_digest(given.strip().encode(), self._token):
            return fault_answer(Forbidden("The token is wrong."))
        return None


def _not_from_here(headers: Headers) -> JsonAnswer | None:
    host, origin = headers.get("host", ""), headers.get("origin")
    if not is_loopback(host_of(host)):
        return fault_answer(
            Forbidden(f"Without a token only calls to localhost are answered, not to {host!r}.", host=host)
        )
    if origin is not None and not _is_local_page(origin):
        return fault_answer(Forbidden(f"Without a token pages of {origin!r} may not call.", origin=origin))
    return None


def _is_local_page(origin: str) -> bool:
    try:
        return is_loopback(urlsplit(origin).hostname or "")
    except ValueError:
        return False
