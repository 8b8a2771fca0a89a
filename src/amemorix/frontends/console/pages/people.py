"""Whom the memory knows, and what it knows of one person."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from starlette.responses import Response

from ..view import Page, View

__all__ = ["PAGES"]

STEP = 25
"""Persons of a page: the profile of each is read for it."""
STATUSES = ("active", "maybe_outdated", "conflicted", "superseded", "retracted")


async def people(view: View) -> Response:
    asked: dict[str, Any] = {
        "limit": STEP,
        "offset": view.number("offset", 0),
        "keyword": view.query.get("q", "").strip(),
    }
    listed = await view.ask("memory_profile_admin", "list", **asked)
    return view.show(
        "_people.html" if view.partial else "people.html", listed=listed, offset=asked["offset"], step=STEP
    )


async def person(view: View) -> Response:
    who = view.request.path_params["person"]
    profile = await view.ask("get_person_profile", person_id=who, **view.scope)
    everything = "all" in view.query
    facts = await view.ask(
        "memory_fact_admin",
        "list",
        person_id=who,
        limit=200,
        status=list(STATUSES if everything else STATUSES[:3]),
        **view.scope,
    )
    said = await view.ask("memory_text_admin", "list", person_id=who, order="said", limit=20, **view.scope)
    return view.show(
        "person.html", who=who, profile=profile, facts=facts["items"], said=said["items"], everything=everything
    )


async def retract(view: View) -> Response:
    """Take back a statement, which can be undone, or undo that."""
    form, who = await view.form(), view.request.path_params["person"]
    if undo := str(form.get("undo", "")):
        await view.ask("memory_fact_admin", "undo", undo_id=undo)
        view.say("It stands again.")
    else:
        done = await view.ask("memory_fact_admin", "retract", fact_id=str(form.get("fact", "")))
        view.say("The statement is taken back; the text that it rests on stays.", undo=done["undo_id"])
    return view.go(f"/ui/people/{quote(who, safe='')}")


PAGES = (
    Page("/ui/people", "people", people),
    Page("/ui/people/{person:path}", "people", person),
    Page("/ui/people/{person:path}", "people", retract, ("POST",)),
)
