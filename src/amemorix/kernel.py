"""The composition root: the only chooser of backends."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import sqlite3
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from datetime import tzinfo
from pathlib import Path
from typing import Any

from .clock import Clock, SystemClock
from .config.model import Config
from .errors import MemoryFault, ModelUnavailable
from .models.chat_registry import GivenChat, make_chat
from .models.glosses import GlossTable, table_for
from .models.host_callable import EmbedFunction
from .models.registry import make_embedder
from .ports import ChatModel, Embedder
from .services.checks import Finding
from .services.corrections import CorrectionService
from .services.dedup import MemUpdateChecker
from .services.deletion import DeletionService
from .services.dense import DenseLane, Serving
from .services.deriver import Deriver
from .services.embedding import EmbeddingService
from .services.episode_retrieval import EpisodeRetrievalService
from .services.episodes import EpisodeService
from .services.extraction import ExtractionService
from .services.fact_editor import FactEditor
from .services.facts import FactService
from .services.feedback import FeedbackService
from .services.graph_edit import GraphEditService
from .services.graph_export import GraphExportService
from .services.graph_search import GraphSearchService
from .services.graph_suggestions import GraphSuggestionService
from .services.graph_undo import GraphUndoService
from .services.graph_view import GraphViewService
from .services.importing.manager import ImportTaskManager
from .services.indexes import Indexes
from .services.ingest import IngestService
from .services.lifecycle import LifecycleService
from .services.lifecycle_rounds import LifecycleRounds
from .services.memory_targets import MemoryTargets
from .services.metered_chat import ChatMeter, MeteredChat
from .services.parts import Shared, reused
from .services.profile_evidence import EvidenceService
from .services.profile_reading import ProfileReader
from .services.profiles import PersonProfileService
from .services.purge import PurgeService
from .services.runtime import RuntimeStatus
from .services.search import SearchService
from .services.summaries import SummaryService
from .services.upkeep import UpkeepService
from .storage.metadata_store import MetadataStore
from .times import local_zone

__all__ = ["Parts", "SDKMemoryKernel", "Surroundings"]

log = logging.getLogger(__name__)
MODEL_SETTINGS = (
    "provider", "model_name", "base_url", "api_key_env", "dimension", "request_dimension", "max_concurrent",
    "timeout_seconds", "max_attempts", "glosses",
)  # fmt: skip
"""Settings that an embedder is made from: while they stay, it is handed on to the next kernel."""
CHAT_SETTINGS = (
    "provider", "model_name", "base_url", "api_key_env", "timeout_seconds", "max_attempts", "temperature",
    "max_output_tokens",
)  # fmt: skip
"""The same for the chat model."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a kernel is given by whoever hosts it."""

    environ: Mapping[str, str]
    clock: Clock
    zone: tzinfo
    embed: EmbedFunction | None = None
    chat: GivenChat | None = None
    """A chat model of the host's own, or a function; it outlives the kernel."""

    @classmethod
    def default(cls, embed: EmbedFunction | None = None, chat: GivenChat | None = None) -> Surroundings:
        """The process's own environment, clock and time zone."""
        return cls(os.environ, SystemClock(), local_zone(), embed, chat)


@dataclass(frozen=True, slots=True)
class Parts:
    """The heavy parts of a kernel."""

    store: Shared[MetadataStore]
    indexes: Shared[Indexes]
    embedder: Shared[Embedder | None]
    notice: str
    chat: Shared[ChatModel | None]
    chat_notice: str = ""
    glosses: GlossTable | None = None

    def release_data(self) -> None:
        """Let go of the indexes and the store; blocking."""
        self.indexes.release()
        self.store.release()


class SDKMemoryKernel:
    """One configuration at work: a store, its indexes, a model, and the services over them.

    Built by `open`. A kernel never changes its configuration; a reload opens the next one, which takes over the parts
    whose settings are the same, and closes this one when its last call has ended.
    """

    def __init__(self, config: Config, parts: Parts, surroundings: Surroundings, status: RuntimeStatus) -> None:
        self.config = config
        self.status = status
        self.surroundings = surroundings
        self._parts = parts
        self.store = parts.store.part
        self.indexes = parts.indexes.part
        self.notice = parts.notice
        clock = surroundings.clock
        self._background = ThreadPoolExecutor(1, "amemorix-upkeep")
        self.chat_meter = ChatMeter(self.store, daily_token_budget=config.chat.daily_token_budget, clock=clock)
        model = parts.chat.part
        self.chat = None if model is None else MeteredChat(model, settings=config.chat, meter=self.chat_meter)
        self.dense = DenseLane()
        self.embedding = EmbeddingService(
            self.store, settings=config.embedding, indexes=self.indexes, dense=self.dense, clock=clock,
            threads=config.embedding.max_concurrent,
        )  # fmt: skip
        self.extraction = ExtractionService(
            self.store, settings=config.extraction, clock=clock, background=self._background, chat=self.chat
        )
        self.episodes = EpisodeService(
            self.store, settings=config.episode, clock=clock, background=self._background, chat=self.chat
        )
        self.facts = FactService(
            self.store, settings=config.facts, clock=clock, zone=surroundings.zone, indexes=self.indexes,
            checker=self._checker(), background=self._background,
        )  # fmt: skip
        self.fact_editor = FactEditor(self.store, clock=clock)
        self.profiles = PersonProfileService(
            self.store, settings=config.profile, clock=clock, background=self._background,
            directory=self.indexes.names.index, chat=self.chat,
        )  # fmt: skip
        self.profile_reader = ProfileReader(
            self.store, config=config, clock=clock, indexes=self.indexes, service=self.profiles
        )
        self.evidence = EvidenceService(self.store)
        self.derivers: dict[str, Deriver] = {
            "extraction": self.extraction, "episodes": self.episodes, "facts": self.facts, "profiles": self.profiles,
        }  # fmt: skip
        self.upkeep = UpkeepService(
            self.store, settings=config.advanced, indexes=self.indexes, derivers=self.derivers.values(),
            background=self._background,
        )  # fmt: skip
        self.deletion = DeletionService(
            self.store, indexes=self.indexes, embedding=self.embedding, clock=clock, background=self._background
        )
        self.purges = PurgeService(
            self.store, indexes=self.indexes, derivers=self.derivers.values(), upkeep=self.upkeep, clock=clock
        )
        self.ingest = IngestService(self.store, config=config, clock=clock, zone=surroundings.zone)
        self.imports = ImportTaskManager(
            self.store, config=config, clock=clock, zone=surroundings.zone, ingest=self.ingest
        )
        self.summaries = SummaryService(self.store, config=config, chat=self.chat, clock=clock, zone=surroundings.zone)
        self.searches = SearchService(
            self.store, config=config, indexes=self.indexes, dense=self.dense, clock=clock, zone=surroundings.zone,
            glosses=parts.glosses,
        )  # fmt: skip
        self.lifecycle = LifecycleService(
            self.store, settings=config.lifecycle, clock=clock, on_revived=self.embedding.look_again
        )
        self.rounds = LifecycleRounds(
            self.store, lifecycle=self.lifecycle, settings=config.lifecycle, clock=clock, background=self._background
        )
        self.targets = MemoryTargets(self.store, config=config, searches=self.searches)
        self.episode_retrieval = EpisodeRetrievalService(self.store, config=config, indexes=self.indexes, clock=clock)
        self.corrections = CorrectionService(
            self.store, config=config, searches=self.searches, indexes=self.indexes, clock=clock,
            zone=surroundings.zone, chat=self.chat,
        )  # fmt: skip
        self.feedback = FeedbackService(
            self.store, settings=config.feedback, corrections=self.corrections, clock=clock, chat=self.chat
        )
        self.graph_views = GraphViewService(self.store, config=config, indexes=self.indexes, clock=clock)
        self.graph_search = GraphSearchService(self.store, self.graph_views)
        self.graph_edits = GraphEditService(self.store, clock=clock)
        self.graph_undo = GraphUndoService(self.store, clock=clock)
        self._apart = ThreadPoolExecutor(1, "amemorix-graph")
        self.graph_suggestions = GraphSuggestionService(self.store, self.graph_views, background=self._apart)
        self.graph_exports = GraphExportService(self.store, self.graph_views, clock=clock, background=self._apart)
        self._loops: list[asyncio.Task[None]] = []
        self.paused = False
        self._borrowed: Shared[Embedder | None] | None = None
        self.last_check: tuple[float, list[Finding]] | None = None

    def _checker(self) -> MemUpdateChecker:
        """Compares statements with the model that serves at the time, and the chat model."""

        def embedder() -> Embedder | None:
            return self.dense.serving.embedder if self.dense.serving else None

        return MemUpdateChecker(
            self.config.facts, embedder=embedder, chat=lambda: self.chat, background=self._background
        )

    @property
    def parts(self) -> Parts:
        """The parts that the next kernel may take over."""
        return self._parts

    @property
    def serving_model(self) -> Shared[Embedder | None]:
        """The model whose vectors answer now: this kernel's, or the one that it still borrows."""
        borrowed, serving = self._borrowed, self.dense.serving
        if borrowed is None or serving is None or serving.embedder is self._parts.embedder.part:
            return self._parts.embedder
        return borrowed

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
        parts = await asyncio.to_thread(_build_parts, config, folder, around, loop, replaces)
        kernel = cls(config, parts, around, status or RuntimeStatus())
        try:
            await asyncio.to_thread(kernel._take_over, replaces)
        except BaseException:
            await kernel.close()
            raise
        return kernel

    def _take_over(self, old: SDKMemoryKernel | None) -> None:
        """Go on with the vectors that the old kernel answers with, and with the model that made them."""
        previous = old.dense.serving if old and old.store is self.store else None
        self._adopt(previous)
        if old and previous is not None and self.dense.serving is previous:
            self._borrowed = old.serving_model.taken()

    def _adopt(self, previous: Serving | None) -> None:
        try:
            self.embedding.adopt(self._parts.embedder.part, previous)
            self.notice = self._parts.notice
        except ModelUnavailable as exc:
            self.dense.serve(previous)
            with_what = "with the vectors of the model before" if previous else "by words and structure"
            self.notice = f"{exc} Searching {with_what} until it answers."
            log.warning("%s", self.notice)

    def start(self) -> None:
        """Begin the background work, or take it up again after a pause."""
        self.paused = False
        self.embedding.take_up()
        if not self._loops:
            work = (
                self.upkeep.run(),
                self.embedding.run(),
                *(deriver.run() for deriver in self.derivers.values()),
                self.purges.run(),
                self.summaries.run(),
                self._retry_model(),
                self.feedback.run(),
                self.rounds.run(),
                self.imports.run(),
            )
            self._loops = [asyncio.create_task(loop) for loop in work]

    async def pause(self) -> None:
        """End the background work; calls are still answered."""
        self.paused = True
        self.embedding.give_way()
        for loop in self._loops:
            loop.cancel()
        await asyncio.gather(*self._loops, return_exceptions=True)
        self._loops = []

    async def close(self) -> None:
        """End everything and let go of the parts."""
        await self.pause()
        await self._write_uses()
        self.dense.close()
        await asyncio.to_thread(self._close)

    async def _write_uses(self) -> None:
        try:
            await self.lifecycle.flush()
        except MemoryFault as exc:
            log.warning("the last uses of memories were not counted: %s", exc)

    def _close(self) -> None:
        """The models first: one that nobody else uses ends its requests, which the embedding threads wait for."""
        if self._borrowed is not None:
            self._borrowed.release()
        self._parts.embedder.release()
        self._parts.chat.release()
        self.embedding.close()
        self.purges.close()
        self.imports.close()
        self._apart.shutdown(wait=True)
        self._background.shutdown(wait=True)
        self._parts.release_data()

    async def _retry_model(self) -> None:
        """A model that did not answer when the kernel was opened is asked again."""
        while self._parts.embedder.part is not None and not self.embedding.adopted:
            await asyncio.sleep(self.config.embedding.retry_seconds)
            await self.recover_embedding()

    async def recover_embedding(self) -> int:
        """Ask the model again, and try again what failed; returns how many paragraphs had."""
        if self._parts.embedder.part is not None and not self.embedding.adopted:
            await asyncio.to_thread(self._adopt, self.dense.serving)
        return await self.embedding.recover()

    async def settle(self) -> None:
        """Wait until every projection, embedding and derived row has caught up.

        What one of them writes is news for the others, so they go round until nothing moves any more.
        """
        await self.purges.drain()
        await self.lifecycle.flush()
        await self.summaries.drain()
        before = -1
        while before != (before := await self.store.read(lambda db: self.store.changes.bounds(db)[1])):
            await self.upkeep.follow()
            await self.embedding.settled()
            for deriver in self.derivers.values():
                await deriver.drain()
        await self.upkeep.follow()

    async def statistics(self) -> dict[str, Any]:
        """Counts, lag of every projection, and the state of the model."""

        def read(db: sqlite3.Connection) -> dict[str, Any]:
            return {
                **asdict(self.store.sources.counts(db, self.surroundings.clock.now())),
                "lag": self.indexes.lag(db) | {name: deriver.lag(db) for name, deriver in self.derivers.items()},
                "embedding": asdict(self.embedding.progress(db)),
                "chat": self._chat_state() | self.chat_meter.state(db),
                "summaries_waiting": self.store.summaries.waiting_count(db),
            }

        return await self.store.read(read)

    def _chat_state(self) -> dict[str, Any]:
        known = asdict(self.chat.info) if self.chat else {}
        return {**known, "state": "on" if self.chat else "off", "notice": self._parts.chat_notice}


def _build_parts(
    config: Config,
    folder: Path,
    around: Surroundings,
    loop: asyncio.AbstractEventLoop,
    replaces: SDKMemoryKernel | None,
) -> Parts:
    """Build or take over each part; on failure nothing is left open."""
    old = replaces.parts if replaces else None
    with contextlib.ExitStack() as undo:
        store = reused(
            old and old.store,
            (folder, config.storage.synchronous, config.storage.readers, config.storage.group_commit_max),
            lambda: _open_store(config, folder),
            MetadataStore.close,
        )
        undo.callback(store.release)
        indexes = reused(
            old and old.indexes,
            (store.key, config.retrieval.sparse.backend, config.embedding.quantization_type),
            lambda: _open_indexes(config, store.part),
            lambda indexes: indexes.close(),
        )
        undo.callback(indexes.release)
        glosses = _glosses(config, around, old)
        chat, chat_notice = _chat(config, around, loop, old)
        undo.callback(chat.release)
        embedder, notice = _embedder(config, around, loop, old, glosses)
        undo.pop_all()
    return Parts(store, indexes, embedder, notice, chat, chat_notice, glosses)


def _open_store(config: Config, folder: Path) -> MetadataStore:
    return MetadataStore(
        folder,
        synchronous=config.storage.synchronous,
        readers=config.storage.readers,
        group_commit_max=config.storage.group_commit_max,
    )


def _open_indexes(config: Config, store: MetadataStore) -> Indexes:
    indexes = Indexes(store, config.retrieval.sparse.backend)
    how = indexes.open()
    for projection in indexes:
        if how[projection.name] == "rebuilt" and projection.keeps_snapshot and len(projection.index):
            log.info("the %s index was built from the rows", projection.name)
    return indexes


def _glosses(config: Config, around: Surroundings, old: Parts | None) -> GlossTable | None:
    """The table of Chinese words; the old one if it is still the one that is installed."""
    return table_for(config.embedding, around.environ, old.glosses if old else None)


def _embedder(
    config: Config,
    around: Surroundings,
    loop: asyncio.AbstractEventLoop,
    old: Parts | None,
    glosses: GlossTable | None,
) -> tuple[Shared[Embedder | None], str]:
    """The model and its notice; the old one if nothing that it is made from changed."""
    key = tuple(getattr(config.embedding, name) for name in MODEL_SETTINGS)
    if old is not None and old.embedder.key == key and old.embedder.part is not None:
        return old.embedder.taken(), old.notice
    embedder, notice = make_embedder(
        config.embedding, environ=around.environ, host_callable=around.embed, loop=loop, glosses=glosses
    )
    if notice:
        log.warning("%s", notice)
    return Shared(key, embedder, _close_embedder), notice


def _close_embedder(embedder: Embedder | None) -> None:
    if embedder is not None:
        embedder.close()


def _chat(
    config: Config, around: Surroundings, loop: asyncio.AbstractEventLoop, old: Parts | None
) -> tuple[Shared[ChatModel | None], str]:
    """The chat model and its notice; the old one if nothing that it is made from changed."""
    key = tuple(getattr(config.chat, name) for name in CHAT_SETTINGS)
    if old is not None and old.chat.key == key and old.chat.part is not None:
        return old.chat.taken(), old.chat_notice
    model, notice = make_chat(config.chat, environ=around.environ, given=around.chat)
    if notice:
        log.warning("%s", notice)

    def close(model: ChatModel | None) -> None:
        if model is not None and model is not around.chat:
            asyncio.run_coroutine_threadsafe(model.close(), loop).result()

    return Shared(key, model, close), notice
