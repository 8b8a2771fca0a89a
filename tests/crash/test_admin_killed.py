"""A process that is killed in the middle of any change, whatever component it was asked of.

Each life does the changes of one chapter, and is killed in the next of its calls; what a life before saw acknowledged has
to be there when the next one opens.
"""

from __future__ import annotations

import json
import random
import sys
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from amemorix import AMemorixHostService
from amemorix.host.operations import OPERATIONS
from amemorix.testing import HashEmbedder, memory_host
from entrance import rows
from lives import Life, Tell

READING = {
    "memory_text_admin",
    "search_memory",
    "get_context",
    "memory_stats",
    "get_person_profile",
    "memory_feedback_admin",
    "embed_texts",
    "memory_key_admin",  # it works on encrypted memories alone, and is killed at each of its steps among their tests
}
LONGEST_DELAY = 0.03
Do = Callable[..., Awaitable[dict[str, Any]]]
Acts = dict[tuple[str, str], int]
"""(component, action) -> how many calls have changed something: noted in the transaction of each change."""


async def texts(do: Do, n: int) -> None:
    chat = f"texts {n}"
    turns = [{"external_id": "t1", "speaker": "Mia", "text": "I live in Porto."}]
    await do("ingest_messages", chat_id=chat, messages=turns)
    await do("ingest_summary", external_id="s", chat_id=chat, text="They met in Porto.")
    note = {"external_id": f"n{n}", "source_type": "note", "chat_id": chat}
    await do("ingest_text", **note, text="The kettle is blue.")
    stored = (await do("ingest_text", **note, text="The kettle is red.", expires_at="never"))["stored_ids"]
    await do("memory_correction_admin", "preview", chat_id=chat, person_id="Mia", text="I live in Lisbon, not Porto")
    plans = (await do("memory_correction_admin", "list"))["items"]
    plan = plans[0]["plan_id"]
    await do("memory_correction_admin", "execute", plan_id=plan, confirmed=True)
    await do("memory_correction_admin", "rollback", plan_id=plan)
    for action in ("reinforce", "protect"):
        await do("maintain_memory", action, target=stored[0])


async def people(do: Do, n: int) -> None:
    chat, who, profile, facts = f"people {n}", f"Ada {n}", "memory_profile_admin", "memory_fact_admin"
    turns = [{"external_id": "1", "speaker": who, "person_id": f"u{n}", "text": "I keep bees in Lisbon."}]
    said = await do("ingest_messages", chat_id=chat, messages=turns)
    await do(profile, "add_alias", person_id=f"u{n}", alias=f"Bee {n}")
    await do(profile, "remove_alias", person_id=f"u{n}", alias=f"Bee {n}")
    await do(profile, "set_override", person_id=f"u{n}", text="She keeps bees.")
    await do(profile, "delete_override", person_id=f"u{n}")
    taken = await do(profile, "correct_evidence", person_id=f"u{n}", evidence_id=said["stored_ids"][0])
    await do(profile, "undo_evidence", operation_id=taken["operation_id"])
    await do(profile, "refresh", person_id=f"u{n}")
    fact = (await do(facts, "add", person_id=f"u{n}", attribute="boat", value="Walrus"))["fact"]["id"]
    await do(facts, "supersede", fact_id=fact, value="Otter")
    fact = (await do(facts, "add", person_id=f"u{n}", attribute="lamp", value="red"))["fact"]["id"]
    undo = (await do(facts, "retract", fact_id=fact))["undo_id"]
    await do(facts, "undo", undo_id=undo)


async def deletions(do: Do, n: int) -> None:
    chat, admin = f"gone {n}", "memory_delete_admin"
    turns = [{"external_id": str(i), "speaker": f"Tom {n}", "text": f"The lamp {n}.{i} is green."} for i in range(20)]
    await do("ingest_messages", chat_id=chat, messages=turns)
    gone = (await do(admin, "execute", mode="chat", selector=chat))["operation_id"]
    await do(admin, "restore", operation_id=gone)
    gone = (await do(admin, "execute", mode="chat", selector=chat))["operation_id"]
    await do(admin, "purge", operation_id=gone)
    for name in ("a", "b", "c"):
        await do("ingest_text", external_id=f"{n}", source_type="note", source=f"{name}{n}", text="A lamp on a boat.")
    await do("memory_source_admin", "delete", source=f"a{n}")
    await do("memory_source_admin", "batch_delete", sources=[f"b{n}", f"c{n}"])


async def documents(do: Do, n: int) -> None:
    source, admin, vectors = f"book {n}", "memory_document_admin", "memory_vector_admin"
    items = [{"external_id": f"p{i}", "source": source, "text": f"Page {n}.{i} tells of lamps."} for i in range(20)]
    await do("ingest_texts", items=items)
    await do(admin, "set", source=source, external_ids=["p0", "p1"], tags=["read"], metadata={"by": "Ada"})
    await do(vectors, "create_space", space=source)
    await do(
        vectors, "add", space=source, items=[{"id": "v1", "vector": [0.6, 0.8]}, {"id": "v2", "vector": [1.0, 0.0]}]
    )
    await do(vectors, "delete", space=source, ids=["v1"])
    await do(vectors, "drop_space", space=source)
    await do(admin, "delete", source=source, external_ids=["p2"])
    await do(admin, "delete", source=source, tags=["read"], purge=True)


async def graph(do: Do, n: int) -> None:
    admin, v5 = "memory_graph_admin", "memory_v5_admin"
    await do(admin, "create_node", name=f"node {n}")
    await do(admin, "rename_node", node=f"node {n}", new_name=f"renamed {n}")
    await do(admin, "add_alias", node=f"renamed {n}", alias=f"other {n}")
    await do(admin, "remove_alias", node=f"renamed {n}", alias=f"other {n}")
    edge = await do(admin, "create_edge", subject=f"renamed {n}", predicate="lives in", object=f"place {n}")
    relation = edge["relation_ids"][0]
    await do(admin, "update_edge_weight", relation=relation, weight=2.0)
    for action in ("reinforce", "weaken", "remember_forever", "forget", "restore"):
        await do(v5, action, target=relation)
    await do(v5, "run")
    await do(admin, "delete_edge", relation=relation)
    undo = (await do(admin, "list_undo"))["items"][0]["undo_id"]
    await do(admin, "undo", undo_id=undo)
    await do(admin, "create_node", name=f"twin {n}")
    await do(admin, "merge_nodes", sources=[f"twin {n}"], target=f"renamed {n}")
    await do(admin, "delete_node", node=f"renamed {n}")


async def whole(do: Do, n: int) -> None:
    runtime, imports, tuning = "memory_runtime_admin", "memory_import_admin", "memory_tuning_admin"
    await do("ingest_text", external_id=f"w{n}", source_type="note", chat_id="c", text=f"The harbour has {n} lamps.")
    for action in ("save", "rebuild_all_vectors", "repair", "recover_embedding", "export"):
        await do(runtime, action)
    await do(runtime, "set_auto_save", enabled=bool(n % 2))
    made = (await do(runtime, "backup"))["backup"]["id"]
    await do(runtime, "delete_backup", backup=made)
    turns = json.dumps([{"speaker": "Ada", "text": f"kite {n}.{i}"} for i in range(50)])
    task = (await do(imports, "create_paste", name="k.json", content=turns, chat_id=f"kites {n}"))["task"]["task_id"]
    await do(imports, "cancel", task_id=task)
    await do(tuning, "apply_profile", profile={"retrieval.candidates": 60 + n % 40})
    await do(tuning, "rollback_profile")
    await do("memory_episode_admin", "rebuild", all=True)
    await do("enqueue_feedback_task", query_tool_id=f"q{n}", session_id="c", structured_content=["p1"])


CHAPTERS = (texts, people, deletions, documents, graph, whole)


def acts(host: AMemorixHostService) -> Acts:
    sql = "select component, action, sum(calls) from audit where door = 'host' and component <> 'config' group by 1, 2"
    return {(component, action): calls for component, action, calls in rows(host, sql)}


async def check(host: AMemorixHostService, acknowledged: Acts) -> None:
    """Whatever was acknowledged is there, nothing is there twice, and everything fits together."""
    found = acts(host)
    lost = {name: (count, found.get(name, 0)) for name, count in acknowledged.items() if found.get(name, 0) < count}
    assert not lost, f"lost: {lost}"
    more = Counter(found) - Counter(acknowledged)
    assert sum(more.values()) <= 1, f"done without being asked: {more}"
    await host.settle(600)
    answer = await host.invoke("memory_runtime_admin", {"action": "refresh_self_check", "deep": True})
    assert answer["report"]["ok"], [one for one in answer["report"]["findings"] if not one["ok"]]


async def live(tell: Tell, folder: Path, number: int, acknowledged: Acts) -> None:
    """Tell what is begun and what was acknowledged."""
    async with memory_host(folder, embed=HashEmbedder(16), feedback={"enabled": True}) as host:
        await check(host, acknowledged)
        tell(("done", acts(host)))  # what the call that was killed had done counts from here

        async def do(component: str, action: str = "", **args: Any) -> dict[str, Any]:
            """It has to succeed, or to find that it is too late for it."""
            tell(("begin", f"{component}/{action}"))
            answer = await host.invoke(component, {"action": action, **args} if action else args)
            assert answer["success"] or answer["error_code"] == "conflict", (component, action, args, answer)
            tell(("done", acts(host)))
            return answer

        await CHAPTERS[number % len(CHAPTERS)](do, number)
        tell(("end", ""))


@pytest.mark.skipif(sys.platform == "win32", reason="processes are forked")
@pytest.mark.parametrize("seed", [1])
def test_what_was_acknowledged_before_a_kill_in_any_change_holds(seed: int, tmp_path: Path) -> None:
    """Until every call of every chapter was killed once."""
    rng, killed, acknowledged = random.Random(seed), list[str](), dict[tuple[str, str], int]()
    left = set(range(len(CHAPTERS)))
    for number in range(10_000):
        chapter, reached = number % len(CHAPTERS), number // len(CHAPTERS)
        if chapter not in left:
            continue
        life, calls = Life(live, tmp_path, number, acknowledged), 0
        try:
            while calls <= reached:
                kind, what = life.heard()
                calls += kind == "begin"
                acknowledged = what if kind == "done" else acknowledged
            time.sleep(rng.uniform(0, LONGEST_DELAY) * rng.random())
            killed.append(what)
        except EOFError:
            left.remove(chapter)
        for kind, what in life.kill():
            acknowledged = what if kind == "done" else acknowledged
        if not left:
            break
    print(f"\nkilled in {len(killed)} calls; {sum(acknowledged.values())} changes were acknowledged")
    assert {call.split("/")[0] for call in killed} >= set(OPERATIONS.components()) - READING
