"""What is said of one matter, and puts no other in doubt."""

from __future__ import annotations

from pathlib import Path

import pytest

from amemorix.testing import FrozenClock, memory_host
from test_clauses import DAY, START, held


@pytest.mark.parametrize(
    ("plan", "news"),
    [
        ("下周五我要去医院复查膝盖", "I moved to Porto last week"),
        ("下周五我要去医院复查膝盖", "我上周搬到杭州了"),
        ("I have a knee check-up at the hospital next Friday", "I moved to Porto last week"),
        ("I'm planning to go to Japan next month", "我刚换了工作，现在在腾讯上班"),
        ("下个月我打算去日本旅行", "I started a new job at Bosch"),
    ],
)
@pytest.mark.local_model
async def test_news_of_something_else_puts_nothing_in_doubt(tmp_path: Path, plan: str, news: str) -> None:
    asked = {"query": "Ann 医院 hospital, Japan 日本 plans?", "chat_id": "c"}
    clock = FrozenClock(START + 2 * DAY)
    async with memory_host(tmp_path, clock=clock, embedding={"provider": "local"}) as host:
        before = await held(host, plan)
        assert set(before.values()) == {"active"}, before
        after = await held(host, news, day=1)
        assert {value: after.get(value) for value in before} == before
        facts = (await host.invoke("search_memory", asked))["facts"]
    assert {fact["status"] for fact in facts if fact["value"] in before} <= {"active"}


@pytest.mark.parametrize(
    ("line", "news", "question"),
    [
        ("我爸爸是小学老师", "I work as a nurse", "what are the jobs of Ann's family"),
        ("I'm allergic to peanuts", "my boss Priya lives in Bradford", "what is Ann allergic to"),
        ("I play the cello on Sundays", "I moved to Porto last week", "what does Ann do on weekends"),
        ("I work as a nurse", "my sister Ana works at a bakery in York", "what is Ann's job"),
        ("我每天早上跑步", "我搬到杭州了", "Ann 有什么习惯"),
    ],
)
@pytest.mark.local_model
async def test_a_question_that_finds_both_does_not_doubt_the_earlier(
    tmp_path: Path, line: str, news: str, question: str
) -> None:
    async with memory_host(tmp_path, embedding={"provider": "local"}) as host:
        await held(host, line)
        before = await held(host, news, day=1)
        assert set(before.values()) == {"active"}, before
        answer = await host.invoke("search_memory", {"query": question, "chat_id": "c"})
    assert answer["facts"]
    assert {fact["value"]: fact["status"] for fact in answer["facts"]}.items() <= before.items()
