"""The composition root: the only chooser of backends."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import logging
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import Any

from ..audit_context import observed
from ..background.change_follower import ChangeFollower, end_tasks
from ..background.chat_budget import ChatMeter, MeteredChat
from ..config.model import Config
from ..copies.backup_folder import BackupFolder
from ..copies.backups import BackupService
from ..copies.key_rotation import KeyService
from ..copies.portable import PortableService
from ..copies.worker import CopyThread
from ..corrections.feedback import FeedbackService
from ..corrections.service import CorrectionService
from ..episodes.service import EpisodeService
from ..errors import MemoryFault, StorageFailure
from ..facts.sentence_vectors import SentenceVectors
from ..facts.service import FactService
from ..facts.succession import MemUpdateChecker
from ..forgetting.files import purge_again
from ..forgetting.purge import PurgeService
from ..forgetting.service import DeletionService
from ..graph.export import GraphExportService
from ..graph.extraction import ExtractionService
from ..graph.suggestions import GraphSuggestionService
from ..graph.view import GraphViewService
from ..importing.manager import ImportTaskManager
from ..indexes.maintenance import UpkeepService
from ..ingest.late_names import NamingService
from ..ingest.service import IngestService
from ..ingest.summaries import SummaryService
from ..language.times import zone_name
from ..lifecycle.decay_job import LifecycleRounds
from ..lifecycle.service import LifecycleService
from ..lifecycle.targets import MemoryTargets
from ..models.registry import chinese_names, made_by
from ..ops import CHAT_KEYS, Operation, Request, Response, ScopedRequest, ScopedResponse, unknown_arguments
from ..profiles.service import PersonProfileService
from ..runtime.audit import AuditService
from ..runtime.checks import CheckService
from ..runtime.document_changes import DocumentChanges
from ..runtime.environment_checks import ChatCheck, ConfigCheck, DiskCheck, ModelCheck
from ..runtime.integrity_check import IntegrityService
from ..runtime.recovery_hint import RecoveryHint
from ..runtime.stored_checks import (
    DatabaseCheck,
    IndexCheck,
    ReadingCheck,
    ReferenceCheck,
    SpaceCheck,
    TermCheck,
    VectorCheck,
    WorkCheck,
)
from ..runtime_status import RuntimeStatus
from ..search.context import ContextBuilder
from ..search.service import SearchService
from ..spaces.service import VectorSpaces
from ..store import changes as change_log
from ..store import operations as operation_rows
from ..store.access import TimeZones
from ..store.keys import Keyring
from ..store.ports import Connection
from ..store.rows import sources as source_rows
from ..tuning.evaluation import Evaluator
from ..tuning.profiles import RetrievalProfileService
from ..tuning.service import TuningService
from .component_methods import Answer, Asked, ComponentMethods
from .environment import Surroundings
from .operations import OPERATIONS
from .permission import permitted, scope_remarks
from .shared_parts import Parts, build_parts, model_has_come
from .vectors import Vectors

__all__ = ["SDKMemoryKernel"]

log = logging.getLogger(__name__)
MOST_WARNINGS = 20


class SDKMemoryKernel(ComponentMethods):
    """One configuration at work: a store, its indexes, a model, and the services over them.

    Each component is a method too (`await kernel.search_memory(query="…")`). Built by `open`. A kernel never changes its configuration; a reload opens the next one, which takes over the parts
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
        # Short pieces of what nobody waits for; and what callers wait for, which may take seconds. Imports, purges and
        # copies may take hours and have threads of their own.
        self._background = ThreadPoolExecutor(1, "amemorix-maintenance")
        self._apart = ThreadPoolExecutor(1, "amemorix-graph")
        self.zones = TimeZones.configured(config.general, surroundings.zone)
        store, indexes, zones, background, chat = self.store, self.indexes, self.zones, self._background, self.chat
        self.vectors = Vectors(
            store, settings=config.embedding, indexes=indexes, clock=clock, model=parts.embedder,
            made_by=lambda fingerprint: made_by(fingerprint, surroundings.environ),
        )  # fmt: skip
        dense, embedding = self.vectors.dense, self.vectors.embedding

        # texts come in
        self.ingest = IngestService(store, config=config, clock=clock, zones=zones)
        self.summaries = SummaryService(store, config=config, ingest=self.ingest, chat=chat, clock=clock, zones=zones)
        self.imports = ImportTaskManager(store, config=config, clock=clock, zones=zones, ingest=self.ingest)

        self.spaces = VectorSpaces()
        self.changes = DocumentChanges(store, config=config, clock=clock)

        # what is derived from them
        self.late_names = NamingService(store, background=background)
        self.extraction = ExtractionService(
            store, settings=config.extraction, clock=clock, background=background,
            chinese=chinese_names(surroundings.environ) if config.extraction.chinese_names else None,
        )  # fmt: skip
        sentence_vectors = SentenceVectors()
        checker = MemUpdateChecker(
            config.facts, embedder=lambda: self.vectors.configured, sentence_vectors=sentence_vectors, chat=lambda: chat,
            background=background,
        )  # fmt: skip
        self.facts = FactService(
            store, settings=config.facts, clock=clock, zones=zones, indexes=indexes,
            embedder=lambda: self.vectors.configured, checker=checker, sentence_vectors=sentence_vectors, background=background,
        )  # fmt: skip
        self.episodes = EpisodeService(
            store,
            config=config,
            clock=clock,
            zones=zones,
            background=background,
            embedder=self.vectors.embedder,
            chat=chat,
        )
        self.derivers: dict[str, ChangeFollower] = {
            "namings": self.late_names, "extraction": self.extraction, "facts": self.facts, "episodes": self.episodes,
        }  # fmt: skip
        derivers = self.derivers.values()
        self.profiles = PersonProfileService(
            store, config=config, clock=clock, zones=zones, indexes=indexes, facts=self.facts
        )

        # finding
        self.search = SearchService(
            store, config=config, indexes=indexes, dense=dense, clock=clock, zones=zones,
            right_of_way=store.right_of_way,
        )  # fmt: skip
        self.contexts = ContextBuilder(
            store, config=config, searches=self.search, profiles=self.profiles, clock=clock,
            zones=zones,
        )  # fmt: skip
        self.targets = MemoryTargets(store, config=config, searches=self.search)
        self.graph = GraphViewService(store, config=config, indexes=indexes, clock=clock, zones=zones)
        self.merge_suggestions = GraphSuggestionService(store, self.graph, background=self._apart)
        self.graph_export = GraphExportService(store, self.graph, clock=clock, background=self._apart)

        # changing, fading and forgetting
        self.corrections = CorrectionService(
            store, config=config, searches=self.search, indexes=indexes, clock=clock, zones=zones, chat=chat,
            checker=checker,
        )  # fmt: skip
        self.feedback = FeedbackService(
            store, settings=config.feedback, corrections=self.corrections, clock=clock, chat=chat
        )
        self.lifecycle = LifecycleService(
            store, settings=config.lifecycle, clock=clock, on_revived=embedding.look_again
        )
        self.decay = LifecycleRounds(
            store, lifecycle=self.lifecycle, settings=config.lifecycle, clock=clock, background=background
        )
        self.maintenance = UpkeepService(
            store, settings=config.advanced, indexes=indexes, derivers=derivers, background=background
        )
        self.deletion = DeletionService(
            store, config=config, indexes=indexes, embedding=embedding, clock=clock, background=background
        )
        self.purges = PurgeService(
            store, indexes=indexes, derivers=derivers, upkeep=self.maintenance, clock=clock,
            backups=BackupFolder(store.folder, config.backup.roots, store.keys), status=status,
        )  # fmt: skip

        # copies, tuning, and how it goes
        self.copies = CopyThread()
        self.backups = BackupService(store, config=config, clock=clock, thread=self.copies, purge_again=purge_again)
        self.keys = KeyService(
            store, backups=self.backups.folder, settings=config.storage.encryption, environ=surroundings.environ,
            clock=clock, thread=self.copies,
        )  # fmt: skip
        self.portable = PortableService(
            store, backups=self.backups.folder, derivers=derivers, clock=clock, thread=self.copies,
            purge_again=purge_again,
        )  # fmt: skip
        self.retrieval_profiles = RetrievalProfileService(store, config=config, configure=status.configure, clock=clock)
        self._evaluator = Evaluator(store, config=config, indexes=indexes, dense=dense, clock=clock, zones=zones)
        self.tuning = TuningService(
            store, config=config, evaluator=self._evaluator, profiles=self.retrieval_profiles, clock=clock,
            background=background, chat=chat,
        )  # fmt: skip
        self.audit = AuditService(store, settings=config.observability, clock=clock)
        self.integrity = IntegrityService(store, settings=config.advanced, clock=clock)
        self.checks = self._checks()
        self._loops: list[asyncio.Task[None]] = []
        self._settling: asyncio.Task[None] | None = None
        self.paused = False

    def model_has_come(self) -> bool:
        """Whether a local model was installed since this kernel was opened without one."""
        return model_has_come(self.config.embedding, self.surroundings.environ, self.parts)

    def _checks(self) -> CheckService:
        store, config, clock, environ = self.store, self.config, self.surroundings.clock, self.surroundings.environ
        recovery = RecoveryHint(self.backups.folder, self.zones.general)
        return CheckService(
            (
                DatabaseCheck(store, self.integrity, recovery, self.zones.general),
                ReferenceCheck(store),
                TermCheck(store, self.zones),
                ReadingCheck(store),
                VectorCheck(store, self.vectors.embedding),
                SpaceCheck(store),
                IndexCheck(store, self.indexes),
                WorkCheck(store, clock),
                ModelCheck(config, self.vectors, environ),
                ChatCheck(self.chat, self.parts.chat.notice),
                ConfigCheck(config, self.status, environ),
                DiskCheck(store),
            ),
            clock=clock,
        )

    @classmethod
    async def open(
        cls,
        config: Config,
        folder: Path,
        *,
        surroundings: Surroundings | None = None,
        status: RuntimeStatus | None = None,
        replaces: SDKMemoryKernel | None = None,
        keys: Keyring | None = None,
    ) -> SDKMemoryKernel:
        """Build a kernel over the data in `folder`, which the caller has locked.

        With `replaces`, parts whose settings are the same are shared with that kernel; `keys` are of a memory that was closed
        to be opened again. Raises StorageFailure,
        ModelUnavailable (a local model asked for by name that is not installed).
        """
        around = surroundings or Surroundings.default()
        loop = asyncio.get_running_loop()
        old = replaces.parts if replaces else None
        parts = await asyncio.to_thread(build_parts, config, folder, around, loop, old, keys)
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
        self.changes.take_up()
        if not self._loops:
            work = (
                self.maintenance.run(),
                self.vectors.embedding.run(),
                *(deriver.run() for deriver in self.derivers.values()),
                self.purges.run(),
                self.summaries.run(),
                self.imports.run(),
                self.vectors.retry(),
                self.feedback.run(),
                self.decay.run(),
                self._copies(),
                self.integrity.run(),
                self.audit.run(),
                self.tuning.run(),
            )
            self._loops = [asyncio.create_task(loop) for loop in work]

    async def _copies(self) -> None:
        """Clear away what a process that ended left unfinished, then make the backups that are due; for ever."""
        await asyncio.to_thread(self.portable.sweep)
        if self.store.keys and len(self.store.keys.all) > 1:
            with contextlib.suppress(StorageFailure):
                await self.maintenance.save()  # what is encrypted with a retired key is written anew
        await self.keys.prune()
        await self.backups.run()

    async def pause(self) -> None:
        """End the background work; calls are still answered."""
        self.paused = True
        self.vectors.embedding.give_way()
        self.changes.give_way()
        await end_tasks([*self._loops, *([self._settling] if self._settling else [])])
        self._loops, self._settling = [], None

    async def close(self) -> None:
        """End everything and let go of the parts, also if something fails before."""
        try:
            await self.pause()
            await self.lifecycle.flush()
        except MemoryFault as exc:
            log.warning("the last uses of memories were not counted: %s", exc)
        finally:
            self.vectors.dense.close()
            await asyncio.to_thread(self._close)

    def _close(self) -> None:
        """The models first: one that nobody else uses ends its requests, which the embedding threads wait for."""
        self.vectors.release()
        self.parts.embedder.release()
        self.parts.chat.release()
        self.vectors.close()
        self.purges.close()
        self.imports.close()
        self.copies.close()
        self.integrity.close()
        self._evaluator.close()
        self._apart.shutdown(wait=True)
        self._background.shutdown(wait=True)
        self.parts.indexes.release()
        self.parts.store.release()

    async def call(self, component: str, arguments: Asked | None = None, /, **named: Any) -> Answer:
        """The answer of a component, ready for JSON; the host's own call. Raises MemoryFault."""
        together = arguments.model_dump(exclude_unset=True) if isinstance(arguments, Request) else arguments
        op, request, given = OPERATIONS.resolve(component, {**(together or {}), **named})
        return (await self.answer(op, permitted(op, request, given), given)).model_dump(mode="json")

    async def answer(self, op: Operation, request: Request, given: dict[str, Any]) -> Response:
        """The response of an operation to a request that may be made, with what its caller should know. Raises MemoryFault."""
        warnings = list(islice(unknown_arguments(request, given), MOST_WARNINGS))
        if isinstance(request, ScopedRequest):
            warnings = [*await scope_remarks(self, op, request), *warnings]
        with observed(op, request, self.surroundings.clock, slow_ms=self.config.observability.slow_call_ms):
            response: Response = await op.handler(self, request)
        if isinstance(request, ScopedRequest) and isinstance(response, ScopedResponse):
            response.scope = "chat" if request.names_chat else "all"
            response.timezone = zone_name(self.zones.of(*(getattr(request, key, "") for key in CHAT_KEYS)))
        response.warnings.extend(warnings)
        return response

    async def settle(self) -> None:
        """Wait until every projection, embedding and derived row has caught up.

        What one of them writes is news for the others, so they go round until nothing moves any more.
        """
        await self.purges.drain()
        await self.lifecycle.flush()
        await self.summaries.drain()
        before = -1
        while before != (before := await self.store.read(lambda db: change_log.bounds(db)[1])):
            await self.maintenance.follow()
            await self.vectors.embedding.settled()
            for deriver in self.derivers.values():
                await deriver.drain()
        await self.maintenance.follow()

    async def settles_within(self, seconds: float) -> bool:
        """Whether everything has caught up within so many seconds.

        What was begun goes on after them, for the next who asks: work that was ended with each wait might never be done.
        """
        until, anew = time.monotonic() + seconds, False
        while not anew:
            anew = self._settling is None or self._settling.done()
            if anew:  # in a context of its own: what it writes is not the doing of who waits
                self._settling = asyncio.create_task(self.settle(), context=contextvars.Context())
                self._settling.add_done_callback(lambda done: done.cancelled() or done.exception())
            settling = self._settling
            assert settling is not None
            await asyncio.wait({settling}, timeout=max(0.0, until - time.monotonic()))
            if self.paused or not settling.done() or settling.cancelled():  # or another kernel may have taken over
                return False
            settling.result()
        return True

    async def waiting(self) -> dict[str, int]:
        """What the background has not caught up with: its name -> changes, paragraphs without vectors, chats to summarise."""
        known = await self.statistics()
        embedding, purging = known["embedding"], await self.store.read(operation_rows.purging)
        found = {**known["lag"], "summaries": known["summaries_waiting"], "purges": len(purging)}
        if embedding["state"] not in ("off", "idle"):
            found["vectors"] = max(1, embedding["pending"])
        return {name: count for name, count in found.items() if count}

    async def statistics(self) -> dict[str, Any]:
        """Counts, lag of every projection, and the state of the model."""

        known = asdict(self.chat.info) if self.chat else {}
        chat = {**known, "state": "on" if self.chat else "off", "notice": self.parts.chat.notice}

        def read(db: Connection) -> dict[str, Any]:
            derived = {name: deriver.lag(db) for name, deriver in self.derivers.items()}
            return {
                **asdict(source_rows.counts(db, self.surroundings.clock.now())),
                "lag": self.indexes.lag(db) | derived,
                "embedding": asdict(self.vectors.embedding.progress(db)),
                "chat": chat | self.chat_meter.state(db),
                "summaries_waiting": db.run("summary_waiting_count").fetchone()[0],
            }

        return await self.store.read(read)
