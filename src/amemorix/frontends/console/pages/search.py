"""A question, what is found, and why."""

from __future__ import annotations

from typing import Any

from starlette.responses import Response

from ..view import Page, View

__all__ = ["PAGES"]

MODES = ("search", "hybrid", "time", "episode", "aggregate")
LIMITS = (10, 20, 50)
HEADINGS = dict(  # noqa: C408 - of a literal the keys would be taken for words to translate, too
    sparse="words", dense="meaning", graph="links", time="time", rank="rank", score="score",
    signals="signals", paragraph="its own words", window="words around it", session="words of its session",
    coverage="share of the words asked for", topic="what its chat is about", tokens="meaning, word by word",
    token_window="meaning of what is around it", length="length", person="who said it", when="speaks of time",
    question="is a question", reply="answers a near line", answer="kind of answer", retention="retention",
    persons="persons", matched_entities="names in it", matched_terms="words in it", time_basis="time from",
    relations="relations", knowledge="kind of knowledge", branches="found by", own="told by the asker",
)  # fmt: skip
"""What the names of `explain` mean."""


async def search(view: View) -> Response:
    query, mode = view.query.get("q", "").strip(), view.query.get("mode", "search")
    limit = view.number("limit", 10, 200)
    asked: dict[str, Any] = {"query": query, "mode": mode, "limit": limit, **view.scope}
    for name, field in (("from", "time_start"), ("to", "time_end"), ("as_of", "as_of"), ("person", "person_id")):
        if given := view.query.get(name, "").strip():
            asked[field] = given
    found = await view.ask("search_memory", **asked) if query or (mode == "time" and "time_start" in asked) else None
    return view.show(
        "_hits.html" if view.partial else "search.html", found=found, modes=MODES, limits=LIMITS, headings=HEADINGS
    )


PAGES = (Page("/ui/search", "search", search),)
