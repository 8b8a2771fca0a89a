"""Procedures of agents: the shared suite, the interface's own example, requests in other words, and synchronisation."""

from __future__ import annotations

import gc
import logging
import math
import os
import tomllib
import uuid
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import AsyncExitStack
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from amemorix import AMemorixHostService
from amemorix.facades.procedural import (
    Flow,
    ProceduralMemory,
    QdrantManager,
    SyncReport,
    flow,
    registered,
    sync_folder,
    sync_registry,
)
from amemorix.testing import HashEmbedder
from doors import served
from entrance import call
from suite import FacadeSuite, HostedPort, Lack, Text, Way

DATA = Path(__file__).parents[1] / "data" / "flows"
REFUND = {
    "embedding_text": "Process a refund for a customer order based on order ID.",
    "flow_id": "refund_v1",
    "flow_name": "OrderRefund",
    "flow_type": "transactional",
    "description": "Validates order eligibility and processes a refund to the original payment method.",
    "condition": "User wants their money back or has a defective item.",
    "agent_id": "support_bot_01",
    "desired_effects": ["Order marked as refunded", "Notification sent to user"],
    "checksum": "a1b2c3d4...",
}


def over(memory: Any, **how: Any) -> ProceduralMemory:
    return ProceduralMemory(memory, **{"hidden_size": 0, **how})


async def names(memory: ProceduralMemory, query: str, agent: str = "bot", **how: Any) -> list[str]:
    return [one["flow_name"] for one in await memory.recall(query, agent, **how)]


async def kept(memory: ProceduralMemory, text: str, name: str = "", agent: str = "bot", **how: Any) -> str:
    return await memory.memorize(text, how.pop("flow_id", name or text), name or text, agent_id=agent, **how)


class FlowsPort(HostedPort):
    """Flows as the suite calls them: an agent is a space, the id a flow's, the text what a flow is found by."""

    refuses = ValueError
    lacks: Collection[Lack] = ("metadata", "similarity", "expiry")

    async def begin(self, stack: AsyncExitStack) -> None:
        await super().begin(stack)
        self.memory = over(self.memory)

    async def put(
        self, id: str, text: str, *, space: str = "a", metadata: Mapping[str, Any] | None = None,
        expires_at: datetime | None = None,
    ) -> str:  # fmt: skip
        await self.memory.memorize(text, id, "a flow", agent_id=space)
        return id

    async def get(self, id: str, *, space: str = "a") -> Text | None:
        return next((one for one in await self.list(space=space) if one.id == id), None)

    async def search(self, query: str, *, space: str = "a", limit: int = 10) -> Sequence[Text]:
        found = await self.memory.recall(query, space, top_k=min(limit, 50))
        held = {one.id: one for one in await self.list(space=space)}
        return [held[one["flow_id"]] for one in found]

    async def list(self, *, space: str = "a") -> Sequence[Text]:
        flows = await self.memory.list_flows(space)  # first: another may come meanwhile
        texts = await self.memory._texts(space)
        held = {one["metadata"]["flow_id"]: one["text"] async for one in texts.every()}
        return [Text(one["flow_id"], held[one["flow_id"]]) for one in flows]

    async def update(
        self, id: str, text: str, *, space: str = "a", metadata: Mapping[str, Any] | None = None
    ) -> object:
        return await self.memory.update_memory(text, id, "a flow", agent_id=space)

    async def delete(self, id: str, *, space: str = "a") -> object:
        return await self.memory.delete_flow(id, agent_id=space)

    async def clear(self, *, space: str = "a") -> object:
        return await sync_registry(self.memory, space, [], allow_empty=True)


@pytest.mark.parametrize("way", ["words", "vectors", "HTTP"])
class TestFlows(FacadeSuite):
    @pytest.fixture
    async def port(self, tmp_path: Path, way: Way) -> AsyncIterator[FlowsPort]:
        async with FlowsPort(tmp_path, way) as port:
            yield port


@pytest.fixture
async def model_host(opened: Any, local_model: str) -> AMemorixHostService:
    return await opened(embedding={"provider": "local", "model_name": local_model}, environ=os.environ)


async def test_the_example_of_the_interface(model_host: AMemorixHostService) -> None:
    memory = ProceduralMemory(
        qdrant_manager=model_host, tokenizer_path="./models/tokenizer.json", hidden_size=384, wait="vectors"
    )
    point = await memory.memorize(**REFUND)
    assert point == str(uuid.uuid5(uuid.NAMESPACE_DNS, "refund_v1"))
    await memory.memorize(
        "Tell where a parcel is.",
        "track",
        "TrackParcel",
        "lookup",
        "Looks up a parcel.",
        "User waits.",
        "support_bot_01",
    )
    found = await memory.recall(
        query="I'd like to get a return for this broken laptop", agent_id="support_bot_01", top_k=2, rrf_k=60
    )
    assert found[0]["flow_name"] == "OrderRefund"
    assert found[0].pop("score") > 0
    assert found[0] == {key: value for key, value in REFUND.items() if key not in ("embedding_text", "checksum")}
    assert await memory.list_flows("support_bot_01") == [
        {"flow_id": "refund_v1", "flow_name": "OrderRefund", "flow_type": "transactional", "checksum": "a1b2c3d4..."},
        {"flow_id": "track", "flow_name": "TrackParcel", "flow_type": "lookup", "checksum": ""},
    ]
    assert await memory.delete_flow("refund_v1") is True
    assert await memory.delete_flow("refund_v1") is False
    assert await names(memory, "refund", "support_bot_01", top_k=1) == ["TrackParcel"]


@pytest.mark.parametrize("fusion", ["rrf", "weighted"])
@pytest.mark.parametrize("assistant", ["shop", "office"])
async def test_requests_in_other_words_find_their_flow(
    model_host: AMemorixHostService, assistant: str, fusion: Any
) -> None:
    told = tomllib.loads((DATA / f"{assistant}.toml").read_text("utf-8"))
    memory = over(model_host, fusion=fusion, wait="vectors")
    await sync_registry(memory, assistant, [Flow(**one) for one in told["flows"]])
    missed = [
        (request, wanted, found)
        for request, wanted in told["requests"]
        if (found := await names(memory, request, assistant))[:1] != [wanted]
    ]
    assert len(missed) <= (2 if (assistant, fusion) == ("office", "rrf") else 1), missed


@pytest.fixture
def memory(dense_host: AMemorixHostService) -> ProceduralMemory:
    return over(dense_host, wait="vectors")


async def test_a_flow_is_replaced_in_place_and_its_description_alone_too(
    memory: ProceduralMemory, dense_host: AMemorixHostService
) -> None:
    first = await memory.memorize(**REFUND)
    assert await memory.update_memory(**{**REFUND, "checksum": "b", "condition": "Anything broke."}) == first
    (found,) = await memory.recall("refund of an order", "support_bot_01")
    assert (found["condition"], found["flow_id"]) == ("Anything broke.", "refund_v1")
    assert [one["checksum"] for one in await memory.list_flows("support_bot_01")] == ["b"]
    await memory.memorize(**{**REFUND, "embedding_text": "Send the tulips."})
    assert await names(memory, "customer refund", "support_bot_01", top_k=50) in ([], ["OrderRefund"])
    assert (await call(dense_host, "memory_document_admin", "list", source="flow:support_bot_01"))["count"] == 1


async def test_agents_are_kept_apart(memory: ProceduralMemory) -> None:
    assert await kept(memory, "water the tulips", agent="a") == await kept(memory, "water the tulips", agent="b")
    await kept(memory, "feed the cat", agent="b")
    assert await names(memory, "tulips and the cat", "a") == ["water the tulips"]
    assert await memory.delete_flow("water the tulips", agent_id="a") is True
    assert [len(await memory.list_flows(agent)) for agent in "ab"] == [0, 2]
    await kept(memory, "water the tulips", agent="a")
    assert await memory.delete_flow("water the tulips") is True
    assert [len(await memory.list_flows(agent)) for agent in "ab"] == [0, 1]


async def test_ids_become_uuids(memory: ProceduralMemory, dense_host: AMemorixHostService) -> None:
    own = uuid.uuid4()
    assert await kept(memory, "one", flow_id=str(own).upper()) == str(own)
    assert await memory.delete_flow(str(own)) is True
    loose = over(dense_host, bad_flow_id="uuid4")
    assert await kept(loose, "two", flow_id="x") != await kept(loose, "two", flow_id="x")
    assert len(await loose.list_flows("bot")) == 2
    assert await loose.delete_flow("x") is True
    assert await loose.list_flows("bot") == []
    strict = over(dense_host, bad_flow_id="error")
    with pytest.raises(ValueError, match="flow_id"):
        await kept(strict, "three")


async def test_a_higher_rrf_k_lets_lower_ranks_count_more(opened: Any) -> None:
    angles = {"asked": 0.0, "zinc": 0.1, "tin": 0.2, "gold": 0.3, "iron": 0.5, "lead": 1.0}

    def embed(texts: Sequence[str]) -> Any:
        found = [next((angle for word, angle in angles.items() if word in text), 1.5) for text in texts]
        return [[math.cos(angle), math.sin(angle)] for angle in found]

    memory = over(await opened(embed=embed), wait="vectors")
    # One of the first three is first by meaning, and words find none of them; "iron" is fourth by both.
    for text in ("zinc", "tin", "gold", "a lead rope", "two ropes of lead", "lead on a rope"):
        await kept(memory, text)
    await kept(memory, "iron, with a rope and many further words of other kinds in a long line", "iron")
    by_k = {
        k: {one["flow_name"]: one["score"] for one in await memory.recall("asked: rope", "bot", 7, k)}
        for k in (1, 1000)
    }
    first = max(("zinc", "tin", "gold"), key=lambda name: by_k[1][name])
    assert by_k[1][first] == pytest.approx(1 / 2)
    assert by_k[1]["iron"] == pytest.approx(2 / 5)
    assert by_k[1000][first] < by_k[1000]["iron"]


@pytest.mark.parametrize(("how", "word"), [
    ({"embedding_text": " "}, "embedding_text"), ({"flow_name": ""}, "flow_name"), ({"agent_id": ""}, "agent_id"),
    ({"flow_id": ""}, "flow_id"), ({"desired_effects": "all well"}, "desired_effects"), ({"desired_effects": [1]}, "desired_effects"),
    ({"checksum": "x" * 129}, "checksum"), ({"agent_id": " a"}, "agent_id"), ({"agent_id": "a\rb"}, "agent_id"), ({"embedding_text": "nul\0"}, "text"),
])  # fmt: skip
async def test_what_cannot_be_kept_is_refused_by_name(memory: ProceduralMemory, how: dict[str, Any], word: str) -> None:
    with pytest.raises(ValueError, match=word):
        await memory.memorize(**{**REFUND, **how})
    assert await memory.list_flows("support_bot_01") == []


@pytest.mark.parametrize("how", [{"top_k": 0}, {"top_k": 51}, {"rrf_k": 0}, {"agent_id": ""}])
async def test_what_cannot_be_asked_is_refused_by_name(memory: ProceduralMemory, how: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(how))):
        await memory.recall(**{"query": "refund", "agent_id": "bot", **how})


async def test_another_model_than_the_memorys_is_refused(dense_host: AMemorixHostService) -> None:
    for how, word in (
        ({"hidden_size": 384}, "hidden_size.*256"),
        ({"hidden_size": 256, "api_key": "sk-secret"}, "provider.*embedding.provider"),
        ({"hidden_size": 256, "provider": "host", "model_name": "another"}, "model_name.*another"),
        ({"hidden_size": 256, "provider": "host", "base_url": "https://api.example.com/v1"}, "base_url"),
    ):
        with pytest.raises(ValueError, match=word):
            await ProceduralMemory(dense_host, **how).recall("refund", "bot")
    assert await ProceduralMemory(dense_host, hidden_size=256).recall("refund", "bot") == []
    assert "sk-secret" not in str(vars(ProceduralMemory(dense_host, api_key="sk-secret")))


async def test_a_model_that_fails_is_told_and_words_go_on_finding(
    opened: Any, caplog: pytest.LogCaptureFixture
) -> None:
    words, fails = HashEmbedder(), False

    def embed(texts: Sequence[str]) -> Any:
        if fails:
            raise RuntimeError("HTTP 429: slow down")
        return words(texts)

    host = await opened(embed=embed)
    strict, memory = over(host), over(host, on_model_error="words")
    await kept(strict, "feed the cat")
    fails = True
    for call_ in (
        kept(strict, "water the tulips"),
        strict.recall("water the lawn", "bot"),
        kept(memory, "water the tulips", wait="vectors"),
    ):
        with pytest.raises(RuntimeError, match="429"):
            await call_
    await kept(memory, "water the tulips")
    assert len(await memory.list_flows("bot")) == 2
    with caplog.at_level(logging.WARNING, "amemorix.facades.procedural.memory"):
        assert await names(memory, "water tulips") == ["water the tulips"]
    assert "without" in caplog.text


async def test_a_place_is_enough(tmp_path: Path) -> None:
    (tmp_path / "memory.toml").write_text('[embedding]\nprovider = "none"\n', "utf-8")
    manager = QdrantManager(url=str(tmp_path / "memory.toml"), vector_size=384)
    memory = ProceduralMemory(manager)
    await memory.memorize(**REFUND)
    assert await names(ProceduralMemory(manager), "refund an order", "support_bot_01") == ["OrderRefund"]
    manager.caller().close()  # type: ignore[attr-defined]


async def test_a_daemon_does_the_same(dense_host: AMemorixHostService) -> None:
    async with served(dense_host) as url:
        manager = QdrantManager(url=url, vector_size=256)
        memory = ProceduralMemory(manager, hidden_size=256, wait="vectors")
        await memory.memorize(**REFUND)
        near = await over(dense_host).recall("refund an order", "support_bot_01")
        assert near == await memory.recall("refund an order", "support_bot_01")
        assert (await sync_registry(memory, "support_bot_01", FLOWS)).deleted == ("OrderRefund",)
        assert await memory.delete_flow("cat") is True
        manager.caller().close()  # type: ignore[attr-defined]
    assert [one["flow_name"] for one in await over(dense_host).list_flows("support_bot_01")] == ["tulips"]


FLOWS = [
    Flow("tulips", "Water the tulips."),
    Flow("cat", "Feed the cat.", "It is hungry.", ["The cat purrs."], ["miaow"]),
]


async def test_a_synchronisation_stores_what_changed_and_deletes_what_is_gone(
    memory: ProceduralMemory, dense_host: AMemorixHostService
) -> None:
    assert await sync_registry(memory, "bot", FLOWS) == SyncReport(created=("tulips", "cat"))
    before = await call(dense_host, "memory_document_admin", "list", source="flow:bot")
    assert await sync_registry(memory, "bot", FLOWS) == SyncReport(skipped=("tulips", "cat"))
    assert await call(dense_host, "memory_document_admin", "list", source="flow:bot") == before
    changed = [Flow("cat", "Feed the cat.", "It is thirsty."), Flow("dog", "Walk the dog.")]
    assert await sync_registry(memory, "bot", changed) == SyncReport(("dog",), ("cat",), ("tulips",))
    assert [one["flow_name"] for one in await memory.list_flows("bot")] == ["cat", "dog"]
    await kept(memory, "by hand")
    assert (await sync_registry(memory, "bot", changed)).deleted == ("by hand",)
    with pytest.raises(ValueError, match="allow_empty"):
        await sync_registry(memory, "bot", [])
    with pytest.raises(ValueError, match="dog"):
        await sync_registry(memory, "bot", [*changed, changed[1]])
    assert (await sync_registry(memory, "bot", [], allow_empty=True)).deleted == ("cat", "dog")


async def test_random_ids_are_kept_by_a_synchronisation(dense_host: AMemorixHostService) -> None:
    loose = over(dense_host, bad_flow_id="uuid4")
    await sync_registry(loose, "bot", FLOWS)
    assert (await sync_registry(loose, "bot", [Flow("tulips", "Sell them."), FLOWS[1]])).updated == ("tulips",)
    assert [one["flow_id"] for one in await loose.list_flows("bot")] == ["tulips", "cat"]


def test_a_checksum_tells_of_all_but_the_id() -> None:
    one = FLOWS[1]
    assert len(one.checksum()) == 16 and int(one.checksum(), 16)
    assert one.checksum() == Flow(**{**vars(one), "flow_id": "x", "examples": ["miaow"]}).checksum()
    for field, value in (("name", "x"), ("description", "x"), ("condition", ""), ("desired_effects", []), ("examples", []), ("flow_type", "x")):  # fmt: skip
        assert Flow(**{**vars(one), field: value}).checksum() != one.checksum()
    for bad in ({"name": ""}, {"description": " "}, {"examples": "miaow"}, {"condition": 3}):
        with pytest.raises(ValueError, match=next(iter(bad))):
            Flow(**{**vars(one), **bad})


async def test_functions_are_flows_as_long_as_they_live(memory: ProceduralMemory) -> None:
    @flow(condition="User wants their money back.", desired_effects=["Refunded"], examples=["give me my money"])
    def refund(order: str) -> str:
        """Refund an order."""
        return order

    assert refund("7") == "7"
    assert registered() == [
        Flow("refund", "Refund an order.", "User wants their money back.", ["Refunded"], ["give me my money"])
    ]
    assert (await sync_registry(memory, "bot")).created == ("refund",)
    del refund
    gc.collect()
    assert registered() == []
    with pytest.raises(ValueError, match="description"):
        flow()(lambda: None)


async def test_a_folder_is_synchronised(memory: ProceduralMemory, tmp_path: Path) -> None:
    (tmp_path / "refund.toml").write_text('description = "Refund."\nexamples = ["money back"]\n', "utf-8")
    (tmp_path / "track.json").write_text('{"name": "TrackParcel", "description": "Find a parcel."}', "utf-8")
    (tmp_path / "cat.md").write_text(
        "---\nname: 喂猫\n# said of it\ncondition: 'The cat: hungry.'\ndesired_effects:\n  - It purrs.\n- It sleeps.\n"
        'examples: ["miaow", hiss]\n---\n\nFeed the cat.\n\n1. Open the tin.\n',
        "utf-8",
    )
    (tmp_path / "notes.txt").write_text("not a flow", "utf-8")
    assert await sync_folder(memory, tmp_path, "bot") == SyncReport(created=("喂猫", "refund", "TrackParcel"))
    found = (await memory.recall("miaow", "bot", top_k=1))[0]
    assert (found["flow_name"], found["condition"]) == ("喂猫", "The cat: hungry.")
    assert found["description"] == "Feed the cat.\n\n1. Open the tin."
    assert found["desired_effects"] == ["It purrs.", "It sleeps."]
    (tmp_path / "refund.toml").write_text("description = ", "utf-8")
    (tmp_path / "track.json").write_text('{"name": "TrackParcel", "description": "Find it."}', "utf-8")
    with pytest.raises(ValueError, match=r"refund\.toml"):
        await sync_folder(memory, tmp_path, "bot")
    report = await sync_folder(memory, tmp_path, "bot", keep_going=True)
    assert (report.updated, report.deleted, report.skipped) == (("TrackParcel",), (), ("喂猫",))
    assert [one.split(":")[0] for one in report.failed] == ["refund.toml"]
    assert len(await memory.list_flows("bot")) == 3
    (tmp_path / "refund.toml").unlink()
    assert (await sync_folder(memory, tmp_path, "bot")).deleted == ("refund",)


@pytest.mark.parametrize(("name", "text", "why"), [
    ("a.md", "no fields", "---"), ("a.md", "---\ndescription: |\n  x\n---\n", "line 2"), ("a.json", "[]", "object"),
    ("a.json", '{"description": "x", "when": "y"}', "when"), ("a.toml", "name = 3", "name"), ("a.md", "---\n- x\n---\ny", "line 2"),
    ("a.md", "---\nname: x\n---\n", "description"),
])  # fmt: skip
async def test_a_file_that_cannot_be_read_is_named(
    memory: ProceduralMemory, tmp_path: Path, name: str, text: str, why: str
) -> None:
    (tmp_path / name).write_text(text, "utf-8")
    with pytest.raises(ValueError, match=f"{name}.*{why}"):
        await sync_folder(memory, tmp_path, "bot")
