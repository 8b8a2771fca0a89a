"""The NoneBot example behind its own FastAPI driver, with a OneBot v11 client played over its WebSocket."""

from __future__ import annotations

import importlib
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient, WebSocketTestSession

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")
BOT = 10000
GROUP = 777


class OneBot:
    """The client of one QQ account: sends what people say, and keeps what the bot says."""

    def __init__(self, socket: WebSocketTestSession) -> None:
        self._socket = socket
        self._number = 0

    def say(self, who: int, name: str, text: str, group: int = 0) -> None:
        self._number += 1
        event: dict[str, Any] = {
            "time": 1_770_000_000 + self._number, "self_id": BOT, "post_type": "message", "message_id": self._number,
            "message_type": "group" if group else "private", "sub_type": "normal" if group else "friend", "user_id": who,
            "message": [{"type": "text", "data": {"text": text}}], "raw_message": text, "font": 0,
            "sender": {"user_id": who, "nickname": name, "card": "", "role": "member"},
        }  # fmt: skip
        self._socket.send_json(event | ({"group_id": group, "anonymous": None} if group else {}))

    def ask(self, who: int, name: str, text: str, group: int = 0) -> str:
        """What the bot answers, there where it was asked."""
        self.say(who, name, text, group)
        call = self._socket.receive_json()
        self._socket.send_json({"status": "ok", "retcode": 0, "data": {"message_id": 1}, "echo": call["echo"]})
        assert call["action"] == "send_msg"
        assert call["params"].get("group_id", 0) == group
        return "".join(part["data"]["text"] for part in call["params"]["message"] if part["type"] == "text")

    def ask_until(self, told: str, who: int, name: str, text: str, group: int = 0) -> None:
        """Ask again until the answer tells it: messages are stored beside each other, and read in the background."""
        ends = time.monotonic() + 60
        while told not in (answer := self.ask(who, name, text, group)):
            assert time.monotonic() < ends, answer
            time.sleep(0.02)


@pytest.fixture
def served(memory_folder: Path) -> Iterator[OneBot]:
    import nonebot

    importlib.import_module("nonebot_bot")
    headers = {"X-Self-ID": str(BOT)}
    with TestClient(nonebot.get_asgi()) as web, web.websocket_connect("/onebot/v11/ws", headers=headers) as socket:
        yield OneBot(socket)


def test_a_group_and_private_chats_are_kept_apart(served: OneBot) -> None:
    served.say(7, "林澈", "我对花生过敏")
    served.say(7, "林澈", "周五晚上我们去蓝门吃饭", GROUP)
    served.say(8, "小北", "我住在杭州", GROUP)

    served.ask_until("林澈: 周五晚上我们去蓝门吃饭", 8, "小北", "还记得周五去哪里吃饭吗", GROUP)
    served.ask_until("我对花生过敏", 7, "林澈", "还记得我对什么过敏吗")
    served.ask_until("我住在杭州", 7, "林澈", "还记得谁住在杭州", GROUP)
    served.ask_until("花生", 7, "林澈", "你记得我什么")
    assert "我对花生过敏" not in served.ask(8, "小北", "还记得谁对花生过敏", GROUP)
    assert "花生" not in served.ask(7, "林澈", "你记得我什么", GROUP)
    assert served.ask(7, "林澈", "忘掉我", GROUP) == "好的，你的 2 条消息已经彻底忘掉了。"
    assert served.ask(7, "林澈", "还记得我对什么过敏吗") == "不记得了。"
    assert "我住在杭州" in served.ask(7, "林澈", "还记得谁住在杭州", GROUP)
