"""Statements about a person: what adds, what completes, what repeats."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from amemorix import AMemorixHostService
from amemorix.errors import ChatUnavailable
from amemorix.testing import HashEmbedder, ScriptedChat
from conftest import Open
from entrance import change, stats, told


async def known(host: AMemorixHostService, *texts: str, **args: Any) -> list[str]:
    """What is known of the person after these texts, in order."""
    for text in texts:
        await told(host, text, source_type="person_fact", person_ids=["林澈"], **{"chat_id": "c", **args})
        await host.settle(600)
    found = await host.invoke("memory_fact_admin", {"action": "list", "status": ["active"], "chat_id": "c"})
    return sorted(item["value"] for item in found["items"])


RULES = [
    (("每周三晚上夜跑", "每周三晚上在江边夜跑"), ["每周三晚上在江边夜跑"]),
    (("每周三晚上在江边夜跑", "每周三晚上夜跑"), ["每周三晚上在江边夜跑"]),
    (("每周三晚上夜跑", "每周三晚上夜跑。"), ["每周三晚上夜跑"]),
    (("每周三晚上夜跑", "每周三晚上不夜跑"), ["每周三晚上不夜跑"]),
    (("每周三晚上夜跑", "收藏黑胶唱片"), ["收藏黑胶唱片", "每周三晚上夜跑"]),
    (("Collects old records", "Collects old jazz records"), ["Collects old jazz records"]),
    (("Collects old jazz records", "Collects old records"), ["Collects old jazz records"]),
    (("Runs 5 km on Sundays", "Runs 10 km on Sundays"), ["Runs 10 km on Sundays"]),
    (("Never runs on Sundays", "Runs on Sundays"), ["Runs on Sundays"]),
]


@pytest.mark.parametrize(("texts", "left"), RULES)
async def test_rules_without_a_model(opened: Open, tmp_path: Path, texts: tuple[str, ...], left: list[str]) -> None:
    for name, embed in (("words", None), ("vectors", HashEmbedder())):
        host = await opened(tmp_path / name, embed=embed)
        assert await known(host, *texts) == left
        assert (await stats(host))["paragraphs"] == len(texts), "every text stays"


async def test_what_was_decided_is_kept(host: AMemorixHostService) -> None:
    await known(host, "每周三晚上夜跑", "每周三晚上在江边夜跑", "每周三晚上在江边夜跑步")
    listed = await host.invoke("memory_fact_admin", {"action": "list", "chat_id": "c"})
    reasons = []
    for item in listed["items"]:
        detail = await host.invoke("memory_fact_admin", {"action": "get", "fact_id": item["id"]})
        reasons += [(t["became"], t["reason"]) for t in detail["transitions"]]
    assert ("superseded", "rules: says more than what is known") in reasons
    assert ("active", "stated") in reasons


async def test_a_completion_can_be_undone(host: AMemorixHostService) -> None:
    await known(host, "每周三晚上夜跑", "每周三晚上在江边夜跑")
    old = (await host.invoke("memory_fact_admin", {"action": "list", "status": "superseded"}))["items"][0]
    detail = await host.invoke("memory_fact_admin", {"action": "get", "fact_id": old["id"]})
    undo = detail["transitions"][-1]["undo_id"]
    assert (await host.invoke("memory_fact_admin", {"action": "undo", "undo_id": undo}))["success"]
    assert await known(host) == ["每周三晚上夜跑"]


async def test_other_chats_and_persons_are_not_compared(host: AMemorixHostService) -> None:
    await told(host, "每周三晚上夜跑", source_type="person_fact", person_ids=["林澈"], chat_id="d")
    await told(host, "每周三晚上夜跑", source_type="person_fact", person_ids=["小美"], chat_id="c")
    assert await known(host, "每周三晚上在江边夜跑") == ["每周三晚上在江边夜跑", "每周三晚上夜跑"]
    listed = await host.invoke("memory_fact_admin", {"action": "list"})
    assert {item["status"] for item in listed["items"]} == {"active"}


async def test_a_chat_model_decides_among_what_is_alike(opened: Open) -> None:
    answers = {"action": "update", "target": 1, "merged": "每周三晚上和小美在江边夜跑", "reason": "同一习惯"}
    chat = ScriptedChat({"dedup": answers})
    host = await opened(chat=chat)

    assert await known(host, "每周三晚上和小美夜跑", "收藏黑胶唱片") == ["收藏黑胶唱片", "每周三晚上和小美夜跑"]
    assert chat.asked == [], "nothing is alike"
    assert await known(host, "每周三晚上在江边和小美夜跑") == ["收藏黑胶唱片", "每周三晚上和小美在江边夜跑"]
    assert "收藏" not in chat.asked[0][1]
    merged = (await host.invoke("memory_fact_admin", {"action": "query", "text": "江边"}))["items"][0]
    assert len(merged["evidence_ids"]) == 2
    assert (await stats(host))["paragraphs"] == 3


async def test_a_merged_statement_goes_with_either_of_its_texts(opened: Open) -> None:
    chat = ScriptedChat({"dedup": {"action": "update", "target": 1, "merged": "Runs and swims on Sundays"}})
    host = await opened(chat=chat, facts={"dedup_threshold": 0.4})
    assert await known(host, "Swims on Sundays", "Runs on Sundays") == ["Runs and swims on Sundays"]
    change(host, "delete from paragraphs where content = 'Runs on Sundays'")
    await host.settle(600)
    assert await known(host) == ["Swims on Sundays"]


@pytest.mark.parametrize("answer", [{"action": "skip", "target": 9}, {"action": "skip"}, {"action": "nonsense"}, None])
async def test_a_model_that_is_away_or_wrong_leaves_it_to_the_rules(opened: Open, answer: Any) -> None:
    def script(task: str, user: str) -> dict[str, Any]:
        if answer is None:
            raise ChatUnavailable("away")
        return answer

    host = await opened(chat=ScriptedChat(script))
    assert await known(host, "每周三晚上夜跑", "每周三晚上在江边夜跑") == ["每周三晚上在江边夜跑"]


async def test_a_model_may_say_that_it_is_known(opened: Open) -> None:
    host = await opened(chat=ScriptedChat({"dedup": {"action": "skip", "target": 1}}))
    assert await known(host, "Runs on Sundays", "Runs a lot on Sundays") == ["Runs on Sundays"]
    (fact,) = (await host.invoke("memory_fact_admin", {"action": "list", "status": "active"}))["items"]
    assert len(fact["evidence_ids"]) == 2


async def test_the_threshold_is_a_setting(opened: Open) -> None:
    chat = ScriptedChat({"dedup": {"action": "skip", "target": 1}})
    host = await opened(chat=chat, facts={"dedup_threshold": 0.05})
    await known(host, "每周三晚上夜跑", "周末晚上看书")
    assert chat.asked
