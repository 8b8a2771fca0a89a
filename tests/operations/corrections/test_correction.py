"""Corrections said in words: read, previewed, carried out, undone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from amemorix import AMemorixHostService
from amemorix.testing import HashEmbedder, ScriptedChat
from conftest import Open
from database_file import open_database
from entrance import contents, found, refused, said, told

ADMIN = "memory_correction_admin"


async def previewed(host: AMemorixHostService, text: str, **args: Any) -> dict[str, Any]:
    result = await host.invoke(ADMIN, {"action": "preview", "text": text, "chat_id": "g", **args})
    assert result["success"], result
    return result


async def executed(host: AMemorixHostService, plan_id: str) -> dict[str, Any]:
    result = await host.invoke(ADMIN, {"action": "execute", "plan_id": plan_id, "confirmed": True})
    assert result["success"], result
    return result["plan"]


def rows(folder: Path) -> dict[str, list[Any]]:
    """Every table but those that keep what was done."""
    apart = ("audit", "changes", "correction_plans", "sqlite_sequence", "meta", "tasks")
    with open_database(next(folder.rglob("memory.db"))) as db:
        names = [name for (name,) in db.execute("select name from sqlite_master where type = 'table'")]
        return {name: sorted(db.execute(f"select * from {name}"), key=repr) for name in names if name not in apart}


async def talk(host: AMemorixHostService) -> None:
    await said(
        host, "g",
        ("林澈", "我住在上海，平时喜欢喝茶。", "2026-01-05"),
        ("唐未", "上海的房价太高了。", "2026-01-06"),
        ("Mia", "I work at Google as a designer.", "2026-01-07"),
        ("Tom", "Google released a new phone.", "2026-01-08"),
        ("林澈", "周末去爬山吗？", "2026-01-09"),
    )  # fmt: skip
    await host.settle()


async def test_a_preview_changes_nothing(host: AMemorixHostService, tmp_path: Path) -> None:
    await talk(host)
    before = rows(tmp_path)
    plan = await previewed(host, "林澈不住在上海，他住在杭州")
    assert [(r["content"], r["becomes"]) for r in plan["replacements"]] == [
        ("我住在上海，平时喜欢喝茶。", "我住在杭州，平时喜欢喝茶。")
    ]
    assert plan["requires_confirmation"] and plan["confidence"] == 0.9
    others = {c["content"]: c["why"] for c in plan["candidates"] if not c["chosen"]}
    assert others["上海的房价太高了。"] == "is about somebody else"
    assert rows(tmp_path) == before


@pytest.mark.parametrize(
    ("text", "question", "right", "wrong"),
    [
        ("林澈不住在上海，他住在杭州", "林澈住在哪里", "我住在杭州，平时喜欢喝茶。", "我住在上海，平时喜欢喝茶。"),
        ("Mia doesn't work at Google any more, she works at Stripe", "Where does Mia work?",
         "I work at Stripe as a designer.", "I work at Google as a designer."),
    ],
)  # fmt: skip
async def test_the_right_answer_is_found_afterwards(
    opened: Open, text: str, question: str, right: str, wrong: str
) -> None:
    host = await opened(embed=HashEmbedder())
    await talk(host)
    before = await found(host, question, chat_id="g", limit=20)
    plan = await executed(host, (await previewed(host, text))["plan_id"])
    await host.settle()
    after = await contents(host, question, chat_id="g", limit=20)
    assert after[0] == right
    assert wrong not in after
    assert plan["status"] == "executed" and len(plan["stored_ids"]) == 1
    undone = await host.invoke(ADMIN, {"action": "rollback", "plan_id": plan["plan_id"]})
    assert undone["plan"]["status"] == "rolled_back"
    await host.settle()
    again = await found(host, question, chat_id="g", limit=20)
    assert [(h["id"], h["score"]) for h in again["hits"]] == [(h["id"], h["score"]) for h in before["hits"]]


async def test_what_is_to_be_forgotten_is_left_out(host: AMemorixHostService) -> None:
    await said(host, "g", ("小美", "我对花生过敏，也怕高。"), ("小美", "我对猫毛过敏"), ("Bob", "我对花粉过敏"))
    plan = await previewed(host, "删掉关于我过敏的记录", person_id="小美")
    assert {r["content"]: r["becomes"] for r in plan["replacements"]} == {
        "我对花生过敏，也怕高。": "我怕高。",
        "我对猫毛过敏": "",
    }
    await executed(host, plan["plan_id"])
    await host.settle()
    left = await contents(host, "过敏", chat_id="g", limit=20)
    assert [text for text in left if "过敏" in text] == ["我对花粉过敏"]
    assert "我怕高。" in await contents(host, "怕高", chat_id="g")


async def test_relations_that_say_it_end_and_come_back(opened: Open) -> None:
    host = await opened(extraction={"enabled": False})
    relations = [
        {"subject": "周枝", "predicate": "看管", "object": "钥匙"},
        {"subject": "周枝", "predicate": "住在", "object": "东楼"},
    ]
    await told(host, "周枝看管钥匙，周枝住在东楼。", chat_id="g", relations=relations)
    plan = await previewed(host, "周枝不住在东楼，住在西楼")
    assert plan["relations"] == ["周枝 住在 东楼"]
    await executed(host, plan["plan_id"])
    hit = (await found(host, "周枝看管什么", chat_id="g"))["hits"][0]
    assert hit["content"] == "周枝看管钥匙，周枝住在西楼。"
    assert hit["explain"]["relations"] == ["周枝 看管 钥匙"]
    await host.invoke(ADMIN, {"action": "rollback", "plan_id": plan["plan_id"]})
    hit = (await found(host, "周枝看管什么", chat_id="g"))["hits"][0]
    assert hit["explain"]["relations"] == ["周枝 看管 钥匙", "周枝 住在 东楼"]


async def test_what_nothing_stored_says_is_kept_as_it_was_said(host: AMemorixHostService) -> None:
    await said(host, "g", ("Tom", "Lunch is at noon."))
    plan = await previewed(host, "The rehearsal is on Tuesday, not Monday", requested_by="ada", reason="told so")
    assert plan["replacements"] == [] and plan["confidence"] == 0.6
    assert plan["note"] == "The rehearsal is on Tuesday, not Monday"
    done = await executed(host, plan["plan_id"])
    assert (done["requested_by"], done["reason"]) == ("ada", "told so")
    assert (await contents(host, "When is the rehearsal?", chat_id="g"))[0] == plan["note"]


async def test_a_correction_sees_its_chat_alone(host: AMemorixHostService) -> None:
    await said(host, "g", ("Mia", "I work at Google."))
    await said(host, "other", ("Mia", "I work at Google too."))
    text = "Mia doesn't work at Google, she works at Stripe"
    mine = await previewed(host, text)
    assert [r["content"] for r in mine["replacements"]] == ["I work at Google."]
    everywhere = await previewed(host, text, chat_id="", allow_global=True)
    assert len(everywhere["replacements"]) == 2
    await refused(host, ADMIN, {"action": "preview", "text": text}, code="invalid_request")


async def test_a_state_that_moved_is_a_conflict(host: AMemorixHostService) -> None:
    await talk(host)
    text = "林澈不住在上海，他住在杭州"
    first, second = [(await previewed(host, text))["plan_id"] for _ in range(2)]
    await executed(host, first)
    sentence = await refused(host, ADMIN, {"action": "execute", "plan_id": second, "confirmed": True}, code="conflict")
    assert "p1" in sentence
    await executed(host, (await previewed(host, "林澈不住在杭州，他住在南京"))["plan_id"])
    sentence = await refused(host, ADMIN, {"action": "rollback", "plan_id": first}, code="conflict")
    assert "changed since" in sentence


async def test_what_is_said_again_in_other_words_takes_the_place_of_the_correction(host: AMemorixHostService) -> None:
    first = {"text": "I work at Google.", "speaker": "Mia", "external_id": "a3"}
    await host.invoke("ingest_messages", {"chat_id": "g", "messages": [first]})
    plan = await executed(host, (await previewed(host, "Mia doesn't work at Google, she works at Stripe"))["plan_id"])
    assert await contents(host, "Where does Mia work?", chat_id="g") == ["I work at Stripe."]
    await host.invoke("ingest_messages", {"chat_id": "g", "messages": [first]})
    assert await contents(host, "Where does Mia work?", chat_id="g") == ["I work at Stripe."], "sent again: no news"
    await host.invoke("ingest_messages", {"chat_id": "g", "messages": [{**first, "text": "I work at Apple."}]})
    assert await contents(host, "Where does Mia work?", chat_id="g") == ["I work at Apple."]
    await refused(host, ADMIN, {"action": "rollback", "plan_id": plan["plan_id"]}, code="conflict")


async def test_a_corrected_text_that_was_deleted_and_restored_can_be_rolled_back(host: AMemorixHostService) -> None:
    first = {"text": "I work at Google.", "speaker": "Mia", "external_id": "a3"}
    await host.invoke("ingest_messages", {"chat_id": "g", "messages": [first]})
    plan = await executed(host, (await previewed(host, "Mia doesn't work at Google, she works at Stripe"))["plan_id"])
    gone = await host.invoke("memory_delete_admin", {"action": "execute", "mode": "chat", "selector": "g"})
    assert await contents(host, "Where does Mia work?", chat_id="g") == []
    back = await host.invoke("memory_delete_admin", {"action": "restore", "operation_id": gone["operation_id"]})
    assert back["success"], back
    await host.invoke(ADMIN, {"action": "rollback", "plan_id": plan["plan_id"]})
    await host.invoke("ingest_messages", {"chat_id": "g", "messages": [first]})
    assert await contents(host, "Where does Mia work?", chat_id="g") == ["I work at Google."]


async def test_a_chat_does_not_correct_what_all_share(host: AMemorixHostService) -> None:
    await told(host, "Lisbon is in Portugal.")
    await said(host, "g", ("Bob", "hello"))
    text = "Lisbon is not in Portugal, it is in Spain"
    for chat in ("g", "unknown"):
        assert (await previewed(host, text, chat_id=chat))["replacements"] == []
    assert len((await previewed(host, text, allow_global=True))["replacements"]) == 1


@pytest.mark.parametrize(
    ("said_once", "text", "becomes"),
    [
        ("我搬到北京了", "林澈不住在北京，他住在杭州", "我搬到杭州了"),
        (
            "I moved to Berlin in May.",
            "林澈 doesn't live in Berlin any more, he lives in Rome",
            "I moved to Rome in May.",
        ),
    ],
)
async def test_other_words_for_the_same_matter_are_found(
    host: AMemorixHostService, said_once: str, text: str, becomes: str
) -> None:
    await said(host, "g", ("林澈", said_once))
    plan = await previewed(host, text)
    assert [r["becomes"] for r in plan["replacements"]] == [becomes]


async def test_plans_are_listed(host: AMemorixHostService) -> None:
    await talk(host)
    plan = await previewed(host, "林澈不住在上海，他住在杭州")
    await previewed(host, "林澈不再喜欢喝茶了")
    await executed(host, plan["plan_id"])
    every = await host.invoke(ADMIN, {"action": "list", "chat_id": "g", "limit": 1})
    assert (every["count"], every["total"]) == (1, 2)
    done = await host.invoke(ADMIN, {"action": "list", "status": "executed"})
    assert [p["plan_id"] for p in done["items"]] == [plan["plan_id"]]
    one = await host.invoke(ADMIN, {"action": "get", "plan_id": plan["plan_id"]})
    assert one["plan"]["superseded_ids"] == ["p1"]
    assert (await host.invoke(ADMIN, {"action": "list", "chat_id": "nowhere"}))["items"] == []


IMPOSSIBLE: list[Any] = [
    ({"action": "preview", "chat_id": "g"}, "text", "invalid_request"),
    ({"action": "preview", "chat_id": "g", "text": ""}, "text", "invalid_request"),
    ({"action": "preview", "chat_id": "g", "text": "good morning"}, "text", "invalid_request"),
    ({"action": "preview", "chat_id": "g", "text": "忘掉我喜欢咖啡", "person_id": "谁"}, "person_id", "not_found"),
    ({"action": "execute"}, "plan_id", "invalid_request"),
    ({"action": "execute", "plan_id": "c99", "confirmed": True}, "plan_id", "not_found"),
    ({"action": "execute", "plan_id": "p1", "confirmed": True}, "plan_id", "invalid_request"),
    ({"action": "rollback", "plan_id": 99}, "plan_id", "not_found"),
    ({"action": "get", "plan_id": 0}, "plan_id", "invalid_request"),
    ({"action": "get", "plan_id": True}, "plan_id", "invalid_request"),
    ({"action": "get", "plan_id": 7}, "plan_id", "not_found"),
    ({"action": "list", "limit": 0}, "limit", "invalid_request"),
    ({"action": "list", "statuses": ["lost"]}, "statuses.0", "invalid_request"),
]


async def test_what_cannot_be_done_names_the_field(host: AMemorixHostService) -> None:
    for args, field, code in IMPOSSIBLE:
        await refused(host, ADMIN, args, field, code)


async def test_a_plan_waits_for_its_confirmation_and_is_carried_out_once(host: AMemorixHostService) -> None:
    await talk(host)
    id_ = (await previewed(host, "林澈不住在上海，他住在杭州"))["plan_id"]
    await refused(host, ADMIN, {"action": "execute", "plan_id": id_}, "confirmed")
    await refused(host, ADMIN, {"action": "rollback", "plan_id": id_}, code="conflict")
    await executed(host, id_)
    await refused(host, ADMIN, {"action": "execute", "plan_id": id_, "confirmed": True}, code="conflict")
    await host.invoke(ADMIN, {"action": "rollback", "plan_id": id_})
    await refused(host, ADMIN, {"action": "rollback", "plan_id": id_}, code="conflict")
    empty = await previewed(host, "忘掉我喜欢企鹅")
    await refused(host, ADMIN, {"action": "execute", "plan_id": empty["plan_id"], "confirmed": True}, code="conflict")


async def test_the_chat_model_plans_only_when_asked(opened: Open) -> None:
    right = "我住在杭州，平时喜欢喝茶。"
    chat = ScriptedChat({"correction": {"changes": [{"line": 1, "becomes": right}]}})
    host = await opened(chat=chat)
    await talk(host)
    text = "林澈早搬家啦，上海那条过时了，现在杭州"
    await previewed(host, text)
    assert [task for task, _ in chat.asked if task == "correction"] == []
    plan = await previewed(host, text, use_model=True)
    assert [(r["content"], r["becomes"]) for r in plan["replacements"]] == [("我住在上海，平时喜欢喝茶。", right)]


@pytest.mark.parametrize(
    "changes",
    [[], [{"line": 9, "becomes": "我住在杭州"}], [{"line": 1, "becomes": "我住在北京，平时喜欢喝茶。"}], None],
    ids=["none", "no such line", "invented", "away"],
)
async def test_the_sentence_is_matched_when_the_model_is_away_or_invents(opened: Open, changes: Any) -> None:
    chat = ScriptedChat({} if changes is None else {"correction": {"changes": changes}})
    host = await opened(chat=chat)
    await talk(host)
    plan = await previewed(host, "林澈不住在上海，他住在杭州", use_model=True)
    assert [r["becomes"] for r in plan["replacements"]] == ["我住在杭州，平时喜欢喝茶。"]
