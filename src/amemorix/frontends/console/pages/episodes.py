"""Stretches of talk with a title and a summary."""

from __future__ import annotations

from typing import Any

from starlette.responses import Response

from ..view import Page, View

__all__ = ["PAGES"]

EPISODES = "memory_episode_admin"
STEP = 20


async def episodes(view: View) -> Response:
    asked: dict[str, Any] = {
        "query": view.query.get("q", "").strip(),
        "limit": STEP,
        "offset": view.number("offset", 0),
    }
    for name, field in (("from", "time_start"), ("to", "time_end"), ("person", "person_id")):
        if given := view.query.get(name, "").strip():
            asked[field] = given
    listed = await view.ask(EPISODES, "list", **asked, **view.scope)
    progress = await view.ask(EPISODES, "status") if view.grant.may("admin") and not view.partial else None
    template = "_episodes.html" if view.partial else "episodes.html"
    return view.show(template, listed=listed, progress=progress, offset=asked["offset"], step=STEP)


async def episode(view: View) -> Response:
    id_ = view.request.path_params["id"]
    found = await view.ask(EPISODES, "get", episode_id=id_, paragraph_limit=500, **view.scope)
    return view.show("episode.html", found=found, episode=found["episode"])


async def rebuild(view: View) -> Response:
    """Make the episodes of a source, a chat or everything anew, in the background."""
    form = await view.form()
    given = {name: value for name in ("source", "chat_id") if (value := str(form.get(name, "")).strip())}
    await view.ask(EPISODES, "rebuild", **(given or {"all": bool(form.get("all"))}))
    view.say("The episodes are made anew in the background.")
    return view.go("/ui/episodes")


PAGES = (
    Page("/ui/episodes", "episodes", episodes),
    Page("/ui/episodes", "episodes", rebuild, ("POST",)),
    Page("/ui/episodes/{id}", "episodes", episode),
)
