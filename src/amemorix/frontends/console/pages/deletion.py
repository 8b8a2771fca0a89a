"""What to delete, shown before it goes; what was deleted, to bring it back or to erase it for good."""

from __future__ import annotations

from typing import Any

from starlette.datastructures import FormData
from starlette.responses import Response

from ..view import Page, Query, View

__all__ = ["PAGES"]

DELETION = "memory_delete_admin"
MODES = ("person", "chat", "paragraph", "source", "entity", "relation")


def _wish(given: Query | FormData) -> dict[str, Any]:
    """The arguments of a deletion, as a form names what is meant."""
    mode = str(given.get("mode", "person"))
    targets = [str(one).strip() for one in given.getlist("target") if str(one).strip()]
    chat = str(given.get("chat", "")).strip()
    by_words, kept = (given.get(name) == value for name, value in (("by", "words"), ("mentions", "keep")))
    by_words = by_words and mode == "paragraph"
    selector = {"query": " ".join(targets)} if by_words else targets
    limits = {"chat_id": chat} if chat and mode != "chat" else {}
    mentions = {"mentions": "keep" if kept else "delete"} if mode == "person" else {}
    return {"mode": mode, "selector": selector, **limits, **mentions}


async def choose(view: View) -> Response:
    """The form; with something named in the address, everything that would go and what stays; else what was deleted."""
    given = view.query
    plan = await view.ask(DELETION, "preview", **_wish(given)) if any(map(str.strip, given.getlist("target"))) else None
    history = None
    if plan is None:
        history = await view.ask(DELETION, "list_operations", limit=50, offset=view.number("offset", 0))
    return view.show(
        "deletion.html", plan=plan, history=history, modes=MODES, targets=given.getlist("target"),
        offset=view.number("offset", 0),
    )  # fmt: skip


async def delete(view: View) -> Response:
    """Delete exactly what was shown, or undo that."""
    form = await view.form()
    if undo := str(form.get("undo", "")):
        return await _restore(view, undo)
    wish = _wish(form)
    done = await view.ask(
        DELETION, "execute", plan_token=str(form.get("plan_token", "")), reason=str(form.get("reason", "")), **wish
    )
    id_: str = done["operation_id"]
    view.say("It is deleted, and can be brought back until it is erased for good.", undo=id_)
    return view.go(f"/ui/deletion/{id_}")


async def operation(view: View) -> Response:
    id_ = view.request.path_params["id"]
    found = await view.ask(DELETION, "get_operation", operation_id=id_, limit=200, offset=view.number("offset", 0))
    template = "_operation.html" if view.partial else "operation.html"
    return view.show(template, operation=found["operation"], items=found["items"], offset=view.number("offset", 0))


async def change_operation(view: View) -> Response:
    """Bring back all of a deletion, or the chosen rows of it."""
    form = await view.form()
    chosen = [str(one) for one in form.getlist("item")]
    return await _restore(view, str(form.get("undo", "")) or view.request.path_params["id"], chosen)


async def _restore(view: View, id_: str, chosen: list[str] | None = None) -> Response:
    done = await view.ask(DELETION, "restore", operation_id=id_, **({"items": chosen} if chosen else {}))
    view.say("Everything of it is back." if done["status"] == "restored" else "What was chosen is back.")
    for one in done["not_restored"]:
        why = f"{one['item_key']}: {one['reason']}"
        view.say(why)
    return view.go(f"/ui/deletion/{done['operation_id']}")


async def confirm_purge(view: View) -> Response:
    id_ = view.request.path_params["id"]
    found = await view.ask(DELETION, "get_operation", operation_id=id_, limit=1)
    return view.show("purge.html", operation=found["operation"])


async def purge(view: View) -> Response:
    """Erase a deletion for good, in the background; its page shows how far it is, and the receipt."""
    form, id_ = await view.form(), view.request.path_params["id"]
    if not form.get("understood"):
        return view.go(f"/ui/deletion/{id_}/purge")
    await view.ask(DELETION, "purge", operation_id=id_, wait=False)
    return view.go(f"/ui/deletion/{id_}")


PAGES = (
    Page("/ui/deletion", "deletion", choose),
    Page("/ui/deletion", "deletion", delete, ("POST",)),
    Page("/ui/deletion/{id}", "deletion", operation),
    Page("/ui/deletion/{id}", "deletion", change_operation, ("POST",)),
    Page("/ui/deletion/{id}/purge", "deletion", confirm_purge),
    Page("/ui/deletion/{id}/purge", "deletion", purge, ("POST",)),
)
