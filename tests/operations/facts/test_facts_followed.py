"""What follows from news: profiles go with the facts."""

from __future__ import annotations

from typing import Any

import pytest

from amemorix import AMemorixHostService
from amemorix.testing import FrozenClock
from conftest import Open

START = 1_680_000_000.0
DAY = 86_400.0


class Talk:
    """A memory in which people talk, a day after each line."""

    def __init__(self, host: AMemorixHostService, clock: FrozenClock) -> None:
        self.host, self.clock = host, clock

    async def say(self, speaker: str, text: str, chat: str = "c") -> None:
        message = {"speaker": speaker, "person_id": f"id-{speaker}", "text": text}
        answer = await self.host.invoke("ingest_messages", {"chat_id": chat, "messages": [message]})
        assert answer["success"], answer
        await self.host.settle(600)
        self.clock.advance(DAY)

    async def facts(self, **args: Any) -> list[dict[str, Any]]:
        return (await self._asked("memory_fact_admin", "list", limit=1000, **args))["items"]

    async def profile(self, person: str) -> str:
        self.clock.advance(3600)
        await self.host.settle(600)
        answer = await self.host.invoke("get_person_profile", {"person_id": f"id-{person}"})
        assert answer["success"], answer
        return answer["summary"]

    async def _asked(self, component: str, action: str, **args: Any) -> dict[str, Any]:
        answer = await self.host.invoke(component, {"action": action, **args})
        assert answer["success"], answer
        return answer


@pytest.fixture
async def talk(opened: Open) -> Talk:
    clock = FrozenClock(START)
    return Talk(await opened(clock=clock), clock)


@pytest.mark.parametrize(
    ("before", "news", "attribute", "old", "new"),
    [
        ("I live in Lisbon", "I moved to Stockholm on Sunday", "residence", "Lisbon", "Stockholm"),
        ("我住在杭州", "我周日搬到苏州了", "residence", "杭州", "苏州"),
        ("我在腾讯上班", "我从腾讯离职了", "workplace", "腾讯", ""),
        ("I work at Figma", "I quit my job at Figma", "workplace", "Figma", ""),
        ("我和小红结婚了", "我离婚了", "spouse", "小红", ""),
    ],
)
async def test_news_end_what_they_contradict(
    talk: Talk, before: str, news: str, attribute: str, old: str, new: str
) -> None:
    await talk.say("Ada", before)
    await talk.say("Ada", news)
    stands = {(f["value"], f["status"]) for f in await talk.facts(attribute=attribute) if not f["denied"]}
    assert stands == {(old, "superseded"), (new, "active")} - {("", "active")}


@pytest.mark.parametrize(
    ("before", "news", "gone", "there"),
    [
        ("我不吃香菜", "我现在能吃香菜了", "忌口：香菜", "不再忌口：香菜"),
        ("I don't eat pork", "I can eat pork again", "avoids: pork", "no longer avoids: pork"),
    ],
)
async def test_a_denied_avoidance_is_no_avoidance(talk: Talk, before: str, news: str, gone: str, there: str) -> None:
    await talk.say("Ada", before)
    await talk.say("Ada", news)
    text = await talk.profile("Ada")
    assert there in text
    assert gone not in text.replace(there, "")


@pytest.mark.parametrize(
    ("said", "told", "own", "other"),
    [
        (("我住在上海", "我搬到北京了"), "林澈住在广州", "住处：北京（自己说的，与别人说的矛盾）", "住处：广州（别人说的，有矛盾）"),
        (("我住在北京",), "林澈住在广州", "住处：北京（自己说的，与别人说的矛盾）", "住处：广州（别人说的，有矛盾）"),
        (("I live in Oslo",), "林澈 lives in Rome", "residence: Oslo (their own word; others say otherwise)",
         "residence: Rome (said by others; contradicted)"),
    ],
)  # fmt: skip
async def test_in_a_conflict_the_persons_own_word_comes_first(
    talk: Talk, said: tuple[str, ...], told: str, own: str, other: str
) -> None:
    for text in said:
        await talk.say("林澈", text)
    talk.clock.advance(300 * DAY)
    await talk.say("老王", told)
    assert {f["status"] for f in await talk.facts(person_id="id-林澈")} >= {"conflicted"}
    text = await talk.profile("林澈")
    assert 0 < text.find(own) < text.find(other)
    assert "“林澈住在广州”" not in text and "；林澈住在广州" not in text


async def test_every_change_that_talk_makes_can_be_taken_back(talk: Talk) -> None:
    await talk.say("林澈", "我住在上海")
    await talk.say("林澈", "我搬到北京了")
    await talk.say("老王", "林澈住在广州")
    facts = {f["value"]: f for f in await talk.facts(person_id="id-林澈")}
    changes = [(value, t) for value, fact in facts.items()
               for t in (await talk._asked("memory_fact_admin", "get", fact_id=fact["id"]))["transitions"]]  # fmt: skip
    assert {(value, t["was"], t["became"]) for value, t in changes} == {
        ("上海", "", "active"), ("上海", "active", "superseded"), ("北京", "", "active"), ("北京", "active", "conflicted"),
        ("广州", "", "conflicted"),
    }  # fmt: skip
    assert all(t["undo_id"] for _, t in changes)
    undo = next(t["undo_id"] for value, t in changes if (value, t["became"]) == ("北京", "conflicted"))
    answer = await talk.host.invoke("memory_fact_admin", {"action": "undo", "undo_id": undo})
    assert answer["success"], answer
    assert {f["value"]: f["status"] for f in await talk.facts(person_id="id-林澈")} == {
        "上海": "superseded", "北京": "active", "广州": "retracted",
    }  # fmt: skip
