"""The imports: taken as tasks, worked on one after the other, whatever comes between."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from typing import Any

from ..audit_context import Act, acting_as, naming
from ..background.change_follower import run_forever
from ..clock import Clock
from ..config.model import Config
from ..errors import Conflict, InvalidRequest
from ..ingest.service import IngestService
from ..store import tasks as task_rows
from ..store.access import TimeZones
from ..store.metadata_store import MetadataStore
from ..store.ports import Connection
from ..store.tasks import Claim, TaskWorker
from . import rows as import_rows
from .roots import Places
from .rows import ImportFile, ImportTask, NewImportFile
from .staging import Staging
from .work import Ended, ImportWork, Lease

__all__ = ["BACKFILL", "ImportTaskManager"]

log = logging.getLogger(__name__)
BACKFILL = "temporal_backfill"
AT_REST = ("completed", "skipped", "failed", "cancelled")
SWEEP_EVERY = 60
"""Idle looks between two looks for staged files that nobody wants, as after every task."""


class ImportTaskManager:
    """Takes tasks as rows and works on the oldest; one that a crash, a pause or a reload interrupted is gone on with."""

    def __init__(
        self, store: MetadataStore, *, config: Config, clock: Clock, zones: TimeZones, ingest: IngestService
    ) -> None:
        self._store = store
        self._settings = config.imports
        self._enabled = config.imports.enabled and config.plugin.enabled
        self._clock = clock
        self.places = Places(store.folder, config.imports.roots, store.keys)
        self.staging = Staging(self.places.staging, store.keys)
        self._tasks = TaskWorker(store, "import", clock=clock, lease=config.imports.lease_seconds)
        self._work = ImportWork(store, config=config, clock=clock, zones=zones, ingest=ingest, places=self.places)
        self._wake = asyncio.Event()
        self._current = 0

    # taking tasks

    async def create(
        self,
        kind: str,
        params: Mapping[str, Any],
        files: Sequence[NewImportFile],
        *,
        requested_by: str = "",
        parent: int | None = None,
    ) -> int:
        """Queue a task. Raises Conflict if imports are switched off or too many wait, InvalidRequest for too many files."""
        self.refuse_if_off()
        self.refuse_if_too_many(len(files))
        now, name, most = self._clock.now(), naming(), self._settings.max_queue_size
        name({"files": [file.name for file in files]})

        def unit(db: Connection) -> int:
            if task_rows.open_count(db, "import") >= most:
                raise Conflict(
                    f"{most} imports wait or are under way (`imports.max_queue_size`): let one end, or cancel it.",
                    limit=most,
                )
            created = import_rows.create(db, kind, params, files, parent=parent, requested_by=requested_by, now=now)
            name(task_id=f"i{created}")
            return created

        task = await self._store.write(unit)
        self._wake.set()
        return task

    def refuse_if_off(self) -> None:
        """Raises Conflict if no import is taken."""
        if not self._enabled:
            raise Conflict("imports.enabled: imports are switched off.", field="imports.enabled")

    def refuse_if_too_many(self, files: int) -> None:
        """Raises InvalidRequest for more files than a task may have."""
        if files > (most := self._settings.max_files_per_task):
            raise InvalidRequest(
                f"files: {files} in one task, at most {most} (`imports.max_files_per_task`).", field="files", limit=most
            )

    async def cancel(self, task: int) -> None:
        """Cancel a task. Raises NotFound, Conflict if it is at its end."""
        now = self._clock.now()
        naming()(task_id=f"i{task}")

        def unit(db: Connection) -> str:
            found = import_rows.task(db, task)
            status = import_rows.cancel(db, task, now)
            if status is None and found.status != "cancel_requested":
                raise Conflict(f"task_id: i{task} is {found.status} already.", field="task_id", status=found.status)
            return status or found.status

        if await self._store.write(unit) == "cancel_requested" and self._current == task:
            self._work.stopping.set()
        self._wake.set()

    async def retry(self, task: int, overrides: Mapping[str, Any]) -> tuple[int, dict[str, int]]:
        """(new task, what it reads again): the chunks that failed, and the rest of files that failed.

        Raises NotFound, Conflict if the task is not at its end or nothing of it failed, InvalidRequest for no chat where
        one is required.
        """

        def read(db: Connection) -> tuple[ImportTask, list[NewImportFile]]:
            found = import_rows.task(db, task)
            again: list[NewImportFile] = []
            for f in import_rows.files(db, [task]):
                chunks = tuple((one.start, one.stop) for one in import_rows.chunks(db, f.id, status="failed"))
                if chunks or f.status == "failed":
                    rest = f.status == "failed"
                    again.append(
                        NewImportFile(f.name, f.root, f.path, f.format, f.size, f.sha256, f.position, rest, chunks)
                    )
            return found, again

        found, files = await self._store.read(read)
        if found.is_open:
            raise Conflict(
                f"task_id: i{task} is {found.status}: wait, or cancel it.", field="task_id", status=found.status
            )
        if not files:
            way = (": it was cancelled. Import the same files again: what is stored stays as it is, and the rest follows"
                   if found.status == "cancelled" else "")  # fmt: skip
            raise Conflict(f"task_id: nothing of i{task} failed{way}.", field="task_id", status=found.status)
        params = {**found.params, **overrides}
        if params.get("scope_type") == "chat" and not params.get("chat_id"):
            raise InvalidRequest("overrides.chat_id: it is required with scope_type `chat`.", field="overrides.chat_id")
        child = await self.create(found.kind, params, files, requested_by=found.requested_by, parent=task)
        return child, {
            "chunk_retry_files": sum(bool(file.chunks) for file in files),
            "chunk_retry_chunks": sum(len(file.chunks) for file in files),
            "file_fallback_files": sum(file.rest for file in files),
        }

    # the background loop

    async def run(self) -> None:
        """Work for ever; ends when cancelled. What another run had begun is taken over."""
        idle = -1

        async def step() -> bool:
            nonlocal idle
            busy = self._enabled and await self._step()
            idle = 0 if busy else idle + 1
            if idle % SWEEP_EVERY == 0:
                await self._sweep()
            return busy

        pause = self._settings.poll_interval_seconds
        await run_forever(step, what="imports", pause=pause, idle_share=0.0, wake=self._wake)

    async def _step(self) -> bool:
        """Work on the task that has waited longest, to its end if nothing comes between; False if there is none."""
        async with self._tasks.batch() as claims:
            for claim in claims:
                task = await self._store.read(lambda db, claim=claim: import_rows.task(db, claim.key))
                self._current, self._store.importing = task.id, True
                self._work.stopping.clear()
                act = Act(
                    "background", "import", task.requested_by, "memory", self._clock.now(), {"task_id": f"i{task.id}"}
                )
                try:
                    with acting_as(act):
                        await self._run_task(task, Lease(self._tasks, claim))
                except Ended:
                    if await self._store.write(lambda db, claim=claim: self._end_cancelled(db, claim)):
                        log.info("import i%d ends: cancelled", task.id)
                except asyncio.CancelledError:
                    raise
                except Exception as exc:
                    log.exception("import i%d failed; retrying", task.id)
                    error = f"{type(exc).__name__}: {exc}"[:500]
                    await self._store.write(lambda db, claim=claim, error=error: self._note_failure(db, claim, error))
                finally:
                    self._current, self._store.importing = 0, False
        return bool(claims)

    async def _run_task(self, task: ImportTask, lease: Lease) -> None:
        def begin(db: Connection) -> list[ImportFile]:
            lease.renew(db, progress=False)
            return [file for file in import_rows.files(db, [task.id]) if file.status not in AT_REST]

        files = await self._store.write(begin)
        log.info("import i%d (%s) begins: %d files", task.id, task.kind, len(files))
        for file in files:
            await self._store.write(lambda db, file=file: db.run("import_file_preparing", id=file.id))
            work = self._work.backfill if task.kind == BACKFILL else self._work.file
            await work(task, file, lease)
            _log_file(await self._store.read(lambda db, file=file: import_rows.file(db, file.id)))

        def end(db: Connection) -> str:
            lease.renew(db)
            files = import_rows.files(db, [task.id])
            well = [file for file in files if _went_well(file)]
            chunks = import_rows.chunk_counts(db, [task.id]).values()
            some = well or any(states.get("completed") for states in chunks)
            status = "completed" if len(well) == len(files) else "completed_with_errors" if some else "failed"
            error = next((f"{f.name}: {f.error}" for f in files if f.status == "failed"), "")
            if status == "failed":
                db.run("import_files_given_up", task=task.id, error=error)
            self._tasks.done(db, lease.claim, status, error=error)
            return status

        status = await self._store.write(end)
        log.log(logging.INFO if status == "completed" else logging.WARNING, "import i%d ends: %s", task.id, status)

    def _end_cancelled(self, db: Connection, claim: Claim) -> bool:
        """Whoever asked for it, the task ends here; one that another worker has goes on there."""
        cancelled = import_rows.task(db, claim.key).status == "cancel_requested"
        if cancelled := cancelled and self._tasks.done(db, claim, "cancelled"):
            import_rows.cancel_rest(db, claim.key)
        return cancelled

    def _note_failure(self, db: Connection, claim: Claim, error: str) -> None:
        """Try again after a pause that doubles; give up after the last try."""
        if not self._tasks.retry(db, claim, error, self._settings.retry_seconds, self._settings.max_attempts):
            db.run("import_files_given_up", task=claim.key, error=error)

    async def _sweep(self) -> None:
        """Remove staged files that no task wants."""

        def read(db: Connection) -> tuple[set[str], set[str]]:
            since = self._clock.now() - self._settings.keep_staged_hours * 3600
            wanted, used = db.run("import_staged", since=since), db.run("import_staged_used")
            return {path for (path,) in wanted}, {path for (path,) in used}

        try:
            wanted, used = await self._store.read(read)
            await asyncio.to_thread(lambda: self.staging.sweep(wanted, used, self._settings.keep_staged_hours))
        except Exception:
            log.exception("the removal of staged files failed; retrying")

    def close(self) -> None:
        """End what is under way; it goes on when the memory is opened again. Blocking."""
        self._work.close()


def _went_well(file: ImportFile) -> bool:
    return file.status in ("completed", "skipped") and not file.counts["failed"]


def _log_file(file: ImportFile) -> None:
    """Log what became of a file: figures alone, since names and errors may hold what people wrote."""
    counts = ", ".join(f"{count} {what}" for what, count in sorted(file.counts.items()) if count)
    log.log(
        logging.INFO if _went_well(file) else logging.WARNING, "import i%d, file %d (%s, %d bytes): %s, %d records: %s",
        file.task, file.id, file.format, file.size, file.status, file.records, counts or "none",
    )  # fmt: skip
