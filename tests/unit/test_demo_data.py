"""The conversation that is shipped to show the memory with."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import get_args, get_type_hints

import pytest

from amemorix.frontends.cli.demo import Demo, DemoQuestion, load
from amemorix.language.times import read_time


@pytest.fixture(scope="module")
def demo() -> Demo:
    return load()


def test_ids_are_unique_and_say_where_they_are(demo: Demo) -> None:
    expected = [f"s{i}:{j}" for i, s in enumerate(demo.sessions, 1) for j in range(1, len(s.messages) + 1)]
    assert [message.id for message in demo.messages] == expected


def test_time_goes_on(demo: Demo) -> None:
    times = [message.time for message in demo.messages]
    assert all(earlier < later for earlier, later in pairwise(times))
    assert all(time.tzinfo and time.year == 2025 for time in times)
    assert all(session.start == session.messages[0].time for session in demo.sessions)


def test_it_is_long_and_spread_over_months(demo: Demo) -> None:
    assert len(demo.messages) >= 280
    assert 12 <= len(demo.sessions) <= 15
    assert (demo.messages[-1].time - demo.messages[0].time).days > 200
    assert len({session.source for session in demo.sessions}) == len(demo.sessions)


def test_half_of_it_is_chinese(demo: Demo) -> None:
    chinese = [message for message in demo.messages if re.search("[一-鿿]", message.text)]
    assert 0.4 <= len(chinese) / len(demo.messages) <= 0.6


def test_only_known_people_speak(demo: Demo) -> None:
    names = {person.person_id: person.name for person in demo.people}
    assert len(names) == 5
    assert {(message.person_id, message.speaker) for message in demo.messages} == set(names.items())


def test_questions_try_every_mode(demo: Demo) -> None:
    assert len(demo.questions) == 10
    assert {question.mode for question in demo.questions} == set(get_args(get_type_hints(DemoQuestion)["mode"]))


def test_half_of_the_questions_are_chinese(demo: Demo) -> None:
    assert sum(bool(re.search("[一-鿿]", question.question)) for question in demo.questions) == 5


def test_questions_are_answered_by_what_their_filters_let_through(demo: Demo) -> None:
    messages = {message.id: message for message in demo.messages}
    now = demo.messages[-1].time.timestamp()
    for question in demo.questions:
        args, zone = question.args, demo.messages[0].time.tzinfo
        assert question.expect and len(question.expect) <= args["limit"]
        for message in (messages[id] for id in question.expect):
            assert message.person_id == args.get("person_id", message.person_id)
            if zone and "time_start" in args:
                start = read_time(args["time_start"], now=now, zone=zone, edge="start")
                end = read_time(args["time_end"], now=now, zone=zone, edge="end")
                assert start <= message.time.timestamp() <= end


def test_time_modes_have_a_window_and_the_others_a_query(demo: Demo) -> None:
    for question in demo.questions:
        assert question.mode not in ("time", "hybrid") or "time_start" in question.args
        assert question.mode == "time" or question.args["query"]
