"""What is stored, what is done in the background, and how it is."""

from __future__ import annotations

from starlette.responses import Response

from ....errors import Forbidden
from ..view import Page, View

__all__ = ["PAGES"]


async def overview(view: View) -> Response:
    if view.grant.chats:
        return view.go("/ui/chats")  # the figures are of all chats
    stats = await view.ask("memory_stats")
    chats, check, backups = None, None, []
    if view.grant.may("admin"):
        chats = (await view.ask("memory_text_admin", "chats", limit=8, scope="all"))["items"]
        backups = (await view.ask("memory_runtime_admin", "list_backups"))["backups"][:1]
        if "check" in view.query:
            check = (await view.ask("memory_runtime_admin", "check"))["report"]
    template = "_overview.html" if view.partial else "overview.html"
    return view.show(template, stats=stats, chats=chats, check=check, backups=backups)


async def begin_backup(view: View) -> Response:
    await view.form()
    if not view.grant.may("admin"):
        raise Forbidden("A backup needs the role admin.", role="admin")
    await view.ask("memory_runtime_admin", "backup")
    view.say("The backup is made.")
    return view.go("/")


PAGES = (Page("/", "overview", overview), Page("/ui/backup", "overview", begin_backup, ("POST",)))
