"""What a query says: times, dialogues, orderings and the kind of answer, through the entrance."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from amemorix import AMemorixHostService
from amemorix.clock import FrozenClock
from amemorix.indexes.name_directory import NameDirectory
from amemorix.language.normalise import NAME, NUMBER, TIME
from amemorix.search.query import read_query
from conftest import Open
from entrance import contents, hits, said, told

NOW = datetime(2026, 3, 18, 12, tzinfo=UTC)  # a Wednesday


@pytest.fixture
async def weeks(opened: Open) -> AMemorixHostService:
    """The same kind of thing, told on several days."""
    host = await opened(clock=FrozenClock(NOW.timestamp()))
    await said(host, "c", ("Ada", "I went to the dentist and it hurt.", "2025-07-14T10:00:00Z"))
    await said(host, "c", ("Ada", "I went to the dentist and all was fine.", "2026-03-11T10:00:00Z"))
    await said(host, "c", ("Ada", "I went to the dentist for a check.", "2026-01-05T10:00:00Z"))
    await said(host, "中", ("林澈", "我去看了牙医，很疼", "2025-07-15T10:00:00Z"))
    await said(host, "中", ("林澈", "我去看了牙医，没事", "2026-03-11T11:00:00Z"))
    return host


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("How was the dentist last summer?", "I went to the dentist and it hurt."),
        ("How was the dentist last Wednesday?", "I went to the dentist and all was fine."),
        ("How was the dentist in January?", "I went to the dentist for a check."),
        ("上周三看牙医怎么样", "我去看了牙医，没事"),
        ("去年夏天看牙医怎么样", "我去看了牙医，很疼"),
    ],
)
async def test_a_time_in_the_query_prefers_what_happened_then(
    weeks: AMemorixHostService, query: str, text: str
) -> None:
    first = (await hits(weeks, query, chat_id="c" if query.isascii() else "中"))[0]

    assert first["content"] == text
    assert first["explain"]["signals"]["time"] > 0
    assert first["explain"]["lanes"]["time"]["rank"] == 1


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("When did I first go to the dentist?", "I went to the dentist and it hurt."),
        ("When did I last go to the dentist?", "I went to the dentist and all was fine."),
    ],
)
async def test_first_and_last_are_an_order(weeks: AMemorixHostService, query: str, text: str) -> None:
    assert (await contents(weeks, query, chat_id="c"))[0] == text


async def test_of_a_pasted_dialogue_the_user_is_asked_for(host: AMemorixHostService) -> None:
    await said(
        host, "c", ("Ada", "My cello needs new strings."), ("Bob", "The weather forecast says rain and wind tomorrow.")
    )
    pasted = "user: What did I say about the cello?\nassistant: The weather forecast says rain and wind tomorrow.\nuser: The strings, I mean."

    assert (await contents(host, pasted, chat_id="c"))[0] == "My cello needs new strings."


@pytest.mark.parametrize(
    ("text", "wants"),
    [
        ("Who gave you the cello?", NAME),
        ("Where did she buy it?", NAME),
        ("Which books has he read?", NAME),
        ("How many strings does it have?", NUMBER),
        ("When did she buy it?", TIME),
        ("Why did she sell it?", 0),
        ("谁送的大提琴", NAME),
        ("有几根弦", NUMBER),
        ("什么时候买的", TIME),
        ("cello", 0),
    ],
)
def test_the_answer_that_is_wanted(text: str, wants: int) -> None:
    assert read_query(text, NameDirectory(), None, NOW.timestamp(), UTC).wants == wants


@pytest.mark.parametrize(
    ("text", "keywords"),
    [
        ("cello strings", True),
        ("axolotl", True),
        ("大提琴 琴弦", True),
        ("what about the cello", False),
        ("琴弦断了吗", False),
        ("大提琴的琴弦", False),
        ("Is it blue?", False),
    ],
)
def test_rows_of_words_are_told_from_sentences(text: str, keywords: bool) -> None:
    assert read_query(text, NameDirectory(), None, NOW.timestamp(), UTC).keywords is keywords


@pytest.mark.parametrize(
    ("query", "texts"),
    [
        ("上周三发生了什么？", ["我去看了牙医，没事"]),
        ("3月11日发生了什么", ["我去看了牙医，没事"]),
        ("三天前发生了什么", []),
    ],
)
async def test_a_question_for_a_time_alone_is_answered_by_that_time_alone(
    weeks: AMemorixHostService, query: str, texts: list[str]
) -> None:
    assert await contents(weeks, query, chat_id="中") == texts


async def test_the_limit_does_not_decide_whether_there_is_an_answer(weeks: AMemorixHostService) -> None:
    for limit in (1, 2, 5):
        assert len(await contents(weeks, "what happened last Wednesday?", chat_id="c", limit=limit)) == 1


@pytest.mark.parametrize("query", ["🦄🦄", "。。。", "???"])
async def test_what_is_no_word_finds_nothing(weeks: AMemorixHostService, query: str) -> None:
    assert await contents(weeks, query, chat_id="c") == []


async def test_words_that_stand_for_anybody_are_no_entities(host: AMemorixHostService) -> None:
    likes = [{"subject": "我", "predicate": "喜欢", "object": "郁金香", "confidence": 0.9}]
    await told(host, "我喜欢郁金香", chat_id="c", relations=likes)

    assert await contents(host, "我的房贷利率是多少", chat_id="c", min_confidence=0.2) == []


async def test_relations_of_another_chat_change_no_score(host: AMemorixHostService) -> None:
    def related(*words: str) -> list[dict[str, object]]:
        return [dict(zip(("subject", "predicate", "object"), words, strict=True), confidence=0.9)]

    await told(host, "Marta paddles at dawn.", chat_id="c1", relations=related("Marta", "owns", "Kayak"))
    await told(host, "The Kayak hangs in the shed.", chat_id="c1", relations=related("Kayak", "stands in", "Shed"))
    before = [(hit["content"], hit["score"]) for hit in await hits(host, "Marta", chat_id="c1")]
    for n in range(30):
        await told(host, f"Secret {n}", chat_id="c2", relations=related("Marta", "hides", f"Secret{n}"))

    assert [(hit["content"], hit["score"]) for hit in await hits(host, "Marta", chat_id="c1")] == before
    assert "Marta owns Kayak" in (await hits(host, "Marta", chat_id="c1"))[0]["explain"]["relations"]
