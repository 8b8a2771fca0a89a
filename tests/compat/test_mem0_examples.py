"""Examples that mem0 publishes, with the import of ours: they ask right after they have added."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from amemorix.compat.mem0 import AsyncMemory, Memory

pytestmark = pytest.mark.usefixtures("local_model")
QUICK_START = """
from mem0 import Memory

m = Memory()

messages = [
    {"role": "user", "content": "Hi, I'm Alex. I love basketball and gaming."},
    {"role": "assistant", "content": "Hey Alex! I'll remember your interests."}
]
m.add(messages, user_id="alex")

results = m.search("What do you know about me?", filters={"user_id": "alex"})
print(results)
"""  # docs.mem0.ai/open-source/python-quickstart
CHAT = """
from mem0 import Memory

memory = Memory()

def chat_with_memories(message: str, user_id: str = "default_user") -> str:
    relevant_memories = memory.search(query=message, filters={"user_id": user_id}, top_k=3)
    memories_str = "\\n".join(f"- {entry['memory']}" for entry in relevant_memories["results"])
    messages = [{"role": "user", "content": message}, {"role": "assistant", "content": "Noted."}]
    memory.add(messages, user_id=user_id)
    return memories_str

print(chat_with_memories("I'm planning to watch a movie tonight. I'm not a big fan of thriller movies but I love sci-fi movies."))
print(chat_with_memories("Which films does the user enjoy?"))
"""  # github.com/mem0ai/mem0, README: the chat with its model left out


def run(source: str) -> None:
    scope: dict[str, object] = {}
    exec(source.replace("from mem0 import", "from amemorix.compat.mem0 import"), scope)
    for one in scope.values():
        if isinstance(one, Memory):
            one.close()


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AMEMORIX_HOME", str(tmp_path))


@pytest.mark.parametrize(
    ("example", "found"), [(QUICK_START, "basketball"), (CHAT, "sci-fi")], ids=["quick start", "chat"]
)
def test_a_published_example_finds_what_it_has_added(
    capsys: pytest.CaptureFixture[str], example: str, found: str
) -> None:
    run(example)
    assert found in capsys.readouterr().out


@pytest.mark.parametrize("infer", [True, False])
def test_what_was_added_is_found_by_meaning_at_once(infer: bool) -> None:
    with Memory() as memory:
        memory.add([{"role": "user", "content": "The pup has chewed my slippers."}], user_id="ann", infer=infer)
        results = memory.search("what did the dog destroy?", filters={"user_id": "ann"})["results"]
        assert [one["memory"] for one in results] == ["The pup has chewed my slippers."]
        id_ = results[0]["id"]
        memory.update(id_, "My bicycle was stolen in Leeds.")
        results = memory.search("what did the thief take?", filters={"user_id": "ann"})["results"]
        assert [one["id"] for one in results] == [id_]


def test_awaited_the_same() -> None:
    async def work() -> list[str]:
        memory = AsyncMemory()
        await memory.add("The pup has chewed my slippers.", user_id="ann")
        found = await memory.search("what did the dog destroy?", filters={"user_id": "ann"})
        memory.close()
        return [one["memory"] for one in found["results"]]

    assert asyncio.run(work()) == ["The pup has chewed my slippers."]
