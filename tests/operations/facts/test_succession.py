"""What a person says later about the same matter: what it ends, what it doubts, and that every such change can go back."""

from __future__ import annotations

import itertools
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from amemorix import AMemorixHostService
from amemorix.clock import FrozenClock
from amemorix.config.deriving import Facts
from amemorix.config.model import Embedding
from amemorix.facts.sentence_vectors import SentenceVectors
from amemorix.facts.succession import MemUpdateChecker
from amemorix.models.registry import make_embedder
from amemorix.testing import ScriptedChat, memory_host
from conftest import Open
from entrance import found, said, told

START, DAY = 1_660_000_000.0, 86_400.0
PAIRS = [
    line.split("\t") for line in (Path(__file__).parents[2] / "data" / "old_new_blind.tsv").read_text("utf-8").splitlines()
]  # fmt: skip
"""(language, what becomes of the older line, the older line, the later one, a question); never trained on."""
NEWS = [line.split("\t") for line in (Path(__file__).parents[2] / "data" / "news.tsv").read_text("utf-8").splitlines()]
"""(part, language, the older message, the later one, a question); `apart`: nothing is outdated. Never trained on."""
TALK = [line.split("\t") for line in (Path(__file__).parents[2] / "data" / "talk.tsv").read_text("utf-8").splitlines()]
"""(language, a line), what two people tell, in which nothing comes to an end; never trained on."""
CIVIC, SOLD, AGAIN = (
    "Drives a Honda Civic",
    "Sold the Honda Civic, no longer drives",
    "Bought a new Honda Civic, drives again",
)


async def fact(host: AMemorixHostService, text: str, at: float = START, **args: Any) -> str:
    """Hand over a fact about Mara; returns its paragraph."""
    given = {"source_type": "person_fact", "person_ids": ["Mara"], "chat_id": "c", "timestamp": at, **args}
    stored = (await told(host, text, **given))["stored_ids"][0]
    await host.settle(600)
    return stored


async def listed(host: AMemorixHostService, **args: Any) -> list[dict[str, Any]]:
    answer = await host.invoke("memory_fact_admin", {"action": "list", "limit": 1000, **args})
    assert answer["success"], answer
    return answer["items"]


async def statuses(host: AMemorixHostService, **args: Any) -> dict[str, str]:
    return {item["value"]: item["status"] for item in await listed(host, **args)}


async def done(host: AMemorixHostService, component: str, action: str, **args: Any) -> dict[str, Any]:
    answer = await host.invoke(component, {"action": action, **args})
    assert answer["success"], answer
    await host.settle(600)
    return answer


@pytest.mark.parametrize("model", [False, pytest.param(True, marks=pytest.mark.local_model)])
async def test_what_is_outdated_is_not_shown_as_sure(tmp_path: Path, model: bool) -> None:
    async with memory_host(tmp_path, embedding={"provider": "local" if model else "none"}) as host:
        for number, (_, _, *lines, _) in enumerate(PAIRS):
            for place, text in enumerate(lines):
                given = {"source_type": "person_fact", "person_ids": [f"Mara{number}"], "chat_id": f"c{number}"}
                await told(host, text, **given, timestamp=START + 30 * DAY * place)
        await host.settle(600)
        newest, sure, given_up = 0, list[str](), list[str]()
        for number, (_, label, old, new, question) in enumerate(PAIRS):
            held = {item["sentence"]: item["status"] for item in await listed(host, chat_id=f"c{number}")}
            if label == "apart":
                given_up += [old] if held.get(old) == "superseded" else []
                continue
            sure += [old] if held.get(old) == "active" else []
            brought = (await found(host, f"Mara{number} {question}?", chat_id=f"c{number}"))["facts"]
            newest += bool(brought) and brought[0]["sentence"] == new
    changed = sum(label != "apart" for _, label, *_ in PAIRS)
    assert newest >= 0.8 * changed
    assert len(sure) <= 0.1 * changed, sure
    assert len(given_up) <= 0.15 * (len(PAIRS) - changed), given_up


@pytest.mark.local_model
@pytest.mark.parametrize("late", [False, True], ids=["in order", "the older one stored last"])
async def test_news_in_a_chat_is_shown_before_what_it_is_news_of(tmp_path: Path, late: bool) -> None:
    clock = FrozenClock(START + 60 * DAY)
    async with memory_host(tmp_path, embedding={"provider": "local"}, clock=clock) as host:
        stored: list[list[str]] = []
        for number, (_, _, *lines, _) in enumerate(NEWS):
            turns = [(f"Mara{number}", text, START + 30 * DAY * place) for place, text in enumerate(lines)]
            ids = [(await said(host, f"c{number}", turn))["stored_ids"][0] for turn in (turns[::-1] if late else turns)]
            stored.append(ids[::-1] if late else ids)
        await host.settle(600)
        newest, sure, given_up = 0, list[str](), list[str]()
        for number, (part, _, old, _, question) in enumerate(NEWS):
            before, after = stored[number]
            if part == "apart":
                held = await listed(host, chat_id=f"c{number}", status=["superseded"])
                given_up += [old] if any(before in one["evidence_ids"] for one in held) else []
                continue
            brought = (await found(host, question.format(f"Mara{number}"), chat_id=f"c{number}", limit=5))["facts"]
            newest += bool(brought) and after in brought[0]["evidence_ids"]
            stale = [one for one in brought if before in one["evidence_ids"] and after not in one["evidence_ids"]]
            sure += [old] if any(one["status"] == "active" for one in stale) else []
    changed = sum(part != "apart" for part, *_ in NEWS)
    assert newest >= 0.6 * changed
    assert len(sure) <= 0.2 * changed, sure
    assert len(given_up) <= 0.1 * (len(NEWS) - changed), given_up


@pytest.mark.local_model
async def test_in_talk_nothing_comes_to_an_end(tmp_path: Path) -> None:
    async with memory_host(tmp_path, embedding={"provider": "local"}) as host:
        for number, (language, text) in enumerate(TALK):
            await said(host, language, (f"Mara {language}", text, START + number * DAY))
        await host.settle(600)
        held = await listed(host)
    assert len(held) >= 0.4 * len(TALK)
    assert [item["value"] for item in held if item["status"] == "superseded"] == []
    assert len([item for item in held if item["status"] == "maybe_outdated"]) <= 0.05 * len(held)


async def test_what_was_said_earlier_gives_way_whichever_comes_first(opened: Open, tmp_path: Path) -> None:
    outcomes: list[dict[str, str]] = []
    lines = ((CIVIC, START), (SOLD, START + DAY), ("Plays the violin", START + 2 * DAY))
    for number, order in enumerate(itertools.permutations(lines)):
        host = await opened(tmp_path / str(number))
        for text, at in order:
            await fact(host, text, at)
        outcomes.append(await statuses(host))
    assert outcomes == [{CIVIC: "superseded", SOLD: "active", "Plays the violin": "active"}] * 6


async def test_what_is_said_again_counts_again(host: AMemorixHostService) -> None:
    await fact(host, CIVIC)
    await fact(host, SOLD, START + DAY)
    await fact(host, CIVIC, START + 2 * DAY)
    held = await statuses(host, status=["active"])
    assert CIVIC in held
    assert SOLD not in held


async def test_deleting_the_later_line_gives_the_older_its_place_back(host: AMemorixHostService) -> None:
    await fact(host, CIVIC)
    later = await fact(host, SOLD, START + DAY)
    select = {"mode": "paragraph", "selector": {"ids": [later]}}
    deleted = await done(host, "memory_delete_admin", "execute", **select)
    assert await statuses(host) == {CIVIC: "active"}
    await done(host, "memory_delete_admin", "restore", operation_id=deleted["operation_id"])
    assert await statuses(host) == {CIVIC: "superseded", SOLD: "active"}
    await done(host, "memory_delete_admin", "execute", **select, purge=True)
    assert await statuses(host) == {CIVIC: "active"}


async def test_the_next_of_a_row_takes_the_place_of_one_that_goes(host: AMemorixHostService) -> None:
    await fact(host, CIVIC)
    middle = await fact(host, SOLD, START + DAY)
    await fact(host, "Sold the Honda Civic because of the fuel", START + 2 * DAY)
    await done(host, "memory_delete_admin", "execute", mode="paragraph", selector={"ids": [middle]})
    assert (await statuses(host))[CIVIC] == "superseded"


async def test_it_can_be_undone_and_asked_for_as_it_was(host: AMemorixHostService) -> None:
    await fact(host, CIVIC)
    await fact(host, SOLD, START + DAY)
    (old,) = await listed(host, status="superseded")
    shown = await host.invoke("memory_fact_admin", {"action": "get", "fact_id": old["id"]})
    last = shown["transitions"][-1]
    assert (last["was"], last["became"], bool(last["undo_id"])) == ("active", "superseded", True)
    assert old["superseded_by"] == last["cause"]
    await done(host, "memory_fact_admin", "undo", undo_id=last["undo_id"])
    assert await statuses(host) == {CIVIC: "active", SOLD: "retracted"}


async def test_a_word_of_less_weight_only_doubts(host: AMemorixHostService) -> None:
    await fact(host, CIVIC, metadata={"trust": "manual_confirmed"})
    await fact(host, SOLD, START + DAY)
    old = next(item for item in await listed(host) if item["value"] == CIVIC)
    new = next(item for item in await listed(host) if item["value"] == SOLD)
    assert (old["status"], old["doubted_by"], new["status"]) == ("maybe_outdated", new["id"], "active")
    assert await statuses(host, status=["maybe_outdated"]) == {CIVIC: "maybe_outdated"}
    assert await statuses(host, status=["active"]) == {SOLD: "active"}
    assert (await host.invoke("memory_fact_admin", {"action": "status"}))["counts"]["maybe_outdated"] == 1
    brought = (await found(host, "Does Mara drive a car, the Honda Civic?", chat_id="c"))["facts"]
    assert [item["value"] for item in brought] == [SOLD, CIVIC]


async def test_an_allergy_is_not_sure_past_a_later_word_on_it(host: AMemorixHostService) -> None:
    await fact(host, "Cannot have peanuts at all, a bad allergy")
    await fact(host, "Had peanuts at the fair and enjoyed every one of the peanuts", START + DAY)
    assert (await statuses(host))["Cannot have peanuts at all, a bad allergy"] in ("maybe_outdated", "superseded")


async def test_other_persons_and_chats_end_nothing(host: AMemorixHostService) -> None:
    await fact(host, CIVIC)
    await fact(host, SOLD, START + DAY, person_ids=["Tom"])
    await fact(host, SOLD, START + DAY, chat_id="d")
    assert {(item["person_id"], item["chat_id"], item["status"]) for item in await listed(host)} == {
        ("Mara", "c", "active"), ("Tom", "c", "active"), ("Mara", "d", "active"),
    }  # fmt: skip


async def test_a_chat_model_may_say_that_one_takes_the_place_of_another(opened: Open) -> None:
    host = await opened(
        chat=ScriptedChat({"dedup": {"action": "replace", "target": 1}}), facts={"dedup_threshold": 0.1}
    )
    await fact(host, "Paints with oil on Sundays", START + DAY)
    await fact(host, "Paints with water colours on Sundays")
    assert await statuses(host) == {
        "Paints with oil on Sundays": "active", "Paints with water colours on Sundays": "superseded",
    }  # fmt: skip


async def test_a_sentence_stands_alone(host: AMemorixHostService) -> None:
    await fact(host, CIVIC)
    turns = ("I'm allergic to peanuts", "I live in Porto", "I work as a nurse", "My phone number is 555 123 4567")
    await said(host, "d", *(("Kevin", turn, START) for turn in turns))
    await host.settle(600)
    assert [item["sentence"] for item in await listed(host, person_id="Mara")] == [CIVIC]
    items = await listed(host, person_id="Kevin")
    assert items
    assert {item["sentence"] for item in items} <= {f"Kevin (2022-08-08): {turn}" for turn in turns}
    by_kind = await listed(host, person_id="Kevin", kind=items[0]["kind"])
    assert items[0]["id"] in [item["id"] for item in by_kind]
    assert {item["kind"] for item in by_kind} == {items[0]["kind"]}


@pytest.mark.local_model
@pytest.mark.parametrize(
    ("old", "new", "ended"),
    [
        ("我每周二晚上上吉他课", "吉他课改到每周四了", True),
        ("每周六上午带娃上游泳课", "游泳课从周六改到周日了", True),
        ("我每周一三五健身", "这周健身改到周二了", False),
        ("我住在福田", "已经搬到福田了", False),
        ("我住在福田", "我从福田搬到南山了", True),
    ],
)
async def test_a_new_day_ends_the_old_one_and_a_value_does_not_doubt_itself(
    opened: Open, local_model: str, old: str, new: str, ended: bool
) -> None:
    host = await opened(embedding={"provider": "local", "model_name": local_model})
    await said(host, "g", ("阿力", old, START), ("阿力", new, START + 9 * DAY))
    await host.settle()
    statuses = ["active", "maybe_outdated", "conflicted", "superseded"]
    facts = await host.invoke(
        "memory_fact_admin", {"action": "list", "person_id": "阿力", "chat_id": "g", "status": statuses}
    )
    first = next(one for one in facts["items"] if one["value"] in old and one["evidence_ids"][0] == "p1")
    assert (first["status"] == "superseded") is ended and first["status"] != "maybe_outdated", facts["items"]


async def test_what_is_compared_has_its_vectors_however_few_are_kept(local_model: str) -> None:
    embedder = make_embedder(Embedding(provider="local"), environ=os.environ)[0]
    assert embedder, local_model
    with ThreadPoolExecutor(1) as background:
        checker = MemUpdateChecker(
            Facts(), embedder=lambda: embedder, sentence_vectors=SentenceVectors(), chat=lambda: None, background=background,
            most_texts=1,
        )  # fmt: skip
        for new, known in (("I live in Leeds.", "I have two cats."), ("I moved to York.", "I live in Leeds.")):
            ((near, _),) = await checker.likeness(new, [known])
            assert near, "it is 0 without vectors"
    embedder.close()
