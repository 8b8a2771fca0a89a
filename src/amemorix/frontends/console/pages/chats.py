"""The chats, what was said in one, and a single text."""

from __future__ import annotations

from starlette.responses import Response

from ....errors import NotFound
from ..view import Page, View

__all__ = ["PAGES"]


async def chats(view: View) -> Response:
    listed = await view.ask(
        "memory_text_admin",
        "chats",
        limit=50,
        offset=view.number("offset", 0),
        text=view.query.get("q", ""),
        **view.scope,
    )
    return view.show("_chats.html" if view.partial else "chats.html", listed=listed, offset=view.number("offset", 0))


async def log(view: View) -> Response:
    """What was said in a chat, the newest first, in pages."""
    before = {"before": given} if (given := view.query.get("before", "")) else {}
    listed = await view.ask("memory_text_admin", "list", order="said", limit=50, **view.scope, **before)
    return view.show("_log.html" if view.partial else "log.html", listed=listed, chat=view.query.get("chat", ""))


async def text(view: View) -> Response:
    id_ = view.request.path_params["id"]
    found = await view.ask("memory_text_admin", "get", ids=[id_], **view.scope)
    if not found["items"]:
        raise NotFound(f"There is no text {id_}, or it may not be seen here.", id=id_)
    history = (await view.ask("memory_text_admin", "history", id=id_))["items"] if view.grant.is_unlimited else []
    return view.show("text.html", text=found["items"][0], history=history)


PAGES = (Page("/ui/chats", "chats", chats), Page("/ui/log", "chats", log), Page("/ui/texts/{id}", "chats", text))
