"""What a memory with mem0's calls looks like from outside: signatures, and the shapes of the answers to some calls.

Run by a Python that has `mem0ai`, it prints them of mem0 as JSON, with a scripted model in the place of a real one.
"""

from __future__ import annotations

import inspect
import json
import sys
import tempfile
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

METHODS = ("add", "search", "get", "get_all", "update", "delete", "delete_all", "history", "reset", "from_config")
DIMENSIONS = 8


def signatures(kind: type) -> dict[str, list[list[Any]]]:
    """Method -> name, kind and default of each argument."""
    return {
        name: [
            [one.name, one.kind.name, "" if one.default is one.empty else _default(one.default)]
            for one in inspect.signature(getattr(kind, name)).parameters.values()
        ]
        for name in METHODS
    }


def _default(value: Any) -> str:
    return repr(value) if value is None or isinstance(value, str | int | float | bool) else "a value of its own"


def shape(value: Any) -> Any:
    """Keys and types; of a list what its first entry is."""
    if isinstance(value, dict):
        return {key: "any" if key == "score_details" else shape(one) for key, one in value.items()}
    if isinstance(value, list):
        return [shape(one) for one in value[:1]]
    return type(value).__name__


def answers(memory: Any) -> dict[str, Any]:
    """The shapes of what is answered, call by call, and what a program would read out of some."""
    told: dict[str, Any] = {}
    note = memory.add("I like oolong tea", user_id="ann", infer=False, metadata={"mood": "calm", "user_id": "bo"})
    told["note"] = note
    said = [{"role": "system", "content": "Be kind."}, {"role": "user", "name": "Ann", "content": "I live in Leeds"}]
    told["named"] = memory.add(said, user_id="ann", run_id="r1", infer=False)
    told["read"] = memory.add("I have two cats", user_id="ann", agent_id="bot", expiration_date="2099-01-31")
    told["nothing"] = memory.add([], user_id="ann", infer=False)
    id_ = note["results"][0]["id"]
    told["get"] = memory.get(id_)
    told["get named"] = memory.get(told["named"]["results"][0]["id"])
    told["get read"] = memory.get(told["read"]["results"][0]["id"])
    told["get nothing"] = memory.get(str(uuid.uuid4()))
    told["get_all"] = memory.get_all(filters={"user_id": "ann", "mood": "calm"})
    told["search"] = memory.search("oolong tea", filters={"user_id": "ann", "mood": "calm"}, threshold=0.0)
    told["explained"] = memory.search("oolong tea", filters={"user_id": "ann"}, threshold=0.0, top_k=1, explain=True)
    told["update"] = memory.update(id_, "I like green tea", metadata={"mood": "glad"})
    told["get updated"] = memory.get(id_)
    told["delete"] = memory.delete(id_)
    told["get deleted"] = memory.get(id_)
    told["history"] = memory.history(id_)
    told["delete_all"] = memory.delete_all(user_id="ann", run_id="r1")
    left = memory.get_all(filters={"user_id": "ann"})["results"]
    told["reset"] = memory.reset()
    told["get_all nothing"] = memory.get_all(filters={"user_id": "ann"})
    read = {
        "stored": [told["note"]["results"][0]["memory"], told["named"]["results"][0]["memory"]],
        "scope": {key: told["get named"].get(key) for key in ("user_id", "agent_id", "run_id", "actor_id", "role")},
        "metadata": [told["get"]["metadata"], told["get updated"]["metadata"]],
        "found": [told[name]["results"][0]["id"] == id_ for name in ("get_all", "search", "explained")],
        "updated": told["get updated"]["memory"],
        "hash": [told["get"]["hash"], told["get updated"]["hash"]],
        "events": [
            {key: event[key] for key in ("event", "old_memory", "new_memory", "is_deleted", "role", "actor_id")}
            for event in told["history"]
        ],
        "left": [one["memory"] for one in left],
        "refused": [name for name, call in refusals(memory).items() if refused(call)],
    }
    return {"shapes": {name: shape(one) for name, one in told.items()}, "read": read}


def refusals(memory: Any) -> dict[str, Callable[[], Any]]:
    """Calls that a memory with mem0's calls does not take."""
    unknown = str(uuid.uuid4())
    return {
        "nobody's": lambda: memory.add("x"),
        "a blank id": lambda: memory.add("x", user_id=" "),
        "an id with blanks": lambda: memory.add("x", user_id="a b"),
        "no messages": lambda: memory.add(5, user_id="ann"),
        "another type": lambda: memory.add("x", user_id="ann", memory_type="other"),
        "a bad day": lambda: memory.add("x", user_id="ann", expiration_date="tomorrow"),
        "no filter": lambda: memory.search("x"),
        "a filter without ids": lambda: memory.search("x", filters={"mood": "calm"}),
        "ids beside": lambda: memory.search("x", user_id="ann"),
        "ids beside the list": lambda: memory.get_all(user_id="ann"),
        "a blank query": lambda: memory.search(" ", filters={"user_id": "ann"}),
        "a bad threshold": lambda: memory.search("x", filters={"user_id": "ann"}, threshold=2),
        "a bad number": lambda: memory.search("x", filters={"user_id": "ann"}, top_k=-1),
        "an unknown operator": lambda: memory.search("x", filters={"user_id": "ann", "mood": {"eq": 1, "near": 2}}),
        "a reference date": lambda: memory.search("x", filters={"user_id": "ann"}, reference_date="2026-01-01"),
        "everybody's": lambda: memory.delete_all(),
        "nothing new": lambda: memory.update(unknown),
        "no such memory": lambda: memory.update(unknown, "x"),
        "none to delete": lambda: memory.delete(unknown),
    }


def refused(call: Callable[[], Any]) -> bool:
    try:
        call()
    except Exception:
        return True
    return False


class Letters:
    """An embedding model: how often each of some letters occurs."""

    def embed(self, text: str, *_: Any, **__: Any) -> list[float]:
        return [1.0 + text.count(letter) for letter in "aeiotnsl"[:DIMENSIONS]]

    def embed_batch(self, texts: list[str], *_: Any, **__: Any) -> list[list[float]]:
        return [self.embed(text) for text in texts]


class Repeating:
    """A chat model that finds one memory in whatever it is given."""

    def generate_response(self, *_: Any, **__: Any) -> str:
        return json.dumps({"memory": [{"id": "0", "text": "I have two cats", "event": "ADD"}]})


def of_mem0(folder: Path) -> dict[str, Any]:
    from mem0 import AsyncMemory, Memory  # pyright: ignore[reportMissingImports]

    model = {"provider": "openai", "config": {"api_key": "none"}}
    store = {"path": str(folder / "vectors"), "embedding_model_dims": DIMENSIONS, "on_disk": False}
    memory = Memory.from_config({
        "vector_store": {"provider": "qdrant", "config": store},
        "llm": model, "embedder": model, "history_db_path": str(folder / "history.db"),
    })  # fmt: skip
    memory.embedding_model, memory.llm = Letters(), Repeating()
    return {"signatures": signatures(Memory), "awaited": signatures(AsyncMemory), **answers(memory)}


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        json.dump(of_mem0(Path(folder)), sys.stdout)
