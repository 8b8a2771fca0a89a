"""Corrections as people type them: the right line is found, no other is touched, and what takes its place reads well."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from amemorix import AMemorixHostService
from conftest import Open
from entrance import refused, said
from test_correction import ADMIN

DATA = Path(__file__).parents[2] / "data"
CASES: list[dict[str, Any]] = json.loads((DATA / "corrections.json").read_text("utf-8"))
"""`by` says `say` in a chat of `lines`: `target` are the lines that are meant (none: it asks, or only adds what is said),
`new` the sentences that may take their place."""

SHORT: list[dict[str, Any]] = json.loads((DATA / "corrections_short.json").read_text("utf-8"))
"""The same of short sentences, which may share no word with the line: what takes its place `holds` these words."""

BESIDE: list[dict[str, Any]] = json.loads((DATA / "corrections_beside.json").read_text("utf-8"))
"""`by` says `say` in a chat of `lines`, each with what may become of it: `=` for as it is, nothing for left out. `refused`:
it corrects nothing."""


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


@pytest.mark.local_model
async def test_a_short_correction_changes_the_line_that_it_contradicts(opened: Open, local_model: str) -> None:
    host = await opened(embedding={"provider": "local", "model_name": local_model})
    for number, case in enumerate(SHORT):
        await said(host, f"s{number}", *((case["by"], line) for line in case["lines"]))
    await host.settle()
    ends: Counter[tuple[str, str]] = Counter()
    for number, case in enumerate(SHORT):
        given = {"action": "preview", "text": case["say"], "chat_id": f"s{number}", "person_id": case["by"]}
        plan = await host.invoke(ADMIN, given)
        meant = {case["lines"][place] for place in case["target"]}
        changed = {one["content"]: one["becomes"] for one in plan.get("replacements", ())}
        assert all(case["holds"].lower() in new.lower() for old, new in changed.items() if old in meant), case
        end = "wrong" if changed.keys() - meant else "right" if changed or not meant else "missed"
        ends[case["set"], end] += 1
    assert ends["short", "right"] >= 0.75 * (ends["short", "right"] + ends["short", "missed"]), ends
    assert ends["short", "wrong"] == 0 and ends["unrelated", "wrong"] <= 2, ends


async def test_what_is_about_something_else_stays(opened: Open) -> None:
    """Each line beside the others, and alone, where a correction is the likeliest to take it for the one that is meant."""
    host = await opened()
    cases = BESIDE + [{**case, "lines": [line]} for case in BESIDE for line in case["lines"]]
    for number, case in enumerate(cases):
        await said(host, f"b{number}", *((who, text) for who, text, _ in case["lines"]))
    await host.settle()
    wrong: list[tuple[str, str, str | None]] = []
    for number, case in enumerate(cases):
        given = {"action": "preview", "text": case["say"], "chat_id": f"b{number}", "person_id": case["by"]}
        plan = await host.invoke(ADMIN, given)
        if case.get("refused"):
            if not any(reason in plan.get("error", "") for reason in ("corrects nothing", "cannot be read")):
                wrong.append((case["say"], "", plan.get("note")))
            continue
        changed = {one["content"]: one["becomes"] for one in plan.get("replacements", ())}
        for _, text, wanted in case["lines"]:
            new = changed.get(text, "=")
            if new not in wanted and not (new == plan["note"] and "" in wanted):
                wrong.append((case["say"], text, new))
    assert len(wrong) <= 0.08 * len(cases), wrong


@pytest.mark.parametrize("text", ["good morning", "谢谢", "what time is it?", "你在哪里？"])
async def test_what_states_nothing_is_no_correction(host: AMemorixHostService, text: str) -> None:
    await said(host, "g", ("Robin", "I live in Leeds"))
    await refused(host, ADMIN, {"action": "preview", "text": text, "chat_id": "g", "person_id": "Robin"}, "text")


async def test_a_value_finds_its_line_without_a_model(host: AMemorixHostService) -> None:
    await said(host, "g", ("Robin", "rent is 900"), ("Robin", "I have two cats"), ("Robin", "my class is on mondays"))
    await host.settle()
    given = {"action": "preview", "text": "it went up to 950", "chat_id": "g", "person_id": "Robin"}
    plan = await host.invoke(ADMIN, given)
    assert [(one["content"], one["becomes"]) for one in plan["replacements"]] == [("rent is 900", "rent is 950")]
    assert plan["confidence"] == 0.75


def plain(text: str) -> str:
    return text.strip().rstrip(".。!！").strip().lower()
