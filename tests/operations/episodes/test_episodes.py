"""Episodes: grouped by pauses and topics, and the same whether made at once or step by step."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from amemorix import AMemorixHostService
from amemorix.testing import memory_host
from conftest import Open
from entrance import contents, hits, rows, said, told

HOUR, DAY = 3_600.0, 86_400.0
START = 1_680_000_000.0


async def episodes(host: AMemorixHostService) -> list[dict[str, Any]]:
    """Every episode by time, with its paragraphs."""
    await host.settle(600)
    held: dict[int, list[int]] = {}
    for episode, paragraph in rows(
        host, "select episode, paragraph from episode_paragraphs order by episode, position"
    ):
        held.setdefault(episode, []).append(paragraph)
    found = rows(
        host,
        "select e.id, title, summary, event_start, event_end, s.name from episodes e join sources s on s.id = e.source",
    )
    return sorted(
        (
            {"title": title, "summary": summary, "start": start, "end": end, "source": source, "paragraphs": held[id_]}
            for id_, title, summary, start, end, source in found
        ),
        key=lambda one: (one["source"], one["paragraphs"]),
    )


def turns(*times: float, words: str = "kite") -> list[tuple[str, str, float]]:
    return [("Ada", f"{words} at {at}", START + at) for at in times]


async def test_a_pause_of_more_than_a_day_ends_an_episode(host: AMemorixHostService) -> None:
    await said(host, "c", *turns(0, HOUR, 25 * HOUR, 25 * HOUR + DAY + 1))
    found = await episodes(host)

    assert [len(one["paragraphs"]) for one in found] == [3, 1]
    assert (found[0]["start"], found[0]["end"]) == (START, START + 25 * HOUR)


async def test_the_pause_is_a_setting(tmp_path: Path) -> None:
    async with memory_host(tmp_path, episode={"gap_hours": 0.5}) as host:
        await said(host, "c", *turns(0, HOUR, HOUR + 60))
        assert [len(one["paragraphs"]) for one in await episodes(host)] == [1, 2]


async def test_another_topic_is_another_episode(host: AMemorixHostService) -> None:
    cake = "lemon cake recipe with sugar butter eggs flour and an oven"
    boat = "sailing boat harbour wind mast anchor rope and the lighthouse"
    lines = [("Ada", f"{cake} {n}", START + n * 60) for n in range(10)]
    lines += [("Ada", f"{boat} {n}", START + 600 + n * 60) for n in range(10)]
    await said(host, "c", *lines)
    found = await episodes(host)

    assert [len(one["paragraphs"]) for one in found] == [10, 10]
    assert "lemon cake" in found[0]["summary"]
    assert any(word in found[1]["title"] for word in ("boat", "sailing", "harbour"))


async def test_no_episode_is_longer_than_the_limit(tmp_path: Path) -> None:
    async with memory_host(tmp_path, episode={"max_paragraphs": 5}) as host:
        await said(host, "c", *turns(*range(12)))
        assert [len(one["paragraphs"]) for one in await episodes(host)] == [5, 5, 2]


async def test_chats_and_sources_are_never_mixed(host: AMemorixHostService) -> None:
    await said(host, "c", *turns(0, 1))
    await said(host, "d", *turns(0, 1))
    await told(host, "kite of all", chat_id="c", source="chat:c", scope="global", timestamp=START + 2)
    found = await episodes(host)

    assert [(one["source"], len(one["paragraphs"])) for one in found] == [("chat:c", 2), ("chat:c", 1), ("chat:d", 2)]


async def test_some_kinds_of_source_get_none(tmp_path: Path) -> None:
    async with memory_host(tmp_path, episode={"disabled_source_types": ["note"]}) as host:
        await told(host, "kite", source_type="note")
        await told(host, "kite", source_type="diary")
        assert [one["source"] for one in await episodes(host)] == ["diary"]


async def test_they_can_be_switched_off(tmp_path: Path) -> None:
    async with memory_host(tmp_path, episode={"enabled": False}) as host:
        await told(host, "kite")
        assert await episodes(host) == []
        assert await hits(host, "kite", mode="episode") == []
    async with memory_host(tmp_path) as host:
        assert len(await episodes(host)) == 1


async def test_an_episode_is_as_good_as_its_best_paragraph(host: AMemorixHostService) -> None:
    await said(host, "c", *turns(0, 1, 2, words="walrus on the pier"))
    await said(host, "c", *turns(3 * DAY, 3 * DAY + 1, words="lemon cake"))
    await host.settle(600)
    first, *rest = await hits(host, "walrus", mode="episode")

    assert "walrus" in first["content"]
    assert all(hit["score"] <= first["score"] for hit in rest)
    assert len(first["explain"]["paragraphs"]) == 3


async def test_titles_of_chinese_talk_are_its_words(host: AMemorixHostService) -> None:
    lines = [
        ("林澈", "值班柜第二层的折叠伞", START),
        ("周枝", "折叠伞放回值班柜了", START + 60),
        ("林澈", "好的", START + 90),
    ]
    await said(host, "c", *lines)
    (episode,) = await episodes(host)
    assert "值班柜" in episode["title"] or "折叠伞" in episode["title"]


@pytest.mark.parametrize(
    ("lines", "title"),
    [
        (["haha", "By the way, I'd love the harbour of Porto, it's so calm in the evening", "ok"], "Harbour of Porto"),
        (["you know what", "Oh wow, we repainted the whole kitchen because the old colour was awful"], "Repainted the whole kitchen"),
        (["Hey Rex!", "Rex, what do you think?", "The museum opens a new wing in autumn"], "The museum opens a new wing in autumn"),
        (["嗯嗯", "其实我觉得还行吧", "下周三产品评审改到三楼会议室，别忘了带样机"], "下周三产品评审改到三楼会议室"),
        (["好的", "哈哈哈", "后来我妈把那只走丢的橘猫抱回来养在阳台上还给它搭了个窝你说好不好笑"], "我妈把那只走丢的橘猫抱回来养在阳台上"),
    ],
)  # fmt: skip
async def test_a_title_is_the_head_of_a_telling_clause(host: AMemorixHostService, lines: list[str], title: str) -> None:
    await said(host, "c", *((("Rex", "Ann")[n % 2], text, START + n * 60) for n, text in enumerate(lines)))
    (episode,) = await episodes(host)
    assert episode["title"] == title


async def test_a_summary_begins_with_the_lines_that_statements_rest_on(opened: Open) -> None:
    host = await opened()
    talk = [
        ("Ann", f"the {word} committee met about the {word} and the budget of the {word}")
        for word in (
            "harbour",
            "museum",
            "library",
            "theatre",
            "stadium",
            "market",
            "station",
            "bridge",
            "garden",
            "castle",
            "school",
            "bakery",
        )
    ]
    talk.insert(5, ("Rex", "I live in Porto"))
    await said(host, "c", *((who, text, START + n * 60) for n, (who, text) in enumerate(talk)))
    (episode,) = await episodes(host)
    summary = episode["summary"].split("\n")
    assert "Rex (2023-03-28): I live in Porto" in summary
    assert len(summary) == 10
    order = [next(i for i, (_, text) in enumerate(talk) if line.endswith(text)) for line in summary]
    assert order == sorted(order)


def history(seed: int) -> list[tuple[str, Any]]:
    """Batches of turns, out of order, at equal times, undated, revised and deleted."""
    rng = random.Random(seed)
    steps: list[tuple[str, Any]] = []
    for _ in range(14):
        kind = rng.choice(["turns", "turns", "turns", "text", "revise", "delete"])
        base = rng.choice([0, 0, DAY, 3 * DAY, 9 * DAY])
        if kind == "turns":
            words = rng.choice(["kite wind sky", "cake oven sugar", "boat rope mast"])
            times = [base + rng.choice([0, 0, 60, 4_000]) * n for n in range(rng.randint(1, 9))]
            steps.append(
                ("turns", [(f"m{rng.randint(0, 999)}", f"{words} {n}", START + at) for n, at in enumerate(times)])
            )
        elif kind == "text":
            steps.append(("text", (f"t{rng.randint(0, 3)}", f"note {rng.random()}", rng.choice([None, START + base]))))
        elif kind == "revise":
            steps.append(("turns", [(f"m{rng.randint(0, 999)}", f"revised {rng.random()}", START + base)]))
        else:
            steps.append(("delete", rng.choice(["chat:c", "note:c"])))
    return steps


async def play(host: AMemorixHostService, step: tuple[str, Any]) -> None:
    kind, what = step
    if kind == "turns":
        messages = [{"external_id": key, "speaker": "Ada", "text": text, "time": at} for key, text, at in what]
        assert (await host.invoke("ingest_messages", {"chat_id": "c", "messages": messages}))["success"]
    elif kind == "text":
        key, text, at = what
        await told(host, text, external_id=key, chat_id="c", timestamp=at)
    else:
        await host.invoke("memory_source_admin", {"action": "delete", "source": what})


@pytest.mark.parametrize("seed", range(6))
async def test_step_by_step_gives_the_same_as_all_at_once(opened: Open, tmp_path: Path, seed: int) -> None:
    settings = {"episode": {"max_paragraphs": 7, "poll_interval_seconds": 3600}}
    slowly = await opened(tmp_path / "slow", **settings)
    at_once = await opened(tmp_path / "once", **settings)
    for step in history(seed):
        await play(slowly, step)
        await slowly.settle(600)
        await play(at_once, step)

    assert await episodes(slowly) == await episodes(at_once)


async def test_every_live_paragraph_is_in_one_episode(host: AMemorixHostService) -> None:
    for step in history(99):
        await play(host, step)
        await host.settle(600)
    held = [paragraph for one in await episodes(host) for paragraph in one["paragraphs"]]
    live = await hits(host, mode="time", time_start=1, limit=200)

    assert len(held) == len(set(held))
    assert {int(hit["id"][1:]) for hit in live} <= set(held)
    assert await contents(host, mode="time", time_start=1, limit=200)
