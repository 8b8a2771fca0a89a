"""Corrections as people type them: the right line is found, no other is touched, and what takes its place reads well."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

from conftest import Open
from entrance import said
from test_correction import ADMIN

CASES: list[dict[str, Any]] = json.loads((Path(__file__).parents[2] / "data" / "corrections.json").read_text("utf-8"))
"""`by` says `say` in a chat of `lines`: `target` are the lines that are meant (none: it asks, or only adds what is said),
`new` the sentences that may take their place."""


async def test_the_line_that_is_meant_is_found_and_reads_well_afterwards(opened: Open) -> None:
    host = await opened()
    for number, case in enumerate(CASES):
        await said(host, f"c{number}", *map(tuple, case["lines"]))
    await host.settle()
    ends: Counter[str] = Counter()
    garbled: list[tuple[str, str]] = []
    for number, case in enumerate(CASES):
        given = {"action": "preview", "text": case["say"], "chat_id": f"c{number}", "person_id": case["by"]}
        plan = await host.invoke(ADMIN, given)
        meant = {case["lines"][place][1] for place in case["target"]}
        changed = {one["content"]: one["becomes"] for one in plan.get("replacements", ())}
        end = "wrong" if changed.keys() - meant else "right" if changed or not meant else "missed"
        ends[end] += 1
        if end == "right":
            wanted = {plain(text) for text in case["new"]}
            garbled += [(case["say"], new) for new in changed.values() if plain(new) not in wanted]
    assert ends["right"] >= 0.75 * len(CASES), ends
    assert ends["wrong"] <= 0.02 * len(CASES), ends
    assert garbled == []


def plain(text: str) -> str:
    return text.strip().rstrip(".。!！").strip().lower()
