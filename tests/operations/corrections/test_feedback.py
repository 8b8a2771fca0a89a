"""Delayed feedback: later messages of a chat correct what an answer rested on, and nothing else."""

from __future__ import annotations

from typing import Any

import pytest

from amemorix import AMemorixHostService
from amemorix.testing import FrozenClock, ScriptedChat
from conftest import Open
from entrance import contents, found, refused, said, told

ADMIN = "memory_feedback_admin"
ON = {"enabled": True, "window_hours": 1.0, "poll_interval_seconds": 3600.0}


async def asked(host: AMemorixHostService, query: str, key: str = "q1", **args: Any) -> dict[str, Any]:
    answer = await found(host, query, chat_id="g")
    given = {"query_tool_id": key, "session_id": "g", "query": query, "structured_content": answer, **args}
    return await host.invoke("enqueue_feedback_task", given)


async def processed(host: AMemorixHostService) -> dict[str, int]:
    result = await host.invoke(ADMIN, {"action": "process_pending"})
    assert result["success"], result
    return result["ends"]


@pytest.mark.parametrize(
    ("message", "decision", "hit"),
    [
        ("你记错了，我不住在上海，我住在杭州", "correct", "p1"),
        ("我早就不喝茶了", "reject", "p1"),
        ("Mia doesn't work at Google any more, she works at Stripe", "correct", "p2"),
        ("that's wrong, she isn't a designer at Google", "reject", ""),
        ("没错", "confirm", ""),
        ("exactly, thanks", "confirm", ""),
        ("今天天气不错，我们去公园", "none", ""),
        ("北京不在南方，在北方", "none", ""),
        ("not at all", "none", ""),
        ("what's for dinner?", "none", ""),
    ],
)
async def test_what_a_message_says_of_an_answer(opened: Open, message: str, decision: str, hit: str) -> None:
    clock = FrozenClock()
    host = await opened(clock=clock, feedback=ON)
    await said(host, "g", ("林澈", "我住在上海，喜欢喝茶"), ("Mia", "I work at Google as a designer."))
    await asked(host, "林澈", structured_content=["p1", "p2"])
    clock.advance(60)
    await said(host, "g", ("林澈", message))
    clock.advance(3600)
    await processed(host)
    task = (await host.invoke(ADMIN, {"action": "get", "task_id": 1}))["task"]
    assert (task["decision"], bool(task["plan_id"])) == (decision, bool(hit))
    plans = (await host.invoke("memory_correction_admin", {"action": "list"}))["items"]
    assert [plan["superseded_ids"] for plan in plans] == ([[hit]] if hit else [])


async def test_a_later_message_corrects_what_was_answered(opened: Open) -> None:
    clock = FrozenClock()
    host = await opened(clock=clock, feedback=ON)
    await said(host, "g", ("林澈", "我住在上海，喜欢喝茶"), ("唐未", "上海真热"))
    assert (await asked(host, "林澈住在哪里"))["queued"]
    assert await processed(host) == {}
    clock.advance(1800)
    await said(host, "g", ("林澈", "你记错了，我不住在上海，我住在杭州"))
    clock.advance(1801)
    assert await processed(host) == {"applied": 1}
    texts = await contents(host, "林澈住在哪里", chat_id="g", limit=20)
    assert "我住在杭州，喜欢喝茶" in texts and "我住在上海，喜欢喝茶" not in texts and "上海真热" in texts
    task = (await host.invoke(ADMIN, {"action": "get", "task_id": 1}))["task"]
    assert (task["status"], task["decision"], task["plan_id"]) == ("applied", "correct", "c1")
    assert await processed(host) == {}
    undone = await host.invoke(ADMIN, {"action": "rollback", "task_id": 1})
    assert undone["task"]["rollback_status"] == "rolled_back"
    texts = await contents(host, "林澈住在哪里", chat_id="g", limit=20)
    assert "我住在上海，喜欢喝茶" in texts and "我住在杭州，喜欢喝茶" not in texts
    await refused(host, ADMIN, {"action": "rollback", "task_id": 1}, "", "conflict")


async def test_other_relations_of_the_paragraph_stay(opened: Open) -> None:
    clock = FrozenClock()
    host = await opened(clock=clock, feedback=ON, extraction={"enabled": False})
    relations = [
        {"subject": "Mia", "predicate": "works at", "object": "Google"},
        {"subject": "Mia", "predicate": "owns", "object": "a parrot"},
    ]
    await told(host, "Mia works at Google. Mia owns a parrot.", chat_id="g", relations=relations)
    await asked(host, "Where does Mia work?")
    clock.advance(60)
    await said(host, "g", ("Tom", "Mia doesn't work at Google any more, she works at Stripe"))
    clock.advance(3600)
    assert await processed(host) == {"applied": 1}
    hit = next(h for h in (await found(host, "Mia parrot", chat_id="g"))["hits"] if "parrot" in h["content"])
    assert hit["content"] == "Mia works at Stripe. Mia owns a parrot."
    assert hit["explain"]["relations"] == ["Mia owns a parrot"]


async def test_what_is_not_sure_changes_nothing(opened: Open) -> None:
    clock = FrozenClock()
    host = await opened(clock=clock, feedback=ON)
    await said(host, "g", ("Mia", "I work at Google as a designer."))
    await asked(host, "Where does Mia work?")
    clock.advance(60)
    await said(host, "g", ("Tom", "that's wrong, Google designer my foot"), ("Tom", "lunch?"))
    clock.advance(3600)
    assert await processed(host) == {"skipped": 1}
    task = (await host.invoke(ADMIN, {"action": "list", "status": "skipped", "query": "MIA"}))["items"][0]
    assert (task["decision"], task["confidence"], task["plan_id"]) == ("reject", 0.7, "")
    await refused(host, ADMIN, {"action": "rollback", "task_id": task["task_id"]}, "", "conflict")


async def test_words_of_another_chat_do_not_count(opened: Open) -> None:
    clock = FrozenClock()
    host = await opened(clock=clock, feedback=ON)
    await said(host, "g", ("Mia", "I work at Google."))
    await asked(host, "Where does Mia work?")
    clock.advance(60)
    await said(host, "other", ("Mia", "I don't work at Google any more, I work at Stripe"))
    clock.advance(3600)
    assert await processed(host) == {"skipped": 1}
    assert await contents(host, "Where does Mia work?", chat_id="g") == ["I work at Google."]


async def test_a_model_decides_if_its_words_are_borne_out(opened: Open) -> None:
    answer = {"decision": "correct", "confidence": 0.95, "line": 1, "wrong": "Google", "right": "Stripe"}
    clock, chat = FrozenClock(), ScriptedChat({"feedback": answer})
    host = await opened(clock=clock, chat=chat, feedback=ON)
    await said(host, "g", ("Mia", "I work at Google."))
    await asked(host, "Where does Mia work?")
    clock.advance(60)
    await said(host, "g", ("Mia", "these days it is Stripe that pays me"))
    clock.advance(3600)
    assert await processed(host) == {"applied": 1}
    assert (await contents(host, "Where does Mia work?", chat_id="g"))[0] == "I work at Stripe."


@pytest.mark.parametrize(
    "answer",
    [
        {"decision": "correct", "confidence": 0.99, "line": 1, "wrong": "Amazon", "right": "Stripe"},
        {"decision": "correct", "confidence": 0.99, "line": 7, "wrong": "Google", "right": "Stripe"},
        {"decision": "correct", "confidence": 0.99, "line": 1, "wrong": "Google", "right": "Tesla"},
        {"decision": "correct", "confidence": 0.5, "line": 1, "wrong": "Google", "right": "Stripe"},
        {"decision": "shrug"},
    ],
)
async def test_a_model_that_invents_or_doubts_changes_nothing(opened: Open, answer: dict[str, Any]) -> None:
    clock = FrozenClock()
    host = await opened(clock=clock, chat=ScriptedChat({"feedback": answer}), feedback=ON)
    await said(host, "g", ("Mia", "I work at Google."))
    await asked(host, "Where does Mia work?")
    clock.advance(60)
    await said(host, "g", ("Mia", "these days it is Stripe that pays me"))
    clock.advance(3600)
    assert await processed(host) == {"skipped": 1}
    assert "I work at Google." in await contents(host, "Where does Mia work?", chat_id="g")


async def test_tasks_outlive_a_restart_and_run_once(opened: Open, tmp_path: Any) -> None:
    clock = FrozenClock()
    first = await opened(clock=clock, feedback=ON)
    await said(first, "g", ("Mia", "I work at Google."))
    await asked(first, "Where does Mia work?")
    assert await asked(first, "Where does Mia work?") == {
        "success": True, "warnings": [], "queued": False, "task_id": 1, "reason": "exists",
    }  # fmt: skip
    clock.advance(60)
    await said(first, "g", ("Mia", "I don't work at Google any more, I work at Stripe"))
    await first.stop()
    clock.advance(3600)
    second = await opened(clock=clock, feedback=ON)
    assert (await second.invoke(ADMIN, {"action": "status"}))["counts"] == {"pending": 1}
    assert await processed(second) == {"applied": 1}
    assert await processed(second) == {}


async def test_what_is_off_or_empty_is_not_taken(opened: Open, tmp_path: Any) -> None:
    off = await opened(folder=tmp_path / "off")
    await said(off, "g", ("Mia", "I work at Google."))
    assert (await asked(off, "Where does Mia work?"))["reason"] == "disabled"
    await refused(off, ADMIN, {"action": "process_pending"}, "", "conflict")
    on = await opened(folder=tmp_path / "on", feedback=ON)
    await said(on, "g", ("Mia", "I work at Google."))
    assert (await asked(on, "Where?", structured_content={"hits": []}))["reason"] == "no_hits"


@pytest.mark.parametrize(
    ("component", "args", "field", "code"),
    [
        ("enqueue_feedback_task", {"session_id": "g"}, "query_tool_id", "invalid_request"),
        ("enqueue_feedback_task", {"query_tool_id": "q"}, "session_id", "invalid_request"),
        ("enqueue_feedback_task", {"query_tool_id": "q", "session_id": "no", "structured_content": ["p1"]},
         "session_id", "not_found"),
        ("enqueue_feedback_task", {"query_tool_id": "q", "session_id": "g", "structured_content": ["x"]},
         "structured_content.0", "invalid_request"),
        ("enqueue_feedback_task", {"query_tool_id": "q", "session_id": "g", "query_timestamp": "whenever"},
         "query_timestamp", "invalid_request"),
        (ADMIN, {"action": "get"}, "task_id", "invalid_request"),
        (ADMIN, {"action": "get", "task_id": 5}, "task_id", "not_found"),
        (ADMIN, {"action": "rollback", "task_id": 5}, "task_id", "not_found"),
        (ADMIN, {"action": "list", "status": "lost"}, "status.0", "invalid_request"),
        (ADMIN, {"action": "process_pending", "limit": 0}, "limit", "invalid_request"),
    ],
)  # fmt: skip
async def test_what_cannot_be_done_names_the_field(
    opened: Open, component: str, args: dict[str, Any], field: str, code: str
) -> None:
    host = await opened(feedback=ON)
    await said(host, "g", ("Mia", "I work at Google."))
    await refused(host, component, args, field, code)
