"""Random histories, ended by kill -9 at any point: what was acknowledged is there, once, and the indexes agree with it.

`AMEMORIX_HISTORIES=500 ./scripts/test tests/crash/test_histories.py` runs more of them, `AMEMORIX_HISTORY_SEED=17` begins at
that seed. The calls of a seed are always the same; the moment of the kill hangs on the machine too.
"""

from __future__ import annotations

import asyncio
import io
import logging
import os
import random
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC
from pathlib import Path
from typing import Any

import pytest

from amemorix import AMemorixHostService
from amemorix.clock import SystemClock
from amemorix.episodes import grouping as episode_grouping
from amemorix.episodes import service as episodes
from amemorix.host.environment import Surroundings
from amemorix.indexes import maintenance as upkeep
from amemorix.indexes import projections
from amemorix.indexes.vectors import embedding
from amemorix.testing import HashEmbedder, stale_indexes
from entrance import reading
from history_model import COMPONENTS, DIMENSION, Delete, Held, Ledger, Operation, Piece, Shelf, Write, applied, examine
from lives import Life, Tell

HISTORIES = int(os.environ.get("AMEMORIX_HISTORIES", "12"))
FIRST_SEED = int(os.environ.get("AMEMORIX_HISTORY_SEED", "1"))
MOST_MESSAGES = 400
CHATS = 3
SETTLE_SECONDS = 120.0
LIFE_SECONDS = 180.0
ERRANDS = ("open", "save", "rebuild", "reload", "stop")
"""What a process may be killed in the middle of."""
RELOADS: tuple[dict[str, Any], ...] = (
    {"retrieval.candidates": 40},
    {"retrieval.candidates": 80},
    {"embedding.quantization_type": "float16"},
    {"embedding.quantization_type": "int8"},
    {"embedding.model_name": "first"},
    {"embedding.model_name": "second"},
    {"embedding.keep_generations": 0},
    {"storage.group_commit_max": 2},
    {"storage.group_commit_max": 256},
)


def small_steps() -> None:
    """Let a short history come to what a long one comes to: prunes, snapshots of many steps, generations dropped."""
    upkeep.PRUNE_AT = 40
    upkeep.FOLLOW_SECONDS = 0.01
    projections.STEP = 16
    episodes.STEP = 12
    episode_grouping.PAGE, episode_grouping.SLICE = 16, 32
    embedding.NOTE_EVERY = 6
    embedding.DROP_STEP = 7


def configure(folder: Path, rng: random.Random) -> Path:
    """Write the configuration of a new memory; returns its path."""
    path = folder / "config" / "a_memorix.toml"
    path.parent.mkdir(parents=True)
    path.write_text(
        "[embedding]\nprovider = 'host'\nbatch_size = 4\n"
        "[retrieval.noise]\nenabled = false\n"
        f"[episode]\npoll_interval_seconds = 0.02\ndebounce_seconds = {rng.choice((0, 0.05))}\nmax_paragraphs = 7\n",
        "utf-8",
    )
    return path


async def live(tell: Tell, config: Path, ledger: Ledger, seed: int, phases: int) -> None:
    """Open, examine, work, stop; `phases` times."""
    small_steps()
    with errors_logged() as errors:
        life = asyncio.create_task(HistoryLife(tell, config, ledger, seed).live(phases))
        await asyncio.wait([life], timeout=LIFE_SECONDS)
        assert life.done(), f"hung:\n{stacks()}"
        assert not errors, "\n".join(errors)
        await life


class HistoryLife:
    """Works on a memory and tells of every call before it is made and after it is answered."""

    def __init__(self, tell: Tell, config: Path, ledger: Ledger, seed: int) -> None:
        around = Surroundings({}, SystemClock(), UTC, HashEmbedder(DIMENSION))
        self._host = AMemorixHostService(config, surroundings=around, watch=False)
        self._ledger = ledger
        self._rng = random.Random(seed)
        self._tell = tell

    async def live(self, phases: int) -> None:
        for _ in range(phases):
            self._tell(("errand", "open"))
            await self._host.start()
            await self._examined()
            await self._worked()
            self._tell(("errand", "stop"))
            await self._host.stop()
        await self._host.start()
        await self._examined()
        await self._host.stop()

    # looking

    async def _examined(self) -> None:
        """Compare everything with the ledger; what was under way when the last life ended is settled by it."""
        await self._host.settle(SETTLE_SECONDS)
        assert await stale_indexes(self._host) == []
        with reading(self._host) as db:
            shelves = examine(db, self._ledger)
        self._ledger.shelves, self._ledger.pending = shelves, {}
        for chat, shelf in enumerate(shelves):
            await self._searched(chat, shelf)
        self._tell(("examined", shelves))

    async def _searched(self, chat: int, shelf: Shelf) -> None:
        """A text that is held is found by a word that only it has, and one that is gone is not."""
        for key in self._rng.sample(sorted(shelf), min(2, len(shelf))):
            piece = shelf[key].piece
            query = Piece("", 0, 1).mark if piece is None else piece.mark
            answer = await self._host.invoke("search_memory", {"query": query, "chat_id": f"c{chat}", "limit": 50})
            assert answer["success"], answer
            found = {hit["external_id"] for hit in answer["hits"] if query in hit["content"]}
            assert found == (set() if piece is None else {key[1]}), (query, key, answer)

    # working

    async def _worked(self) -> None:
        running = asyncio.Event()
        errands = [asyncio.create_task(self._run_errands(running)) for _ in range(2)]
        async with asyncio.TaskGroup() as group:
            for chat in range(CHATS):
                group.create_task(self._work(chat, self._rng.randint(3, 12)))
        running.set()
        await asyncio.gather(*errands)

    async def _work(self, chat: int, calls: int) -> None:
        for _ in range(calls):
            shelf = self._ledger.shelves[chat]
            operation = self._next(shelf)
            self._ledger.begun(chat, operation)
            self._tell(("begun", chat, operation))
            await self._perform(chat, shelf, operation)
            self._ledger.done(chat)
            self._tell(("done", chat))
            await asyncio.sleep(self._rng.choice((0, 0, 0.001, 0.005)))

    def _next(self, shelf: Shelf) -> Operation:
        rng = self._rng
        if rng.random() < 0.12:
            return Delete(tuple(rng.sample(sorted(COMPONENTS.values()), rng.choice((1, 1, 2)))))
        component = rng.choice(sorted(COMPONENTS))
        many = rng.randint(1, 12) if component == "ingest_messages" else 1
        return Write(component, tuple(self._piece(COMPONENTS[component], shelf) for _ in range(many)))

    def _piece(self, kind: str, shelf: Shelf) -> Piece:
        """A new text, a new revision of one that is held, or the same again."""
        rng = self._rng
        held = [h.piece for (of, _), h in shelf.items() if of == kind and h.piece]
        if held and rng.random() < 0.2:
            return rng.choice(held)
        words = rng.randint(250, 600) if rng.random() < 0.15 else rng.randint(3, 25)
        return Piece(f"k{rng.randrange(12)}", rng.getrandbits(40), words)

    async def _perform(self, chat: int, before: Shelf, operation: Operation) -> None:
        if isinstance(operation, Delete):
            await self._delete(chat, before, operation)
        elif isinstance(operation, Write) and operation.component == "ingest_messages":
            await self._say(chat, before, operation)
        elif isinstance(operation, Write):
            await self._note(chat, before, operation)

    async def _delete(self, chat: int, before: Shelf, operation: Delete) -> None:
        answer = await self._host.invoke(
            "memory_source_admin",
            {
                "action": "batch_delete",
                "sources": [f"{kind}:c{chat}" for kind in operation.kinds],
                "chat_id": f"c{chat}",
            },
        )
        alive = {kind for (kind, _), held in before.items() if held.piece and kind in operation.kinds}
        assert answer["success"] == bool(alive) and answer["matched_source_count"] == len(alive), (answer, alive)

    async def _say(self, chat: int, before: Shelf, operation: Write) -> None:
        messages = [
            {
                "external_id": p.external_id,
                "text": p.text(),
                "speaker": f"Quellin{p.external_id}",
                "time": 1.7e9 + p.seed % 10**7,
            }
            for p in operation.pieces
        ]
        answer = await self._host.invoke("ingest_messages", {"chat_id": f"c{chat}", "messages": messages})
        assert answer["success"], answer
        wanted: list[str] = []
        for piece in operation.pieces:
            wanted.append(_status(before, "chat", piece))
            before = applied(before, Write(operation.component, (piece,)))
        assert [result["status"] for result in answer["results"]] == wanted, (answer, wanted)

    async def _note(self, chat: int, before: Shelf, operation: Write) -> None:
        (piece,) = operation.pieces
        args: dict[str, Any] = {"external_id": piece.external_id, "chat_id": f"c{chat}", "text": piece.text()}
        args["person_ids"] = [f"Dashwood{piece.seed % 5}"]
        relation = piece.relation()
        if operation.component == "ingest_text":
            args["source_type"] = "note"
            args["relations"] = (
                [dict(zip(("subject", "predicate", "object"), relation, strict=True))] if relation else []
            )
        answer = await self._host.invoke(operation.component, args)
        assert answer["success"], answer
        status = _status(before, COMPONENTS[operation.component], piece)
        told = "existing" if answer["reason"] == "exists" else "revised" if answer["superseded_ids"] else "stored"
        assert told == status and bool(answer["stored_ids"]) == (status != "existing"), (answer, status)

    # errands

    async def _run_errands(self, over: asyncio.Event) -> None:
        while not over.is_set():
            await asyncio.sleep(self._rng.uniform(0, 0.03))
            name = self._rng.choice(("save", "save", "rebuild", "reload", "stats"))
            self._tell(("errand", name))
            if name == "reload":
                await self._host.update_config(self._rng.choice(RELOADS))
                continue
            action = {"save": "save", "rebuild": "rebuild_all_vectors"}.get(name)
            answer = await self._host.invoke(
                *("memory_runtime_admin", {"action": action}) if action else ("memory_stats", {})
            )
            assert answer["success"] or answer["error_code"] == "conflict", answer


def _status(shelf: Shelf, kind: str, piece: Piece) -> str:
    held = shelf.get((kind, piece.external_id), Held(0, None)).piece
    return "stored" if held is None else "existing" if held == piece else "revised"


def stacks() -> str:
    """Where every task waits."""
    text = io.StringIO()
    for task in asyncio.all_tasks():
        task.print_stack(file=text)
    return text.getvalue()


class Kept(logging.Handler):
    """Keeps what is logged."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.messages: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.messages.append(logging.Formatter().format(record))


@contextmanager
def errors_logged() -> Iterator[list[str]]:
    """What the package logs as an error meanwhile: nothing here may go wrong unseen."""
    kept = Kept()
    for name in ("amemorix", "asyncio"):
        logging.getLogger(name).addHandler(kept)
    yield kept.messages


@dataclass(frozen=True, slots=True)
class Killer:
    """Where a process is to be killed: so many seconds after a message, counted among those of a kind."""

    among: str
    """`any`, or the name of an errand."""
    count: int
    delay: float

    @classmethod
    def choose(cls, rng: random.Random) -> Killer:
        """Anywhere, or in the middle of an errand."""
        if rng.random() < 0.4:
            return cls("any", rng.randint(1, 70), rng.uniform(0, 0.004))
        errand = rng.choice(ERRANDS)
        count = 1 if errand in ("open", "stop") else rng.randint(1, 2)
        return cls(errand, count, rng.uniform(0, 0.001) * 25 ** rng.random())

    def counts(self, message: tuple[Any, ...]) -> bool:
        """Whether the message is of the kind."""
        return self.among == "any" or message == ("errand", self.among)


def take(ledger: Ledger, message: tuple[Any, ...]) -> None:
    """Keep account of what a process told."""
    match message:
        case ("begun", chat, operation):
            ledger.begun(chat, operation)
        case ("done", chat):
            ledger.done(chat)
        case ("examined", shelves):
            ledger.shelves, ledger.pending = shelves, {}
        case _:
            pass


def lived(config: Path, ledger: Ledger, seed: int, killer: Killer | None) -> None:
    """One life of the memory, to its end or until it is killed; an answer that came before the end was an answer."""
    life = Life(live, config, ledger, seed, sys.maxsize if killer else 0)
    left = killer.count if killer else 0
    try:
        for _ in range(MOST_MESSAGES):
            message = life.heard()
            take(ledger, message)
            if killer and killer.counts(message):
                left -= 1
                if left == 0:
                    time.sleep(killer.delay)
                    break
    except EOFError:
        assert not killer, "it ended by itself"
    for message in life.kill():
        take(ledger, message)


@pytest.mark.parametrize("seed", range(FIRST_SEED, FIRST_SEED + HISTORIES))
def test_every_acknowledged_write_outlives_a_kill_exactly_once(tmp_path: Path, seed: int) -> None:
    """A few lives of one memory, all but the last ended by SIGKILL; each begins by looking at everything."""
    rng = random.Random(seed)
    config, ledger = configure(tmp_path, rng), Ledger([{} for _ in range(CHATS)])
    for _ in range(rng.choice((1, 1, 1, 2))):
        lived(config, ledger, rng.getrandbits(32), Killer.choose(rng))
    lived(config, ledger, rng.getrandbits(32), None)
    print(f"\n{ledger.acknowledged} calls were acknowledged")
