"""What follows from news: profiles, and the graph, go with the facts."""

from __future__ import annotations

from typing import Any

import pytest

from amemorix import AMemorixHostService
from amemorix.testing import FrozenClock, ScriptedChat
from conftest import Open
from entrance import found

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
        await self.host.settle(120)
        self.clock.advance(DAY)

    async def facts(self, **args: Any) -> list[dict[str, Any]]:
        return (await self._asked("memory_fact_admin", "list", limit=1000, **args))["items"]

    async def profile(self, person: str) -> str:
        self.clock.advance(3600)
        await self.host.settle(120)
        answer = await self.host.invoke("get_person_profile", {"person_id": f"id-{person}"})
        assert answer["success"], answer
        return answer["summary"]

    async def relations(self, node: str, **args: Any) -> dict[tuple[str, str], float | None]:
        answer = await self._asked("memory_graph_admin", "node_detail", node=node, **args)
        return {(r["predicate"], r["object"]): r["ended_at"] for r in answer["relations"]}

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
        ("I live in Lisbon", "I'm in Paris now, moved here for good", "residence", "Lisbon", "Paris"),
        ("我住在杭州", "我搬家了，现在在苏州", "residence", "杭州", "苏州"),
        ("我住在杭州", "我周日搬到苏州了", "residence", "杭州", "苏州"),
        ("I'm 29 years old", "I turned 30 yesterday", "age", "29", "30"),
        ("我今年29岁", "我昨天满30岁了", "age", "29", "30"),
        ("I am vegetarian", "I eat meat again", "diet", "vegetarian", ""),
        ("我吃素", "我又吃肉了", "diet", "素食", ""),
        ("我在腾讯上班", "我从腾讯离职了", "workplace", "腾讯", ""),
        ("I work at Figma", "I quit my job at Figma", "workplace", "Figma", ""),
        ("I'm married to Raj", "I broke up with Raj", "spouse", "Raj", ""),
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


FOLLOWED = [
    ("我在字节跳动上班", "我入职腾讯了", ("工作于", "字节跳动"), ("加入", "腾讯")),
    ("我在腾讯上班", "我从腾讯离职了", ("工作于", "腾讯"), None),
    ("我住在杭州", "我搬家了，现在在苏州", ("住在", "杭州"), None),
    ("我住在杭州", "我搬到苏州了", ("住在", "杭州"), ("搬到", "苏州")),
    ("我不吃香菜", "我现在能吃香菜了", ("讨厌", "香菜"), None),
    ("我喜欢咖啡", "我不喜欢咖啡了", ("喜欢", "咖啡"), None),
    ("I work at Figma", "I quit my job at Figma", ("works at", "Figma"), None),
    ("I live in Lisbon", "I moved to Stockholm on Sunday", ("lives in", "Lisbon"), ("moved to", "Stockholm")),
    ("I'm married to Raj", "I broke up with Raj", ("married to", "Raj"), None),
    ("I'm engaged to Raj", "I broke up with Raj", ("engaged to", "Raj"), None),
    ("I love coffee", "I don't like coffee any more", ("likes", "coffee"), None),
]


@pytest.mark.parametrize(("before", "news", "over", "now"), FOLLOWED)
async def test_the_graph_follows_the_facts(
    talk: Talk, before: str, news: str, over: tuple[str, str], now: tuple[str, str] | None
) -> None:
    await talk.say("Ada", before)
    assert (await talk.relations("Ada"))[over] is None
    await talk.say("Ada", news)
    at = await talk.relations("Ada")
    assert START - 30 * DAY < (at[over] or 0) <= talk.clock.now()
    if now is not None:
        assert at[now] is None


async def test_a_relation_that_is_over_is_marked_wherever_it_is_told(talk: Talk) -> None:
    await talk.say("Ada", "I work at Figma")
    await talk.say("Ada", "I live in Oslo")
    await talk.say("Ada", "I quit my job at Figma")
    ended = (await talk.relations("Ada"))[("works at", "Figma")]
    assert ended == START + 2 * DAY
    edge = await talk._asked("memory_graph_admin", "edge_detail", source="Ada", target="Figma")
    assert edge["edge"]["ended_at"] == edge["relations"][0]["ended_at"] == ended
    page = await talk._asked("memory_graph_admin", "get_graph")
    assert {edge["label"]: edge["ended_at"] for edge in page["edges"]} == {"works at": ended, "lives in": None}
    hits = (await found(talk.host, "Figma", chat_id="c"))["hits"]
    told = next(h["explain"] for h in hits if h["content"] == "I work at Figma")
    assert "Ada works at Figma" in told["relations"]
    assert told["ended_relations"] == {"Ada works at Figma": ended}
    hits = (await found(talk.host, "Figma", chat_id="c", as_of=START + DAY / 2))["hits"]
    assert all("ended_relations" not in h["explain"] for h in hits)


async def test_an_end_is_taken_back_with_what_told_it(talk: Talk) -> None:
    await talk.say("Ada", "I work at Figma")
    await talk.say("Ada", "I quit my job at Figma")
    assert (await talk.relations("Ada"))[("works at", "Figma")] is not None
    hit = next(h for h in (await found(talk.host, "quit Figma", chat_id="c"))["hits"] if "quit" in h["content"])
    gone = await talk._asked("memory_delete_admin", "execute", mode="paragraph", selector=hit["id"])
    await talk.host.settle(120)
    assert (await talk.relations("Ada"))[("works at", "Figma")] is None
    await talk._asked("memory_delete_admin", "restore", operation_id=gone["operation_id"])
    await talk.host.settle(120)
    assert (await talk.relations("Ada"))[("works at", "Figma")] is not None


async def test_an_end_told_in_another_chat_is_not_seen(talk: Talk) -> None:
    await talk.say("Ada", "I work at Figma", chat="one")
    await talk.say("Ada", "I work at Figma", chat="two")
    await talk.say("Ada", "I quit my job at Figma", chat="two")
    over = ("works at", "Figma")
    assert (await talk.relations("Ada", chat_id="one"))[over] is None
    assert (await talk.relations("Ada", chat_id="two"))[over] is not None
    assert (await talk.relations("Ada"))[over] is None


async def test_what_is_said_again_holds_again(talk: Talk) -> None:
    for text in ("I live in Oslo", "I moved to Rome", "I moved back to Oslo"):
        await talk.say("Ada", text)
    at = await talk.relations("Ada")
    assert at[("moved to", "Oslo")] is None
    assert at[("moved to", "Rome")] is not None


async def test_only_the_relations_of_whom_the_fact_is_about_end(talk: Talk) -> None:
    await talk.say("Bo", "hello")
    await talk.say("Ada", "Bo works at Figma")
    await talk.say("Ada", "I work at Figma")
    await talk.say("Ada", "I quit my job at Figma")
    assert (await talk.relations("Bo"))[("works at", "Figma")] is None
    assert (await talk.relations("Ada"))[("works at", "Figma")] is not None


async def test_what_is_to_come_is_not_told_as_done(talk: Talk) -> None:
    await talk.say("Ada", "I'm moving to Rome in June")
    await talk.say("Ada", "I'm engaged to Liz")
    answer = await talk.host.invoke("memory_graph_admin", {"action": "get_graph"})
    assert {p for edge in answer["edges"] for p in edge["predicates"]} == {"engaged to"}


async def test_a_question_of_the_present_is_not_led_over_what_is_over(opened: Open) -> None:
    def reads(task: str, user: str) -> dict[str, Any]:
        works = {"subject": "Ada", "predicate": "works_at", "object": "Figma", "evidence": [1]}
        return {"relations": [works] if "Ada: I work at Figma" in user else []}

    clock = FrozenClock(START)
    talk = Talk(await opened(clock=clock, chat=ScriptedChat(reads), episode={"model_quiet_minutes": 0}), clock)
    await talk.say("Ada", "I work at Figma")
    await talk.say("Bo", "the canteen of Figma serves noodles")

    async def led(query: str) -> bool:
        hits = (await found(talk.host, query, chat_id="c", limit=10))["hits"]
        return any("graph" in h["explain"]["lanes"] for h in hits if "noodles" in h["content"])

    assert await led("what does Ada eat")
    await talk.say("Ada", "I quit my job at Figma")
    assert not await led("what does Ada eat")
    assert await led("what did Ada eat before")
