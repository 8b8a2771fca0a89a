"""The Discord example, connected to a gateway and a REST API played on this machine."""

from __future__ import annotations

import asyncio
import json
import warnings
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yarl
from aiohttp import WSMsgType, web

from amemorix import AsyncMemory

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # of audioop, which discord.py imports
    from discord.gateway import DiscordWebSocket
    from discord.http import Route

    from discord_bot import RememberingBot

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning:discord", "ignore::DeprecationWarning:aiohttp")
BOT = {"id": "1", "username": "mai", "discriminator": "0", "avatar": None, "bot": True}
APPLICATION = {
    "id": "1", "name": "mai", "description": "", "icon": None, "summary": "", "bot_public": True, "bot_require_code_grant": False,
    "verify_key": "", "flags": 0, "owner": BOT, "team": None,
}  # fmt: skip
HELLO, IDENTIFY, HEARTBEAT, ACKNOWLEDGED, DISPATCH = 10, 2, 1, 11, 0


def answered(value: Any) -> web.Response:
    """As Discord does it: discord.py reads no JSON whose type names a character set."""
    return web.Response(body=json.dumps(value).encode(), content_type="application/json")


class Discord:
    """Sends what people say to the bot, and keeps what it says."""

    def __init__(self) -> None:
        self.said: asyncio.Queue[tuple[str, str]] = asyncio.Queue()
        self.connected: asyncio.Future[web.WebSocketResponse] = asyncio.get_running_loop().create_future()
        self._number = 100

    async def gateway(self, request: web.Request) -> web.WebSocketResponse:
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        await socket.send_json({"op": HELLO, "d": {"heartbeat_interval": 40_000}})
        async for frame in socket:
            if frame.type is not WSMsgType.TEXT:
                continue
            match json.loads(frame.data)["op"]:
                case op if op == IDENTIFY:
                    ready = {
                        "user": BOT,
                        "guilds": [],
                        "session_id": "s",
                        "application": {"id": "1", "flags": 0},
                        "v": 10,
                    }
                    ready["resume_gateway_url"] = str(request.url.with_scheme("ws"))
                    await socket.send_json({"op": DISPATCH, "t": "READY", "s": 1, "d": ready})
                    self.connected.set_result(socket)
                case op if op == HEARTBEAT:
                    await socket.send_json({"op": ACKNOWLEDGED})
        return socket

    async def rest(self, request: web.Request) -> web.Response:
        match request.method, request.path:
            case "GET", "/api/users/@me":
                return answered(BOT)
            case "GET", "/api/oauth2/applications/@me":
                return answered(APPLICATION)
            case "POST", path if path.endswith("/messages"):
                channel = path.split("/")[-2]
                text = (await request.json())["content"]
                self.said.put_nowait((channel, text))
                return answered(self.message(BOT, channel, text))
        raise web.HTTPNotFound

    def message(self, author: dict[str, Any], channel: str, text: str) -> dict[str, Any]:
        self._number += 1
        return {
            "id": str(self._number), "channel_id": channel, "author": author, "content": text, "type": 0, "tts": False, "pinned": False,
            "timestamp": datetime.now(UTC).isoformat(), "edited_timestamp": None, "mention_everyone": False, "mentions": [],
            "mention_roles": [], "attachments": [], "embeds": [], "flags": 0,
        }  # fmt: skip

    async def say(self, who: int, name: str, channel: str, text: str) -> None:
        author = {"id": str(who), "username": name, "global_name": name, "discriminator": "0", "avatar": None}
        event = {"op": DISPATCH, "t": "MESSAGE_CREATE", "s": 2, "d": self.message(author, channel, text)}
        await (await self.connected).send_json(event)

    async def ask(self, who: int, name: str, channel: str, text: str) -> str:
        """What the bot answers, in the same channel."""
        await self.say(who, name, channel, text)
        where, answer = await asyncio.wait_for(self.said.get(), 60)
        assert where == channel
        return answer


@asynccontextmanager
async def played(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Discord]:
    played_by = Discord()
    app = web.Application()
    app.router.add_get("/gateway", played_by.gateway)
    app.router.add_route("*", "/api/{path:.*}", played_by.rest)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    port = runner.addresses[0][1]
    monkeypatch.setattr(Route, "BASE", f"http://127.0.0.1:{port}/api")
    monkeypatch.setattr(DiscordWebSocket, "DEFAULT_GATEWAY", yarl.URL(f"ws://127.0.0.1:{port}/gateway"))
    try:
        yield played_by
    finally:
        await runner.cleanup()


async def test_channels_are_remembered_apart(memory_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with played(monkeypatch) as server, AsyncMemory(memory_folder) as memory, RememberingBot(memory) as bot:
        running = asyncio.create_task(bot.start("a.token"))
        await asyncio.wait({running, server.connected}, return_when=asyncio.FIRST_COMPLETED)
        assert not running.done() or running.result()

        async def held(chat: str, *lines: str) -> bool:
            """Whether a chat holds these lines, and no other, before long."""
            for _ in range(500):
                if sorted(one.text for one in await memory.texts(chat=chat)) == sorted(lines):
                    return True
                await asyncio.sleep(0.02)
            return False

        await server.say(7, "Ann", "50", "I am allergic to peanuts")
        await server.say(7, "Ann", "60", "Let us eat at the Blue Door on Friday")
        await server.say(8, "Bo", "60", "I live in York")
        assert await held("discord:50", "I am allergic to peanuts")
        assert await held("discord:60", "Let us eat at the Blue Door on Friday", "I live in York")

        where = "Do you remember where we want to eat?"
        assert "Ann: Let us eat at the Blue Door" in await server.ask(8, "Bo", "60", where)
        assert await server.ask(8, "Bo", "60", "Do you remember the peanuts?") == "I do not."
        await memory.settle()
        assert "peanuts" in await server.ask(7, "Ann", "50", "What do you know about me?")
        assert "peanuts" not in await server.ask(7, "Ann", "60", "What do you know about me?")
        assert "2 messages" in await server.ask(7, "Ann", "60", "Forget me")
        assert await held("discord:60", "I live in York")
        await bot.close()
        await running
