"""A process that forks one for each life of a memory and kills it in the middle of a call: `python admin_life.py FOLDER SEED`.

Each life does the changes of one chapter, and is killed in the next of its calls; what a life before saw acknowledged has
to be there when the next one opens. One JSON object is printed: the calls in which it was killed, and what was wrong.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import sys
import time
import traceback
from collections import Counter
from collections.abc import Awaitable, Callable
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import amemorix.host.kernel  # noqa: F401 - imported once, and not by each life
from amemorix import AMemorixHostService
from amemorix.host.operations import OPERATIONS
from amemorix.testing import HashEmbedder, memory_host
from entrance import rows

__all__ = ["CHAPTERS"]

Do = Callable[..., Awaitable[dict[str, Any]]]
Seen = tuple[str, str]
LONGEST_DELAY = 0.03
HUNG_SECONDS = 120.0


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


CHAPTERS = (texts, people, deletions, graph, whole)


class Life:
    """A memory at work, telling what it begins and what was acknowledged."""

    def __init__(self, host: AMemorixHostService, tell: Callable[[object], None]) -> None:
        self._host = host
        self._tell = tell

    async def do(self, component: str, action: str = "", **args: Any) -> dict[str, Any]:
        """Call it; it has to succeed, or to find that it is too late for it."""
        self._tell(("begin", component, action))
        answer = await self._host.invoke(component, {"action": action, **args} if action else args)
        assert answer["success"] or answer["error_code"] == "conflict", (component, action, args, answer)
        self._tell(("done", await self.acts()))
        return answer

    async def acts(self) -> dict[Seen, int]:
        """How many calls of each kind have changed something: noted in the transaction of each change."""
        sql = "select component, action, sum(calls) from audit where door = 'host' and component <> 'config' group by 1, 2"
        return {(component, action): calls for component, action, calls in rows(self._host, sql)}

    async def checked(self, acknowledged: dict[Seen, int]) -> None:
        """Whatever was acknowledged is there, nothing is there twice, and everything fits together."""
        acts = await self.acts()
        lost = {name: (count, acts.get(name, 0)) for name, count in acknowledged.items() if acts.get(name, 0) < count}
        assert not lost, f"lost: {lost}"
        twice = sum((Counter(acts) - Counter(acknowledged)).values())
        assert twice <= 1, f"done without being asked: {Counter(acts) - Counter(acknowledged)}"
        await self._host.settle(HUNG_SECONDS)
        answer = await self._host.invoke("memory_runtime_admin", {"action": "refresh_self_check", "deep": True})
        assert answer["report"]["ok"], [one for one in answer["report"]["findings"] if not one["ok"]]


async def live(folder: Path, number: int, acknowledged: dict[Seen, int], tell: Callable[[object], None]) -> None:
    async with memory_host(folder, embed=HashEmbedder(16), feedback={"enabled": True}) as host:
        life = Life(host, tell)
        await life.checked(acknowledged)
        tell(("open",))
        await CHAPTERS[number % len(CHAPTERS)](life.do, number)
        tell(("end",))


def forked(folder: Path, number: int, acknowledged: dict[Seen, int], pipe: Connection) -> None:
    """The forked process: it never returns."""
    try:
        asyncio.run(live(folder, number, acknowledged, pipe.send))
    except BaseException:
        pipe.send(("wrong", traceback.format_exc()))
    finally:
        os._exit(0)


def main() -> None:
    """Live until every call of every chapter was killed once."""
    list(OPERATIONS)  # their modules are imported once, and not by each life
    folder, rng = Path(sys.argv[1]), random.Random(int(sys.argv[2]))
    acknowledged: dict[Seen, int] = {}
    killed: list[str] = []
    wrong, number, reached, finished = "", 0, [0] * len(CHAPTERS), [False] * len(CHAPTERS)
    while not wrong and not all(finished):
        chapter = number % len(CHAPTERS)
        if not finished[chapter]:
            mine, theirs = Pipe(duplex=False)
            pid = os.fork()
            if not pid:
                forked(folder, number, acknowledged, theirs)
            theirs.close()
            calls, last = 0, ""
            while not wrong:
                if not mine.poll(HUNG_SECONDS):
                    wrong = f"it hangs after {last}"
                    break
                try:
                    kind, *rest = mine.recv()
                except EOFError:
                    break
                if kind == "begin":
                    calls, last = calls + 1, "/".join(rest)
                    if calls > reached[chapter]:
                        time.sleep(rng.uniform(0, LONGEST_DELAY) * rng.random())
                        os.kill(pid, signal.SIGKILL)
                        killed.append(last)
                elif kind == "done":
                    acknowledged = rest[0]
                elif kind == "end":
                    finished[chapter] = True
                elif kind == "wrong":
                    wrong = f"{rest[0]}\nafter {killed[-1:]}"
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            mine.close()
            reached[chapter] += 1
        number += 1
    print(json.dumps({"killed": killed, "wrong": wrong, "acknowledged": sum(acknowledged.values())}))


if __name__ == "__main__":
    main()
