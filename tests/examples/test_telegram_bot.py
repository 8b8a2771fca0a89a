"""The Telegram example: real updates through `Application.process_update`, the Bot API played by a script."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import Any

from telegram import Update
from telegram.ext import Application
from telegram.request import BaseRequest, RequestData

ME = {"id": 1, "is_bot": True, "first_name": "Mai", "username": "mai_bot"}


class BotApi(BaseRequest):
    """Answers what the bot asks of Telegram, and keeps what it says."""

    read_timeout = 1.0

    def __init__(self) -> None:
        self.said: list[tuple[int, str]] = []

    async def initialize(self) -> None: ...

    async def shutdown(self) -> None: ...

    async def do_request(self, url: str, method: str, request_data: RequestData | None = None, **_: Any) -> Any:
        if url.endswith("/getMe"):
            return 200, json.dumps({"ok": True, "result": ME}).encode()
        assert url.endswith("/sendMessage") and request_data is not None, url
        given = request_data.json_parameters
        self.said.append((int(given["chat_id"]), given["text"]))
        sent = {"message_id": 99, "date": 0, "chat": {"id": int(given["chat_id"]), "type": "private"}, "text": "x"}
        return 200, json.dumps({"ok": True, "result": sent}).encode()


async def test_a_group_and_private_chats_are_kept_apart(memory_folder: Path) -> None:
    import telegram_bot

    example = importlib.reload(telegram_bot)
    api = BotApi()
    app = example.build(Application.builder().token("1:token").request(api).get_updates_request(BotApi()))
    number = iter(range(1, 100))

    async def say(who: int, name: str, text: str, group: int = 0) -> str:
        """What the bot answers."""
        n, before = next(number), len(api.said)
        command = [{"type": "bot_command", "offset": 0, "length": len(text.split()[0])}] if text[0] == "/" else []
        message = {
            "message_id": n, "date": 1_770_000_000 + n, "text": text, "entities": command,
            "from": {"id": who, "is_bot": False, "first_name": name},
            "chat": {"id": group, "type": "group", "title": "club"} if group else {"id": who, "type": "private", "first_name": name},
        }  # fmt: skip
        await app.process_update(Update.de_json({"update_id": n, "message": message}, app.bot))
        return "\n".join(text for chat, text in api.said[before:] if chat == (group or who))

    async with app:
        await app.post_init(app)
        assert await say(7, "Ann", "I am allergic to peanuts") == ""
        await say(7, "Ann", "Let us eat at the Blue Door on Friday", group=-42)
        await say(8, "Bo", "I live in York", group=-42)

        assert "Ann: Let us eat at the Blue Door" in await say(8, "Bo", "/recall where did we want to eat?", group=-42)
        assert await say(8, "Bo", "/recall peanuts") == "I remember nothing of it."
        assert "peanuts" not in await say(8, "Bo", "/recall peanuts", group=-42)
        assert "I am allergic to peanuts" in await say(7, "Ann", "/recall peanuts")
        await example.memory.settle()
        assert "peanuts" in await say(7, "Ann", "/aboutme")
        assert "peanuts" not in await say(7, "Ann", "/aboutme", group=-42)

        assert await say(7, "Ann", "/forgetme") == "Done: I have forgotten 2 messages of yours."
        assert await say(7, "Ann", "/recall peanuts") == "I remember nothing of it."
        assert "York" in await say(7, "Ann", "/recall York", group=-42)
        await app.post_shutdown(app)
