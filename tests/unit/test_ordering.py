"""What a query says about the order of events."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amemorix.search.language.temporal_order import End, Ordering, Relation, read_ordering
from cases import cases
from pace import assert_linear


@pytest.mark.parametrize(("text", "end"), cases("ordering", "which_end_is_asked_for"))
def test_which_end_is_asked_for(text: str, end: End) -> None:
    assert read_ordering(text).end == end


@pytest.mark.parametrize("text", cases("ordering", "only_looks_like_an_end"))
def test_what_only_looks_like_an_end(text: str) -> None:
    assert read_ordering(text) == Ordering()


@pytest.mark.parametrize(("text", "relation", "anchor"), cases("ordering", "seen_from_an_event"))
def test_the_event_that_something_is_seen_from(text: str, relation: Relation, anchor: str) -> None:
    assert read_ordering(text) == Ordering(relation=relation, anchor=anchor)


@pytest.mark.parametrize(("text", "relation"), cases("ordering", "a_time_is_no_event"))
def test_a_time_is_no_event(text: str, relation: Relation) -> None:
    assert read_ordering(text) == Ordering(relation=relation)


HOUR, DAY, WEEK, MONTH, YEAR = 1 / 24, 1, 7, 30, 365


@pytest.mark.parametrize(
    ("text", "relation", "anchor", "days", "span"),
    [
        ("two weeks before the trip", "before", "the trip", 14, WEEK),
        ("What did she do about 3 days after the party?", "after", "the party", 3, DAY),
        ("the day after the party", "after", "the party", 1, DAY),
        ("the night before the exam", "before", "the exam", 1, DAY),
        ("a month after", "after", "", 30, MONTH),
        ("What happened three days later?", "after", "", 3, DAY),
        ("She had been there two years earlier", "before", "", 730, YEAR),
        ("after three days", "after", "", 3, DAY),
        ("half a year after the wedding", "after", "the wedding", 182.5, YEAR / 2),
        ("a year and a half after the wedding", "after", "the wedding", 547.5, YEAR),
        ("a couple of hours before dinner", "before", "dinner", 2 * HOUR, HOUR),
        ("a few days after the party", "after", "the party", 4, 3 * DAY),
        ("三天后", "after", "", 3, DAY),
        ("她三天后要去哪", "after", "", 3, DAY),
        ("妈妈三个月以后要去哪", "after", "", 90, MONTH),
        ("半年後", "after", "", 182.5, YEAR / 2),
        ("一个半月后", "after", "", 45, MONTH),
        ("手术两周后她怎么样", "after", "手术", 14, WEEK),
        ("手術後兩週她怎麼樣", "after", "手術", 14, WEEK),
        ("手术后的第三天", "after", "手术", 2, DAY),
        ("搬家前一天", "before", "搬家", 1, DAY),
        ("会议前两个小时", "before", "会议", 2 * HOUR, HOUR),
        ("结婚二十年后", "after", "结婚", 7300, YEAR),
        ("搬家几天后", "after", "搬家", 4, 3 * DAY),
    ],
)  # fmt: skip
def test_how_far_from_the_event(text: str, relation: Relation, anchor: str, days: float, span: float) -> None:
    found = read_ordering(text)
    assert (found.relation, found.anchor) == (relation, anchor)
    assert timedelta(seconds=found.offset_seconds) == timedelta(days=days)
    assert timedelta(seconds=found.offset_span) == timedelta(days=span)


@pytest.mark.parametrize("text", cases("ordering", "only_looks_like_a_relation"))
def test_what_only_looks_like_a_relation(text: str) -> None:
    found = read_ordering(text)
    assert (found.relation, found.anchor, found.offset_seconds) == ("", "", 0)


@pytest.mark.parametrize("text", cases("ordering", "meanwhile"))
def test_what_goes_on_meanwhile_is_neither_before_nor_after(text: str) -> None:
    assert read_ordering(text) == Ordering()


def test_a_person_is_no_event() -> None:
    assert read_ordering("林澈之前住在哪里").anchor == "林澈"
    assert read_ordering("林澈之前住在哪里", persons=["林澈"]) == Ordering()
    assert read_ordering("林澈搬家之前住在哪里", persons=["林澈"]).anchor == "林澈搬家"


def test_words_about_the_anchor_say_nothing_about_the_end() -> None:
    assert read_ordering("What did she do after her first job?").end == ""
    assert read_ordering("What was the first thing she did after she moved?").end == "first"
    assert read_ordering("第一次搬家之前住在哪").end == ""


PIECES = [*"ab 三天前后时的之在,.?", "before ", " after ", "two days", "last ", "first", "当"]


@given(st.lists(st.sampled_from(PIECES), max_size=30).map("".join))
def test_the_anchor_stands_in_the_text(text: str) -> None:
    found = read_ordering(text)
    assert found.anchor in text
    assert found.offset_seconds >= 0


@pytest.mark.parametrize(
    "piece",
    [
        "x",
        " ",
        "after ",
        "before the ",
        "a week after ",
        "1",
        "a ",
        "之前",
        "我前",
        "三天前",
        "在",
        "时",
        "的时候",
        "last ",
        "first ",
        "三",
        "\n",
    ],
)
def test_the_work_grows_with_the_text(piece: str) -> None:
    assert_linear(lambda size: read_ordering((piece * size)[:size]), 1_000, 10_000)


@pytest.mark.parametrize("unit", ["1-", "1.", "may ", "a ", "two days "])
def test_the_work_grows_with_the_anchor(unit: str) -> None:
    assert_linear(lambda size: read_ordering(f"before {(unit * size)[:size]}x"), 38, 380)
