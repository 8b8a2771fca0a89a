"""Short forms for the console: a browser without a window, and what its pages carry."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from html import unescape

import httpx

from amemorix import AMemorixHostService
from amemorix.frontends.http.app import create_app
from amemorix.frontends.http.tokens import Tokens

__all__ = ["browser", "field", "logged_in", "secret", "sent", "undo_of"]


@asynccontextmanager
async def browser(host: AMemorixHostService, tokens: Tokens | None = None) -> AsyncGenerator[httpx.AsyncClient]:
    transport = httpx.ASGITransport(app=create_app(host, tokens=tokens))
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost", follow_redirects=True) as web:
        yield web


def secret(page: httpx.Response) -> str:
    """What each form of the page carries."""
    return field(page, "csrf")


def field(page: httpx.Response, name: str) -> str:
    """The value of a field, or of a button, of a page."""
    found = re.search(rf'name="{re.escape(name)}"[^>]*? value="([^"]*)"', page.text)
    assert found, f"there is no {name} at {page.url}"
    return unescape(found[1])


def undo_of(page: httpx.Response) -> str:
    """What the button that undoes the last deed sends."""
    return field(page, "undo")


async def sent(web: httpx.AsyncClient, page: httpx.Response, path: str = "", /, **data: str) -> httpx.Response:
    """A form of this page, sent to its address or to another, and the page that it leads to."""
    return await web.post(path or page.url, data={"csrf": secret(page), **data})


async def logged_in(web: httpx.AsyncClient, token: str, wanted: str = "/ui/chats") -> httpx.Response:
    return await web.post("/ui/login", params={"next": wanted}, data={"token": token})
