"""The proxy before a chat model, asked by the official client, before an endpoint that is scripted and fails at times."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import openai
import pytest

from amemorix import AMemorixHostService
from amemorix.config.model import Http
from amemorix.frontends.http.tokens import Tokens
from amemorix.testing import memory_host
from doors import served as daemon
from endpoint import Reply, ScriptedEndpoint, said, served
from entrance import call
from pace import PATIENCE

TOOL: Any = {"type": "function", "function": {"name": "roll", "parameters": {"type": "object", "properties": {}}}}


@pytest.fixture
def upstream() -> Generator[ScriptedEndpoint]:
    with served(ScriptedEndpoint(lambda body: said(f"I heard: {body['messages'][-1]['content']}"))) as made:
        yield made


@asynccontextmanager
async def bot(
    folder: Path, upstream: ScriptedEndpoint, *, tokens: Tokens | None = None, key: str = "sk-bot", **proxy: Any
) -> AsyncGenerator[tuple[openai.AsyncOpenAI, AMemorixHostService]]:
    settings = {"base_url": upstream.base_url, **proxy}
    async with (
        memory_host(folder, proxy=settings) as host,
        daemon(host, tokens) as url,
        openai.AsyncOpenAI(base_url=f"{url}/v1", api_key=key, max_retries=0) as client,
    ):
        yield client, host


async def asked(client: openai.AsyncOpenAI, *texts: str, user: str = "ann", **options: Any) -> Any:
    turns: Any = [{"role": "assistant" if n % 2 else "user", "content": text} for n, text in enumerate(texts)]
    return await client.chat.completions.create(
        model="m", messages=turns, **({"user": user} if user else {}), **options
    )


async def stored(host: AMemorixHostService, chat: str = "private:ann", *, least: int = 2) -> list[tuple[str, str]]:
    listed: dict[str, Any] = {"count": 0}
    while listed["count"] < least:  # what is said is stored behind the answer
        await asyncio.sleep(0.01)
        listed = await call(host, "memory_text_admin", "list", chat_id=chat)
    return [(item["speaker"], item["text"]) for item in reversed(listed["items"])]


def streamed(*parts: str) -> Reply:
    chunk: dict[str, Any] = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    events = [{**chunk, "choices": [{"index": 0, "delta": {"content": part}}]} for part in parts]
    raw = "".join(f"data: {json.dumps(event, ensure_ascii=False)}\n\n" for event in events) + "data: [DONE]\n\n"
    return 200, {"Content-Type": "text/event-stream"}, raw.encode()


async def test_both_turns_are_stored_and_come_back_in_the_next_talk(tmp_path: Path, upstream: ScriptedEndpoint) -> None:
    async with bot(tmp_path, upstream) as (client, host):
        answer = await asked(client, "My sister Mira is allergic to peanuts.")
        assert answer.choices[0].message.content == "I heard: My sister Mira is allergic to peanuts."
        assert [text for _, text in await stored(host)] == [
            "My sister Mira is allergic to peanuts.", "I heard: My sister Mira is allergic to peanuts.",
        ]  # fmt: skip
        raw = await client.chat.completions.with_raw_response.create(
            model="m", user="ann",
            messages=[{"role": "system", "content": "Be brief."}, {"role": "user", "content": "What is Mira allergic to?"}],
        )  # fmt: skip
        assert raw.headers["x-amemorix-context"].endswith("tokens")
        instructions, question = upstream.requests[-1]["messages"]
        assert instructions["role"] == "system"
        assert instructions["content"].startswith("Be brief.\n\n")
        assert "peanuts" in instructions["content"]
        assert question == {"role": "user", "content": "What is Mira allergic to?"}


async def test_one_user_hears_nothing_of_another(tmp_path: Path, upstream: ScriptedEndpoint) -> None:
    async with bot(tmp_path, upstream) as (client, host):
        await asked(client, "My locker code is 4417.")
        await stored(host)
        await asked(client, "What is the locker code?", user="ben")
        assert "4417" not in json.dumps(upstream.requests[-1])


async def test_a_stream_comes_piece_by_piece_and_is_stored_whole(tmp_path: Path, upstream: ScriptedEndpoint) -> None:
    upstream.reply = lambda _: streamed("火锅", "六点", "开始")
    upstream.drip = 0.0001
    async with bot(tmp_path, upstream) as (client, host):
        pieces = [
            piece.choices[0].delta.content
            async for piece in await asked(client, "今天几点吃饭？", stream=True, user="ann")
        ]
        assert pieces == ["火锅", "六点", "开始"]
        assert [text for _, text in await stored(host)] == ["今天几点吃饭？", "火锅六点开始"]


async def test_another_try_of_a_request_is_stored_once(tmp_path: Path, upstream: ScriptedEndpoint) -> None:
    upstream.script = [
        (500, {}, {"error": {"message": "overloaded"}}),
        (429, {"Retry-After": "0"}, {"error": {"message": "slow"}}),
    ]
    async with bot(tmp_path, upstream) as (client, host):
        answer = await asked(client.with_options(max_retries=3), "The ferry leaves at nine.")
        assert answer.choices[0].message.content == "I heard: The ferry leaves at nine."
        assert [text for _, text in await stored(host)] == [
            "The ferry leaves at nine.",
            "I heard: The ferry leaves at nine.",
        ]


async def test_what_the_endpoint_refuses_is_told_as_it_says_it(tmp_path: Path, upstream: ScriptedEndpoint) -> None:
    upstream.script = [(422, {"X-Request-Id": "r7"}, {"error": {"message": "no such model"}})]
    async with bot(tmp_path, upstream) as (client, _):
        with pytest.raises(openai.UnprocessableEntityError, match="no such model") as caught:
            await asked(client, "hello")
        assert caught.value.request_id == "r7"


async def test_an_endpoint_that_is_not_there_is_an_error_that_says_so(
    tmp_path: Path, upstream: ScriptedEndpoint
) -> None:
    async with bot(tmp_path, upstream, base_url="http://127.0.0.1:9/v1") as (client, host):
        with pytest.raises(openai.InternalServerError, match=r"proxy\.base_url does not answer") as caught:
            await asked(client, "My flight is on Friday.")
        assert caught.value.status_code == 502
        assert [text for _, text in await stored(host, least=1)] == ["My flight is on Friday."]


async def test_tools_go_through_and_only_words_are_stored(tmp_path: Path, upstream: ScriptedEndpoint) -> None:
    calls = [{"id": "t1", "type": "function", "function": {"name": "roll", "arguments": "{}"}}]
    first = {"choices": [{"index": 0, "message": {"role": "assistant", "content": None, "tool_calls": calls}}]}
    upstream.script = [(200, {}, first), said("You rolled a six.")]
    async with bot(tmp_path, upstream) as (client, host):
        turns: Any = [{"role": "user", "content": "Roll the dice for me, I start first."}]
        answer = await client.chat.completions.create(model="m", user="ann", messages=turns, tools=[TOOL])
        assert answer.choices[0].message.tool_calls
        turns += [
            answer.choices[0].message.model_dump(exclude_none=True),
            {"role": "tool", "tool_call_id": "t1", "content": "6"},
        ]
        answer = await client.chat.completions.create(model="m", user="ann", messages=turns, tools=[TOOL])
        assert answer.choices[0].message.content == "You rolled a six."
        assert upstream.requests[-1]["tools"] == [TOOL]
        assert [text for _, text in await stored(host)] == ["Roll the dice for me, I start first.", "You rolled a six."]


async def test_an_answer_does_not_wait_for_a_memory_that_is_late(tmp_path: Path, upstream: ScriptedEndpoint) -> None:
    async with bot(tmp_path, upstream, context_timeout_ms=0.001) as (client, _):
        raw = await client.chat.completions.with_raw_response.create(
            model="m", user="ann", messages=[{"role": "user", "content": "Where do I live?"}]
        )
        assert raw.headers["x-amemorix-context"] == "late"


async def test_a_group_is_named_by_headers_and_who_speaks_by_the_turn(
    tmp_path: Path, upstream: ScriptedEndpoint
) -> None:
    async with bot(tmp_path, upstream) as (client, host):
        await client.chat.completions.create(
            model="m",
            messages=[{"role": "user", "content": "周五去南山爬山", "name": "小雨"}],
            extra_headers={"X-Amemorix-Chat": "qq%3A%E7%88%AC%E5%B1%B1%E7%BE%A4"},
        )
        assert (await stored(host, "qq:爬山群"))[0] == ("小雨", "周五去南山爬山")


@pytest.mark.parametrize(("messages", "field"), [("hello", "messages"), (["hello"], "messages"), (None, "messages")])
async def test_what_cannot_be_read_names_the_field(
    tmp_path: Path, upstream: ScriptedEndpoint, messages: Any, field: str
) -> None:
    async with bot(tmp_path, upstream) as (client, _):
        with pytest.raises(openai.BadRequestError) as caught:
            await client.chat.completions.create(model="m", user="ann", messages=messages)
        assert caught.value.param == field


async def test_nobody_named_is_an_error(tmp_path: Path, upstream: ScriptedEndpoint) -> None:
    async with bot(tmp_path, upstream) as (client, _):
        with pytest.raises(openai.BadRequestError, match="whose memory"):
            await asked(client, "hello", user="")
    assert upstream.requests == []


async def test_there_is_no_proxy_unless_it_is_configured(tmp_path: Path, upstream: ScriptedEndpoint) -> None:
    async with bot(tmp_path, upstream, base_url="") as (client, _):
        with pytest.raises(openai.NotFoundError, match="no proxy"):
            await asked(client, "hello")


async def test_the_endpoints_key_is_ours_and_the_callers_is_a_token(
    tmp_path: Path, upstream: ScriptedEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UPSTREAM_KEY", "sk-upstream")
    given = [{"token": "bot", "role": "write", "chats": ["private:ann"]}, {"token": "reader", "role": "read"}]
    tokens = Tokens.read(Http(), {"AMEMORIX_TOKENS": json.dumps(given)}, tmp_path)
    async with bot(tmp_path, upstream, tokens=tokens, key="bot", api_key_env="UPSTREAM_KEY") as (client, host):
        await asked(client, "I moved to Leeds.", user="")  # the token is bound to one chat
        assert upstream.headers[-1]["authorization"] == "Bearer sk-upstream"
        assert (await stored(host))[0][1] == "I moved to Leeds."
        with pytest.raises(openai.PermissionDeniedError):
            await asked(client, "What do you know?", user="ben")
        with pytest.raises(openai.PermissionDeniedError, match="role write"):
            await asked(client.with_options(api_key="reader"), "hello")
        with pytest.raises((openai.AuthenticationError, openai.PermissionDeniedError)):
            await asked(client.with_options(api_key="nobody"), "hello")


async def test_models_are_passed_on_and_nothing_else_of_the_endpoint(
    tmp_path: Path, upstream: ScriptedEndpoint
) -> None:
    upstream.reply = lambda _: (
        200,
        {},
        {"object": "list", "data": [{"object": "embedding", "index": 0, "embedding": [0.5]}]},
    )
    async with bot(tmp_path, upstream) as (client, _):
        made = await client.embeddings.create(model="m", input="text", encoding_format="float")
        assert made.data[0].embedding == [0.5]
        assert upstream.headers[-1]["authorization"] == "Bearer sk-bot"
        with pytest.raises(openai.NotFoundError):
            await client.files.list()


@pytest.mark.parametrize(
    "path", ["models/%2e%2e/files", "models/%2e%2e/%2e%2e/admin", "models/%2e/x", "modelsx", "embeddings/x", "files"]
)
async def test_no_way_of_writing_an_address_leads_elsewhere_at_the_endpoint(
    tmp_path: Path, upstream: ScriptedEndpoint, path: str
) -> None:
    async with bot(tmp_path, upstream) as (client, _), httpx.AsyncClient(timeout=PATIENCE) as web:
        answer = await web.post(httpx.URL(f"{client.base_url}").copy_with(raw_path=f"/v1/{path}".encode()))
    assert (answer.status_code, upstream.requests) == (404, [])


async def test_the_name_of_a_model_is_passed_on_as_it_is_written(tmp_path: Path, upstream: ScriptedEndpoint) -> None:
    async with bot(tmp_path, upstream) as (client, _), httpx.AsyncClient(timeout=PATIENCE) as web:
        for name in ("meta/llama:free", "a%3Fb", "%252e%252e"):
            await web.post(httpx.URL(f"{client.base_url}").copy_with(raw_path=f"/v1/models/{name}".encode()), json={})
            assert upstream.headers[-1]["path"] == f"/v1/models/{name}"
