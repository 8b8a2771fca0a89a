"""A question, what is found, and why."""

from __future__ import annotations

from typing import Any

from starlette.responses import Response

from ..view import Page, View

__all__ = ["PAGES"]

MODES = ("search", "hybrid", "time", "episode", "aggregate")
LIMITS = (10, 20, 50)


async def search(view: View) -> Response:
    query, mode = view.query.get("q", "").strip(), view.query.get("mode", "search")
    limit = view.number("limit", 10, 200)
    asked: dict[str, Any] = {"query": query, "mode": mode, "limit": limit, **view.scope}
    for name, field in (("from", "time_start"), ("to", "time_end"), ("as_of", "as_of"), ("person", "person_id")):
        if given := view.query.get(name, "").strip():
            asked[field] = given
    found = await view.ask("search_memory", **asked) if query or (mode == "time" and "time_start" in asked) else None
    return view.show("_hits.html" if view.partial else "search.html", found=found, modes=MODES, limits=LIMITS)


PAGES = (Page("/ui/search", "search", search),)
