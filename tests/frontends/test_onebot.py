"""`amemorix onebot` with bots played over real websockets, forward and reverse, by the frames that OneBot v11 tells."""

from __future__ import annotations

import asyncio
import json
import re
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import InvalidStatus

from amemorix import AMemorixHostService
from amemorix.config.model import OneBot
from amemorix.errors import NotReady
from amemorix.frontends.onebot import connections
from amemorix.frontends.onebot.connections import accept_bots, follow_bot
from amemorix.frontends.onebot.listener import OneBotListener
from amemorix.frontends.python.calls import CallsOf
from amemorix.frontends.transport import LocalMemory
from amemorix.testing import scratch_config
from conftest import Open
from daemon_process import COMMAND, daemon, environment
from entrance import call
from pace import until

BOT, LIN, BEI = 10000, 10001, 10002
NAMES = {BOT: "小麦", LIN: "林澈", BEI: "小北"}
GROUP = 777
Socket = ClientConnection | ServerConnection


class Bot:
    """What a QQ client tells of one account: numbers its messages, and answers what it is asked to do."""

    def __init__(self) -> None:
        self.number = 0

    def message(self, who: int, said: str | list[dict[str, Any]], group: int = GROUP, **more: Any) -> dict[str, Any]:
        self.number += 1
        parts = said if isinstance(said, list) else [{"type": "text", "data": {"text": said}}]
        event: dict[str, Any] = {
            "time": 1_770_000_000 + self.number, "self_id": BOT, "post_type": "message_sent" if who == BOT else "message",
            "message_id": self.number, "message_type": "group" if group else "private", "user_id": who, "message": parts,
            "sub_type": "normal" if group else "friend", "raw_message": "", "font": 14, "message_format": "array",
            "sender": {"user_id": who, "nickname": NAMES[who], "card": "", "role": "member"},
        }  # fmt: skip
        return event | ({"group_id": group} if group else {}) | more

    def recalled(self, event: dict[str, Any]) -> dict[str, Any]:
        notice = {
            "time": event["time"] + 60, "self_id": BOT, "post_type": "notice", "user_id": event["user_id"],
            "message_id": event["message_id"], "notice_type": "group_recall" if "group_id" in event else "friend_recall",
        }  # fmt: skip
        return notice | ({"group_id": event["group_id"], "operator_id": LIN} if "group_id" in event else {})

    async def tell(self, socket: Socket, *events: dict[str, Any]) -> None:
        for event in events:
            await socket.send(json.dumps(event, ensure_ascii=False))

    async def ask(self, socket: Socket, who: int, said: str | list[dict[str, Any]], group: int = GROUP) -> str:
        """What is sent in answer, where it was asked; the client reports it as a message of its own."""
        await self.tell(socket, self.message(who, said, group))
        return await self.sent(socket)

    async def sent(self, socket: Socket) -> str:
        asked = json.loads(await asyncio.wait_for(socket.recv(), 60))
        assert asked["action"] == "send_msg", asked
        params = asked["params"]
        own = self.message(BOT, params["message"], params.get("group_id", 0), target_id=params.get("user_id", 0))
        await self.tell(socket, own, {"status": "ok", "retcode": 0, "data": {"message_id": own["message_id"]}, "echo": asked["echo"]})  # fmt: skip
        assert params["message"][0]["type"] == ("reply" if group_of(params) else "text")
        return params["message"][-1]["data"]["text"]


def group_of(params: dict[str, Any]) -> int:
    assert ("group_id" in params) == (params["message_type"] == "group")
    return int(params.get("group_id", 0))


@asynccontextmanager
async def listening(host: AMemorixHostService, **settings: Any) -> AsyncIterator[OneBotListener]:
    listener = OneBotListener(CallsOf(LocalMemory(host, "onebot")), batch_seconds=0.05, **settings)
    working = asyncio.create_task(listener.run())
    try:
        yield listener
    finally:
        await listener.finish()
        working.cancel()


@asynccontextmanager
async def connected(listener: OneBotListener, token: str = "", role: str = "Universal") -> AsyncIterator[Socket]:
    """A bot that has connected to the listener."""
    headers = {"X-Self-ID": str(BOT), "X-Client-Role": role} | ({"Authorization": f"Bearer {token}"} if token else {})
    async with (
        accept_bots("127.0.0.1", 0, token, listener.heard) as port,
        connect(f"ws://127.0.0.1:{port}/onebot/v11/ws", additional_headers=headers) as socket,
    ):
        yield socket


async def texts(host: AMemorixHostService, chat: str = f"group:{GROUP}") -> list[str]:
    items = (await call(host, "memory_text_admin", "list", chat_id=chat, limit=1000))["items"]
    return [one["text"] for one in reversed(items)]


async def paragraphs(host: AMemorixHostService) -> int:
    return (await call(host, "memory_stats"))["paragraphs"]


async def test_chats_are_stored_as_they_happen(host: AMemorixHostService) -> None:
    bot = Bot()
    async with listening(host) as listener, connected(listener) as socket:
        await bot.tell(
            socket,
            {"post_type": "meta_event", "meta_event_type": "lifecycle", "self_id": BOT, "time": 1},
            bot.message(LIN, "周五晚上我们去蓝门吃饭"),
            bot.message(BEI, [{"type": "at", "data": {"qq": str(LIN)}}, {"type": "text", "data": {"text": " 我对花生过敏"}}]),
            bot.message(BEI, [{"type": "image", "data": {"file": "a.png"}}]),
            bot.message(BOT, "好的，不点花生"),
            bot.message(LIN, "我把密码告诉你", 0),
            bot.message(BOT, "我不会说出去", 0, target_id=LIN),
            {"post_type": "notice", "notice_type": "group_increase", "group_id": GROUP, "user_id": BEI, "self_id": BOT},
            {"post_type": "request", "request_type": "friend", "user_id": BEI, "self_id": BOT},
        )  # fmt: skip
        await socket.send("no json")
        await socket.send("[1, 2]")
        await bot.tell(socket, bot.message(LIN, "散了吧"))
        await until(lambda: _holds(host, 6))
        assert await texts(host) == ["周五晚上我们去蓝门吃饭", f"@{LIN} 我对花生过敏", "好的，不点花生", "散了吧"]
        assert await texts(host, f"private:{LIN}") == ["我把密码告诉你", "我不会说出去"]
    items = (await call(host, "memory_text_admin", "list", chat_id=f"group:{GROUP}"))["items"]
    assert [(one["speaker"], one["person_ids"], one["time"]) for one in reversed(items)][:2] == [
        ("林澈", [str(LIN)], 1_770_000_001.0), ("小北", [str(BEI)], 1_770_000_002.0),
    ]  # fmt: skip


async def _holds(host: AMemorixHostService, number: int) -> bool:
    return await paragraphs(host) == number


async def test_ten_thousand_messages_each_told_twice(host: AMemorixHostService) -> None:
    bot = Bot()
    events = [bot.message((LIN, BEI)[n % 2], f"第 {n} 句话", GROUP + n % 3) for n in range(10_000)]
    async with listening(host) as listener, connected(listener) as socket:
        for event in events:
            await bot.tell(socket, event)
        for event in events[:3_000]:
            await bot.tell(socket, event)
        await bot.tell(socket, bot.message(LIN, "完", GROUP))
        await until(lambda: _holds(host, 10_001))
    assert await paragraphs(host) == 10_001


async def test_the_same_message_once_more_after_a_restart_is_stored_once(host: AMemorixHostService) -> None:
    bot = Bot()
    event = bot.message(LIN, "我住在上海")
    for _ in range(2):
        async with listening(host) as listener, connected(listener) as socket:
            await bot.tell(socket, event, event)
            await bot.tell(socket, bot.message(BEI, "嗯"))
            await until(lambda: _last_is(host, "嗯"))
    assert (await texts(host)).count("我住在上海") == 1


async def _last_is(host: AMemorixHostService, text: str) -> bool:
    return (await texts(host))[-1:] == [text]


async def test_a_number_that_begins_anew_replaces_nothing(host: AMemorixHostService) -> None:
    first, second = Bot(), Bot()
    async with listening(host) as listener, connected(listener) as socket:
        await first.tell(socket, first.message(LIN, "我住在上海"))
        await second.tell(socket, second.message(LIN, "明天见", time=1_780_000_000))
        await until(lambda: _last_is(host, "明天见"))
    assert await texts(host) == ["我住在上海", "明天见"]


async def test_a_recalled_message_is_forgotten(host: AMemorixHostService) -> None:
    bot = Bot()
    early, late, private = bot.message(LIN, "发错了"), bot.message(LIN, "又发错了"), bot.message(BEI, "说漏嘴了", 0)
    async with listening(host) as listener, connected(listener) as socket:
        await bot.tell(socket, early, bot.message(BEI, "什么？"))
        await until(lambda: _last_is(host, "什么？"))
    async with listening(host) as listener, connected(listener) as socket:  # which knows nothing of it any more
        await bot.tell(socket, bot.recalled(early), late, bot.recalled(late), private, bot.recalled(private))
        await bot.tell(socket, {**bot.recalled(late), "message_id": 999_999}, bot.message(BEI, "没事"))
        await until(lambda: _last_is(host, "没事"))
        assert await texts(host) == ["什么？", "没事"]
        assert await texts(host, f"private:{BEI}") == []


async def test_commands_are_answered_in_the_chat_and_not_stored(host: AMemorixHostService) -> None:
    bot = Bot()
    async with listening(host) as listener, connected(listener) as socket:
        await bot.tell(socket, bot.message(LIN, "我对花生过敏"), bot.message(BEI, "我也是"))
        listed = await bot.ask(socket, LIN, "/忘了")
        assert re.search(r"^1\. [\d-]+ 我对花生过敏$", listed, re.M)
        at = [{"type": "reply", "data": {"id": "5"}}, {"type": "at", "data": {"qq": str(BOT)}}]
        gone = await bot.ask(socket, LIN, [*at, {"type": "text", "data": {"text": " /忘了 1"}}])
        assert gone.startswith("忘掉了 1 条")
        assert await bot.ask(socket, BEI, "/记得 周五去蓝门吃饭") == "记住了：周五去蓝门吃饭"
        assert "蓝门" in await bot.ask(socket, BEI, "/还记得 周五去哪里吃饭？")
        assert "还不知道" in await bot.ask(socket, LIN, "/你记得我什么", 0)
        assert "住在上海 → " in await _corrected(bot, socket)
        await bot.tell(socket, bot.message(BOT, "/忘了 全部"), bot.message(BOT, "再见"))
        await until(lambda: _last_is(host, "再见"))
        assert await texts(host) == ["我也是", "周五去蓝门吃饭", "/忘了 全部", "再见"], "nothing of the answers"
        assert await texts(host, f"private:{LIN}") == ["我住在杭州"]


async def _corrected(bot: Bot, socket: Socket) -> str:
    await bot.tell(socket, bot.message(LIN, "我住在上海", 0))
    shown = await bot.ask(socket, LIN, "/纠正 我不住在上海，我住在杭州", 0)
    assert "改好了" in await bot.ask(socket, LIN, "/确认", 0)
    return shown


async def test_a_command_in_codes_and_what_is_recalled_of_it(host: AMemorixHostService) -> None:
    bot = Bot()
    event = bot.message(LIN, "", message=f"[CQ:reply,id=-9][CQ:at,qq={BOT}] /记得 我住在上海", message_format="string")
    async with listening(host) as listener, connected(listener) as socket:
        await bot.tell(socket, event)
        assert await bot.sent(socket) == "记住了：我住在上海"
        await bot.tell(socket, bot.recalled(event), bot.message(BEI, "好"))
        await until(lambda: _last_is(host, "好"))
        assert await texts(host) == ["好"]


async def test_commands_can_be_left_to_others(host: AMemorixHostService) -> None:
    bot = Bot()
    async with listening(host, commands=False) as listener, connected(listener) as socket:
        await bot.tell(socket, bot.message(LIN, "/忘了 全部"))
        await until(lambda: _last_is(host, "/忘了 全部"))


async def test_what_the_chat_filter_keeps_out_is_neither_stored_nor_answered(opened: Open) -> None:
    host = await opened(filter={"chats": [f"group:{GROUP}", f"private:{BEI}"]})
    bot = Bot()
    async with listening(host) as listener, connected(listener) as socket:
        await bot.tell(
            socket, bot.message(LIN, "我住在上海"), bot.message(LIN, "/记得 我住在上海"), bot.message(LIN, "/忘了")
        )
        await bot.tell(socket, bot.message(BEI, "我住在杭州", 0), bot.message(BEI, "/忘了", 0))
        assert await bot.ask(socket, LIN, "/记得 今天下雨", 778) == "记住了：今天下雨", "the first that is answered"
    items = (await call(host, "memory_text_admin", "list", scope="all"))["items"]
    assert [one["text"] for one in items] == ["今天下雨"]


@pytest.mark.parametrize("given", ["", "Bearer wrong", "Basic secret", "bearer"])
async def test_without_the_token_no_bot_is_heard(host: AMemorixHostService, given: str) -> None:
    async with listening(host) as listener, accept_bots("127.0.0.1", 0, "secret", listener.heard) as port:
        headers = {"Authorization": given} if given else {}
        with pytest.raises(InvalidStatus, match="401"):
            await connect(f"ws://127.0.0.1:{port}", additional_headers=headers)
        with pytest.raises(InvalidStatus, match="401"):
            await connect(f"ws://127.0.0.1:{port}/?access_token=wrong")


async def test_the_token_comes_in_the_header_or_in_the_address(host: AMemorixHostService) -> None:
    async with (
        listening(host) as listener,
        accept_bots("127.0.0.1", 0, "geheim ß", listener.heard) as port,
        connect(f"ws://127.0.0.1:{port}/?access_token=geheim%20%C3%9F") as socket,
    ):
        await Bot().tell(socket, Bot().message(LIN, "我住在上海"))
        await until(lambda: _last_is(host, "我住在上海"))
    async with listening(host) as listener, connected(listener, "secret") as socket:
        await Bot().tell(socket, Bot().message(LIN, "明天见", time=1_780_000_000))
        await until(lambda: _last_is(host, "明天见"))


async def test_a_page_in_a_browser_is_refused(host: AMemorixHostService) -> None:
    async with listening(host) as listener, accept_bots("127.0.0.1", 0, "", listener.heard) as port:
        with pytest.raises(InvalidStatus, match="403"):
            await connect(f"ws://127.0.0.1:{port}", origin="https://evil.example")  # type: ignore[arg-type]


async def test_events_and_calls_may_come_in_two_connections(host: AMemorixHostService) -> None:
    bot, headers = Bot(), {"X-Self-ID": str(BOT)}
    async with (
        listening(host) as listener,
        accept_bots("127.0.0.1", 0, "", listener.heard) as port,
        connect(f"ws://127.0.0.1:{port}/api", additional_headers={**headers, "X-Client-Role": "API"}) as api,
        connect(f"ws://127.0.0.1:{port}/event", additional_headers={**headers, "X-Client-Role": "Event"}) as events,
    ):
        await bot.tell(events, bot.message(LIN, "/记得 我住在上海"))
        assert await bot.sent(api) == "记住了：我住在上海"


async def test_it_connects_to_a_bot_and_connects_again(
    host: AMemorixHostService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "FIRST_PAUSE_SECONDS", 0.01)
    bot, tokens = Bot(), list[str]()

    async def tell_and_hang_up(socket: ServerConnection) -> None:
        assert socket.request is not None
        tokens.append(socket.request.headers.get("Authorization", ""))
        number = len(tokens)
        await bot.tell(socket, bot.message(LIN, f"第 {number} 次连接"))
        if number == 3:
            assert "第 1 次连接" in await bot.ask(socket, BEI, "/还记得 第 1 次连接")
        if number == 2:
            await until(lambda: _last_is(host, "第 2 次连接"))
            socket.transport.abort()
        if number > 2:
            await socket.wait_closed()

    async with listening(host) as listener:
        async with serve(tell_and_hang_up, "127.0.0.1", 0) as server:
            port = next(iter(server.sockets)).getsockname()[1]
            following = asyncio.create_task(follow_bot(f"ws://127.0.0.1:{port}", "secret", listener.heard))
            await until(lambda: _last_is(host, "第 3 次连接"))
        async with serve(tell_and_hang_up, "127.0.0.1", port):  # after it was gone altogether
            await until(lambda: _last_is(host, "第 4 次连接"))
            following.cancel()
            await asyncio.gather(following, return_exceptions=True)
    assert tokens[:4] == ["Bearer secret"] * 4
    assert await texts(host) == [f"第 {n} 次连接" for n in range(1, 5)]


async def test_nothing_is_lost_while_the_memory_does_not_answer(
    host: AMemorixHostService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("amemorix.frontends.onebot.listener.RETRY_SECONDS", 0.01)

    class Failing(LocalMemory):
        tries = 0

        async def invoke(self, component_name: str, args: dict[str, Any] | None = None) -> dict[str, Any]:
            self.tries += 1
            if self.tries < 4:
                raise NotReady("The daemon does not answer.")
            return await super().invoke(component_name, args)

    bot, memory = Bot(), Failing(host, "onebot")
    listener = OneBotListener(CallsOf(memory), batch_seconds=0)
    working = asyncio.create_task(listener.run())
    async with connected(listener) as socket:
        await bot.tell(socket, *(bot.message(LIN, f"第 {n} 句话") for n in range(5)))
        await until(lambda: _last_is(host, "第 4 句话"))
    working.cancel()
    assert len(await texts(host)) == 5


async def test_a_message_that_cannot_be_stored_takes_no_others_along(host: AMemorixHostService) -> None:
    bot = Bot()
    bad = bot.message(LIN, "坏", time="gestern oder so")
    async with listening(host) as listener, connected(listener) as socket:
        await bot.tell(socket, bot.message(LIN, "前"), bad, bot.message(LIN, "后"))
        await until(lambda: _last_is(host, "后"))
    assert await texts(host) == ["前", "后"]


async def test_the_command_stores_into_the_folder_of_its_settings(tmp_path: Path) -> None:
    """As a process, with a daemon that has the folder, and on its own."""
    config = scratch_config(tmp_path, {"embedding.provider": "none", "onebot.port": 0})
    bot = Bot()
    with daemon(config):
        await _run_and_tell(config, bot, "守护进程开着")
    await _run_and_tell(config, bot, "自己打开")
    async with AMemorixHostService(config, watch=False) as host:
        assert await texts(host) == ["守护进程开着", "自己打开"]
        audit = await host.invoke("memory_runtime_admin", {"action": "audit", "of_component": "ingest_messages"})
        assert {item["door"] for item in audit["items"]} <= {"http", "onebot"}


async def _run_and_tell(config: Path, bot: Bot, text: str) -> None:
    process = await asyncio.create_subprocess_exec(
        *COMMAND, "onebot", "-c", str(config), stdout=asyncio.subprocess.PIPE, env=environment({"ONEBOT_TOKEN": "secret"})
    )  # fmt: skip
    assert process.stdout is not None
    try:
        found = re.search(r"ws://[\d.]+:\d+", (await process.stdout.readline()).decode())
        assert found
        async with connect(found[0], additional_headers={"Authorization": "Bearer secret"}) as socket:
            await bot.tell(socket, bot.message(LIN, text))
            assert text in await bot.ask(socket, LIN, f"/还记得 {text}")
            process.send_signal(signal.SIGTERM)
            assert await asyncio.wait_for(process.wait(), 60) == 0
    finally:
        if process.returncode is None:
            process.kill()


async def test_beyond_this_machine_a_token_is_needed(tmp_path: Path) -> None:
    config = scratch_config(tmp_path, {"embedding.provider": "none", "onebot.host": "0.0.0.0"})
    process = await asyncio.create_subprocess_exec(
        *COMMAND, "onebot", "-c", str(config), stderr=asyncio.subprocess.PIPE, env=environment({"ONEBOT_TOKEN": ""})
    )
    _, told = await process.communicate()
    assert process.returncode == 1
    assert "ONEBOT_TOKEN" in told.decode()


def test_an_address_is_checked() -> None:
    with pytest.raises(ValueError, match="pattern"):
        OneBot(url="http://127.0.0.1:3001")
