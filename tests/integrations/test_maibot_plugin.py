"""The plugin for MaiBot on the published SDK: loaded as its guide says, with the capabilities of the host scripted."""

from __future__ import annotations

import asyncio
import importlib.util
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from amemorix import AsyncMemory
from amemorix.testing import scratch_config
from daemon_process import daemon

sdk = pytest.importorskip("maibot_sdk")
PLUGIN = Path(__file__).parents[2] / "integrations" / "maibot"
STREAM = "7c3f8a"


class Host:
    """What MaiBot does for a plugin: it answers capabilities, and calls handlers by the components declared."""

    def __init__(self, data: Path, **memory: Any) -> None:
        from maibot_sdk import PluginContext, PluginPaths

        spec = importlib.util.spec_from_file_location("amemorix_maibot_plugin", PLUGIN / "plugin.py")
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        self.sent: list[tuple[str, str]] = []
        self.asked: set[str] = set()
        self.plugin = module.create_plugin()
        self.plugin._set_context(PluginContext("amemorix.memory", self._capability, PluginPaths(data, data)))
        self.plugin.set_plugin_config({"plugin": {"config_version": "1.0.0"}, "memory": memory})
        self.components = {one["name"]: one for one in self.plugin.get_components()}

    async def _capability(self, method: str, plugin_id: str, payload: dict[str, Any], timeout_ms: int = 0) -> Any:
        assert method == "cap.call"
        name, args = payload["capability"], payload["args"]
        self.asked.add(name)
        if name == "person.get_id":
            return {"success": True, "person_id": f"person-{args['user_id']}"}
        assert name == "send.text"
        self.sent.append((args["stream_id"], args["text"]))
        return {"success": True}

    async def call(self, component: str, **kwargs: Any) -> Any:
        return await getattr(self.plugin, self.components[component]["metadata"]["handler_name"])(**kwargs)

    async def say(self, text: str, user: str = "10001", name: str = "林澈", number: str = "1") -> Any:
        return await self.call("remember", message=message(text, user, name, number))


def message(text: str, user: str = "10001", name: str = "林澈", number: str = "1") -> dict[str, Any]:
    who = {
        "user_info": {"user_id": user, "user_nickname": name},
        "group_info": {"group_id": "42", "group_name": "爬山"},
    }
    return {
        "message_id": number, "platform": "qq", "session_id": STREAM, "processed_plain_text": text,
        "message_info": who, "timestamp": 1_770_000_000.0 + int(number),
    }  # fmt: skip


@pytest.fixture
async def host(tmp_path: Path) -> AsyncIterator[Host]:
    config = scratch_config(tmp_path, {"embedding.provider": "none"})
    host = Host(tmp_path, folder=str(config))
    await host.plugin.on_load()
    yield host
    await host.plugin.on_unload()


async def texts(memory: Any) -> list[str]:
    return [one.text for one in reversed(await memory.texts(chat=STREAM))]


def test_what_it_declares() -> None:
    manifest = json.loads((PLUGIN / "_manifest.json").read_text("utf-8"))
    host = Host(Path("/nowhere"))
    kinds = {one["type"] for one in host.components.values()}
    assert manifest["manifest_version"] == 2
    assert kinds == {"TOOL", "EVENT_HANDLER", "HOOK_HANDLER", "HOME_CARD"}
    tools = {name for name, one in host.components.items() if one["type"] == "TOOL"}
    assert tools == {"search_memory", "get_person_profile", "ingest_text", "ingest_summary", "memory_stats"}
    schema = host.plugin.get_webui_config_schema(plugin_id=manifest["id"])
    assert {"plugin", "memory", "chat"} <= set(schema["sections"])


async def test_messages_are_stored_and_asked_by_tools(host: Host) -> None:
    assert await host.say("我对花生过敏", number="1") is None
    await host.say("我对花生过敏", number="1")
    await host.say("周五去蓝门吃饭", "10002", "小北", "2")
    await host.call("remember", message={**message("", number="3")})
    await host.call("remember_own", message=message("好的，不点花生", "10000", "小麦", "4"), sent=True)
    await host.call("remember_own", message=message("没发出去", "10000", "小麦", "5"), sent=False)
    memory = host.plugin._memory
    assert await texts(memory) == ["我对花生过敏", "周五去蓝门吃饭", "好的，不点花生"]
    await memory.settle()

    found = await host.call("search_memory", query="谁对花生过敏", stream_id=STREAM)
    assert found["success"] and "林澈：我对花生过敏" in found["content"]
    assert "花生" not in (await host.call("search_memory", query="谁对花生过敏", stream_id="another"))["content"]
    assert not (await host.call("search_memory", query="谁对花生过敏"))["success"], (
        "a tool that names no chat reads nothing"
    )
    assert "花生" in (await host.call("get_person_profile", person="林澈", stream_id=STREAM))["content"]
    assert (await host.call("ingest_text", text="群里每周五聚餐", stream_id=STREAM))["success"]
    assert (await host.call("ingest_summary", text="大家商量了周五的聚餐。", stream_id=STREAM))["success"]
    assert (await host.call("memory_stats"))["content"].startswith("5 条话")
    assert (await memory.texts(chat=STREAM))[-1].speaker == "林澈"
    manifest = json.loads((PLUGIN / "_manifest.json").read_text("utf-8"))
    assert host.asked <= set(manifest["capabilities"])


async def test_commands_are_answered_and_go_no_further(host: Host) -> None:
    await host.say("我对花生过敏", number="1")
    assert await host.say("/忘了", number="2") == {"blocked": True}
    assert "1. " in host.sent[-1][1] and host.sent[-1][0] == STREAM
    await host.call("remember_own", message=message(host.sent[-1][1], "10000", "小麦", "3"), sent=True)
    assert await host.say("/忘了 1", number="4") == {"blocked": True}
    assert await texts(host.plugin._memory) == []
    assert await host.say("/天气", number="5") is None, "commands of other plugins go on"


@pytest.mark.parametrize("hook", ["context_for_planner", "context_for_replyer"])
async def test_what_is_remembered_stands_in_the_prompt(host: Host, hook: str) -> None:
    await host.say("我对花生过敏", number="1")
    await host.plugin._memory.settle()
    talk = ("晚上一起吃饭吗", "好呀", "吃面怎么样", "拌面要放花生酱", "花生酱好吃", "有谁对花生过敏吗？")
    for number, text in enumerate(talk, 2):  # what is said last stands in the prompt anyhow
        await host.say(text, *(("10002", "小北") if number % 2 else ("10001", "林澈")), str(number))
    turn = {"role": "user", "content": "今晚吃什么"}
    old = await host.call(
        hook, session_id=STREAM, messages=[{"role": "system", "content": "你是小麦。"}, turn], tools=[]
    )
    told, rest = old["modified_kwargs"]["messages"][0], old["modified_kwargs"]["messages"][1:]
    assert told["role"] == "system"
    assert told["content"].startswith("你是小麦。") and "林澈：过敏：花生" in told["content"]
    assert rest == [turn] and old["modified_kwargs"]["tools"] == []

    item = {"item_type": "SystemMessageItem", "parts": [{"type": "text", "text": "你是小麦。"}]}
    new = await host.call(hook, session_id=STREAM, items=[item], item_schema_version=1)
    assert "林澈：过敏：花生" in new["modified_kwargs"]["items"][0]["parts"][1]["text"]
    assert item["parts"] == [{"type": "text", "text": "你是小麦。"}]
    assert await host.call(hook, session_id="unknown", messages=[turn]) == {"action": "continue"}


async def test_it_asks_a_daemon(tmp_path: Path) -> None:
    config = scratch_config(tmp_path, {"embedding.provider": "none"})
    with daemon(config) as running:
        host = Host(tmp_path, url=running.url)
        await host.plugin.on_load()
        await host.say("我对花生过敏", number="1")
        found = await host.call("search_memory", query="花生", stream_id=STREAM)
        assert "我对花生过敏" in found["content"]
        await host.plugin.on_config_update("self", {}, "1")
        assert (await host.call("memory_stats"))["success"]
        running.process.kill()
        await asyncio.to_thread(running.process.wait)
        assert await host.say("还在吗", number="2") is None, "the bot goes on without the memory"
        assert not (await host.call("memory_stats"))["success"]
        await host.plugin.on_unload()
    async with AsyncMemory(config) as memory:
        assert await texts(memory) == ["我对花生过敏"]
