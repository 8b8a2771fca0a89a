"""“That is wrong, it is …”: what a sentence would change, what it changed, and how to take that back."""

from __future__ import annotations

from typing import Any

from starlette.responses import Response

from ..view import Page, View

__all__ = ["PAGES"]

CORRECTION = "memory_correction_admin"


async def corrections(view: View) -> Response:
    listed = await view.ask(CORRECTION, "list", limit=50, offset=view.number("offset", 0), **view.scope)
    return view.show("corrections.html", plan=None, listed=listed, given=view.query, offset=view.number("offset", 0))


async def correct(view: View) -> Response:
    """Show what a sentence would change, carry that out, or undo it."""
    form = await view.form()
    if undo := str(form.get("undo", "")):
        await view.ask(CORRECTION, "rollback", plan_id=undo)
        view.say("The correction is undone; everything is as it was.")
        return view.go("/ui/corrections")
    if plan := str(form.get("plan", "")):
        await view.ask(CORRECTION, "execute", plan_id=plan, confirmed=True)
        view.say("It is corrected.", undo=plan)
        return view.go("/ui/corrections")
    given = {name: str(form.get(name, "")).strip() for name in ("text", "chat", "person")}
    asked: dict[str, Any] = {"chat_id": given["chat"]} if given["chat"] else {"allow_global": True}
    found = await view.ask(CORRECTION, "preview", text=given["text"], person_id=given["person"], **asked)
    return view.show("corrections.html", plan=found, listed=None, given=given, offset=0)


PAGES = (
    Page("/ui/corrections", "corrections", corrections),
    Page("/ui/corrections", "corrections", correct, ("POST",)),
)
