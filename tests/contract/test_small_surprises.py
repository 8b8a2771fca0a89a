"""What surprised somebody new: names that are refused without a hint, and words that mean what is known already."""

from __future__ import annotations

from typing import Any

import pytest

from amemorix import AMemorixHostService
from entrance import refused, said
from test_correction import previewed
from test_correction_targets import facts
from test_mentions import spoke
from test_purge import admin

CORRECT, FACTS, PROFILES = "memory_correction_admin", "memory_fact_admin", "memory_profile_admin"


@pytest.mark.parametrize(
    ("name", "line", "text"),
    [
        ("Mia", "I'm Mia, I live in Oslo", "forget everything about Mia"), ("Mia", "I live in Oslo", "forget Mia"),
        ("Mia", "I live in Oslo", "forget everything about me"), ("林澈", "我叫林澈，住在成都", "删除关于林澈的记忆"),
        ("小雨", "我叫小雨，住在成都，喜欢猫", "删除关于小雨的记忆"), ("林澈", "我住在成都", "忘掉林澈"),
    ],
)  # fmt: skip
async def test_to_forget_a_whole_person_is_said_to_be_a_deletion(
    host: AMemorixHostService, name: str, line: str, text: str
) -> None:
    await spoke(host, "g", name, "1", line)
    await host.settle()
    given = {"action": "preview", "chat_id": "g", "text": text, "person_id": "1"}
    assert "memory_delete_admin" in await refused(host, CORRECT, given, "text")


@pytest.mark.parametrize(
    ("name", "line", "text"),
    [
        ("小雨", "昨天下小雨", "忘掉小雨"),
        ("Coffee", "I drink coffee", "forget coffee"),
        ("Mia", "I live in Oslo", "forget Oslo"),
    ],
)
async def test_a_word_that_somebody_is_called_may_be_forgotten(
    host: AMemorixHostService, name: str, line: str, text: str
) -> None:
    await spoke(host, "g", name, "1", line)
    await host.settle()
    assert [one["becomes"] for one in (await previewed(host, text))["replacements"]] == [""]


@pytest.mark.parametrize(("one", "other"), [("小雨", "老王"), ("Mia", "Tom")], ids=["zh", "en"])
async def test_an_alias_that_is_anothers_name_is_warned_of(host: AMemorixHostService, one: str, other: str) -> None:
    await spoke(host, "g", one, "1", "hi")
    await spoke(host, "g", other, "2", "hi")
    given = {"action": "add_alias", "person_id": "1", "alias": other}
    answer = await host.invoke(PROFILES, given)
    assert answer["changed"] and len(answer["warnings"]) == 1 and "2" in answer["warnings"][0]
    again = await host.invoke(PROFILES, given | {"alias": "Zed"})
    assert again["changed"] and again["warnings"] == []


@pytest.mark.parametrize(
    ("said_as", "attribute", "warned"),
    [("住处", "residence", True), ("City", "residence", True), ("公司", "workplace", True), ("residence", "residence", False),
     ("shoe size", "shoe size", False), ("Residence", "residence", True)],
)  # fmt: skip
async def test_an_attribute_by_its_label_is_the_same_attribute(
    host: AMemorixHostService, said_as: str, attribute: str, warned: bool
) -> None:
    await spoke(host, "g", "小雨", "1", "hi")
    given: dict[str, Any] = {"action": "add", "person_id": "1", "attribute": said_as, "value": "杭州"}
    answer = await host.invoke(FACTS, given)
    assert answer["fact"]["attribute"] == attribute and bool(answer["warnings"]) == warned
    assert {fact[0] for fact in await facts(host, "1")} == {attribute}


async def test_a_group_is_named_by_its_number(host: AMemorixHostService) -> None:
    for person, line in (("小雨", "我住在上海"), ("Mia", "I live in Oslo")):
        turn = {"group_id": "42", "messages": [{"speaker": person, "text": line}]}
        assert (await host.invoke("ingest_messages", turn))["success"]
    await host.settle()
    answer = await refused(
        host, "memory_delete_admin", {"action": "preview", "mode": "chat", "selector": "42"}, "selector", "not_found"
    )
    assert "group:42" in answer
    for text, right in (
        ("小雨不住在上海，她住在杭州", "我住在杭州"),
        ("Mia doesn't live in Oslo, she lives in Rome", "I live in Rome"),
    ):
        given = {"action": "preview", "group_id": "42", "text": text}
        preview = await host.invoke(CORRECT, given)
        assert [one["becomes"] for one in preview["replacements"]] == [right]


@pytest.mark.parametrize(
    ("component", "args", "field", "sentence"),
    [
        ("maintain_memory", {"action": "protect"}, "target", "target is required."), (FACTS, {"action": "undo"}, "undo_id", "undo_id is required."),
        ("ingest_messages", {"chat_id": "g", "messages": []}, "messages", "messages must not be empty."),
        (CORRECT, {"action": "preview", "text": "x"}, "chat_id", "chat_id is required"), ("ingest_messages", {"messages": [{"text": "x"}]}, "chat_id", "chat_id is required"),
    ],
)  # fmt: skip
async def test_what_is_missing_is_told_in_a_sentence(
    host: AMemorixHostService, component: str, args: dict[str, Any], field: str, sentence: str
) -> None:
    assert f": {sentence}" in await refused(host, component, args, field)


async def test_who_is_left_without_a_word_is_not_listed(host: AMemorixHostService) -> None:
    await said(host, "g", ("小雨", "我住在上海"), ("Tom", "I live in York"))
    await said(host, "h", ("Tom", "hi"))
    await host.settle()
    assert (await host.invoke(PROFILES, {"action": "list"}))["total"] == 2
    done = await admin(host, "execute", mode="chat", selector="g")
    await host.settle()
    left = await host.invoke(PROFILES, {"action": "list"})
    assert ([one["person_name"] for one in left["items"]], left["total"]) == (["Tom"], 1)
    await admin(host, "restore", operation_id=done["operation_id"])
    await host.settle()
    assert (await host.invoke(PROFILES, {"action": "list"}))["total"] == 2
