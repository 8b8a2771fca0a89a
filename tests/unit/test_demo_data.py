"""The conversation that is shipped to show the memory with."""

from __future__ import annotations

import re
from datetime import datetime
from itertools import pairwise
from typing import Any, get_args

import pytest

from amemorix.frontends.cli.demo import conversation
from amemorix.frontends.cli.memory import Mode
from amemorix.language.times import read_time

Row = dict[str, Any]


@pytest.fixture(scope="module")
def demo() -> Row:
    return conversation()


@pytest.fixture(scope="module")
def messages(demo: Row) -> list[Row]:
    return [{**one, "time": datetime.fromisoformat(one["time"])} for s in demo["sessions"] for one in s["messages"]]


def is_chinese(text: str) -> bool:
    return bool(re.search("[一-鿿]", text))


def test_ids_and_times_go_on_over_months(demo: Row, messages: list[Row]) -> None:
    sessions = demo["sessions"]
    expected = [f"s{i}:{j}" for i, s in enumerate(sessions, 1) for j in range(1, len(s["messages"]) + 1)]
    assert [one["id"] for one in messages] == expected and len(messages) >= 280
    times = [one["time"] for one in messages]
    assert all(earlier < later for earlier, later in pairwise(times))
    assert all(time.tzinfo and time.year == 2025 for time in times) and (times[-1] - times[0]).days > 200
    assert all(session["start"] == session["messages"][0]["time"] for session in sessions)
    assert 12 <= len({session["source"] for session in sessions}) == len(sessions) <= 15


def test_only_known_people_speak_half_of_it_in_chinese(demo: Row, messages: list[Row]) -> None:
    names = {person["person_id"]: person["name"] for person in demo["people"]}
    assert len(names) == 5
    assert {(one["person_id"], one["speaker"]) for one in messages} == set(names.items())
    assert 0.4 <= sum(is_chinese(one["text"]) for one in messages) / len(messages) <= 0.6


def test_questions_try_every_mode_in_both_languages(demo: Row) -> None:
    questions = demo["questions"]
    assert len(questions) == 10 and sum(is_chinese(one["question"]) for one in questions) == 5
    assert {one["mode"] for one in questions} == set(get_args(Mode))
    for one in questions:
        assert one["mode"] not in ("time", "hybrid") or "time_start" in one["args"]
        assert one["mode"] == "time" or one["args"]["query"]


def test_questions_are_answered_by_what_their_filters_let_through(demo: Row, messages: list[Row]) -> None:
    known, last = {one["id"]: one for one in messages}, messages[-1]["time"]
    for question in demo["questions"]:
        args, expected = question["args"], [known[one] for one in question["expect"]]
        assert 0 < len(expected) <= args["limit"]
        assert all(one["person_id"] == args.get("person_id", one["person_id"]) for one in expected)
        if "time_start" in args:
            bounds = {
                edge: read_time(args[f"time_{edge}"], now=last.timestamp(), zone=last.tzinfo, edge=edge)
                for edge in ("start", "end")
            }
            assert all(bounds["start"] <= one["time"].timestamp() <= bounds["end"] for one in expected)
