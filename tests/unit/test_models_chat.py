"""The chat models: an endpoint, against a real server, and the host's own function."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from amemorix.clock import FrozenClock
from amemorix.config.model import Chat
from amemorix.errors import ChatUnavailable
from amemorix.models.openai.chat import OpenAITalker
from amemorix.models.registry import make_chat
from amemorix.models.structured_chat import StructuredChat, Tally
from amemorix.ports import ChatModel
from amemorix.testing import ScriptedChat
from endpoint import ChatEndpoint, chat_endpoint, said
from pace import PATIENCE, until

KEY = "sk-very-secret"
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"name": {"type": "string"}},
    "required": ["name"],
    "additionalProperties": False,
}


@pytest.fixture
def endpoint(monkeypatch: pytest.MonkeyPatch) -> Iterator[ChatEndpoint]:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    with chat_endpoint() as served:
        yield served


def connect(endpoint: ChatEndpoint, pauses: list[float] | None = None, **settings: Any) -> StructuredChat:
    async def sleep(seconds: float) -> None:
        if pauses is not None:
            pauses.append(seconds)

    chosen = Chat(base_url=endpoint.base_url, model_name="m", **settings)
    return StructuredChat(OpenAITalker(chosen, api_key=KEY, clock=FrozenClock(1_700_000_000.0), sleep=sleep))


async def ask(model: ChatModel, system: str = "Who?", user: str = "谁写的？") -> dict[str, Any]:
    try:
        return await model.answer("naming", system, user, schema=SCHEMA)
    finally:
        await model.close()


async def test_a_question_is_one_request_with_its_shape(endpoint: ChatEndpoint) -> None:
    endpoint.reply = lambda _: said({"name": "林澈"})

    assert await ask(connect(endpoint, temperature=0.5, max_output_tokens=77)) == {"name": "林澈"}
    assert endpoint.requests == [
        {
            "model": "m",
            "messages": [{"role": "system", "content": "Who?"}, {"role": "user", "content": "谁写的？"}],
            "temperature": 0.5,
            "response_format": {"type": "json_schema", "json_schema": {"name": "naming", "schema": SCHEMA}},
            "max_tokens": 77,
        }
    ]
    assert endpoint.headers[0]["path"] == "/v1/chat/completions"
    assert endpoint.headers[0]["Authorization"] == f"Bearer {KEY}"


async def test_no_limit_of_the_answer_is_sent_when_there_is_none(endpoint: ChatEndpoint) -> None:
    await ask(connect(endpoint, max_output_tokens=0))
    assert "max_tokens" not in endpoint.requests[0]


async def test_half_a_character_becomes_a_question_mark(endpoint: ChatEndpoint) -> None:
    await ask(connect(endpoint), user="half \ud800 a pair")
    assert endpoint.requests[0]["messages"][1]["content"] == "half ? a pair"


async def test_an_endpoint_that_knows_no_schemas_is_told_in_words_and_remembered(endpoint: ChatEndpoint) -> None:
    endpoint.knows_schemas = False
    model = connect(endpoint)

    for _ in range(2):
        assert await model.answer("naming", "Who?", "Ada", schema=SCHEMA) == {"name": "Ada"}
    await model.close()

    assert endpoint.formats == ["json_schema", "json_object", "json_object"]
    system = endpoint.requests[1]["messages"][0]["content"]
    assert system.startswith("Who?") and '"required": ["name"]' in system


async def test_a_request_refused_in_every_form_says_why_and_schemas_are_tried_again(endpoint: ChatEndpoint) -> None:
    endpoint.reply = lambda _: (400, {}, {"error": "the context is too long"})
    model = connect(endpoint)
    for _ in range(2):
        with pytest.raises(ChatUnavailable, match="the context is too long"):
            await model.answer("naming", "Who?", "Ada", schema=SCHEMA)
    await model.close()
    assert endpoint.formats == ["json_schema", "json_object"] * 2


async def test_an_answer_that_does_not_fit_is_repaired_once(endpoint: ChatEndpoint) -> None:
    endpoint.script = [said("the name is Ada"), said('```json\n{"name": "Ada"}\n```')]

    assert await ask(connect(endpoint)) == {"name": "Ada"}
    first, second = endpoint.requests
    assert second["messages"][:2] == first["messages"]
    assert second["messages"][2] == {"role": "assistant", "content": "the name is Ada"}
    assert "JSON Schema" in second["messages"][3]["content"]


@pytest.mark.parametrize("bad", ["the name is Ada", '{"name": 3}', "", None])
async def test_an_answer_that_never_fits_is_unavailable(endpoint: ChatEndpoint, bad: str | None) -> None:
    endpoint.reply = lambda _: said(bad)
    with pytest.raises(ChatUnavailable, match="does not fit"):
        await ask(connect(endpoint))
    assert len(endpoint.requests) == 2


async def test_tokens_are_counted_over_the_repair(endpoint: ChatEndpoint) -> None:
    endpoint.script = [said("no", usage={"prompt_tokens": 100, "completion_tokens": 7}), said({"name": "Ada"})]
    model, tally = connect(endpoint), Tally()

    await model.counted("naming", "Who?", "Ada", schema=SCHEMA, tally=tally)
    await model.close()

    assert 150 < tally.prompt < 300, "the second question is estimated: the endpoint did not count it"
    assert 7 < tally.completion < 20


async def test_after_the_last_try_it_is_unavailable_without_the_key(endpoint: ChatEndpoint) -> None:
    endpoint.reply = lambda _: (503, {}, {"error": f"no room for {KEY}"})
    with pytest.raises(ChatUnavailable, match="answered HTTP 503") as caught:
        await ask(connect(endpoint, max_attempts=2))
    assert len(endpoint.requests) == 2
    assert KEY not in str(caught.value) + str(caught.value.details)


async def test_a_wrong_key_is_asked_about_once(endpoint: ChatEndpoint) -> None:
    endpoint.reply = lambda _: (401, {}, {"error": f"{KEY} is not known"})
    with pytest.raises(ChatUnavailable, match=r"401.*\*\*\* is not known"):
        await ask(connect(endpoint))
    assert len(endpoint.requests) == 1


async def test_an_answer_that_does_not_come_is_given_up(endpoint: ChatEndpoint) -> None:
    endpoint.open.clear()
    with pytest.raises(ChatUnavailable, match="did not answer in time"):
        await ask(connect(endpoint, timeout_seconds=0.2, max_attempts=2))
    assert endpoint.given_up == 0


@pytest.mark.parametrize("content", [b"<html>", {"choices": []}, {"object": "list"}, []])
async def test_an_answer_of_another_kind_is_unavailable(endpoint: ChatEndpoint, content: Any) -> None:
    endpoint.reply = lambda _: (200, {}, content)
    with pytest.raises(ChatUnavailable, match="something else than a chat reply"):
        await ask(connect(endpoint))


async def test_nobody_there_and_a_closed_client_are_unavailable(endpoint: ChatEndpoint) -> None:
    model = connect(endpoint, max_attempts=1)
    await model.close()
    with pytest.raises(ChatUnavailable, match="cannot be asked"):
        await model.answer("naming", "", "", schema=SCHEMA)
    gone = OpenAITalker(Chat(base_url="http://127.0.0.1:9/v1", model_name="m", max_attempts=1))
    with pytest.raises(ChatUnavailable, match="cannot be reached"):
        await ask(StructuredChat(gone))


# the host's own


async def asynchronous(messages: list[dict[str, str]]) -> dict[str, Any]:
    await asyncio.sleep(0)
    return {"name": messages[-1]["content"]}


def synchronous(messages: list[dict[str, str]]) -> str:
    return f'Here: {{"name": "{messages[-1]["content"]}"}}'


class Callable_:
    async def __call__(self, messages: list[dict[str, str]]) -> Mapping[str, Any]:
        return await asynchronous(messages)


@pytest.mark.parametrize(
    "fn",
    [asynchronous, synchronous, Callable_(), lambda messages: asynchronous(messages)],
    ids=["asynchronous", "synchronous", "object", "lambda"],
)
async def test_a_function_of_the_host_is_asked(fn: Any) -> None:
    model, notice = make_chat(Chat(), environ={}, given=fn)
    assert model is not None
    assert (model.info.provider, notice) == ("host", "")
    assert await ask(model, user="林澈") == {"name": "林澈"}


async def test_a_function_is_shown_the_shape_and_repaired() -> None:
    asked: list[list[dict[str, str]]] = []

    def fn(messages: list[dict[str, str]]) -> str:
        asked.append(messages)
        return "what?" if len(asked) == 1 else '{"name": "Ada"}'

    model, _ = make_chat(Chat(), environ={}, given=fn)
    assert model is not None
    assert await ask(model) == {"name": "Ada"}
    assert '"required": ["name"]' in asked[0][0]["content"]
    assert [message["role"] for message in asked[1]] == ["system", "user", "assistant", "user"]


async def test_a_synchronous_function_does_not_hold_up_the_loop() -> None:
    asked, let_go = threading.Event(), threading.Event()

    def slow(messages: list[dict[str, str]]) -> str:
        asked.set()
        return '{"name": "Ada"}' if let_go.wait(PATIENCE) else "nobody came"

    model, _ = make_chat(Chat(), environ={}, given=slow)
    assert model is not None
    asking = asyncio.create_task(ask(model))
    await until(asked.is_set)
    let_go.set()
    assert await asking == {"name": "Ada"}


def exiting(messages: list[dict[str, str]]) -> str:
    raise SystemExit(3)


async def cancelling(messages: list[dict[str, str]]) -> str:
    raise asyncio.CancelledError


async def failing(messages: list[dict[str, str]]) -> str:
    raise KeyError("out of paper")


async def hanging(messages: list[dict[str, str]]) -> str:
    await asyncio.sleep(60)
    return ""


async def numbering(messages: list[dict[str, str]]) -> Any:
    return 7


@pytest.mark.parametrize(
    ("fn", "problem"),
    [
        (exiting, "SystemExit"),
        (cancelling, "cancelled"),
        (failing, "out of paper"),
        (hanging, "within 0.1 s"),
        (numbering, "answered a int"),
    ],
)
async def test_whatever_a_function_does_wrong_is_unavailable(fn: Any, problem: str) -> None:
    model, _ = make_chat(Chat(timeout_seconds=0.1 if fn is hanging else 60.0), environ={}, given=fn)
    assert model is not None
    with pytest.raises(ChatUnavailable, match=problem):
        await ask(model)


# the choice


ENDPOINT = {"base_url": "http://127.0.0.1:9/v1", "model_name": "m"}


async def chosen(given: Any = None, environ: Mapping[str, str] | None = None, **settings: Any) -> tuple[str, str]:
    model, notice = make_chat(Chat(**settings), environ=environ or {}, given=given)
    if model is None:
        return "", notice
    await model.close()
    return model.info.provider, notice


async def test_auto_takes_what_is_there() -> None:
    scripted = ScriptedChat({})
    assert await chosen() == ("", "")
    assert await chosen(**ENDPOINT) == ("openai", "")
    assert await chosen(base_url=ENDPOINT["base_url"]) == ("", "")
    assert await chosen(scripted, **ENDPOINT) == ("scripted", "")
    assert await chosen(scripted, provider="openai", **ENDPOINT) == ("openai", "")
    assert await chosen(scripted, provider="none") == ("", "")
    assert make_chat(Chat(), environ={}, given=scripted)[0] is scripted


async def test_a_missing_key_is_a_notice_or_an_error() -> None:
    provider, notice = await chosen(api_key_env="MY_KEY", **ENDPOINT)
    assert provider == "" and "MY_KEY" in notice
    assert await chosen(environ={"MY_KEY": "k"}, api_key_env="MY_KEY", **ENDPOINT) == ("openai", "")
    with pytest.raises(ChatUnavailable, match=r"MY_KEY, which chat\.api_key_env names"):
        make_chat(Chat(provider="openai", api_key_env="MY_KEY", **ENDPOINT), environ={})


@pytest.mark.parametrize(
    ("settings", "field"),
    [
        ({"provider": "openai", "model_name": "m"}, "chat.base_url"),
        ({"provider": "openai", "base_url": "http://127.0.0.1/v1"}, "chat.model_name"),
        ({"provider": "openai", "base_url": "127.0.0.1/v1", "model_name": "m"}, "chat.base_url"),
        ({"provider": "host"}, "chat.provider"),
    ],
)
def test_what_cannot_be_asked_is_refused_by_the_setting(settings: dict[str, Any], field: str) -> None:
    with pytest.raises(ChatUnavailable) as caught:
        make_chat(Chat(**settings), environ={})
    assert caught.value.details["field"] == field
    assert field in str(caught.value)
