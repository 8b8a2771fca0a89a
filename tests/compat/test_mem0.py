"""mem0's calls on a memory of ours, compared with mem0 itself, which is installed into a folder of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import venv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import mem0_calls
from amemorix.compat.mem0 import AsyncMemory, Memory

MEM0 = "mem0ai==2.2.1"
OWN = {"llm"}
"""Arguments of mem0 that mean nothing here: a chat model for one call."""


def opened(folder: Path) -> Memory:
    return Memory.from_config({"amemorix": {"folder": folder, "settings": {"embedding.provider": "none"}}})


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memory]:
    with opened(tmp_path_factory.mktemp("memory")) as memory:
        yield memory


@pytest.fixture(scope="module")
def mem0(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What mem0 itself says of `mem0_calls`; its environment is kept for the next run."""
    folder = tmp_path_factory.mktemp("mem0")
    kept = Path(tempfile.gettempdir()) / f"{MEM0.replace('==', '-')}-python{sys.version_info[0]}.{sys.version_info[1]}"
    if not kept.exists():
        made = kept.with_name(f"{kept.name}.{os.getpid()}")
        venv.create(made, with_pip=True)
        install = [made / "bin" / "python", "-m", "pip", "install", "--quiet", "--no-compile", MEM0]
        done = subprocess.run(install, capture_output=True, text=True, timeout=300)
        if done.returncode:
            pytest.skip(f"{MEM0} could not be installed: {done.stderr.strip()[-300:]}")
        made.rename(kept)
    around = {"PATH": os.environ["PATH"], "HOME": str(folder), "MEM0_DIR": str(folder), "MEM0_TELEMETRY": "false"}
    run = [kept / "bin" / "python", mem0_calls.__file__]
    done = subprocess.run(run, env=around, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize(("kind", "name"), [(Memory, "signatures"), (AsyncMemory, "awaited")])
def test_the_signatures_are_those_of_mem0(mem0: dict[str, Any], kind: type, name: str) -> None:
    theirs = {method: [one for one in found if one[0] not in OWN] for method, found in mem0[name].items()}
    assert mem0_calls.signatures(kind) == theirs


def test_the_answers_are_shaped_as_those_of_mem0(mem0: dict[str, Any], memory: Memory) -> None:
    ours = mem0_calls.answers(memory)
    assert ours["shapes"] == mem0["shapes"]
    assert ours["read"] == mem0["read"]


def results(answer: dict[str, Any]) -> list[str]:
    return [one["memory"] for one in answer["results"]]


def test_ids_are_a_scope_and_several_are_an_and(memory: Memory) -> None:
    scopes = [
        {"user_id": "u"}, {"user_id": "u", "agent_id": "a"}, {"user_id": "u", "agent_id": "a", "run_id": "r"},
        {"agent_id": "a"}, {"run_id": "r"}, {"user_id": "a"}, {"agent_id": "u"}, {"user_id": "u/a"}, {"user_id": "u%2Fa"},
        {"agent_id": "a", "run_id": "r"}, {"user_id": "U"}, {"user_id": 7, "run_id": "u"},
    ]  # fmt: skip
    for i, scope in enumerate(scopes):
        memory.add(f"my umbrella has the number {i}", **scope, infer=i % 2 == 0)  # type: ignore[arg-type]
    for asked in scopes:
        within = {f"my umbrella has the number {i}" for i, scope in enumerate(scopes) if asked.items() <= scope.items()}
        assert set(results(memory.get_all(filters=asked))) == within
        assert set(results(memory.search("umbrella number", filters=asked, threshold=0))) == within
    for nobody in ({}, {"user_id": None}, {"user_id": "*"}, {"user_id": {"ne": "x"}}, {"user_id": ["u", "a"]}):
        with pytest.raises(ValueError, match="user_id"):
            memory.get_all(filters=nobody)
    memory.delete_all(user_id="u", agent_id="a")
    assert set(results(memory.get_all(filters={"user_id": "u"}))) == {"my umbrella has the number 0"}
    assert len(results(memory.get_all(filters={"agent_id": "a"}))) == 2


def test_filters(memory: Memory) -> None:
    for colour, size in (("red", 3), ("blue", 5), ("green", 8), ("", 0)):
        metadata = {"colour": colour, "size": size, "tags": [colour, "kite"]} if colour else None
        memory.add(f"a {colour} kite".replace("  ", " "), user_id="filters", metadata=metadata)

    def chosen(**wanted: Any) -> set[str]:
        filters = {"user_id": "filters", **wanted}
        listed = results(memory.get_all(filters=filters))
        assert set(results(memory.search("kite", filters=filters, threshold=0))) == set(listed)
        return {one.split()[1] for one in listed}

    assert chosen(colour="red") == {"red"}
    assert chosen(colour="*") == {"red", "blue", "green"}
    assert chosen(colour={"ne": "red"}) == {"blue", "green", "kite"}
    assert chosen(colour={"in": ["red", "blue"]}, size={"gt": 3}) == {"blue"}
    assert chosen(colour={"nin": ["red", "blue"]}) == {"green", "kite"}
    assert chosen(size={"gte": 3, "lt": 8}) == {"red", "blue"}
    assert chosen(colour={"contains": "ee"}) == {"green"} == chosen(colour={"icontains": "GR"})
    assert chosen(tags={"contains": "red"}) == {"red"}
    assert chosen(OR=[{"colour": "red"}, {"size": {"gt": 7}}]) == {"red", "green"}
    assert chosen(NOT=[{"colour": "red"}, {"colour": "blue"}]) == {"green", "kite"}
    assert chosen(AND=[{"size": {"gt": 3}}, {"NOT": [{"colour": "green"}]}]) == {"blue"}
    assert chosen(OR=[{"user_id": "somebody else"}]) == set()
    for nonsense in ({"OR": []}, {"AND": ["colour"]}, {"colour": {"near": "red"}}):
        with pytest.raises(ValueError, match=next(iter(nonsense))):
            memory.search("kite", filters={"user_id": "nobody", **nonsense})
    assert results(memory.get_all(filters={"user_id": "filters"}, top_k=2)) == ["a kite", "a green kite"]


def test_what_is_inferred_is_read_in_the_background(memory: Memory) -> None:
    said = [{"role": "user", "content": "I live in Leeds."}, {"role": "assistant", "content": "How nice."}]
    assert results(memory.add(said, user_id="hal", timestamp="2026-03-03")) == ["I live in Leeds.", "How nice."]
    memory.add("I live in York.", user_id="ivy", infer=False)
    memory._memory.settle()
    assert "Leeds" in str(memory._memory.facts("hal"))
    assert str(memory._memory.facts("ivy")) == "(nothing)"
    assert (
        memory.search("where does hal live", filters={"user_id": "hal"})["results"][0]["memory"] == "I live in Leeds."
    )


@pytest.mark.usefixtures("local_model")
def test_what_is_asked_in_a_few_words_is_found_without_a_threshold(tmp_path: Path) -> None:
    with Memory.from_config({"amemorix": {"folder": tmp_path}}) as memory:
        for line in ("I have two cats", "I'm a vegetarian and allergic to nuts", "My landlord put the rent up again"):
            memory.add(line, user_id="mel")
        memory._memory.settle()
        asked = {"pets": "I have two cats", "dietary preferences": "I'm a vegetarian and allergic to nuts"}
        for query, answer in asked.items():
            found = memory.search(query, filters={"user_id": "mel"})["results"]
            assert [one["memory"] for one in found[:1]] == [answer], query
            scores = [one["score"] for one in found]
            assert scores == sorted(scores, reverse=True)
            sure = memory.search(query, filters={"user_id": "mel"}, threshold=scores[0])["results"]
            assert [one["memory"] for one in sure] == [answer], query


def test_expiry_and_history(memory: Memory) -> None:
    id_ = memory.add("the key is under the mat", user_id="exp", expiration_date="2099-01-31")["results"][0]["id"]
    memory.update(id_, metadata={"checked": True})
    memory.update(id_, "the key is in the pot")
    memory.update(id_, expiration_date=None)
    found = memory.get(id_)
    assert found is not None and found["expiration_date"] is None and found["metadata"] == {"checked": True}
    assert [(one["event"], one["new_memory"]) for one in memory.history(id_)] == [
        ("ADD", "the key is under the mat"),
        ("UPDATE", "the key is in the pot"),
    ]
    with pytest.raises(ValueError, match="recycle bin"):
        memory.get_all(filters={"user_id": "exp"}, show_expired=True)
    long = " ".join(f"On day {i} it rained {i} mm." for i in range(200))
    told = memory.add(long, user_id="exp")["results"]
    assert len(told) == 1 and memory.search("how much rain fell on day 150", filters={"user_id": "exp"})["results"]
    memory.delete(told[0]["id"])
    assert memory.history(told[0]["id"])[-1]["event"] == "DELETE"
    memory.reset()
    assert memory.history(id_) == memory.history(told[0]["id"]) == []
    memory.reset()


def test_reset_leaves_what_is_not_of_these_calls(memory: Memory) -> None:
    memory._memory.add("the bakery opens at six", user="jo")
    memory.add("the bakery opens at seven", user_id="jo")
    assert results(memory.get_all(filters={"user_id": "jo"})) == ["the bakery opens at seven"]
    memory.reset()
    assert [text.text for text in memory._memory.texts(user="jo")] == ["the bakery opens at six"]


async def test_awaited_the_same(tmp_path: Path) -> None:
    settings = {"embedding.provider": "none"}
    async with AsyncMemory.from_config({"amemorix": {"folder": tmp_path, "settings": settings}}) as memory:
        added = await memory.add("I play the oboe", user_id="kim")
        found = await memory.search("oboe", filters={"user_id": "kim"})
        assert found["results"][0]["id"] == added["results"][0]["id"]
        with pytest.raises(ValueError, match="memory_id"):
            await memory.delete("none")


def test_odd_messages_dates_and_filters(memory: Memory) -> None:
    call = {"role": "assistant", "content": "", "tool_calls": [{"id": "1"}]}
    turns = [{"role": "user", "content": "What is the weather?"}, call]
    assert results(memory.add(turns, user_id="odd")) == ["What is the weather?"]
    memory.add("I moor at the far quay", user_id="odd", expiration_date="9999-12-31")
    assert results(memory.get_all(filters={"user_id": "odd", "expiration_date": {"contains": "9999"}})) == [
        "I moor at the far quay"
    ]
    assert not results(memory.get_all(filters={"user_id": "odd", "created_at": {"contains": 1}}))
    with pytest.raises(ValueError, match="actor_id: in: must be a list"):
        memory.get_all(filters={"user_id": "odd", "actor_id": {"in": None}})


@pytest.mark.parametrize("query", ["what do you know about me?", "tell me about myself", "你记得我什么", "who am I?"])
def test_a_general_question_finds_what_the_profile_tells(tmp_path: Path, query: str) -> None:
    with opened(tmp_path) as memory:
        memory.add("I'm allergic to walnuts and live in Leeds", user_id="ann")
        memory.add("I'm allergic to peanuts", user_id="bob")
        memory._memory.settle()  # pyright: ignore[reportPrivateUsage]
        found = memory.search(query, filters={"user_id": "ann"})["results"]
    assert [item["memory"] for item in found] == ["I'm allergic to walnuts and live in Leeds"]
    assert all(item["user_id"] == "ann" and item["score"] > 0.1 for item in found)
