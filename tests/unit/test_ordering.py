"""What a query says about the order of events."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amemorix.search.language.temporal_order import End, Ordering, Relation, read_ordering
from pace import assert_linear


@pytest.mark.parametrize(
    ("text", "end"),
    [
        ("When did she first visit Rome?", "first"),
        ("What was his first job?", "first"),
        ("What is the earliest thing she told me?", "first"),
        ("Where did they initially meet?", "first"),
        ("What did she think of it at first?", "first"),
        ("他最早住在哪里", "first"),
        ("我们第一次见面是什么时候", "first"),
        ("我們第一次見面是什麼時候", "first"),
        ("她的第一份工作是什么", "first"),
        ("他最初想学什么", "first"),
        ("首次提到这件事是哪天", "first"),
        ("她一开始不喜欢谁", "first"),
        ("When did I last see her?", "last"),
        ("What was the last book she read?", "last"),
        ("the last time we spoke", "last"),
        ("What is her latest plan?", "last"),
        ("the most recent trip", "last"),
        ("Where did she most recently work?", "last"),
        ("Which is the newest phone he has?", "last"),
        ("Where is she currently living?", "last"),
        ("What is her current job?", "last"),
        ("Where does he live now?", "last"),
        ("最近一次旅行去了哪里", "last"),
        ("最后一次见面是哪天", "last"),
        ("最後一次見面是哪天", "last"),
        ("上次聊了什么", "last"),
        ("上次去哪了", "last"),
        ("上一次聚会在哪", "last"),
        ("她最新的计划是什么", "last"),
        ("他现在住在哪里", "last"),
        ("他現在住在哪裡", "last"),
        ("目前在做什么工作", "last"),
        ("When did she first meet her current boss?", "first"),
        ("the first and the last time", ""),
    ],
)
def test_which_end_is_asked_for(text: str, end: End) -> None:
    assert read_ordering(text).end == end


@pytest.mark.parametrize(
    "text",
    [
        "What did we do last week?",
        "What is her last name?",
        "What happened last summer?",
        "Where was she last Monday?",
        "the last two days",
        "How long did the trip last?",
        "Will it last longer?",
        "At last she came",
        "a last minute change",
        "Who is in the first aid course?",
        "love at first sight",
        "at first glance",
        "What is her first name?",
        "Does she speak her first language?",
        "the first of May",
        "the first week of June",
        "first-class tickets",
        "First Street",
        "ladies first",
        "at the latest",
        "by now",
        "every now and then",
        "now that she is here",
        "five days from now",
        "what do you know",
        "the electric current is strong",
        "firstly, who is she",
        "lasting friends",
        "第一名是谁",
        "第一时间告诉我",
        "第一手资料",
        "第一个月的房租",
        "最近一段时间在忙什么",
        "最近回家了吗",
        "最后家里谁来了",
        "晚上回家了吗",
        "晚上次数多吗",
        "到目前为止去过几次",
        "从现在起",
        "上周去了哪",
        "去年夏天",
        "",
        "Where does she live?",
    ],
)
def test_what_only_looks_like_an_end(text: str) -> None:
    assert read_ordering(text) == Ordering()


@pytest.mark.parametrize(
    ("text", "relation", "anchor"),
    [
        ("What did Alice do before the trip to Rome?", "before", "the trip to Rome"),
        ("Where did she live prior to moving to Rome?", "before", "moving to Rome"),
        ("What did she do after she quit her job?", "after", "she quit her job"),
        ("Where did they go after the party, and why?", "after", "the party"),
        ("Where did they go after the party and before the wedding?", "after", "the party"),
        ("Where did they go after the party and who paid?", "after", "the party"),
        ("After the trip to Rome, what did Alice do?", "after", "the trip to Rome"),
        ("After the trip to Rome what did Alice do?", "after", "the trip to Rome"),
        ("Before the trip did she call Bob?", "before", "the trip"),
        ("How long after the trip did she quit?", "after", "the trip"),
        ("How long after she was hired did she quit?", "after", "she was hired"),
        ("How many days before the exam did Bob start?", "before", "the exam"),
        ("Did he call after the talk with Mr. Jones?", "after", "the talk with Mr. Jones"),
        ("What was she told after learning of the first of them?", "after", "learning of the first of them"),
        ("What happened after all the guests left?", "after", "all the guests left"),
        ("What does she take after meals?", "after", "meals"),
        ("搬家之前她住在哪里", "before", "搬家"),
        ("她在搬家之前住哪里", "before", "搬家"),
        ("她搬家前住在哪里", "before", "她搬家"),
        ("生完孩子以后她做了什么", "after", "生完孩子"),
        ("生完孩子以後她做了什麼", "after", "生完孩子"),
        ("你还记得手术之后谁来过吗", "after", "手术"),
        ("開會之後誰來過", "after", "開會"),
        ("从北京回来之后", "after", "从北京回来"),
        ("自从搬家以来", "after", "搬家"),
        ("住在北京之前", "before", "住在北京"),
        ("看《三体》之前", "before", "看《三体》"),
        ("昨天聊到，毕业后她去了哪", "after", "毕业"),
        ("去 Rome 之前", "before", "去 Rome"),
        ("婚后住在哪", "after", "婚"),
    ],
)
def test_the_event_that_something_is_seen_from(text: str, relation: Relation, anchor: str) -> None:
    assert read_ordering(text) == Ordering(relation=relation, anchor=anchor)


@pytest.mark.parametrize(
    ("text", "relation"),
    [
        ("What happened before 2023?", "before"),
        ("Where was she before May 2023?", "before"),
        ("What did she do after 6 pm?", "after"),
        ("What did she do after 6:30pm on Friday?", "after"),
        ("after last week", "after"),
        ("What happened after that?", "after"),
        ("After a while she left", "after"),
        ("2023年之前住在哪", "before"),
        ("五月之前去了哪里", "before"),
        ("下午六点以后", "after"),
        ("下午六點以後", "after"),
        ("她上周三之后去了哪", "after"),
        ("那之后呢", "after"),
        ("在此之前呢", "before"),
    ],
)
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


@pytest.mark.parametrize(
    "text",
    [
        "Have you been there before?",
        "the day before yesterday",
        "the day after tomorrow",
        "before long she left",
        "before and after photos",
        "After all, who is she?",
        "Who looks after the dog?",
        "Who is he named after?",
        "Who was he named after his birth?",
        "Does she take after her mother?",
        "day after day",
        "one after the other",
        "after-party snacks",
        "afternoon tea",
        "for a while she was away",
        "It took a while",
        "三天前我说了什么",
        "妈妈三天前说了什么",
        "我前几天说了什么",
        "前天去哪了",
        "後天去哪",
        "她前男友是谁",
        "我前公司在哪",
        "后来呢",
        "以后我要做什么",
        "我之前说过什么",
        "以前的同事",
        "小明以前喜欢什么",
        "房子后面有什么",
        "最后她去了哪里",
        "然后呢",
        "提前订票了吗",
        "她是90后吗",
        "小时候住哪里",
        "什么时候搬家",
        "当时谁在",
        "有时候去哪",
        "平时做什么",
        "两小时",
        "搬家前后",
        "皇后",
    ],
)
def test_what_only_looks_like_a_relation(text: str) -> None:
    found = read_ordering(text)
    assert (found.relation, found.anchor, found.offset_seconds) == ("", "", 0)


@pytest.mark.parametrize(
    "text",
    [
        "What did he eat during the summer camp?",
        "Who called while she was in Rome?",
        "What did she do during her first job?",
        "during the summer",
        "搬家的时候谁帮了忙",
        "第一次搬家的時候誰幫了忙",
        "当我搬家的时候谁帮了忙",
        "住院期间谁来看过她",
        "旅行时遇到了谁",
        "夏天期间",
    ],
)
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
