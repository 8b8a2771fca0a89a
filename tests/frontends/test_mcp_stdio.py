"""`amemorix mcp` as desktop clients start it: a process on standard input and output, asked by the SDK's own client."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from typer.testing import CliRunner

from amemorix import AMemorixHostService, extras
from amemorix.frontends.cli.main import app
from amemorix.frontends.http.serving import GRACE_SECONDS
from amemorix.testing import scratch_config
from daemon_process import COMMAND, daemon, environment
from entrance import contents
from pace import PATIENCE

WORDS_ALONE = {"embedding.provider": "none", "http.token_env": "MEMORY_TOKEN_OF_THE_TEST"}


@pytest.fixture
def config(tmp_path: Path) -> Path:
    return scratch_config(tmp_path, WORDS_ALONE)


def client(config: Path, *options: str, **env: str) -> Client:
    command, *args = COMMAND
    place = ["-c", str(config)] if config.suffix else [str(config)]
    return Client(StdioServerParameters(command=command, args=[*args, "mcp", *place, *options], env=environment(env)))


async def ask(one: Client, tool: str, **args: Any) -> dict[str, Any]:
    answer = await one.call_tool(tool, args)
    assert not answer.is_error, answer.content
    return answer.structured_content or {}


async def refusal(one: Client, tool: str, **args: Any) -> str:
    answer = await one.call_tool(tool, args)
    assert answer.is_error, answer.content
    return answer.content[0].text  # type: ignore[union-attr]


def lines(answer: dict[str, Any]) -> list[str]:
    return [one["text"] for one in answer["texts"]]


async def test_it_owns_a_folder_and_gives_it_back(tmp_path: Path) -> None:
    folder = tmp_path / "memory"
    folder.mkdir()
    (folder / "a_memorix.toml").write_bytes(scratch_config(tmp_path, WORDS_ALONE).read_bytes())
    async with client(folder, "--user", "me") as one:
        assert len((await one.list_tools()).tools) == 15
        assert not (folder / "data").exists(), "it is opened by the first call"
        async with AMemorixHostService(folder / "a_memorix.toml", watch=False):
            told = await refusal(one, "timeline")
            assert "is in use by process" in told and "amemorix serve" in told
        await ask(one, "remember", text="I live in Leeds 🏠 and I'm allergic to 花生.")
        assert lines(await ask(one, "recall", query="花生")) == ["I live in Leeds 🏠 and I'm allergic to 花生."]
    async with AMemorixHostService(folder / "a_memorix.toml", watch=False) as host:
        assert len(await contents(host, "Leeds", user_id="me")) == 1
        audit = await host.invoke("memory_runtime_admin", {"action": "audit", "of_component": "ingest_messages"})
        assert [item["door"] for item in audit["items"]] == ["mcp"]


async def test_it_asks_the_daemon_that_has_the_folder(config: Path) -> None:
    tokens = json.dumps([{"token": "all", "role": "admin"}, {"token": "a", "role": "read", "chats": ["a"]}])
    with daemon(config, env={"AMEMORIX_TOKENS": tokens}) as running:
        async with (
            client(config, "--chat", "a", MEMORY_TOKEN_OF_THE_TEST="all") as one,
            client(config, "--chat", "a", MEMORY_TOKEN_OF_THE_TEST="a") as two,
        ):
            await ask(one, "remember", speaker="Ada", text="The kite is red.")
            await ask(one, "remember", speaker="Bob", text="The kite is blue.", chat="b")
            assert lines(await ask(two, "recall", query="kite")) == ["The kite is red."]
            assert "not bound to 'b'" in await refusal(two, "recall", query="kite", chat="b")
            assert "needs the role write" in await refusal(two, "remember", text="The kite is green.")

            web = httpx2.AsyncClient(headers={"Authorization": "Bearer a"}, trust_env=False, timeout=PATIENCE)
            async with web, Client(streamable_http_client(f"{running.url}/mcp", http_client=web)) as served:
                assert lines(await ask(served, "timeline")) == ["The kite is red."], "the daemon itself is a server too"
                started = time.monotonic()
                running.process.send_signal(signal.SIGTERM)
                assert running.process.wait(timeout=PATIENCE) == 0
                assert time.monotonic() - started < GRACE_SECONDS, "an open session does not hold it up"
            assert lines(await ask(one, "timeline")) == ["The kite is red."], "nobody has the folder now"


def test_a_signal_ends_it_and_loses_nothing(config: Path) -> None:
    call = {"name": "remember", "arguments": {"text": "The kettle is on the stove."}}
    process = subprocess.Popen(
        [*COMMAND, "mcp", "-c", str(config), "--chat", "a"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True, env=environment(),
    )  # fmt: skip
    assert process.stdin and process.stdout and process.stderr
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    for message in (
        {"id": 1, "method": "initialize", "params": hello},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/call", "params": call},
    ):
        process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    process.stdin.write("this is no message\n")
    process.stdin.flush()
    assert json.loads(process.stdout.readline())["result"]["serverInfo"]["name"] == "amemorix"
    while "stored" not in (answer := process.stdout.readline()):
        assert answer
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=PATIENCE) == 0
    assert "Traceback" not in process.stderr.read()
    process.communicate()
    shown = CliRunner().invoke(app, ["log", "a", "-c", str(config)]).stdout
    assert "The kettle is on the stove." in shown


def test_without_the_package_it_says_what_to_install(config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(extras.EXTRAS, "mcp", ("mcp_that_is_not_there",))
    done = CliRunner().invoke(app, ["mcp", "-c", str(config)])
    assert (done.exit_code, "pip install 'amemorix[mcp]'" in done.stderr.replace("\n", " ")) == (1, True)


def test_a_scope_is_one(config: Path) -> None:
    done = CliRunner().invoke(app, ["mcp", "-c", str(config), "--everything", "--chat", "a"])
    assert (done.exit_code, "--everything names no chat" in done.stderr) == (2, True)
