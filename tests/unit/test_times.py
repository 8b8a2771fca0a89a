"""Times as people write them."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta, timezone
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amemorix.language.times import (
    Edge,
    Span,
    asks_when,
    date_words,
    find_span,
    format_time,
    has_time_words,
    is_question,
    local_zone,
    read_time,
)
from cases import cases

ZONE = ZoneInfo("Asia/Shanghai")
NOW = datetime(2025, 3, 12, 10, 45, 30, tzinfo=ZONE).timestamp()  # a Wednesday


def read(value: Any, edge: Edge = "start") -> float:
    return read_time(value, now=NOW, zone=ZONE, edge=edge)


def both(value: Any) -> tuple[str, str]:
    """Start and end as local time; the end is shown to the minute, since it is the last instant of something."""
    start, end = (datetime.fromtimestamp(math.floor(read(value, edge)), ZONE) for edge in ("start", "end"))
    return f"{start:%Y-%m-%d %H:%M:%S}", f"{end:%Y-%m-%d %H:%M}"


@pytest.mark.parametrize(("value", "seconds"), cases("times", "instants"))
@pytest.mark.parametrize("edge", ["start", "end"])
def test_an_instant_has_one_reading(value: Any, seconds: float, edge: Edge) -> None:
    assert read(value, edge) == seconds


@pytest.mark.parametrize(("value", "start", "end"), cases("times", "dates"))
def test_dates(value: str, start: str, end: str) -> None:
    assert both(value) == (start, end)


@pytest.mark.parametrize(("value", "start", "end"), cases("times", "english_words"))
def test_english_words(value: str, start: str, end: str) -> None:
    assert both(value) == (start, end)


@pytest.mark.parametrize(("value", "start", "end"), cases("times", "chinese_words"))
def test_chinese_words(value: str, start: str, end: str) -> None:
    assert both(value) == (start, end)


@pytest.mark.parametrize(
    ("value", "following"),
    [("2025-03-01", "2025-03-02"), ("2025年3月", "2025-04-01"), ("2025-03-01 10:30", "2025-03-01 10:31"),
     ("上周", "2025-03-10"), ("2024", "2025-01-01"), ("未来两周", "2025-03-31"), ("1969-12-31", "1970-01-01")],
)  # fmt: skip
def test_there_is_no_instant_between_a_span_and_the_next(value: str, following: str) -> None:
    assert read(value, "end") == math.nextafter(read(following), -math.inf)


def test_an_instant_ends_where_it_starts() -> None:
    instant = "2025-03-01T23:59:59.999999+08:00"
    assert read(instant, "end") == read(instant)


def test_a_day_follows_daylight_saving() -> None:
    zone = ZoneInfo("Europe/Berlin")
    start, end = (read_time("2025-03-30", now=NOW, zone=zone, edge=edge) for edge in ("start", "end"))
    assert round(end - start) == 23 * 3600


def test_hours_ago_are_elapsed_hours() -> None:
    zone = ZoneInfo("Europe/Berlin")
    now = datetime(2025, 3, 30, 4, 0, tzinfo=zone).timestamp()
    assert read_time("3 hours ago", now=now, zone=zone, edge="start") == now - 3 * 3600


@pytest.mark.parametrize(
    "value",
    [
        True, None, [], {}, b"2025", math.nan, math.inf, -math.inf, -1, -0.5, 1e20, 10**400, "", "  ", "，", "soon",
        "not a time", "-5", "1e9", "1e400", "9" * 40, "9" * 5000, "10000-01-01", "0000-01-01", "2025-13-01", "2025-02-30",
        "2025-03-01 25:00", "2025-03-01 24:30", "2025-03-01 10:60", "2025-03-01T10:00+99:00", "二月三十日", "13月", "99点",
        "9999 years ago", "十年前的", "nan", "inf", "٣ days ago", "20251399", "半秒前",
        "half a weekend ago",
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_refused_with_advice(value: Any) -> None:
    with pytest.raises(ValueError, match="ISO 8601"):
        read(value)


WORDS = """
    last next 3 999999 two half an few days weeks weekend second ago in now today 2025 13 32 w10 may summer pm t z : - / . +08:00
    年 月 日 上 下 周 三 十 百 个 前 后 半 昨 天 晚 点 分 秒 ſ K １ 〇 ²
"""
FRAGMENTS = st.sampled_from(WORDS.split())
ANYTHING = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.binary(),
    st.text(),
    st.lists(st.text()),
    st.lists(FRAGMENTS, max_size=8).map("".join),
    st.lists(FRAGMENTS, max_size=8).map(" ".join),
)


@settings(max_examples=500, deadline=None)
@given(value=ANYTHING, edge=st.sampled_from(["start", "end"]), now=st.floats(0, 4e9))
def test_only_value_errors_come_out(value: Any, edge: Edge, now: float) -> None:
    try:
        seconds = read_time(value, now=now, zone=ZONE, edge=edge)
    except ValueError as error:
        assert "ISO 8601" in str(error)
    else:
        assert math.isfinite(seconds)


@settings(max_examples=300, deadline=None)
@given(epoch=st.integers(0, 250_000_000_000), hours=st.integers(-12, 14))
def test_what_is_formatted_is_read_back(epoch: int, hours: int) -> None:
    zone = timezone(timedelta(hours=hours))
    assert read_time(format_time(epoch, zone), now=NOW, zone=UTC, edge="end") == epoch


@settings(max_examples=300, deadline=None)
@given(parts=st.lists(st.one_of(FRAGMENTS, st.text(max_size=5)), max_size=30))
def test_spans_are_quoted_from_the_text_in_order(parts: list[str]) -> None:
    text = " ".join(parts)
    reached = 0
    for words, span in find_span(text, now=NOW, zone=ZONE):
        reached = text.index(words, reached) + len(words)
        assert span.start <= span.end


def spans(text: str) -> list[str]:
    return [words for words, _ in find_span(text, now=NOW, zone=ZONE)]


def test_spans_in_english_text() -> None:
    text = "We met yesterday and on Friday at 3pm. He sat down. I may go in May 2024, since 2019 or 2 hours ago."
    assert spans(text) == ["yesterday", "on Friday at 3pm", "in May 2024", "since 2019", "2 hours ago"]


def test_spans_in_chinese_text() -> None:
    text = "昨天和Nancy去的，上周三下午三点也去过，三天前说的2025年5月8日那件事，周末再说"
    assert spans(text) == ["昨天", "上周三下午三点", "三天前", "2025年5月8日", "周末"]


def test_a_span_has_its_edges() -> None:
    assert find_span("Yesterday!", now=NOW, zone=ZONE) == [("Yesterday", Span(read("昨天"), read("昨天", "end")))]


@pytest.mark.parametrize(
    "text",
    ["目前天气好", "以前天天来", "晚上月亮很圆", "一周天气", "每周一开会", "this may help", "every Monday", "三点建议"],
)
def test_words_that_only_look_like_times(text: str) -> None:
    assert spans(text) == []


@pytest.mark.parametrize(
    "text",
    ["yesterday we left", "I moved 3 years ago", "since March it rains", "it was in 2019", "at 18:30", "last summer",
     "昨天去了", "上周的事", "去年搬家", "5月8日", "周末见", "两小时前", "最近很忙", "晚上八点"],
)  # fmt: skip
def test_texts_with_time_words(text: str) -> None:
    assert has_time_words(text)


@pytest.mark.parametrize("text", ["I like tea", "march on", "you may", "我喜欢喝茶", "前面有家店", "上面", ""])
def test_texts_without_time_words(text: str) -> None:
    assert not has_time_words(text)


@pytest.mark.parametrize(
    "text",
    ["When did she leave?", "how long was it", "What date is it", "which year", "什么时候开业", "何时", "几点见", "哪天去的",
     "哪年毕业", "等了多久", "多长时间"],
)  # fmt: skip
def test_questions_about_time(text: str) -> None:
    assert asks_when(text)


@pytest.mark.parametrize("text", ["Who was there?", "where is it", "whenever", "谁去了", "为什么", "多少钱"])
def test_questions_about_other_things(text: str) -> None:
    assert not asks_when(text)


@pytest.mark.parametrize(
    "text",
    ["Really?", "真的？", 'He said "ok?" ', "what?! 👍🏽", "你去吗", "你呢～", "在干什么", "好不好？😂", "没什么？"],
)
def test_questions(text: str) -> None:
    assert is_question(text)


@pytest.mark.parametrize("text", ["Really.", "好的", "吗啡", "没什么", "就这么", "Why? Because.", "?" * 50 + "x", ""])
def test_statements(text: str) -> None:
    assert not is_question(text)


def test_dates_in_words() -> None:
    assert date_words(NOW, ZONE, cjk=False) == "12 March 2025"
    assert date_words(NOW, ZONE, cjk=True) == "2025年3月12日"


def test_the_last_instant_of_a_day_is_told_as_that_day() -> None:
    end = read("2025-03-01", "end")
    assert format_time(end, ZONE) == "2025-03-01T23:59:59+08:00"
    assert date_words(end, ZONE, cjk=False) == "1 March 2025"


def test_the_last_day_is_formatted_anywhere() -> None:
    end = read_time("9999-12-31", now=NOW, zone=UTC, edge="end")
    assert format_time(end, ZONE) == "9999-12-31T23:59:59+00:00"


def test_the_local_zone_is_the_machines() -> None:
    summer, winter = (datetime(2025, month, 1, tzinfo=UTC) for month in (7, 1))
    for moment in (summer, winter):
        assert moment.astimezone(local_zone()).utcoffset() == moment.astimezone().utcoffset()
        assert moment.astimezone(local_zone()).timestamp() == moment.timestamp()


@pytest.mark.parametrize("offset", [14, 8, 0, -12])
@pytest.mark.parametrize(
    "value", ["0001-01-01", "0001-01-01T00:00:00", "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-12:00"]
)
def test_the_ends_of_the_calendar_can_be_shown(value: str, offset: int) -> None:
    zone = timezone(timedelta(hours=offset))
    for edge in ("start", "end"):
        try:
            at = read_time(value, now=NOW, zone=zone, edge=edge)
        except ValueError as exc:
            assert value in str(exc) or value.lower() in str(exc)
            continue
        assert format_time(at, zone)[:4] in ("0001", "9999")
        assert date_words(at, ZONE, cjk=False).endswith((" 1", " 9999"))
