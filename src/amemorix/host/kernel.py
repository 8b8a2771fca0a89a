"""The composition root: the only chooser of backends."""

from __future__ import annotations

import asyncio
import logging
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ..background.chat_budget import ChatMeter, MeteredChat
from ..background.run_to_completion import end_tasks
from ..config.model import Config
from ..errors import MemoryFault
from ..ingest import summary_rows
from ..runtime.health_metrics import VitalsService
from ..runtime_status import RuntimeStatus
from ..store import changes as change_log
from ..store.ports import Connection
from ..store.rows import sources as source_rows
from ..store.time_zones import TimeZones
from .backups import Copying
from .checks import checks
from .corrections import Mending
from .derived import Knowledge
from .environment import Surroundings
from .graph import Graph
from .ingestion import Intake
from .kernel_context import Ground
from .maintenance import Care
from .search import Recall
from .shared_parts import Parts, build_parts
from .tuning import Tuning
from .vectors import Vectors

__all__ = ["SDKMemoryKernel"]

log = logging.getLogger(__name__)


class SDKMemoryKernel:
    """One configuration at work: a store, its indexes, a model, and the services over them.

    Built by `open`. A kernel never changes its configuration; a reload opens the next one, which takes over the parts
    whose settings are the same, and closes this one when its last call has ended.
    """

    def __init__(self, config: Config, parts: Parts, surroundings: Surroundings, status: RuntimeStatus) -> None:
        self.config = config
        self.status = status
        self.surroundings = surroundings
        self.parts = parts
        self.store = parts.store.part
        self.indexes = parts.indexes.part
        clock, model = surroundings.clock, parts.chat.part
        self.chat_meter = ChatMeter(self.store, daily_token_budget=config.chat.daily_token_budget, clock=clock)
        self.chat = None if model is None else MeteredChat(model, settings=config.chat, meter=self.chat_meter)
        self._background = ThreadPoolExecutor(1, "amemorix-upkeep")
        self.zones = TimeZones.configured(config.general, surroundings.zone)
        ground = Ground(config, self.store, self.indexes, clock, self.zones, self._background, self.chat)
        self.vectors = Vectors(ground, parts.embedder, parts.notice)
        self.knowledge = Knowledge(ground, embedder=self.vectors.embedder)
        self.intake = Intake(ground)
        self.recall = Recall(ground, dense=self.vectors.dense, glosses=parts.glosses)
        self.tuning = Tuning(ground, dense=self.vectors.dense, glosses=parts.glosses, configure=status.configure)
        self.mending = Mending(ground, searches=self.recall.searches, embedding=self.vectors.embedding)
        self.care = Care(ground, embedding=self.vectors.embedding, derivers=self.knowledge.derivers.values())
        self.graph = Graph(ground)
        self.copying = Copying(ground, self.knowledge.derivers.values())
        self.vitals = VitalsService(self.store, backups=self.copying.backups.folder, clock=clock)
        self.checks = checks(
            ground, vectors=self.vectors, chat_notice=parts.chat_notice, status=status, environ=surroundings.environ
        )
        self._loops: list[asyncio.Task[None]] = []
        self.paused = False

    @classmethod
    async def open(
        cls,
        config: Config,
        folder: Path,
        *,
        surroundings: Surroundings | None = None,
        status: RuntimeStatus | None = None,
        replaces: SDKMemoryKernel | None = None,
    ) -> SDKMemoryKernel:
        """Build a kernel over the data in `folder`, which the caller has locked.

        With `replaces`, parts whose settings are the same are shared with that kernel. Raises StorageFailure,
        ModelUnavailable (a local model asked for by name that is not installed).
        """
        around = surroundings or Surroundings.default()
        loop = asyncio.get_running_loop()
        old = replaces.parts if replaces else None
        parts = await asyncio.to_thread(build_parts, config, folder, around, loop, old)
        kernel = cls(config, parts, around, status or RuntimeStatus())
        previous = replaces.vectors if replaces and replaces.store is kernel.store else None
        try:
            await asyncio.to_thread(kernel.vectors.take_over, previous)
        except BaseException:
            await kernel.close()
            raise
        return kernel

    def start(self) -> None:
        """Begin the background work, or take it up again after a pause."""
        self.paused = False
        self.vectors.embedding.take_up()
        if not self._loops:
            work = (
                self.care.upkeep.run(),
                self.vectors.embedding.run(),
                *(deriver.run() for deriver in self.knowledge.derivers.values()),
                self.care.purges.run(),
                self.intake.summaries.run(),
                self.intake.imports.run(),
                self.vectors.retry(),
                self.mending.feedback.run(),
                self.care.rounds.run(),
                self.copying.run(),
                self.care.audit.run(),
                self.tuning.tasks.run(),
            )
            self._loops = [asyncio.create_task(loop) for loop in work]

    async def pause(self) -> None:
        """End the background work; calls are still answered."""
        self.paused = True
        self.vectors.embedding.give_way()
        await end_tasks(self._loops)
        self._loops = []

    async def close(self) -> None:
        """End everything and let go of the parts."""
        await self.pause()
        await self._write_uses()
        self.vectors.dense.close()
        await asyncio.to_thread(self._close)

    async def _write_uses(self) -> None:
        try:
            await self.care.lifecycle.flush()
        except MemoryFault as exc:
            log.warning("the last uses of memories were not counted: %s", exc)

    def _close(self) -> None:
        """The models first: one that nobody else uses ends its requests, which the embedding threads wait for."""
        self.vectors.release()
        self.parts.release_models()
        self.vectors.close()
        self.care.purges.close()
        self.intake.imports.close()
        self.copying.close()
        self.tuning.close()
        self.graph.close()
        self._background.shutdown(wait=True)
        self.parts.release_data()

    async def settle(self) -> None:
        """Wait until every projection, embedding and derived row has caught up.

        What one of them writes is news for the others, so they go round until nothing moves any more.
        """
        await self.care.purges.drain()
        await self.care.lifecycle.flush()
        await self.intake.summaries.drain()
        before = -1
        while before != (before := await self.store.read(lambda db: change_log.bounds(db)[1])):
            await self.care.upkeep.follow()
            await self.vectors.embedding.settled()
            for deriver in self.knowledge.derivers.values():
                await deriver.drain()
        await self.care.upkeep.follow()

    async def statistics(self) -> dict[str, Any]:
        """Counts, lag of every projection, and the state of the model."""

        def read(db: Connection) -> dict[str, Any]:
            derived = {name: deriver.lag(db) for name, deriver in self.knowledge.derivers.items()}
            return {
                **asdict(source_rows.counts(db, self.surroundings.clock.now())),
                "lag": self.indexes.lag(db) | derived,
                "embedding": asdict(self.vectors.embedding.progress(db)),
                "chat": self._chat_state() | self.chat_meter.state(db),
                "summaries_waiting": summary_rows.waiting_count(db),
            }

        return await self.store.read(read)

    def _chat_state(self) -> dict[str, Any]:
        known = asdict(self.chat.info) if self.chat else {}
        return {**known, "state": "on" if self.chat else "off", "notice": self.parts.chat_notice}
