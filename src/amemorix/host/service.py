"""The host service: life cycle, configuration, hot reload, and the one entrance."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import logging
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

from .. import config as configuration
from ..background.change_follower import end_tasks
from ..config import Config
from ..errors import Conflict, InvalidConfig, InvalidRequest, MemoryFault, NotReady, TimedOut
from ..locale import Language, localised
from ..models.host.embedder import EmbedFunction
from ..models.registry import GivenChat
from ..ops import Response
from ..runtime_status import ReloadReport, RuntimeStatus, Takeover
from .environment import Surroundings, data_folder, first_config
from .kernel_pool import KernelPool
from .operations import OPERATIONS
from .permission import permitted

if TYPE_CHECKING:
    from ..config.model import Imports
    from ..importing.staging import Staging
    from ..runtime.health_metrics import HealthMetrics
    from .kernel import SDKMemoryKernel

__all__ = ["AMemorixHostService"]

P = ParamSpec("P")
T = TypeVar("T")
log = logging.getLogger(__name__)
NEEDS_RESTART = (
    "storage.data_dir", "http.host", "http.port", "http.token_env", "http.tokens_env", "http.tokens_file",
    "http.connections_per_peer", "http.idle_seconds", "storage.encryption.enabled", "storage.encryption.key_env",
    "storage.encryption.key_file", "storage.encryption.key_command", "storage.encryption.cache_mb",
)  # fmt: skip
"""Settings that a running memory keeps: where its rows are and how they are encrypted, and the daemon's listening socket."""
LONGEST_MS = 10**10
"""A call that may take longer than this, about four months, may take for ever."""


def _carried_through(
    change: Callable[Concatenate[AMemorixHostService, P], Coroutine[Any, Any, T]],
) -> Callable[Concatenate[AMemorixHostService, P], Coroutine[Any, Any, T]]:
    """A change of state that was begun goes on to its end, also when the caller no longer waits for it."""

    def ended(self: AMemorixHostService, task: asyncio.Task[Any]) -> None:
        self._underway.discard(task)  # pyright: ignore[reportPrivateUsage]
        if not task.cancelled():
            task.exception()  # looked at, so that one that nobody waits for any more is not reported as lost

    @functools.wraps(change)
    async def carried(self: AMemorixHostService, *args: P.args, **kwargs: P.kwargs) -> T:
        self._refuse_other_loop()  # pyright: ignore[reportPrivateUsage]
        task = asyncio.create_task(change(self, *args, **kwargs))
        self._underway.add(task)  # pyright: ignore[reportPrivateUsage]
        task.add_done_callback(functools.partial(ended, self))
        return await asyncio.shield(task)

    return carried


class AMemorixHostService:
    """A memory inside a chatbot's process.

    `start` opens it, `invoke` answers every component, `stop` closes it. Saving the configuration file, `update_config`
    and `reload` build the next kernel beside the running one and switch: a call finishes on the kernel it began with.
    All of it belongs to the event loop that `start` ran in: in another one everything but `stop` raises NotReady.
    """

    def __init__(
        self,
        config_path: str | Path = "config/a_memorix.toml",
        *,
        embed: EmbedFunction | None = None,
        chat: GivenChat | None = None,
        surroundings: Surroundings | None = None,
        watch: bool = True,
    ) -> None:
        self.config_path = Path(config_path).absolute()
        self._status = RuntimeStatus(
            config_file=str(self.config_path),
            reopen=self._reopen,
            rotate=self._rotate_key,
            configure=self.update_config,
            configure_text=self.update_raw_config,
            reload=self.reload,
        )
        self._surroundings = surroundings or Surroundings.default(embed, chat)
        self._kernels = KernelPool(self._surroundings, self._status)
        self._kernel: SDKMemoryKernel | None = None
        self._underway: set[asyncio.Task[Any]] = set()
        self._changing = asyncio.Lock()
        self._changes_in: asyncio.AbstractEventLoop | None = None
        self._watch = watch
        self._watching: asyncio.Task[None] | None = None
        self._watch_ends = asyncio.Event()
        self._state = "stopped"
        self._begun_with: Config | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    # life cycle

    @property
    def state(self) -> str:
        """`stopped`, `starting`, `ready` or `stopping`."""
        return self._state

    @property
    def kernel(self) -> SDKMemoryKernel:
        """The kernel that answers now. Raises NotReady."""
        if self._kernel is None:
            raise NotReady(f"The memory is {self._state}: call start() first.", state=self._state)
        return self._kernel

    async def start(self) -> None:
        """Open the memory; it answers when this returns. A missing configuration file is written with the defaults.

        Raises InvalidConfig, DirectoryInUse, StorageFailure, ModelUnavailable.
        """
        if self._state == "stopped":
            self._state, self._loop = "starting", asyncio.get_running_loop()
            self._lock_here()
        await self._start()

    @_carried_through
    async def _start(self) -> None:
        async with self._changing:
            if self._kernel is not None:
                return
            self._state, self._loop = "starting", asyncio.get_running_loop()
            try:
                config, seen = await asyncio.to_thread(first_config, self.config_path, self._surroundings.environ)
                self._kernel = await self._kernels.open(config, data_folder(self.config_path, config), None)
            except BaseException:
                self._state = "stopped"
                raise
            self._begun_with, self._status.needs_restart = config, ()
            await asyncio.to_thread(configuration.remember_data_dir, self.config_path, config)
            self._kernel.start()
            self._state = "ready"
            log.info("the memory in %s is open", self._kernel.store.folder)
            if self._watch:
                self._watch_ends.clear()
                watching = configuration.watch(self.config_path, self._file_changed, stop=self._watch_ends, seen=seen)
                self._watching = asyncio.create_task(watching)

    async def stop(self) -> None:
        """Finish the calls in flight, write snapshots, close. Calls after this are refused.

        From any loop: what ran in a loop that is closed has ended with it, and only closing is left.
        """
        loop, here = self._loop, asyncio.get_running_loop()
        if loop is None or loop is here:
            await self._stop()
        elif loop.is_running():
            await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(self._stop(), loop))
        else:
            self._loop = here
            self._lock_here()
            await self._stop(left_behind=True)

    def _lock_here(self) -> None:
        """A lock that was waited for belongs to its loop; in another one a new lock is needed."""
        here = asyncio.get_running_loop()
        if self._changes_in is not here:
            self._changing, self._changes_in = asyncio.Lock(), here

    @_carried_through
    async def _stop(self, *, left_behind: bool = False) -> None:
        async with self._changing:
            self._watch_ends.set()
            if self._watching is not None:
                await end_tasks([self._watching])
                self._watching = None
            kernel, self._kernel = self._kernel, None
            if kernel is None:
                return
            self._state = "stopping"
            try:
                await kernel.pause()
                if not left_behind:
                    await self._kernels.drained(kernel)
                    with contextlib.suppress(MemoryFault, OSError):
                        await kernel.maintenance.save()
            finally:
                try:
                    await self._kernels.close(kernel)
                    await self._kernels.retired()
                finally:
                    self._state, self._loop = "stopped", None
            log.info("the memory in %s is closed", kernel.store.folder)

    def _refuse_other_loop(self) -> None:
        """Raises NotReady: what runs in the background, and whoever waits for it, belong to the loop of `start`."""
        if self._loop is None or self._loop is asyncio.get_running_loop():
            return
        if self._loop.is_running():
            told = "another event loop: call it from there (asyncio.run_coroutine_threadsafe)."
        else:
            told = (
                f"an event loop that is {'closed' if self._loop.is_closed() else 'not running'}: keep one loop for its whole "
                "life, with start, every call and stop in one asyncio.run. stop() closes it, and start() opens it in this one."
            )
        raise NotReady(f"The memory was started in {told}", state=self._state)

    async def __aenter__(self) -> AMemorixHostService:
        await self.start()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.stop()

    async def settle(self, timeout: float | None = None) -> None:
        """Wait until every projection and pending embedding has caught up. Raises TimedOut after `timeout` seconds."""
        try:
            async with asyncio.timeout(timeout):
                while True:
                    async with self._lease() as kernel:
                        await kernel.settle()
                    if kernel is self._kernel and not (kernel.paused and self._changing.locked()):
                        return
                    await asyncio.sleep(0)
        except TimeoutError as exc:
            waiting = await self.kernel.waiting()
            raise TimedOut(
                f"Not everything had caught up after {timeout:g} s.", seconds=timeout, waiting=waiting
            ) from exc

    # calls

    async def call(
        self, component_name: str, args: dict[str, Any] | None = None, timeout_ms: int | None = None
    ) -> Response:
        """Like `invoke`, but gives the typed response and raises the typed error."""
        try:
            return await self._called(component_name, args, timeout_ms)
        except MemoryFault as exc:
            exc.answer = {**OPERATIONS.nothing_destroyed(component_name, args), **exc.answer}
            raise

    async def _called(self, component_name: str, args: dict[str, Any] | None, timeout_ms: int | None) -> Response:
        if timeout_ms is not None and (type(timeout_ms) is not int or timeout_ms <= 0):
            raise InvalidRequest("timeout_ms must be a whole number of milliseconds above 0.", field="timeout_ms")
        seconds = None if timeout_ms is None else min(timeout_ms, LONGEST_MS) / 1000
        op, request, given = OPERATIONS.resolve(component_name, args)
        request = permitted(op, request, given)
        try:
            async with asyncio.timeout(seconds), self._lease() as kernel:
                return await kernel.answer(op, request, given)
        except TimeoutError as exc:
            raise TimedOut(f"{op.name} took longer than {timeout_ms} ms.", component=op.name) from exc

    async def invoke(
        self, component_name: str, args: dict[str, Any] | None = None, timeout_ms: int | None = None
    ) -> dict[str, Any]:
        """Answer a component with a JSON-ready dict that always has `success`.

        On failure: `success` false, `error` (a sentence), `error_code` and `details`; where something was to be deleted,
        also the fields of its answer, with zeros. `timeout_ms` gives up waiting; a
        write that was already on its way may still be stored. Sentences are English, or as `general.language` says.
        """
        try:
            answer = (await self.call(component_name, args, timeout_ms)).model_dump(mode="json")
        except MemoryFault as exc:
            answer = exc.to_dict()
        except Exception:
            log.exception("%s failed", component_name)
            answer = MemoryFault(f"{component_name} failed inside; the log has the details.").to_dict()
        return localised(answer, self.language)

    @contextlib.asynccontextmanager
    async def _lease(self) -> AsyncGenerator[SDKMemoryKernel]:
        """The kernel that answers now, kept open until the block ends. Raises NotReady."""
        self._refuse_other_loop()
        while self._state == "starting":
            async with self._changing:
                await asyncio.sleep(0)
        with self._kernels.leased(self.kernel) as kernel:
            yield kernel

    async def _reopen(self, asking: SDKMemoryKernel, takeover: Takeover) -> None:
        """Close the memory when every call but the asking one has ended, exchange its rows, and open it over them."""
        with self._kernels.given_back(asking):
            await self._exchange(takeover)

    @_carried_through
    async def _rotate_key(self) -> None:
        await self.call("memory_key_admin", {"action": "rotate"})

    @_carried_through
    async def _exchange(self, takeover: Takeover) -> None:
        async with self._changing:
            old, self._kernel, self._state = self.kernel, None, "starting"
            try:
                self._kernel, fault = await self._kernels.exchanged(old, takeover)
            except BaseException:
                self._state = "stopped"
                raise
            self._kernel.start()
            self._state = "ready"
        if fault is not None:
            raise fault

    # what front ends need besides calls

    @property
    def config(self) -> Config:
        """The configuration at work. Raises NotReady."""
        return self.kernel.config

    @property
    def language(self) -> Language | None:
        """The language that `general.language` chooses for what is said to people; None for `auto`, and while it is not open."""
        chosen = "auto" if self._kernel is None else self._kernel.config.general.language
        return None if chosen == "auto" else chosen

    async def health(self) -> tuple[dict[str, Any], RuntimeStatus, HealthMetrics]:
        """Counts and lags, reloads, and what an operator sets alarms on. Raises NotReady."""
        from ..runtime.health_metrics import health_metrics

        with self._kernels.leased(self.kernel) as kernel:
            clock = kernel.surroundings.clock
            metrics = await health_metrics(kernel.store, kernel.backups.folder, kernel.integrity, clock)
            return await kernel.statistics(), kernel.status, metrics

    @property
    def damage_met(self) -> int:
        """Calls that met a damaged page of the database since it was opened. Raises NotReady."""
        return self.kernel.store.damage_met

    def staging(self) -> tuple[Staging, Imports]:
        """Where files that are to be imported are put, and their limits. Raises NotReady, and Conflict without imports."""
        kernel = self.kernel
        kernel.imports.refuse_if_off()
        return kernel.imports.staging, kernel.config.imports

    # configuration

    @_carried_through
    async def reload(self) -> ReloadReport:
        """Read the file again and apply what changed; a local model that was installed meanwhile is taken up.

        Raises InvalidConfig and whatever opening raises; nothing changes then.
        """
        async with self._changing:
            return await self._reported(self._from_file())

    async def get_config(self) -> dict[str, Any]:
        return self.kernel.config.model_dump(mode="json")

    async def get_raw_config(self) -> str:
        """The text of the configuration file."""
        return await asyncio.to_thread(configuration.read_text, self.config_path)

    async def get_config_schema(self) -> dict[str, Any]:
        """The JSON Schema of the configuration."""
        return configuration.config_schema()

    @_carried_through
    async def update_config(self, patch: dict[str, Any]) -> dict[str, Any]:
        """Merge nested or dotted settings into the file, keeping comments and order, and apply them.

        None as a value removes a setting. Raises InvalidConfig; the file and the running memory are unchanged then.
        """
        if not isinstance(patch, dict):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidRequest("patch must be an object.", field="patch")
        async with self._changing:
            text = await asyncio.to_thread(configuration.read_text, self.config_path)
            configuration.refuse_part(text, str(self.config_path))
            return await self._written(await asyncio.to_thread(configuration.patched, text, patch))

    @_carried_through
    async def update_raw_config(self, toml: str) -> dict[str, Any]:
        """Replace the file's text and apply it. Raises InvalidConfig; nothing changes then."""
        if not isinstance(toml, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidRequest("toml must be a text.", field="toml")
        async with self._changing:
            return await self._written(toml)

    async def _written(self, text: str) -> dict[str, Any]:
        backups: list[Path | None] = []

        async def write(config: Config) -> None:
            keep = config.advanced.config_backups
            backups.append(await asyncio.to_thread(configuration.write_text, self.config_path, text, backups=keep))

        async def apply() -> ReloadReport:
            config = await asyncio.to_thread(configuration.parse, text, str(self.config_path))
            lost = f"{self.config_path} would no longer name storage.data_dir"
            await asyncio.to_thread(configuration.refuse_lost_folder, self.config_path, config, lost)
            return await self._apply(config, before_switch=write)

        report = await self._reported(apply())
        return {
            "success": True,
            "level": report.level,
            "changed": list(report.changed),
            "config_path": str(self.config_path),
            "backup_path": str(backups[0]) if backups and backups[0] else "",
            "needs_restart": list(self._status.needs_restart),
        }

    @_carried_through
    async def _file_changed(self, content: bytes) -> None:
        """The watcher also sees what `update_config` wrote: a file that says nothing new is not worth a report."""
        async with self._changing:
            try:
                still = await asyncio.to_thread(self.config_path.read_bytes) == content
            except OSError:
                still = False
            if not still:  # the watcher comes again
                raise Conflict(f"{self.config_path} is still being written.", file=str(self.config_path))
            await self._reported(self._from_file(content), news_only=True)

    async def _from_file(self, content: bytes | None = None) -> ReloadReport:
        text = await self.get_raw_config() if content is None else configuration.decoded(content, self.config_path)
        return await self._apply(await asyncio.to_thread(configuration.parse, text, str(self.config_path)))

    async def _reported(self, attempt: Awaitable[ReloadReport], news_only: bool = False) -> ReloadReport:
        """Remember how the attempt went; a refusal is logged with the file and the place."""
        try:
            report = await attempt
        except MemoryFault as exc:
            problems = tuple(exc.details.get("problems", ())) if isinstance(exc, InvalidConfig) else ()
            self._status.record(ReloadReport(time.time(), ok=False, error=str(exc), problems=problems))
            log.error("the configuration was not applied: %s", exc)
            raise
        if report.changed or self._status.last_error is not None or not news_only:
            self._status.record(report)
        return report

    async def _apply(
        self, config: Config, before_switch: Callable[[Config], Awaitable[None]] | None = None
    ) -> ReloadReport:
        """Build the next kernel, then switch; on any failure the running one goes on."""
        old, started = self.kernel, time.monotonic()
        changed = configuration.changes(old.config, config)
        if not changed and not await asyncio.to_thread(old.model_has_come):
            if before_switch:
                await before_switch(config)
            return ReloadReport(time.time(), ok=True)
        data_folder(self.config_path, config)  # refused if it cannot be one; the rows stay where they are
        new = await self._kernels.open(config, old.store.folder, old)
        try:
            if before_switch:
                await before_switch(config)
        except BaseException:
            await self._kernels.close(new)
            raise
        await old.pause()
        self._kernel = new
        new.start()
        self._kernels.retire(old)
        differing = configuration.changes(self._begun_with or config, config)
        self._status.needs_restart = tuple(name for name in differing if name in NEEDS_RESTART)
        await new.audit.configured(sorted(changed))
        level = configuration.strongest(changed) or "none"
        applied = [name for name in changed if name not in NEEDS_RESTART]
        cost = configuration.strongest({name: changed[name] for name in applied})
        said = [f"configuration applied ({cost}): {', '.join(applied)}"] if applied else []
        if self._status.needs_restart:
            said.append(f"waits for a restart: {', '.join(self._status.needs_restart)}")
        if said:
            log.info("%s", "; ".join(said))
        return ReloadReport(
            time.time(), ok=True, level=level, changed=tuple(changed), seconds=round(time.monotonic() - started, 4)
        )
