"""Relations have vectors of their own, and lead to what supports them."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from amemorix import AMemorixHostService
from amemorix.language.normalise import is_mostly_cjk
from amemorix.models.host.embedder import HostEmbedder
from amemorix.testing import FrozenClock, HashEmbedder, memory_host, pause_background, resume_background, stale_indexes
from conftest import Open
from endpoint import Endpoint, endpoint
from entrance import change, cut_change_log, hits, rows, told
from pace import until

WEAK_TOO = {"retrieval": {"noise": {"enabled": False}}}
SENTENCE = "Marta Lind paddles her yellow kayak"
VAGUE = "And then she showed it to us."
"""What a paragraph says that shares no word with its relation."""


@pytest.fixture
def served() -> Iterator[Endpoint]:
    with endpoint() as running:
        yield running


@pytest.fixture
async def dense_host(opened: Open) -> AMemorixHostService:
    """Weak hits are shown too, so that none is taken for not found."""
    return await opened(embed=HashEmbedder(), **WEAK_TOO)


def at(served: Endpoint, model: str = "small", **more: Any) -> dict[str, Any]:
    """The settings for a model of the endpoint."""
    return {"retry_seconds": 10.0, "retry_max_seconds": 40.0, "max_attempts": 1, "provider": "openai",
            "base_url": served.base_url, "model_name": model, **more}  # fmt: skip


def triple(subject: str, predicate: str, object_: str) -> dict[str, str]:
    return {"subject": subject, "predicate": predicate, "object": object_}


KAYAK = triple("Marta Lind", "paddles", "her yellow kayak")


async def scores(host: AMemorixHostService, query: str, chat: str = "") -> dict[str, float]:
    """What the lane gives to a query that names no entity: text -> score; in one chat, or everywhere."""
    found = await hits(host, query, limit=200, **({"chat_id": chat} if chat else {}))
    lanes = ((hit["content"], hit["explain"]["lanes"]) for hit in found if hit["type"] == "paragraph")
    return {text: lane["graph"]["score"] for text, lane in lanes if "graph" in lane}


def likeness(query: str, sentence: str) -> Any:
    one, other = HashEmbedder().embed([query, sentence])
    return pytest.approx((float(one @ other) - 0.2) / 0.8, abs=0.01)


async def embedding(host: AMemorixHostService) -> dict[str, Any]:
    return (await host.invoke("memory_stats", {}))["embedding"]


async def failed(host: AMemorixHostService) -> bool:
    return bool((await embedding(host))["error"])


# what the lane finds


async def test_a_text_that_says_it_badly_is_found_by_its_relation(dense_host: AMemorixHostService) -> None:
    await told(dense_host, VAGUE, relations=[KAYAK])
    await told(dense_host, "Bo keeps bees.", relations=[triple("Bo", "keeps", "bees")])
    await dense_host.settle(600)

    assert await scores(dense_host, "who paddles a yellow kayak") == {
        VAGUE: likeness("who paddles a yellow kayak", SENTENCE)
    }


async def test_scores_are_cosines_scaled(dense_host: AMemorixHostService) -> None:
    await told(dense_host, VAGUE, relations=[KAYAK, triple("Marta Lind", "owns", "a yellow tent")])
    await dense_host.settle(600)

    for query in ("yellow kayak", "paddles yellow kayak", "Lind paddles yellow kayak"):
        assert await scores(dense_host, query) == {VAGUE: likeness(query, SENTENCE)}


async def test_what_is_unlike_every_relation_finds_nothing(dense_host: AMemorixHostService) -> None:
    await told(dense_host, VAGUE, relations=[KAYAK])
    await dense_host.settle(600)

    assert await scores(dense_host, "quantum chromodynamics lattice") == {}


async def test_without_relations_or_a_model_there_is_nothing(opened: Open, tmp_path: Path) -> None:
    dense, plain = await opened(embed=HashEmbedder(), **WEAK_TOO), await opened(tmp_path / "plain", **WEAK_TOO)
    await told(dense, VAGUE)
    await told(plain, VAGUE, relations=[KAYAK])
    await dense.settle(600)

    assert await scores(dense, "yellow kayak") == {}
    assert await scores(plain, "yellow kayak") == {}


async def test_an_identifier_is_read_as_words(dense_host: AMemorixHostService) -> None:
    await told(dense_host, VAGUE, relations=[triple("Marta Lind", "works_night_shifts_at", "the Lot")])
    await dense_host.settle(600)

    assert await scores(dense_host, "works night shifts at") == {
        VAGUE: likeness("works night shifts at", "Marta Lind works night shifts at the Lot")
    }


async def test_at_most_twenty_relations_and_a_hundred_paragraphs(dense_host: AMemorixHostService) -> None:
    for n in range(30):
        await told(dense_host, f"Text {n}.", relations=[triple("Marta Lind", "paddles", f"kayak {'x' * n}{n}")])
    await dense_host.settle(600)
    few = await scores(dense_host, "paddles kayak")
    for n in range(120):
        await told(dense_host, f"Note {n}.", relations=[KAYAK])
    await dense_host.settle(600)
    many = await scores(dense_host, "paddles yellow kayak")

    assert len(few) == 20
    assert set(many) == {f"Note {n}." for n in range(20, 120)}, "the newest of the nearest relation"


# what may be seen


async def test_only_what_stands_in_the_chats_asked(dense_host: AMemorixHostService) -> None:
    await told(dense_host, "Here.", chat_id="c", relations=[KAYAK])
    await told(dense_host, "There.", chat_id="d", relations=[KAYAK])
    await told(dense_host, "Only there.", chat_id="d", relations=[triple("Marta Lind", "sells", "her yellow kayak")])
    await told(dense_host, "Everywhere.", chat_id="d", scope="global", relations=[KAYAK])
    await dense_host.settle(600)

    assert set(await scores(dense_host, "yellow kayak", "c")) == {"Here.", "Everywhere."}
    assert set(await scores(dense_host, "yellow kayak", "nowhere")) == {"Everywhere."}
    assert set(await scores(dense_host, "yellow kayak")) == {"Here.", "There.", "Only there.", "Everywhere."}


async def test_what_stands_elsewhere_does_not_crowd_out(dense_host: AMemorixHostService) -> None:
    for part in range(2):
        many = [triple("yellow", "kayak", f"number{part}{n}") for n in range(700)]
        await told(dense_host, f"There {part}.", chat_id="d", relations=many)
    await told(dense_host, "Here.", chat_id="c", relations=[triple("Marta once", "paddled a", "very yellow kayak")])
    await dense_host.settle(600)

    assert set(await scores(dense_host, "yellow kayak", "c")) == {"Here."}


async def test_what_is_gone_supports_nothing(opened: Open) -> None:
    clock = FrozenClock(1.9e9)
    dense_host = await opened(embed=HashEmbedder(), clock=clock, **WEAK_TOO)
    await told(dense_host, "Stays.", source="stays", relations=[KAYAK])
    await told(dense_host, "Goes.", source="goes", relations=[KAYAK])
    await told(dense_host, "First wording.", external_id="x", relations=[KAYAK])
    await told(dense_host, "Second wording.", external_id="x")
    await told(dense_host, "Runs out.", relations=[KAYAK])
    change(dense_host, "update paragraphs set expires_at = 2000000000 where content = 'Runs out.'")
    await dense_host.invoke("memory_source_admin", {"action": "delete", "source": "goes"})
    await dense_host.settle(600)

    assert set(await scores(dense_host, "yellow kayak")) == {"Stays.", "Runs out."}
    clock.advance(2e8)
    assert set(await scores(dense_host, "yellow kayak")) == {"Stays."}
    await dense_host.invoke("memory_source_admin", {"action": "delete", "source": "stays"})
    assert await scores(dense_host, "yellow kayak") == {}


async def test_a_relation_that_comes_back_is_found_again(dense_host: AMemorixHostService) -> None:
    await told(dense_host, "Before.", source="s", external_id="1", relations=[KAYAK])
    await dense_host.settle(600)
    await dense_host.invoke("memory_source_admin", {"action": "delete", "source": "s"})
    assert await scores(dense_host, "yellow kayak") == {}
    await told(dense_host, "After.", source="s", external_id="2", relations=[KAYAK])
    await dense_host.settle(600)

    assert set(await scores(dense_host, "yellow kayak")) == {"After."}


async def test_a_relation_that_is_removed_takes_its_vector_with_it(dense_host: AMemorixHostService) -> None:
    await told(dense_host, VAGUE, relations=[KAYAK])
    await dense_host.settle(600)
    assert await scores(dense_host, "yellow kayak")
    change(dense_host, "delete from relations")

    assert await scores(dense_host, "yellow kayak") == {}
    assert rows(dense_host, "select * from relation_embeddings") == []
    assert await stale_indexes(dense_host) == []


# how vectors come about


async def test_relations_are_embedded_after_paragraphs(served: Endpoint, opened: Open) -> None:
    host = await opened(embedding=at(served, batch_size=4, max_concurrent=1))
    served.open.clear()
    for n in range(6):
        await told(host, f"lamp {n}", relations=[triple("lamp", "number", str(n))])
    served.open.set()
    await host.settle(600)

    texts = served.texts("small")
    assert sorted(texts) == sorted([f"lamp {n}" for n in range(6)] + [f"lamp number {n}" for n in range(6)])
    assert rows(host, "select count(*) from relation_embeddings") == [(6,)]
    asked = len(served.requests)
    await asyncio.sleep(0.6)
    assert len(served.requests) == asked


async def test_a_relation_said_again_is_not_embedded_again(served: Endpoint, opened: Open) -> None:
    host = await opened(embedding=at(served))
    for n in range(5):
        await told(host, f"lamp {n}", relations=[KAYAK])
        await host.settle(600)

    assert served.texts("small").count(SENTENCE) == 1


async def test_a_bad_relation_fails_alone_and_is_tried_again_after_a_while(served: Endpoint, opened: Open) -> None:
    clock = FrozenClock()
    host = await opened(embedding=at(served), clock=clock)
    served.poison = "poison"
    await told(host, "Bad.", relations=[triple("Marta Lind", "drinks", "the poison")])
    await told(host, "Good.", relations=[KAYAK])
    await until(lambda: tries(served) >= 1)
    await asyncio.sleep(0.6)
    alone = [texts for _, texts in served.requests if texts == ["Marta Lind drinks the poison"]]

    assert len(alone) == 1, "it is not asked for again before the pause is over"
    assert set(await scores(host, "yellow kayak")) == {"Good."}
    assert (await host.invoke("memory_stats", {}))["embedding"]["state"] == "embedding"
    served.poison = ""
    clock.advance(10)
    await host.settle(600)
    assert set(await scores(host, "Lind drinks")) == {"Bad."} | {"Good."}


def tries(served: Endpoint) -> int:
    """How often the bad relation was asked for on its own."""
    return sum(texts == ["Marta Lind drinks the poison"] for _, texts in served.requests)


async def test_a_bad_relation_does_not_wait_when_recovery_is_asked_for(served: Endpoint, opened: Open) -> None:
    host = await opened(embedding=at(served), clock=FrozenClock())
    served.poison = "poison"
    await told(host, "Bad.", relations=[triple("Marta Lind", "drinks", "the poison")])
    await until(lambda: failed(host))
    served.poison = ""
    await host.invoke("memory_runtime_admin", {"action": "recover_embedding"})
    await host.settle(600)

    assert set(await scores(host, "Lind drinks")) == {"Bad."}


async def test_a_model_that_does_not_answer_loses_no_relation(served: Endpoint, opened: Open) -> None:
    clock = FrozenClock()
    host = await opened(embedding=at(served), clock=clock)
    await told(host, "lamp", external_id="x")
    await host.settle(600)
    plain = served.answer
    served.answer = lambda body: (503, {}) if "Marta" in str(body) else plain(body)  # type: ignore[method-assign]
    await told(host, "Good.", relations=[KAYAK])
    await until(lambda: failed(host))
    assert (await embedding(host))["state"] == "embedding"
    served.answer = plain  # type: ignore[method-assign]
    clock.advance(10)
    await host.settle(600)

    assert set(await scores(host, "yellow kayak")) == {"Good."}


async def test_a_rebuild_ends_when_relations_are_done_too(served: Endpoint, opened: Open) -> None:
    clock = FrozenClock()
    host = await opened(embedding=at(served, keep_generations=0), clock=clock)
    await told(host, "Good.", relations=[KAYAK])
    await told(host, "Bad.", relations=[triple("Marta Lind", "drinks", "the poison")])
    await host.settle(600)
    old = rows(host, "select id from embedding_generations")
    served.poison = "poison"
    await host.invoke("memory_runtime_admin", {"action": "rebuild_all_vectors"})
    before = tries(served)
    for wanted in range(1, 5):
        await until(lambda more=before + wanted: tries(served) >= more)
        await asyncio.sleep(0.3)
        assert [((await embedding(host))["serving_generation"],)] == old, "it still waits for the relation"
        assert "Bad." in await scores(host, "Lind drinks")
        clock.advance(10)
    await host.settle(600)

    assert rows(host, "select id from embedding_generations") != old, "at the fifth failure it waits no longer"
    assert rows(host, "select count(*), count(distinct generation) from relation_embeddings") == [(1, 1)]
    assert set(await scores(host, "yellow kayak")) == {"Good."}


async def test_a_generation_that_goes_takes_its_relations_with_it(
    served: Endpoint, opened: Open, tmp_path: Path
) -> None:
    served.dimensions |= {f"m{n}": 32 for n in range(4)}
    host = await opened(embedding=at(served, "m0", keep_generations=1))
    await told(host, "Good.", relations=[KAYAK])
    for n in range(4):
        await host.update_config({"embedding.model_name": f"m{n}"})
        await host.settle(600)
        await host.invoke("memory_runtime_admin", {"action": "save"})
    generations = {id_ for (id_,) in rows(host, "select id from embedding_generations")}

    assert {id_ for (id_,) in rows(host, "select generation from relation_embeddings")} == generations
    folders = {path.name for path in (tmp_path / "data" / "a-memorix" / "indexes").glob("relations-*")}
    assert folders <= {f"relations-{id_}" for id_ in generations}
    assert set(await scores(host, "yellow kayak")) == {"Good."}


async def test_relations_that_the_model_does_not_read_are_passed_over(
    dense_host: AMemorixHostService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(HostEmbedder, "reads", lambda _, text: not is_mostly_cjk(text))
    await told(dense_host, "好", relations=[triple("林澈", "喜欢", "桂花乌龙"), KAYAK])
    await dense_host.settle(600)

    assert sorted(rows(dense_host, "select length(vector) from relation_embeddings")) == [(0,), (512,)]
    assert (await embedding(dense_host))["pending"] == 0


# opening again, and damage


async def filled(folder: Path) -> dict[str, float]:
    async with memory_host(folder, embed=HashEmbedder()) as host:
        for n in range(12):
            await told(host, f"Text {n}.", relations=[triple("Marta Lind", "paddles", f"kayak {n}")])
        await host.settle(600)
        return await scores(host, "paddles kayak")


def home(folder: Path) -> Path:
    (found,) = (folder / "data" / "a-memorix" / "indexes").glob("relations-*")
    return found


async def test_after_a_restart_nothing_is_embedded_again(tmp_path: Path) -> None:
    wanted = await filled(tmp_path)
    embedder, asked = HashEmbedder(), []

    def embed(texts: Any) -> Any:
        asked.extend(texts)
        return embedder(texts)

    async with memory_host(tmp_path, embed=embed) as host:
        await host.settle(600)
        assert not [text for text in asked if "Marta" in text or "Text" in text]
        assert await scores(host, "paddles kayak") == wanted


@pytest.mark.parametrize("damage", ["gone", "empty", "cut", "flipped"])
async def test_a_damaged_snapshot_is_made_anew(tmp_path: Path, damage: str) -> None:
    wanted = await filled(tmp_path)
    codes = home(tmp_path) / json.loads((home(tmp_path) / "current.json").read_text("utf-8"))["folder"] / "codes.npy"
    data = codes.read_bytes()
    if damage == "gone":
        shutil.rmtree(home(tmp_path))
    else:
        cut = {"empty": b"", "cut": data[:-7], "flipped": data[:-9] + bytes([data[-9] ^ 255]) + data[-8:]}
        codes.write_bytes(cut[damage])
    async with memory_host(tmp_path, embed=HashEmbedder()) as host:
        assert await scores(host, "paddles kayak") == wanted


async def test_folders_of_generations_that_are_gone_are_swept_up(tmp_path: Path) -> None:
    await filled(tmp_path)
    stray = home(tmp_path).with_name("relations-77")
    stray.mkdir()
    async with memory_host(tmp_path, embed=HashEmbedder()):
        assert not stray.exists()


# what is due


async def test_what_is_due_is_known_when_the_change_log_was_pruned(dense_host: AMemorixHostService) -> None:
    for relation in (KAYAK, triple("lamp", "beside", "shelf")):
        await pause_background(dense_host)
        await told(dense_host, VAGUE, relations=[relation])
        cut_change_log(dense_host)
        resume_background(dense_host)
        await dense_host.settle(600)

    assert rows(dense_host, "select relation from relation_embeddings order by relation") == [(1,), (2,)]
    assert await stale_indexes(dense_host) == []


async def test_searches_go_on_as_before(dense_host: AMemorixHostService) -> None:
    await told(dense_host, "The lamp is green.", relations=[triple("lamp", "is", "green")])
    await dense_host.settle(600)
    assert (await hits(dense_host, "green lamp"))[0]["content"] == "The lamp is green."
