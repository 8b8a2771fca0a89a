"""A text planted through every operation that takes one, in every column that can hold it: after a purge no byte is left."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from amemorix import AMemorixHostService
from amemorix.host.operations import OPERATIONS
from amemorix.ops import Operation
from amemorix.testing import HashEmbedder, memory_host
from entrance import data_of, reading
from import_entrance import ended
from test_purge import in_copy, left

TEXTS = [
    "the umbrella of zanzibar leans on the walrus",
    "折叠伞放在值班柜的第二层抽屉里靠左边的海象旁还有一把蓝色的水壶",
]
FREE = "content external_id name query reason requested_by source text type updated_by value"
"""Arguments that take any words, whatever the operation."""
NOT_CALLED = """
memory_import_admin_create_upload memory_import_admin_create_raw_scan memory_import_admin_create_lpmm_openie
memory_import_admin_create_lpmm_convert memory_import_admin_create_maibot_migration memory_tuning_admin_apply_best
memory_import_admin_create_temporal_backfill memory_fact_admin_resolve memory_feedback_admin_rollback
memory_episode_admin_rebuild memory_profile_admin_correct_evidence
"""
"""Operations that keep no other text than those that are called, or want other files or states."""
OWN_WORDS = """
action authority baseline became cardinality component counts day deleted_by deleted_reason door error figures fingerprint
format hits inactive_reason items key kind knowledge mode model notes options origin outcome params previous profile prompt provider
receipt records role rollback_status root segmented_by sha256 split stability stage stance status task was worker
"""
"""Columns, in whatever table, that hold words, figures and ids of the program."""
NOT_PLANTED = """
correction_plans.result delete_operations.stays episodes.keywords episodes.title fact_evidence.value fact_links.reason feedback_tasks.decision
feedback_tasks.result meta.value sources.source_type tuning_tasks.result vector_spaces.name
"""
"""Columns of figures and ids too, or of what is derived, in a form that differs from text to text; a name that is of no text."""


async def plant(host: AMemorixHostService, text: str, chat: str, person: str) -> set[str]:
    """Call the operations with the text in every free text that is not given; returns which were called."""
    called: set[str] = set()

    async def do(component: str, action: str = "", **args: Any) -> dict[str, Any]:
        (op,) = (op for op in OPERATIONS if op.component == component and (op.action or "") == action)
        given = {"action": action} if action else {}
        answer = await host.invoke(component, given | dict.fromkeys(free(op), text) | args)
        assert answer["success"], (component, action, args, answer)
        called.add(op.name)
        return answer

    async def by_target(component: str, target: str, *actions: str) -> None:
        for action in actions:
            await do(component, action, target=target)

    facts, graph, profile, deleting = (
        "memory_fact_admin",
        "memory_graph_admin",
        "memory_profile_admin",
        "memory_delete_admin",
    )
    begin, end, inner = text[:20], text[-15:], text[3:19]
    turn = {
        "speaker": begin,
        "person_id": person,
        "text": text,
        "aliases": [end],
        "external_id": text,
        "metadata": {begin: text},
    }
    home, other = (
        ("I live in", "I do not live in {}, I live in Oslo") if text.isascii() else ("我住在", "我不住在{}，我住在杭州")
    )
    lives = turn | {"external_id": end, "text": f"{home} {inner}" if text.isascii() else home + inner}
    number = "my phone number is 555 123 4567" if text.isascii() else "我的手机号是13800138000"
    calls = turn | {"external_id": inner, "text": f"{number}, {inner}"}
    await do("ingest_messages", chat_id=chat, group_id=end, user_id=begin, messages=[turn, lives, calls])
    note = await do(
        "ingest_text", chat_id=chat, text=f"  {text}\n\n", source_type=end, entities=[begin], tags=[text], person_ids=[person],
        metadata={"why": text},
        relations=[{"subject": begin, "predicate": inner, "object": end}], person_aliases={person: [inner]}, participants=[begin],
    )  # fmt: skip
    vector = {"id": text, "vector": [1.0, 2.0, 3.0], "attributes": {begin: text}}
    await do("memory_vector_admin", "create_space", space="pictures")
    await do(
        "memory_vector_admin", "add", space="pictures", items=[vector | {"ref": {"source": text, "external_id": text}}]
    )
    await do("ingest_text", chat_id=chat, source_type="note", source=inner, person_ids=[person], external_id=inner)
    await do("ingest_summary", chat_id=chat, participants=[begin], tags=[text], metadata={"why": text})
    await host.settle(600)
    mine = note["stored_ids"][0]
    await do("memory_document_admin", "set", ids=[mine], source="", metadata={"why": text}, tags=[text, begin])
    await do("memory_document_admin", "delete", source=inner, tags=[text], metadata={"why": text})
    await do("memory_source_admin", "delete", source=inner)
    await by_target("maintain_memory", mine, "protect", "reinforce")
    await do("maintain_memory", "used", targets=[mine])
    await by_target("memory_v5_admin", mine, "reinforce", "weaken", "remember_forever", "forget", "restore")
    wrong = {"chat_id": chat, "person_id": person, "text": other.format(inner)}
    plan = (await do("memory_correction_admin", "preview", **wrong))["plan_id"]
    await do("memory_correction_admin", "execute", plan_id=plan, confirmed=True)
    await do("memory_correction_admin", "rollback", plan_id=plan)
    about = {"person_id": person, "chat_id": chat, "attribute": inner, "entity": ""}
    fact = (await do(facts, "add", **about))["fact"]["id"]
    await do(facts, "supersede", fact_id=fact, value=f"walrus of {text}")
    fact = (await do(facts, "add", **about | {"attribute": "lamp"}))["fact"]["id"]
    await do(facts, "undo", undo_id=(await do(facts, "retract", fact_id=fact))["undo_id"])
    await do(profile, "add_alias", person_id=person, alias=text[1:25])
    await do(profile, "set_override", person_id=person)
    node = {"node": f"{begin} node"}
    await do(graph, "create_node", name=f"{begin} knot", aliases=[f"{begin} also"], metadata={"why": text})
    await do(graph, "rename_node", node=f"{begin} knot", new_name=f"{begin} node")
    await do(graph, "add_alias", **node, alias=f"{begin} too")
    await do(graph, "remove_alias", **node, alias=f"{begin} too")
    edge = await do(graph, "create_edge", subject=f"{begin} node", predicate="leans on", object=end, paragraphs=[mine])
    relation = {"relation": edge["relation_ids"][0], "source": ""}
    await by_target("maintain_memory", relation["relation"], "freeze", "restore")
    await do(graph, "update_edge_weight", **relation, weight=2.0)
    await do(graph, "undo", undo_id=(await do(graph, "delete_edge", **relation))["undo_id"])
    await do(graph, "create_node", name=f"{begin} twin")
    await do(graph, "merge_nodes", sources=[f"{begin} twin"], target=f"{begin} node")
    await do(graph, "delete_node", **node)
    for what in ({"mode": "paragraph", "selector": {"query": inner}}, {"mode": "person", "selector": person}):
        await do(deleting, "restore", operation_id=(await do(deleting, "execute", **what))["operation_id"])
    await do("memory_tuning_admin", "apply_profile", profile={"retrieval.candidates": 77})
    asked = {"query": text, "chat_id": chat, "expected": [mine]}
    await do("memory_tuning_admin", "create_task", queries=[asked], rounds=2)
    await do("enqueue_feedback_task", query_tool_id=text, session_id=chat, structured_content=[mine])
    lines = "\n".join(json.dumps({**turn, "external_id": f"{n}", "time": at}) for n, at in enumerate([1.7e9, text]))
    paste = {"name": f"{begin}.jsonl", "content": lines, "chat_id": chat, "skip_bad": True}
    await ended(host, (await do("memory_import_admin", "create_paste", **paste))["task"]["task_id"])
    await host.settle(600)
    for component, action, path in (
        ("memory_runtime_admin", "save", ""), ("memory_runtime_admin", "backup", ""), ("memory_runtime_admin", "export", ""),
        (graph, "export", "all.json"),
    ):  # fmt: skip
        await do(component, action, **({"path": path} if path else {}))
    return called


def free(op: Operation) -> list[str]:
    """The arguments of an operation that take any words."""
    shape = op.request.model_json_schema()["properties"]
    return [
        name
        for name in shape.keys() & set(FREE.split())
        if shape[name].get("type") == "string" and "enum" not in shape[name]
    ]


def columns_holding(host: AMemorixHostService, text: str) -> tuple[set[str], set[str]]:
    """(columns that can hold text, those that hold a piece of this one)."""
    pieces = {text[at : at + 9] for at in range(len(text) - 8)}
    pieces |= {json.dumps(piece)[1:-1] for piece in pieces}
    columns = "select m.name, c.name from sqlite_schema m, pragma_table_info(m.name) c where m.type = 'table' and c.type = 'TEXT'"
    every, held = set[str](), set[str]()
    with reading(host) as db:
        for table, column in db.execute(columns).fetchall():
            every.add(f"{table}.{column}")
            values = "\n".join(str(value) for (value,) in db.execute(f'select "{column}" from "{table}"'))
            held |= {f"{table}.{column}"} if any(piece in values for piece in pieces) else set()
    return every, held


@pytest.mark.parametrize("text", TEXTS)
async def test_no_column_and_no_file_keeps_it(tmp_path: Path, text: str) -> None:
    chat, person = f"group:{text[:24]}", f"qq:{text[:24]}"
    async with memory_host(tmp_path, embed=HashEmbedder(32), feedback={"enabled": True}) as host:
        called = await plant(host, text, chat, person)
        every, held = columns_holding(host, text)
        assert {op.name for op in OPERATIONS if op.effect != "read" and free(op)} - called == set(NOT_CALLED.split())
        unplanted = {
            one for one in every - held - {*NOT_PLANTED.split()} if one.partition(".")[2] not in OWN_WORDS.split()
        }
        assert unplanted == set(), "plant the text there too, or say why no caller can fill it"

        names = [text[:20], text[-15:]]
        selector = {"chat_ids": [chat], "person_ids": [person], "entity_names": names}
        asked = {"action": "execute", "mode": "mixed", "purge": True, "selector": selector, "reason": text}
        done = await host.invoke("memory_delete_admin", asked)

        assert (done["success"], done["receipt"]["found"], done["receipt"]["complete"]) == (True, {}, True), done
        assert columns_holding(host, text)[1] == set()
        assert left(in_copy(data_of(host), tmp_path / "after"), [text, chat, person]) == []
