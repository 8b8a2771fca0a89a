"""A purge takes names out of records and exports, however short they are, and leaves those of others."""

from __future__ import annotations

import json

import pytest

from amemorix import AMemorixHostService
from entrance import call, change, data_of, refused, rows, said, told
from test_purge import admin

ADMIN = "memory_delete_admin"


async def dump(host: AMemorixHostService) -> str:
    """Every value of every table that keeps records."""
    tables = ("undo_records", "memory_v5_operations", "correction_plans", "feedback_tasks", "fact_transitions",
              "delete_operations", "delete_operation_items", "entities", "entity_aliases", "persons")  # fmt: skip
    return json.dumps([rows(host, f"select * from {table}") for table in tables], ensure_ascii=False)


@pytest.mark.parametrize(("name", "alias", "other"), [("Mia", "Mimi", "Miami"), ("林澈", "阿澈", "澈底")])
async def test_short_names_of_a_purged_person_are_gone(
    host: AMemorixHostService, name: str, alias: str, other: str
) -> None:
    await said(host, "c", (name, "I drink coffee."), ("Bob", "It rains."))
    await call(host, "memory_profile_admin", "add_alias", person_id=name, alias=alias)
    await told(host, "note", chat_id="c", external_id="1", entities=["tea", other])
    await call(host, "memory_graph_admin", "rename_node", node="tea", new_name=alias, requested_by=name)
    await call(host, "memory_graph_admin", "rename_node", node=alias, new_name="coffee pot")
    await call(host, "memory_graph_admin", "remove_alias", alias=alias)
    await call(host, "memory_graph_admin", "rename_node", node=other, new_name="town", requested_by="Bob")
    await call(host, "memory_v5_admin", "remember_forever", target="p2", requested_by=name, reason=f"{alias}!")

    done = await admin(host, "execute", mode="person", selector=name, purge=True, requested_by=name)

    assert done["receipt"]["scrubbed"]["memory_v5_operations"] == 1
    assert done["receipt"]["unnamed"]["delete_operations"] == 1
    kept = await dump(host)
    rest = kept.casefold().replace(other, "").replace(other.casefold(), "")
    assert name.casefold() not in rest and alias.casefold() not in rest
    assert other in kept and "Bob" in kept, "a longer word and other names stay"
    listed = await call(host, "memory_graph_admin", "list_undo")
    assert [row["requested_by"] for row in listed["items"]] == ["Bob"]
    await refused(host, "memory_graph_admin", {"action": "undo", "undo_id": "u1"}, "undo_id", "not_found")


async def test_a_name_that_somebody_else_bears_stays(host: AMemorixHostService) -> None:
    await said(host, "c", ("Mia", "I drink coffee."))
    await host.invoke("ingest_messages", {"chat_id": "d", "messages": [
        {"speaker": "Mia", "speaker_id": "m2", "text": "I drink tea."}]})  # fmt: skip
    await call(host, "memory_v5_admin", "remember_forever", target="p2", reason="as Mia asked")
    await admin(host, "execute", mode="chat", selector="c", purge=True)
    assert rows(host, "select reason from memory_v5_operations") == [("as Mia asked",)]


async def test_a_chat_that_goes_takes_the_names_that_only_it_knew(host: AMemorixHostService) -> None:
    await said(host, "c", ("Mia", "I drink coffee."))
    await said(host, "d", ("Bob", "It rains."))
    await call(host, "memory_v5_admin", "remember_forever", target="p2", reason="Mia and Bob asked", requested_by="Mia")
    await admin(host, "execute", mode="chat", selector="c", purge=True)
    assert rows(host, "select reason, requested_by from memory_v5_operations") == [("", "")]


async def test_overrides_kept_by_an_earlier_deletion_go_too(host: AMemorixHostService) -> None:
    await said(host, "c", ("Mia", "I drink coffee."))
    await call(host, "memory_profile_admin", "set_override", person_id="Mia", text="shy")
    await admin(host, "execute", mode="person", selector="Mia")
    await said(host, "c", ("Mia", "I am back."))
    await admin(host, "execute", mode="person", selector="Mia", purge=True)
    assert "shy" not in await dump(host)


async def test_changes_of_a_node_that_goes_are_forgotten(host: AMemorixHostService) -> None:
    await told(host, "note", external_id="1", entities=["tea"])
    await told(host, "other", external_id="2", entities=["pot"])
    for node, alias in (("tea", "ulong"), ("pot", "tin")):
        await call(host, "memory_graph_admin", "add_alias", node=node, alias=alias)
        await call(host, "memory_graph_admin", "remove_alias", alias=alias)
    await admin(host, "execute", mode="paragraph", selector="p1", purge=True)
    kept = await dump(host)
    assert "ulong" not in kept and "tin" in kept


@pytest.mark.parametrize("word", ["kite", "风筝"])
async def test_exports_that_show_what_is_gone_are_removed(host: AMemorixHostService, word: str) -> None:
    hangs = {"subject": word, "predicate": "in", "object": "hall"}
    await told(host, "note", external_id="1", source="a", relations=[hangs])
    await told(host, "other", external_id="2", source="b", chat_id="d", entities=["lamp"])
    for path, more in (
        ("all.json", {}),
        ("all.xml", {"format": "graphml"}),
        ("d.json", {"chat_id": "d", "node": "lamp"}),
    ):
        await call(host, "memory_graph_admin", "export", path=path, **({"format": "json"} | more))
    done = await admin(host, "execute", mode="source", selector="a", purge=True)
    assert [copy["file"] for copy in done["receipt"]["copies"]] == ["exports/all.json", "exports/all.xml"]
    assert [path.name for path in (data_of(host) / "exports").iterdir()] == ["d.json"]


async def test_a_correction_that_names_a_purged_paragraph_is_emptied_and_failed(host: AMemorixHostService) -> None:
    for n in (1, 2):
        await told(host, "tea" if n == 1 else "pot", external_id=str(n))
    for n in (1, 2):
        paragraphs = json.dumps({"paragraphs": [{"id": n, "becomes": "cha", "hash": ""}], "note": ""})
        change(host, "insert into correction_plans (request, plan, status, created_at) values "
                     "('no', ?, 'awaiting_confirmation', 0)", (paragraphs,))  # fmt: skip
    await admin(host, "execute", mode="paragraph", selector="p1", purge=True)
    assert rows(host, "select plan = '{}', status from correction_plans order by id") == [
        (1, "failed"),
        (0, "awaiting_confirmation"),
    ]
    for action in ("execute", "rollback"):
        given = {"action": action, "plan_id": 1, "confirmed": True}
        await refused(host, "memory_correction_admin", given, "", "conflict")
