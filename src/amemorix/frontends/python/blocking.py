"""`Memory` and `Client`: the same calls for programs that do not await."""

from __future__ import annotations

import asyncio
import atexit
import concurrent.futures.thread
import os
import threading
from collections.abc import Coroutine, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar

from ...errors import NotReady
from .calls import AsyncCalls, Messages, Moment, Wait, told_in
from .memory import DAEMON, AsyncClient, AsyncMemory
from .results import Added, Context, Facts, Forgotten, Hits, Memo, Profile, Texts

if TYPE_CHECKING:
    from .typed_calls import TypedCalls
else:
    TypedCalls = object

__all__ = ["Client", "Memory"]

T = TypeVar("T")
CLOSED = "It is closed."
_OPEN: set[Calls] = set()
"""Those that are to be closed when the process ends, also where nobody holds them any more: their threads go on."""


class Calls(TypedCalls):
    """Calls from any thread, with or without an event loop of its own; one background thread works for all of them."""

    def __init__(self, calls: AsyncCalls) -> None:
        self._calls = calls
        self._process = os.getpid()
        self._loop: asyncio.AbstractEventLoop | None = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="amemorix", daemon=True)
        self._under_way = set[concurrent.futures.Future[Any]]()
        self._changing, self._closing = threading.Lock(), threading.RLock()
        self._thread.start()
        _OPEN.add(self)

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        if os.getpid() != self._process:
            work.close()
            raise NotReady("This process was forked from the one that made it: make one of its own after the fork.")
        with self._changing:
            if self._loop is None:
                work.close()
                raise NotReady(CLOSED)
            answer = asyncio.run_coroutine_threadsafe(work, self._loop)
            self._under_way.add(answer)
        try:
            with told_in(self._calls.language):
                return answer.result()
        except concurrent.futures.CancelledError as exc:
            raise NotReady(CLOSED) from exc
        finally:
            answer.cancel()  # of a caller who was interrupted; else it is done
            with self._changing:
                self._under_way.discard(answer)

    def close(self) -> None:
        """Close it; what was acknowledged is stored. A call of another thread is answered, or told that it is closed."""
        if os.getpid() != self._process:
            return
        with self._closing:
            with self._changing:
                loop, self._loop = self._loop, None
            if loop is None:
                return
            try:
                asyncio.run_coroutine_threadsafe(self._calls.close(), loop).result()
            finally:
                with self._changing:
                    left = [*self._under_way]
                for answer in left:
                    answer.cancel()
                loop.call_soon_threadsafe(loop.stop)
                self._thread.join()
                loop.close()
                _OPEN.discard(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return repr(self._calls).removeprefix("Async")

    if not TYPE_CHECKING:

        def call(self, component: str, arguments: Mapping[str, Any] | None = None, /, **named: Any) -> Any:
            """Call any operation of the reference, such as `call("memory_episode_admin", action="list", chat_id="g1")`.

            Raises the error that it answers. A component whose name is not written out takes its arguments as one mapping.
            """
            return self._run(self._calls.call(component, arguments, **named))

    def add(
        self, text: str = "", *, messages: Messages = (), user: str = "", chat: str = "", time: Moment = None,
        id: str = "", metadata: Mapping[str, Any] | None = None, expires_at: Moment = None,
        ttl_seconds: float | None = None, everything: bool = False, wait: Wait | None = None,
    ) -> Added:  # fmt: skip
        """Store what a user said (`text` with `user`), turns of a chat (`messages`), or a note (`text` with `chat` alone).

        `id` is your own: the same id and text again changes nothing, another text replaces it. From `expires_at`
        on, or after `ttl_seconds`, it is hidden, and soon deleted. `everything=True` stores a note that every chat may
        see. Durable when it returns, and found by meaning too (`wait="searchable"`: some 10 ms a text, at most ten seconds;
        else `wait_error` of the answer says why not); more than 16 texts are only `stored`, unless `wait` says otherwise.
        """
        return self._run(
            self._calls.add(
                text,
                messages=messages,
                user=user,
                chat=chat,
                time=time,
                id=id,
                metadata=metadata,
                expires_at=expires_at,
                ttl_seconds=ttl_seconds,
                everything=everything,
                wait=wait,
            )
        )

    def update(self, id: str, text: str = "", *, metadata: Mapping[str, Any] | None = None) -> Added:
        """Give a stored text (`p12`) other words, other metadata, or both. Raises NotFound.

        The old words are kept as an earlier revision.
        """
        return self._run(self._calls.update(id, text, metadata=metadata))

    def forget(self, *, user: str = "", chat: str = "", id: str | Sequence[str] = (), purge: bool = False) -> Forgotten:
        """Delete a person with their private chat and all that is known of them, a chat, or texts by id.

        `user` with `chat`: what that chat holds of them alone. `restore` brings it back, unless `purge=True` erases it for good: from the rows, journals, indexes and backups.
        """
        return self._run(self._calls.forget(user=user, chat=chat, id=id, purge=purge))

    def restore(self, operation: str) -> int:
        """Bring back what `forget` has deleted; returns how many texts came back."""
        return self._run(self._calls.restore(operation))

    def search(
        self, query: str = "", *, messages: Messages = (), user: str = "", chat: str = "", limit: int = 5,
        about: str = "", since: Moment = None, until: Moment = None, min_confidence: float = 0.0, everything: bool = False,
    ) -> Hits:  # fmt: skip
        """Find what answers a question, or what matters to the last turns of a chat; `about` somebody alone."""
        return self._run(
            self._calls.search(
                query, messages=messages, user=user, chat=chat, limit=limit, about=about, since=since, until=until,
                min_confidence=min_confidence, everything=everything,
            )
        )  # fmt: skip

    def context(
        self, messages: Messages, *, user: str = "", chat: str = "", budget: int = 800, everything: bool = False
    ) -> Context:
        """What the memory knows that matters to the last turns, as text for a prompt of at most `budget` tokens."""
        return self._run(self._calls.context(messages, user=user, chat=chat, budget=budget, everything=everything))

    def profile(self, user: str, *, chat: str = "") -> Profile:
        """What is known of a person: by a chat as far as it may see it, else of all that is stored."""
        return self._run(self._calls.profile(user, chat=chat))

    def facts(self, user: str, *, chat: str = "", limit: int = 50) -> Facts:
        """What is held true of a person now, what is in doubt with its `status`."""
        return self._run(self._calls.facts(user, chat=chat, limit=limit))

    def get(self, id: str) -> Memo | None:
        """A stored text by its id (`p12`); None if there is none."""
        return self._run(self._calls.get(id))

    def texts(
        self, *, user: str = "", chat: str = "", limit: int = 50, before: str = "", everything: bool = False
    ) -> Texts:
        """What is stored, the last first, page by page."""
        return self._run(self._calls.texts(user=user, chat=chat, limit=limit, before=before, everything=everything))

    def export(self, path: str | Path = "") -> Path:
        """Write everything into one file of JSON lines, below `exports/` in the data folder; returns its path."""
        return self._run(self._calls.export(path))

    def settle(self, timeout: float | None = None) -> None:
        """Wait until what was written has been read, has its vectors and is in the indexes, here or at the daemon.

        Raises TimedOut after `timeout` seconds; its `details` tell what still waits.
        """
        self._run(self._calls.settle(timeout))


class Memory(Calls):
    """A memory in a folder, for ten lines of code.

        memory = Memory("./memory")
        memory.add("I live in Leeds and have two cats", user="ann")
        print(memory.search("where does ann live", user="ann"))

    Without a folder it lies in the user's data directory; the folder may also be given by its configuration file (`….toml`). Its settings are in `a_memorix.toml` in the folder, written with
    the defaults; `settings` changes some of them (`{"embedding.provider": "none"}`). Where a daemon has the folder open,
    that daemon is asked. The embedding model is fetched once in the background; until it is there, search goes by words.
    Works from any thread, inside a running event loop and in notebooks. Raises DirectoryInUse where another process has
    the folder and is no daemon.
    """

    def __init__(
        self, folder: str | Path | None = None, *, settings: Mapping[str, Any] | None = None, install_model: bool = True
    ) -> None:
        self._memory = AsyncMemory(folder, settings=settings, install_model=install_model)
        super().__init__(self._memory)
        try:
            self._run(self._memory.open())
        except BaseException:
            self.close()
            raise

    @property
    def folder(self) -> Path:
        """Where it lies."""
        return self._memory.folder


class Client(Calls):
    """A memory behind HTTP: `Client("http://127.0.0.1:7400", token="…")`.

    The token is that of `http.token_env` (`AMEMORIX_TOKEN`) or one of `http.tokens_file`; the environment's when not given.
    """

    def __init__(self, url: str = DAEMON, token: str = "", *, timeout: float = 600.0) -> None:
        super().__init__(AsyncClient(url, token, timeout=timeout))


def _close_all() -> None:
    for one in list(_OPEN):
        one.close()


# What registers last is called first: that of thread pools, without which nothing can be closed, is there by its import.
assert concurrent.futures.thread
getattr(threading, "_register_atexit", atexit.register)(_close_all)
