"""The administration of profiles: lists, overrides, evidence that is taken back, and every way to ask wrongly."""

from __future__ import annotations

from typing import Any

import pytest

from amemorix import AMemorixHostService
from amemorix.testing import FrozenClock, HashEmbedder, memory_host
from conftest import Open
from entrance import change, contents, hits, refused, said, told
from test_profiles import GROUP, PRIVATE, admin, profile, say


async def test_a_query_shows_everything_and_whoever_is_unknown(host: AMemorixHostService) -> None:
    await say(host, PRIVATE, "我对芒果过敏")
    await say(host, GROUP, "我住在苏州")
    await host.settle(600)
    found = await admin(host, "query", keyword="林澈")

    assert (found["person_id"], "芒果" in found["summary"], "苏州" in found["summary"]) == ("u1", True, True)
    assert found["auto_summary"] == found["summary"]
    unknown = await admin(host, "query", person_id="nobody")
    assert (unknown["known"], unknown["person_id"], unknown["summary"]) == (False, "nobody", "")


async def test_the_list_is_paged_searched_and_newest_first(opened: Open) -> None:
    clock = FrozenClock()
    host = await opened(clock=clock)
    for n, name in enumerate(("林澈", "Ada", "Bob", "周枝")):
        clock.advance(10)
        await say(host, "c", f"我喜欢{n}号茶", speaker=name, person_id=f"id-{n}")
        await host.settle(600)
    await admin(host, "add_alias", person_id="id-1", alias="爱达")
    await admin(host, "set_override", person_id="id-0", text="总值夜。")

    async def listed(**args: Any) -> list[str]:
        return [one["person_id"] for one in (await admin(host, "list", **args))["items"]]

    assert await listed() == ["id-3", "id-0", "id-2", "id-1"]
    assert await listed(limit=1, offset=3) == ["id-1"]
    assert await listed(keyword="ad") == ["id-1"]
    assert await listed(keyword="爱达") == ["id-1"]
    assert await listed(keyword="ID-2") == ["id-2"]
    assert await listed(keyword="林") == ["id-0"]
    assert await listed(keyword="nobody") == []
    whole = await admin(host, "list", keyword="id-", limit=2)
    assert (whole["count"], whole["total"]) == (2, 4)
    (overridden,) = (await admin(host, "list", keyword="id-0"))["items"]
    assert (overridden["has_manual_override"], overridden["summary"], overridden["person_name"]) == (
        True, "总值夜。", "林澈"
    )  # fmt: skip


@pytest.mark.parametrize("text", ["林澈是值夜的。不吃辣。", "Lin keeps the night watch. Eats no chili."])
async def test_an_override_stands_everywhere_until_it_is_taken_away(host: AMemorixHostService, text: str) -> None:
    await say(host, "c", "我住在苏州")
    await host.settle(600)
    shown = await admin(host, "set_override", person_id="u1", override_text=text, updated_by="op", source="webui")
    assert (shown["manual_override_text"], shown["override_updated_by"]) == (text, "op")
    assert "苏州" in shown["auto_summary"]

    for chat in ("c", "elsewhere", ""):
        found = await profile(host, chat_id=chat) if chat else await profile(host)
        assert (found["summary"], found["profile_source"], found["has_manual_override"]) == (
            text, "manual_override", True
        )  # fmt: skip
        assert len(found["traits"]) == 2
        assert (found["items"], found["evidence"]) == ([], [])
    for action in ("query", "evidence"):
        assert "苏州" in str((await admin(host, action, person_id="u1"))["evidence"])
    await admin(host, "set_override", person_id="u1", text="另一句")
    assert (await profile(host))["summary"] == "另一句"

    deleted = await admin(host, "delete_override", person_id="u1")
    assert deleted["deleted"]
    assert "苏州" in deleted["profile"]["summary"]
    assert (await profile(host, chat_id="c"))["profile_source"] == "auto_snapshot"
    await refused(host, "memory_profile_admin", {"action": "delete_override", "person_id": "u1"}, "person_id",
                  code="not_found")  # fmt: skip


@pytest.mark.parametrize(("wrong", "left"), [("我对芒果过敏", "我住在苏州")])
async def test_wrong_evidence_is_deleted_and_the_profile_says_so_at_once(
    host: AMemorixHostService, wrong: str, left: str
) -> None:
    (row,) = await say(host, "c", wrong)
    await say(host, "c", left)
    await host.settle(600)
    listed = await admin(host, "evidence", person_id="u1")
    assert {one["id"] for one in listed["evidence"] if one["type"] == "paragraph"} == {"p1", "p2"}
    assert listed["count"] == len(listed["evidence"])

    answer = await admin(host, "correct_evidence", person_id="u1", hash=row, requested_by="op", reason="不对")
    assert answer["deleted_paragraphs"] == [row]
    assert answer["operation_id"] > 0
    assert {key for item in answer["profile"]["items"] for key in item["evidence"] if key[0] == "p"} == {"p2"}
    assert answer["profile"]["stale"]
    assert wrong not in await contents(host, wrong)
    await host.settle(600)
    assert not (await profile(host))["stale"]
    again = {"action": "correct_evidence", "person_id": "u1", "evidence_id": row}
    assert "deleted" in await refused(host, "memory_profile_admin", again, "evidence_id", code="conflict")


async def test_a_relation_that_is_wrong_is_deleted(host: AMemorixHostService) -> None:
    await say(host, "c", "大家好")
    relation = {"subject": "林澈", "predicate": "讨厌", "object": "香菜"}
    await told(host, "记录一则", chat_id="c", relations=[relation])
    await host.settle(600)
    assert (await profile(host))["traits"] == ["林澈讨厌香菜"]
    answer = await admin(host, "correct_evidence", person_id="u1", evidence_id="r1")

    assert (answer["deleted_relations"], answer["deleted_paragraphs"]) == (["r1"], [])
    assert (await profile(host))["traits"] == []
    again = {"action": "correct_evidence", "person_id": "u1", "evidence_id": "r1"}
    await refused(host, "memory_profile_admin", again, "evidence_id", code="conflict")


async def test_a_relation_falls_with_the_paragraph_that_it_stands_on(host: AMemorixHostService) -> None:
    relation = {"subject": "林澈", "predicate": "讨厌", "object": "香菜"}
    await say(host, "c", "大家好")
    await told(host, "林澈的笔记", chat_id="c", source_type="person_fact", person_ids=["u1"], relations=[relation])
    answer = await admin(host, "correct_evidence", person_id="u1", evidence_id="p2")
    assert (answer["deleted_paragraphs"], answer["deleted_relations"]) == (["p2"], ["r1"])


@pytest.mark.parametrize("text", ["我对苦瓜过敏", "I'm allergic to bitter melon"])
async def test_evidence_that_was_taken_back_is_given_back(host: AMemorixHostService, text: str) -> None:
    relation = {"subject": "林澈", "predicate": "讨厌", "object": "香菜"}
    (row,) = await say(host, "c", text)
    await told(host, "林澈的笔记", chat_id="c", source_type="person_fact", person_ids=["u1"], relations=[relation])
    await host.settle(600)
    before = (await profile(host))["summary"]
    taken = [await admin(host, "correct_evidence", person_id="u1", evidence_id=evidence) for evidence in (row, "p2")]
    await host.settle(600)
    assert (await profile(host))["summary"] == ""

    first, second = [await admin(host, "undo_evidence", operation_id=one["operation_id"]) for one in taken]
    assert first["restored_paragraphs"] == [row]
    assert (second["restored_paragraphs"], second["restored_relations"]) == (["p2"], ["r1"])
    assert second["profile"]["stale"]
    await host.settle(600)
    assert (await profile(host))["summary"] == before
    assert text in await contents(host, text)
    args = {"action": "undo_evidence", "operation_id": taken[0]["operation_id"]}
    assert "already" in await refused(host, "memory_profile_admin", args, "operation_id", code="conflict")


async def test_a_relation_that_was_taken_back_is_given_back(host: AMemorixHostService) -> None:
    await say(host, "c", "大家好")
    await told(host, "记", chat_id="c", relations=[{"subject": "林澈", "predicate": "讨厌", "object": "香菜"}])
    await host.settle(600)
    taken = await admin(host, "correct_evidence", person_id="u1", evidence_id="r1")
    answer = await admin(host, "undo_evidence", operation_id=taken["operation_id"], refresh=False)

    assert (answer["restored_paragraphs"], answer["restored_relations"]) == ([], ["r1"])
    assert (await profile(host))["traits"] == ["林澈讨厌香菜"]


async def test_what_is_given_back_has_its_vector_again(opened: Open) -> None:
    host = await opened(embed=HashEmbedder(32))
    (row,) = await say(host, "c", "I love bitter melon")
    taken = await admin(host, "correct_evidence", person_id="u1", evidence_id=row)
    await say(host, "c", "good morning")
    await host.settle(600)
    await admin(host, "undo_evidence", operation_id=taken["operation_id"])
    await host.settle(600)

    (hit, *_) = await hits(host, "bitter melon")
    assert hit["explain"]["signals"]["dense"] > 0


@pytest.mark.parametrize(
    ("since", "word"),
    [("reworded", "newer text"), ("source", "part of has been deleted"), ("again", "there again"),
     ("purged", "purged"), ("person", "person")],
)  # fmt: skip
async def test_evidence_that_cannot_be_given_back(host: AMemorixHostService, since: str, word: str) -> None:
    """Something else has become of it meanwhile."""
    await say(host, "c", "我喜欢茶", external_id="m")
    taken = await admin(host, "correct_evidence", person_id="u1", evidence_id="p1")
    changes = {
        "again": "update paragraphs set deleted_at = null",
        "purged": "delete from paragraphs",
        "person": "delete from persons where person_id = 'u1'",
        "source": "update external_memory_refs set deleted_at = 1",
    }
    if since == "reworded":
        await say(host, "c", "我爱看书", external_id="m")
    else:
        await host.settle(600)
        forget = ("facts", "paragraph_persons", "chat_persons") if since == "person" else ()
        for statement in (*(f"delete from {table}" for table in forget), changes[since]):
            change(host, statement)
    args = {"action": "undo_evidence", "operation_id": taken["operation_id"]}
    assert word in await refused(host, "memory_profile_admin", args, "operation_id", code="conflict")


@pytest.mark.parametrize(
    ("operation", "code"), [(9, "not_found"), (0, "invalid_request"), (None, "invalid_request"), ("", "invalid_request"),
                            ("x", "invalid_request"), (True, "invalid_request"), (1.5, "invalid_request")],
)  # fmt: skip
async def test_only_evidence_is_given_back(host: AMemorixHostService, operation: Any, code: str) -> None:
    await say(host, "c", "我喜欢茶")
    args = {"action": "undo_evidence", "operation_id": operation}
    await refused(host, "memory_profile_admin", args, "operation_id", code=code)


async def test_a_change_of_another_kind_is_no_evidence_to_give_back(host: AMemorixHostService) -> None:
    await host.invoke("memory_graph_admin", {"action": "create_node", "name": "海"})
    renamed = await host.invoke("memory_graph_admin", {"action": "rename_node", "node": "海", "new_name": "大海"})
    assert renamed["undo_id"] == "u1"
    args = {"action": "undo_evidence", "operation_id": 1}
    await refused(host, "memory_profile_admin", args, "operation_id", code="not_found")


@pytest.mark.parametrize(
    ("evidence", "code"),
    [("p99", "not_found"), ("r99", "not_found"), ("p3", "not_found"), ("r1", "not_found"), ("f1", "invalid_request"),
     ("12", "invalid_request"), ("x1", "invalid_request"), ("p", "invalid_request"), ("p１", "invalid_request"),
     ("p" + "9" * 30, "invalid_request"), ("p2", "conflict")],
)  # fmt: skip
async def test_evidence_that_cannot_be_taken_back(host: AMemorixHostService, evidence: str, code: str) -> None:
    """p2 was reworded, p3 is somebody else's, r1 is about others."""
    await say(host, "c", "我喜欢茶")
    await say(host, "c", "我讨厌茶", external_id="m")
    await said(host, "c", ("周枝", "我喜欢猫"))
    await told(host, "一则", chat_id="c", relations=[{"subject": "甲", "predicate": "认识", "object": "乙"}])
    await say(host, "c", "我爱看书", external_id="m")
    await refused(
        host, "memory_profile_admin", {"action": "correct_evidence", "person_id": "u1", "evidence_id": evidence},
        "evidence_id", code=code,
    )  # fmt: skip


async def test_overrides_and_profiles_outlive_a_restart(tmp_path: Any) -> None:
    async with memory_host(tmp_path) as host:
        await say(host, "c", "我住在苏州")
        await host.settle(600)
        await admin(host, "set_override", person_id="u1", text="值夜的人")
    async with memory_host(tmp_path) as host:
        found = await admin(host, "query", person_id="u1")
        assert (found["summary"], found["version"], found["stale"]) == ("值夜的人", 1, False)
        assert "苏州" in found["auto_summary"]


WITH_PERSON = ("evidence", "correct_evidence", "set_override", "delete_override", "add_alias", "remove_alias", "history",
               "refresh")  # fmt: skip
REST: dict[str, dict[str, Any]] = {
    "correct_evidence": {"evidence_id": "p1"}, "set_override": {"text": "x"}, "add_alias": {"alias": "x"},
    "remove_alias": {"alias": "x"},
}  # fmt: skip
"""What an action needs besides the person."""


@pytest.mark.parametrize("action", WITH_PERSON)
async def test_nobody_is_not_found(host: AMemorixHostService, action: str) -> None:
    await say(host, "c", "我喜欢茶")
    args = {"action": action, "person_id": "谁也不是", **REST.get(action, {})}
    await refused(host, "memory_profile_admin", args, "person_id", code="not_found")


async def test_a_name_of_two_persons_is_refused_with_both(host: AMemorixHostService) -> None:
    for n in (1, 2):
        await say(host, "c", "我喜欢茶", person_id=f"u{n}")
    for action in WITH_PERSON:
        error = await refused(
            host, "memory_profile_admin", {"action": action, "person_id": "林澈", **REST.get(action, {})}, "person_id"
        )
        assert "u1, u2" in error


async def test_a_person_is_needed(host: AMemorixHostService) -> None:
    for action in ("query", *WITH_PERSON):
        for person in [None, "", " ", ["u1"], "x" * 513]:
            await refused(
                host,
                "memory_profile_admin",
                {"action": action, "person_id": person, **REST.get(action, {})},
                "person_id",
            )


UNFIT: list[Any] = [
    ({"action": "set_override", "text": None}, "text", "invalid_request"),
    ({"action": "set_override", "text": " \n "}, "text", "invalid_request"),
    ({"action": "set_override", "text": "长" * 20_001}, "text", "invalid_request"),
    ({"action": "correct_evidence"}, "evidence_id", "invalid_request"),
    ({"action": "add_alias"}, "alias", "invalid_request"),
    ({"action": "add_alias", "alias": " "}, "alias", "invalid_request"),
    ({"action": "add_alias", "alias": "阿澈", "chat_id": "nowhere"}, "chat_id", "not_found"),
    ({"action": "remove_alias", "alias": "阿澈", "chat_id": "nowhere"}, "chat_id", "not_found"),
    ({"action": "remove_alias", "alias": "阿澈"}, "alias", "not_found"),
    ({"action": "delete_override"}, "person_id", "not_found"),
    ({"action": "list", "limit": 0}, "limit", "invalid_request"),
    ({"action": "list", "offset": -1}, "offset", "invalid_request"),
    ({"action": "list", "keyword": 5.5}, "keyword", "invalid_request"),
    ({"action": "history", "limit": 0}, "limit", "invalid_request"),
    ({"action": "evidence", "top_k": 201}, "top_k", "invalid_request"),
    ({"action": "status", "status": "lost"}, "status", "invalid_request"),
    ({"action": "process_pending", "limit": 0}, "limit", "invalid_request"),
    ({"action": "process_pending", "limit": "many"}, "limit", "invalid_request"),
]


async def test_arguments_that_do_not_fit_change_nothing(host: AMemorixHostService) -> None:
    await say(host, "c", "我喜欢茶")
    for args, field, code in UNFIT:
        await refused(host, "memory_profile_admin", {"person_id": "u1", **args}, field, code=code)
        assert (await admin(host, "query", person_id="u1"))["has_manual_override"] is False
        assert (await admin(host, "query", person_id="u1"))["aliases"] == []
