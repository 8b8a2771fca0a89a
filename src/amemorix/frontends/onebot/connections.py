"""The websockets of OneBot v11: to a bot that listens (forward), or for bots that connect (reverse)."""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import itertools
import json
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import Any
from urllib.parse import parse_qs, urlsplit

from websockets.asyncio.client import ClientConnection, connect
from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidURI
from websockets.http11 import Request, Response

from ...errors import Conflict, InvalidConfig
from .listener import Call

__all__ = ["Heard", "accept_bots", "follow_bot"]

log = logging.getLogger(__name__)
Heard = Callable[[Mapping[str, Any], Call], Awaitable[None]]
"""Takes an event, and what asks the bot that has reported it."""
LARGEST_MESSAGE = 16_000_000
ANSWER_SECONDS = 60.0
FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 1.0, 60.0


class _Link:
    """A connection with a bot: events come in, actions are asked by an `echo`."""

    def __init__(self, socket: ClientConnection | ServerConnection) -> None:
        self._socket = socket
        self._echoes = itertools.count(1)
        self._asked: dict[str, asyncio.Future[Mapping[str, Any]]] = {}

    async def call(self, action: str, params: dict[str, Any]) -> Mapping[str, Any]:
        """What an action answers. Raises OSError for a connection that is closed, ValueError for a refusal, TimeoutError."""
        echo = f"amemorix-{next(self._echoes)}"
        answer = self._asked[echo] = asyncio.get_running_loop().create_future()
        try:
            await self._socket.send(json.dumps({"action": action, "params": params, "echo": echo}, ensure_ascii=False))
            answered = await asyncio.wait_for(answer, ANSWER_SECONDS)
        except ConnectionClosed as exc:
            raise OSError(f"the bot has closed the connection ({exc})") from exc
        finally:
            del self._asked[echo]
        if answered.get("retcode") not in (0, 1):  # done, or taken and done later
            raise ValueError(f"the bot refuses {action}: {answered.get('message') or answered.get('wording')}")
        data = answered.get("data")
        return data if isinstance(data, dict) else {}

    async def listen(self, heard: Heard, call: Call) -> None:
        """Take what comes until the connection ends."""
        async for raw in self._socket:
            try:
                told = json.loads(raw)
            except ValueError:
                log.warning("a bot has sent what is no JSON: %.80r", raw)
                continue
            if not isinstance(told, dict):
                continue
            if "post_type" in told:
                await heard(told, call)
            elif (answer := self._asked.get(str(told.get("echo")))) and not answer.done():
                answer.set_result(told)
            elif told.get("status") == "failed":
                log.warning("a bot refuses: %s %s", told.get("retcode"), told.get("message") or told.get("wording"))


async def follow_bot(url: str, token: str, heard: Heard) -> None:
    """Listen to the bot at a websocket address, and connect again whenever the connection ends; until cancelled.

    Raises InvalidConfig for what is no address.
    """
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    pause = FIRST_PAUSE_SECONDS
    while True:
        try:
            async with connect(url, additional_headers=headers, max_size=LARGEST_MESSAGE, proxy=None) as socket:
                log.info("connected to the bot at %s", url)
                link = _Link(socket)
                pause = FIRST_PAUSE_SECONDS
                with contextlib.suppress(ConnectionClosed):
                    await link.listen(heard, link.call)
            log.warning("the bot at %s has closed the connection; the next try is in %.0f s", url, pause)
        except InvalidURI as exc:
            raise InvalidConfig(f"onebot.url: {url!r} is no websocket address (ws://…).", field="onebot.url") from exc
        except (OSError, TimeoutError, InvalidHandshake) as exc:
            log.warning("the bot at %s does not answer (%s); the next try is in %.0f s", url, exc, pause)
        await asyncio.sleep(pause)
        pause = min(2 * pause, LONGEST_PAUSE_SECONDS)


@asynccontextmanager
async def accept_bots(host: str, port: int, token: str, heard: Heard) -> AsyncGenerator[int]:
    """Wait for bots that connect, and give the port. Raises Conflict if it is taken.

    A bot may have one connection for everything (`Universal`) or two of them (`Event` and `API`).
    """
    callers: dict[str, _Link] = {}

    async def serve_bot(socket: ServerConnection) -> None:
        request = socket.request
        headers = request.headers if request else {}
        bot, role = headers.get("X-Self-ID", ""), headers.get("X-Client-Role", "Universal")
        link = _Link(socket)
        log.info("the bot %s has connected (%s)", bot or "?", role)

        async def call(action: str, params: dict[str, Any]) -> Mapping[str, Any]:
            return await (callers.get(bot, link) if role == "Event" else link).call(action, params)

        if role != "Event":
            callers[bot] = link
        try:
            with contextlib.suppress(ConnectionClosed):
                await link.listen(heard, call)
        finally:
            if callers.get(bot) is link:
                del callers[bot]
            log.info("the bot %s has gone (%s)", bot or "?", role)

    def refuse(socket: ServerConnection, request: Request) -> Response | None:
        if "Origin" in request.headers:  # a page in somebody's browser, which may reach a loopback address too
            return socket.respond(HTTPStatus.FORBIDDEN, "Browsers have no business here.\n")
        if token and not hmac.compare_digest(_token_of(request).encode(), token.encode()):
            log.warning("a bot was refused: its token is missing or wrong")
            return socket.respond(HTTPStatus.UNAUTHORIZED, "The token is missing or wrong.\n")
        return None

    try:
        server = await serve(serve_bot, host, port, process_request=refuse, max_size=LARGEST_MESSAGE)
    except OSError as exc:
        raise Conflict(
            f"Cannot listen on {host} port {port}: {exc.strerror}. Choose another with --port or onebot.port.",
            field="onebot.port",
        ) from exc
    async with server:
        yield next(iter(server.sockets)).getsockname()[1]


def _token_of(request: Request) -> str:
    """The token in the header, or in the address, as OneBot knows it."""
    kind, _, given = request.headers.get("Authorization", "").partition(" ")
    if kind.lower() in ("bearer", "token"):
        return given.strip()
    return parse_qs(urlsplit(request.path).query).get("access_token", [""])[0]
