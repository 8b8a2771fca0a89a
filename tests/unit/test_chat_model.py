"""The chat model at work in a memory: budget, counters, reload, and faults that stay outside."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from amemorix import AMemorixHostService
from amemorix.clock import FrozenClock
from amemorix.errors import ChatUnavailable
from amemorix.ports import ChatInfo
from amemorix.testing import ScriptedChat, memory_host
from conftest import Open
from doors import web_client
from endpoint import ChatEndpoint, chat_endpoint, said
from pace import until

KEY = "sk-very-secret"
DAY = 86_400.0
MIDNIGHT = 1_699_920_000.0
"""The first second of 14 November 2023, UTC."""
SCHEMA: dict[str, Any] = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}


@pytest.fixture
def endpoint(monkeypatch: pytest.MonkeyPatch) -> Iterator[ChatEndpoint]:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    with chat_endpoint() as served:
        served.reply = lambda _: said({"name": "Ada"}, usage={"prompt_tokens": 60, "completion_tokens": 40})
        yield served


def at(endpoint: ChatEndpoint, **more: Any) -> dict[str, Any]:
    return {"base_url": endpoint.base_url, "model_name": "m", "api_key_env": "CHAT_KEY", **more}


ENVIRON = {"CHAT_KEY": KEY}


async def ask(host: AMemorixHostService, task: str = "naming", user: str = "谁？") -> dict[str, Any]:
    chat = host.kernel.chat
    assert chat is not None
    return await chat.answer(task, "Who?", user, schema=SCHEMA)


async def state(host: AMemorixHostService) -> dict[str, Any]:
    return (await host.invoke("memory_stats", {}))["chat"]


async def test_without_a_model_the_memory_says_so(host: AMemorixHostService) -> None:
    assert host.kernel.chat is None
    found = await state(host)
    assert (found["state"], found["provider"], found["tasks"]) == ("off", "", {})


async def test_questions_are_counted_by_task_and_outlive_a_restart(tmp_path: Path, endpoint: ChatEndpoint) -> None:
    async with memory_host(tmp_path, environ=ENVIRON) as host:
        await host.update_config({"chat": at(endpoint, max_attempts=1)})
        await ask(host)
        await ask(host, "summary")
        endpoint.script = [(500, {}, {"error": KEY})]
        with pytest.raises(ChatUnavailable):
            await ask(host, "summary")
        assert "HTTP 500" in (await state(host))["error"]
    async with memory_host(tmp_path, environ=ENVIRON) as host:
        await host.update_config({"chat": at(endpoint)})
        found = await state(host)

    assert (found["state"], found["provider"], found["model"]) == ("on", "openai", "m")
    assert found["tokens_today"] == 200
    assert found["tasks"] == {
        "naming": {"calls": 1, "failures": 0, "prompt_tokens": 60, "completion_tokens": 40},
        "summary": {"calls": 2, "failures": 1, "prompt_tokens": 60, "completion_tokens": 40},
    }


async def test_a_spent_budget_ends_the_questions_until_the_next_day(opened: Open, endpoint: ChatEndpoint) -> None:
    clock = FrozenClock(MIDNIGHT + DAY - 600)
    host = await opened(environ=ENVIRON, clock=clock)
    await host.update_config({"chat": at(endpoint, daily_token_budget=150)})

    await ask(host)
    await ask(host)
    with pytest.raises(ChatUnavailable, match="200 tokens were used today") as caught:
        await ask(host)
    assert caught.value.details["retry_after"] == 600.0
    assert len(endpoint.requests) == 2
    await host.update_config({"chat.daily_token_budget": 250})
    await ask(host)
    clock.advance(601)
    await ask(host)
    assert (await state(host))["tokens_today"] == 100


async def test_a_model_that_counts_nothing_has_its_tokens_estimated(opened: Open) -> None:
    host = await opened(chat=ScriptedChat({"naming": {"name": "Ada"}}))
    await ask(host, user="word " * 400)
    counts = (await state(host))["tasks"]["naming"]
    assert 400 < counts["prompt_tokens"] < 600
    assert 0 < counts["completion_tokens"] < 20


async def test_no_more_questions_than_allowed_are_under_way(tmp_path: Path, endpoint: ChatEndpoint) -> None:
    async with memory_host(tmp_path, environ=ENVIRON) as host:
        await host.update_config({"chat": at(endpoint, max_concurrent=2)})
        endpoint.open.clear()
        asking = [asyncio.create_task(ask(host)) for _ in range(6)]
        await until(lambda: endpoint.most_at_once == 2)
        await asyncio.sleep(0.3)
        endpoint.open.set()
        await asyncio.gather(*asking)
    assert endpoint.most_at_once == 2


async def test_a_reload_hands_the_model_on_while_its_settings_stay(tmp_path: Path, endpoint: ChatEndpoint) -> None:
    async with memory_host(tmp_path, environ=ENVIRON) as host:
        await host.update_config({"chat": at(endpoint)})
        first = host.kernel.chat
        assert first is not None
        await host.update_config({"retrieval.candidates": 51, "chat.max_concurrent": 3})
        assert await ask(host) == {"name": "Ada"}
        assert await first.answer("naming", "", "", schema=SCHEMA) == {"name": "Ada"}, "the model was not closed"

        await host.update_config({"chat.model_name": "other"})
        await ask(host)
        assert endpoint.requests[-1]["model"] == "other"

        async def closed() -> bool:
            try:
                await first.answer("naming", "", "", schema=SCHEMA)
            except ChatUnavailable as exc:
                assert "cannot be asked" in str(exc)
                return True
            return False

        await until(closed)


async def test_a_question_under_way_ends_on_the_model_it_began_with(tmp_path: Path, endpoint: ChatEndpoint) -> None:
    async with memory_host(tmp_path, environ=ENVIRON) as host:
        await host.update_config({"chat": at(endpoint)})
        endpoint.reply = lambda _: said({"ok": True})
        endpoint.open.clear()
        probe = {"action": "refresh_self_check", "probe": True}
        asking = asyncio.create_task(host.invoke("memory_runtime_admin", probe))
        await until(lambda: bool(endpoint.requests))
        await host.update_config({"chat.model_name": "other"})
        endpoint.open.set()
        findings = {found["name"]: found for found in (await asking)["report"]["findings"]}
        assert findings["chat"]["ok"], findings["chat"]
        assert [request["model"] for request in endpoint.requests] == ["m"]


class Foreign:
    """A model of the host's that keeps no promise."""

    def __init__(self, behaviour: Any) -> None:
        self.behaviour = behaviour
        self.closed = False

    @property
    def info(self) -> ChatInfo:
        return ChatInfo("foreign", "f")

    async def answer(self, task: str, system: str, user: str, *, schema: Mapping[str, Any]) -> dict[str, Any]:
        return await self.behaviour()

    async def close(self) -> None:
        self.closed = True


async def raising() -> Any:
    raise ZeroDivisionError("by zero")


async def hanging() -> Any:
    await asyncio.sleep(60)


async def misfitting() -> Any:
    return {"age": 3}


@pytest.mark.parametrize(
    ("behaviour", "problem"),
    [(raising, "ZeroDivisionError"), (hanging, r"within 0\.1 s"), (misfitting, "does not fit")],
)
async def test_whatever_a_foreign_model_does_is_unavailable(opened: Open, behaviour: Any, problem: str) -> None:
    host = await opened(chat=Foreign(behaviour))
    await host.update_config({"chat.timeout_seconds": 0.1 if behaviour is hanging else 60.0})
    with pytest.raises(ChatUnavailable, match=problem):
        await ask(host)
    assert (await state(host))["tasks"]["naming"]["failures"] == 1


async def test_the_hosts_own_model_is_never_closed(tmp_path: Path) -> None:
    foreign = Foreign(raising)
    async with memory_host(tmp_path, chat=foreign) as host:
        await host.update_config({"chat.timeout_seconds": 5.0})
        await asyncio.sleep(0.1)
    assert not foreign.closed


async def test_a_model_that_cannot_be_made_leaves_the_memory_as_it_is(host: AMemorixHostService) -> None:
    for patch in ({"chat.provider": "host"}, {"chat.provider": "openai"}):
        with pytest.raises(ChatUnavailable, match=r"chat\."):
            await host.update_config(patch)
    assert (await host.get_config())["chat"]["provider"] == "auto"
    assert (await host.invoke("memory_stats"))["success"]


async def test_a_missing_key_is_shown_as_a_notice(tmp_path: Path, endpoint: ChatEndpoint) -> None:
    async with memory_host(tmp_path) as host:
        await host.update_config({"chat": at(endpoint)})
        found = await state(host)
        assert found["state"] == "off"
        assert "CHAT_KEY" in found["notice"]


async def test_the_key_is_nowhere_to_be_seen(
    tmp_path: Path, endpoint: ChatEndpoint, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    async with memory_host(tmp_path, environ=ENVIRON) as host:
        await host.update_config({"chat": at(endpoint, max_attempts=1)})
        endpoint.reply = lambda _: (500, {}, {"error": f"your key {KEY} is tired"})
        with pytest.raises(ChatUnavailable):
            await ask(host)
        shown = str(await state(host)) + str(await host.get_config()) + caplog.text
    assert "is tired" in shown
    assert KEY not in shown
    assert all(KEY.encode() not in path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())


async def test_prometheus_sees_what_was_asked(opened: Open) -> None:
    host = await opened(chat=ScriptedChat({"naming": {"name": "Ada"}}))
    await ask(host)
    with pytest.raises(ChatUnavailable):
        await ask(host, "unknown")
    async with web_client(host) as web:
        text = (await web.get("/metrics")).text
    assert 'amemorix_chat_calls_total{task="naming"} 1.0' in text
    assert 'amemorix_chat_failures_total{task="naming"} 0.0' in text
    assert 'amemorix_chat_failures_total{task="unknown"} 1.0' in text
    assert 'amemorix_chat_tokens_total{kind="prompt",task="naming"}' in text
    assert "amemorix_chat_tokens_today" in text
