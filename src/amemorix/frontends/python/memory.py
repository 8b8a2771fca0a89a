"""`AsyncMemory`, a memory in this process, and `AsyncClient`, one behind HTTP."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import httpx

from ...errors import DirectoryInUse, InvalidRequest, MemoryFault, NotReady
from ...locale import Language, speaking
from ...location import TOKEN_ENV, config_file, configured_language, data_home, locate, project_folder
from ..daemon import Daemon, daemon_of
from ..http.json_response import usable_token
from ..transport import DaemonMemory, LocalMemory, client_of
from .calls import Answering, AsyncCalls

if TYPE_CHECKING:
    from ...host.service import AMemorixHostService

__all__ = ["DAEMON", "AsyncClient", "AsyncMemory"]

log = logging.getLogger(__name__)
DAEMON = "http://127.0.0.1:7400"
ADDRESS = re.compile(
    r"(?P<scheme>https?://)?(?P<rest>([^\s/?#@]+@)?(\[[0-9a-f:.]+\]|\w[\w.-]*)(:(?P<port>[0-9]{1,5}))?(/[^\s?#]*)?)",
    re.I,
)


class AsyncMemory(AsyncCalls):
    """A memory in a folder: `async with AsyncMemory("./memory") as memory: await memory.add("I live in Leeds", user="ann")`.

    The folder may also be given by its configuration file (`….toml`), or by the folder of its data. Opened by `open`, `async with` or the first call, all in one event loop. Its settings are in `a_memorix.toml` in the
    folder, written with the defaults; `settings` changes some of them (`{"embedding.provider": "none"}`). Where a daemon
    has the folder open, that daemon is asked, and looked for again when it has ended or moved. The default embedding model is fetched once in the background; until it
    is there, search goes by words. Raises DirectoryInUse where another process has the folder and is no daemon.
    """

    _door = "python"

    def __init__(
        self, folder: str | Path | None = None, *, settings: Mapping[str, Any] | None = None, install_model: bool = True
    ) -> None:
        if str(folder).startswith(("http://", "https://")):
            raise InvalidRequest(f"{folder} is an address, not a folder: Client asks the daemon there.", field="folder")
        given = Path(data_home() if folder is None else folder).expanduser().absolute()
        named = given.suffix == ".toml" or given.is_file()
        self.config_path = given if named else config_file(given)
        self.folder = project_folder(self.config_path)
        self._settings = dict(settings or {})
        self._install_model = install_model
        self._opening: asyncio.Lock | None = None
        self._ways = contextlib.AsyncExitStack()
        self._memory: Answering | None = None
        self._closed = False
        self._process = os.getpid()
        self._installing: asyncio.Task[None] | None = None

    @property
    def language(self) -> Language:
        return configured_language(self.config_path) or super().language

    async def open(self) -> Self:
        """Open it now, and not with the first call; also after it was closed."""
        self._closed = False
        await self._ready()
        return self

    async def close(self) -> None:
        """Close it; what was acknowledged is stored."""
        self._closed = True  # a call under way that asks once more must not open it again
        if self._installing is not None:
            self._installing.cancel()
            await asyncio.gather(self._installing, return_exceptions=True)
        self._memory = self._installing = None
        await self._ways.aclose()

    if not TYPE_CHECKING:

        async def call(self, component: str, arguments: Mapping[str, Any] | None = None, /, **named: Any) -> Any:
            asked = self._memory
            try:
                return await super().call(component, arguments, **named)
            except NotReady as exc:
                asked = asked or self._memory
                if not isinstance(asked, DaemonMemory) or self._closed:
                    raise
                if self._memory is asked:  # it has ended or moved: look who has the folder now
                    ways, self._ways, self._memory = self._ways, contextlib.AsyncExitStack(), None
                    await ways.aclose()
                if not isinstance(exc.__cause__, httpx.ConnectError):  # it may have been done already
                    raise
            return await super().call(component, arguments, **named)

    async def __aenter__(self) -> Self:
        return await self.open()

    async def __aexit__(self, *exc: object) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self.folder)!r})"

    async def _ready(self) -> Answering:
        if os.getpid() != self._process:
            raise NotReady(
                "This process was forked from the one that opened the memory: make a memory after the fork, and let "
                f"`amemorix serve --config {self.config_path}` hold the folder for several processes."
            )
        if self._closed:
            raise NotReady("It is closed.")
        if self._memory is None:
            self._opening = self._opening or asyncio.Lock()
            async with self._opening:
                if self._memory is None:
                    self._memory = await self._opened()
        return self._memory

    async def _opened(self) -> Answering:
        if daemon := await asyncio.to_thread(daemon_of, self.config_path):
            return await self._asking(daemon)
        from ...host.service import AMemorixHostService

        host = AMemorixHostService(self.config_path)
        try:
            with speaking(_chosen_language(self._settings)):  # a configuration that is written has its comments in it
                await host.start()
        except DirectoryInUse:
            if daemon := await asyncio.to_thread(daemon_of, self.config_path):
                return await self._asking(daemon)
            raise
        self._ways.push_async_callback(host.stop)
        if self._settings:
            await host.update_config(self._settings)
        if self._install_model and await asyncio.to_thread(_lacks_model, host):
            self._installing = asyncio.create_task(_install_into(host))
        return LocalMemory(host, self._door)

    async def _asking(self, daemon: Daemon) -> DaemonMemory:
        place = locate(self.config_path)
        token_env = place.token_env if place else TOKEN_ENV
        client = await self._ways.enter_async_context(client_of(daemon, token_env))
        return DaemonMemory(client, token_env)


class AsyncClient(AsyncCalls):
    """A memory behind HTTP: `async with AsyncClient("http://127.0.0.1:7400", token="…") as memory: …`.

    An address without `https://` is asked by HTTP. The token is that of `http.token_env` (`AMEMORIX_TOKEN`) or one of
    `http.tokens_file`; the environment's when not given.
    """

    def __init__(self, url: str = DAEMON, token: str = "", *, timeout: float = 600.0) -> None:
        found = ADDRESS.fullmatch(url.strip())
        if found is None or int(found["port"] or 0) > 65_535:
            raise InvalidRequest(f"url: {url!r} is no address of a daemon, such as {DAEMON}.", field="url")
        url = f"{found['scheme'] or 'http://'}{found['rest']}"
        token = usable_token(token or os.environ.get(TOKEN_ENV, ""), "token")
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._client = httpx.AsyncClient(base_url=url, headers=headers, timeout=timeout)
        self._memory = DaemonMemory(self._client)

    async def close(self) -> None:
        """Give the connections back."""
        await self._client.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self._client.base_url)!r})"

    async def _ready(self) -> Answering:
        return self._memory


def _chosen_language(settings: Mapping[str, Any]) -> Language | None:
    """`general.language` of settings, dotted or nested; None where they leave it open."""
    general = settings.get("general")
    chosen = settings.get("general.language", general.get("language") if isinstance(general, Mapping) else None)
    return chosen if chosen in ("en", "zh") else None


def _lacks_model(host: AMemorixHostService) -> bool:
    """Whether the memory would take a local model if one were installed."""
    from ...models.local.install import find_installed

    settings = host.config.embedding
    return settings.provider == "auto" and find_installed(settings.model_name) is None


async def _install_into(host: AMemorixHostService) -> None:
    """Install the model and let the memory take it up; what goes wrong is a remark, for search goes on by words."""
    name = host.config.embedding.model_name
    try:
        await asyncio.to_thread(_install, name)
        await host.reload()
    except MemoryFault as exc:
        log.warning(
            "the embedding model was not installed (%s): search goes by words; `amemorix models install` tries again",
            exc,
        )


def _install(name: str) -> None:
    from ...models.local.catalog import known_model
    from ...models.local.install import install
    from ..cli.terminal import progress_bars, shown_in

    if not sys.stderr.isatty():
        log.info("installing the embedding model, once; search goes by words until it is there")
        install(known_model(name))
        return
    with progress_bars() as bars:
        install(known_model(name), transfer=shown_in(bars))
