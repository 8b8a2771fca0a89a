"""What a token allows."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Mapping
from pathlib import Path
from typing import Any

import httpx
import pytest
from typer.testing import CliRunner

from amemorix import AMemorixHostService, AsyncClient
from amemorix.config.model import Http
from amemorix.errors import Forbidden, InvalidConfig
from amemorix.frontends.cli.main import app as command_line
from amemorix.frontends.http.app import create_app
from amemorix.frontends.http.openapi import BASE_PATH
from amemorix.frontends.http.serving import serve
from amemorix.frontends.http.tokens import Tokens
from amemorix.host.operations import OPERATIONS
from amemorix.testing import scratch_config
from conftest import Open
from doors import served
from entrance import contents, fitting, said

ROLES = ("read", "write", "admin")
TOKENS = [
    *({"token": role, "role": role} for role in ROLES),
    {"token": "reader of a", "role": "read", "chats": ["a"]},
    {"token": "writer of a", "role": "write", "chats": ["a", "group:g", "private:ada"]},
]


class Callers:
    """One daemon, asked with different tokens."""

    def __init__(self, host: AMemorixHostService) -> None:
        tokens = Tokens.read(Http(), {"AMEMORIX_TOKENS": json.dumps(TOKENS)}, Path())
        self.web = httpx.AsyncClient(
            transport=httpx.ASGITransport(app=create_app(host, tokens=tokens)), base_url="http://memory.example"
        )

    async def ask(
        self, token: str, component: str, args: Mapping[str, Any] | None = None
    ) -> tuple[int, dict[str, Any]]:
        headers = {"Authorization": f"Bearer {token}"}
        answer = await self.web.post(f"{BASE_PATH}/{component}", json=args or {}, headers=headers)
        return answer.status_code, answer.json()


LISTS = [
    ("memory_source_admin", "list"), ("memory_graph_admin", "get_graph"), ("maintain_memory", "recycle_bin"),
    ("memory_v5_admin", "recycle_bin"), ("memory_v5_admin", "status"), ("memory_episode_admin", "list"),
    ("memory_text_admin", "list"), ("memory_text_admin", "chats"), ("memory_document_admin", "list"), ("memory_fact_admin", "list"),
]  # fmt: skip


@pytest.fixture
async def callers(host: AMemorixHostService) -> Callers:
    await said(host, "a", ("Ada", "the kite of a"))
    await said(host, "b", ("Bob", "the kite of b"))
    await said(host, "", ("Ada", "the kite of ada"), user_id="ada")
    await said(host, "", ("Bob", "the kite of bob"), user_id="bob")
    return Callers(host)


async def test_every_operation_wants_its_role(callers: Callers) -> None:
    tried = {op.name: (op, args) for op in OPERATIONS if (args := fitting(op)) is not None}
    assert {op.role for op, _ in tried.values()} == set(ROLES)
    assert len(tried) > 40
    for op, args in tried.values():
        for role in ROLES[: ROLES.index(op.role)]:
            status, answer = await callers.ask(role, op.component, args)
            assert (status, answer["error_code"]) == (403, "forbidden"), (op.name, role)
            assert op.role in answer["error"]


def test_what_destroys_or_has_no_chat_is_for_administrators() -> None:
    roles = {op.name: op.role for op in OPERATIONS}
    for op in OPERATIONS:
        of_all = op.component in ("memory_runtime_admin", "memory_tuning_admin", "memory_import_admin")
        if op.effect == "destructive" or (of_all and op.action != "changes"):
            assert roles[op.name] == "admin", op.name
        if op.role != "admin" and op.name not in ("memory_stats", "embed_texts", "ingest_texts"):
            assert "chat_id" in op.request.known_keys(), op.name
    assert [roles[name] for name in ("search_memory", "get_person_profile", "memory_stats")] == ["read"] * 3
    assert [roles[name] for name in ("ingest_text", "ingest_messages", "enqueue_feedback_task")] == ["write"] * 3
    assert roles["memory_delete_admin_preview"] == roles["memory_profile_admin_query"] == "admin"


async def test_everything_is_for_administrators(callers: Callers) -> None:
    everything = {"query": "kite", "scope": "all"}
    for token in ("read", "write", "reader of a", "writer of a"):
        assert (await callers.ask(token, "search_memory", everything))[0] == 403
        assert (await callers.ask(token, "search_memory", {"query": "kite"}))[0] in (400, 403)
    status, answer = await callers.ask("admin", "search_memory", everything)
    assert (status, len(answer["hits"])) == (200, 4)
    note = {"external_id": "n", "source_type": "note", "text": "for all"}
    for beyond in ({}, {"chat_id": "a", "scope": "global"}):
        assert (await callers.ask("write", "ingest_text", {**note, **beyond}))[0] == 403
        assert (await callers.ask("admin", "ingest_text", {**note, **beyond}))[0] == 200
    correction = {"action": "preview", "text": "Ada lives in Rome", "chat_id": "a", "allow_global": True}
    assert (await callers.ask("write", "memory_correction_admin", correction))[0] == 403


async def test_a_client_sees_and_does_what_its_token_allows(host: AMemorixHostService) -> None:
    await said(host, "a", ("Ada", "the kite of a"))
    await said(host, "b", ("Bob", "the kite of b"))
    await said(host, "", ("Bob", "the kite of bob"), user_id="bob")
    tokens = Tokens.read(Http(), {"AMEMORIX_TOKENS": json.dumps(TOKENS)}, Path())
    async with (
        served(host, tokens) as url,
        AsyncClient(url, "reader of a") as reader,
        AsyncClient(url, "read") as any_chat,
    ):
        assert [hit.text for hit in await reader.search("kite", chat="a")] == ["the kite of a"]
        assert [one.text for one in await reader.texts(chat="a")] == ["the kite of a"]
        assert "kite of b" not in (await reader.context([{"role": "user", "content": "the kite of b?"}], chat="a")).text
        assert [hit.text for hit in await any_chat.search("kite", user="bob")] == ["the kite of bob"]
        forbidden: list[Awaitable[object]] = [
            *(reader.search("kite", **scope) for scope in ({"chat": "b"}, {"user": "bob"}, {"chat": "b", "user": "bob"})),
            reader.context([{"role": "user", "content": "kite"}], user="bob"),
            reader.texts(chat="b"),
            reader.facts("bob", chat="b"),
            reader.profile("bob", chat="private:bob"),
            reader.add("a kite", chat="a"),
            *(
                call
                for client in (reader, any_chat)
                for call in (
                    client.search("kite", everything=True), client.texts(everything=True), client.get("p2"), client.update("p2", "x"),
                    client.profile("bob"), client.facts("bob"), client.forget(user="bob"), client.restore("d1"), client.export(),
                    client.forget(id="p2"),
                )
            ),
        ]  # fmt: skip
        for call in forbidden:
            with pytest.raises(Forbidden) as refused:
                await call
            assert "Set its token" not in str(refused.value)
        async with AsyncClient(url) as nobody:
            with pytest.raises(Forbidden, match="Set its token"):
                await nobody.search("kite", chat="a")
    assert await contents(host, "kite", chat_id="b") == ["the kite of b"]


@pytest.mark.parametrize(
    ("args", "heard"),
    [
        ({"chat_id": "a"}, ["the kite of a"]),
        ({"chat_id": "b"}, None),
        ({"chat_id": "A"}, None),
        ({"chat_id": "a", "group_id": "g"}, ["the kite of a"]),
        ({"chat_id": "a", "group_id": "h"}, None),
        ({"chat_id": "b", "group_id": "g"}, None),
        ({"group_id": "g"}, []),
        ({"user_id": "ada"}, ["the kite of ada"]),
        ({"user_id": "bob"}, None),
        ({"chat_id": "a", "user_id": "bob"}, None),
        ({"chat_id": "a", "group_id": "g", "user_id": "bob"}, ["the kite of a"]),
        ({"chat_id": "a", "group_id": "g", "user_id": "bob", "include_private": True}, None),
        ({"chat_id": ""}, None),
        ({}, None),
    ],
)
async def test_a_bound_token_names_its_chats_alone(
    callers: Callers, args: dict[str, Any], heard: list[str] | None
) -> None:
    status, answer = await callers.ask("writer of a", "search_memory", {"query": "kite", **args})
    if heard is None:
        assert (status, answer["success"]) == (403, False)
        return
    assert [hit["content"] for hit in answer["hits"]] == heard
    turns = {"messages": [{"text": "a new kite", "speaker": "Ada"}]}
    assert (await callers.ask("writer of a", "ingest_messages", {**turns, **args}))[0] == 200
    assert (await callers.ask("reader of a", "ingest_messages", {**turns, **args}))[0] == 403


async def test_a_bound_token_is_not_told_what_was_said_in_private(opened: Open) -> None:
    host = await opened(profile={"share_private": True})
    await said(host, "a", ("Bob", "the kite of a"), group_id="g")
    await said(host, "", ("Bob", "the kite of bob"), user_id="bob")
    args = {"query": "kite", "chat_id": "a", "group_id": "g", "user_id": "bob"}
    assert len((await Callers(host).ask("read", "search_memory", args))[1]["hits"]) == 2
    assert [hit["content"] for hit in (await Callers(host).ask("writer of a", "search_memory", args))[1]["hits"]] == [
        "the kite of a"
    ]


async def test_a_bound_token_reaches_nothing_of_another_chat(callers: Callers, host: AMemorixHostService) -> None:
    await host.settle(600)
    (other,) = (await host.invoke("search_memory", {"query": "kite", "chat_id": "b"}))["hits"]
    for action in ("freeze", "protect", "reinforce"):
        status, answer = await callers.ask(
            "writer of a", "maintain_memory", {"action": action, "target": other["id"], "chat_id": "a"}
        )
        assert (status, answer["success"]) != (200, True) or answer["count"] == 0, (action, answer)
    for path in ("memory_stats", "memory_profile_admin/list", "memory_runtime_admin/audit"):
        assert (await callers.ask("writer of a", path))[0] == 403
    headers = {"Authorization": "Bearer writer of a"}
    assert (await callers.web.get("/metrics", headers=headers)).status_code == 403
    assert (await callers.web.get("/openapi.json", headers=headers)).status_code == 200
    upload = await callers.web.post(
        f"{BASE_PATH}/memory_import_admin/upload",
        files={"file": ("a.txt", b"x")},
        headers={"Authorization": "Bearer write"},
    )
    assert upload.status_code == 403
    assert await contents(host, "kite", chat_id="b") == ["the kite of b"]


@pytest.mark.parametrize("door", ["http", "host"])
async def test_a_change_for_a_chat_tells_no_name_of_another(host: AMemorixHostService, door: str) -> None:
    profiles, facts = "memory_profile_admin", "memory_fact_admin"
    for chat, name, person, args in (
        ("a", "Bob", "u1", {}), ("", "SecretNick", "u1", {"user_id": "u1"}), ("b", "Carol", "u2", {}), ("b", "Dora", "", {}),
    ):  # fmt: skip
        message = {"speaker": name, "person_id": person, "text": f"{name} has a cat"}
        args = {"chat_id": chat, **args, "messages": [{key: value for key, value in message.items() if value}]}
        assert (await host.invoke("ingest_messages", args))["success"]
    hidden = {"action": "add_alias", "person_id": "u1", "alias": "HiddenAlias", "chat_id": "private:u1"}
    assert (await host.invoke(profiles, hidden))["changed"]
    callers = Callers(host)

    async def ask(component: str, **args: Any) -> dict[str, Any]:
        given = {"chat_id": "a", **args}
        if door == "host":
            return await host.invoke(component, given)
        return (await callers.ask("writer of a", component, given))[1]

    for person in ("u1", "Bob"):
        added = await ask(profiles, action="add_alias", person_id=person, alias="zz")
        assert (added["person_id"], added["person_name"], added["aliases"]) == ("u1", "Bob", ["zz"])
    removed = await ask(profiles, action="remove_alias", person_id="zz", alias="zz")
    assert (removed["person_name"], removed["aliases"]) == ("Bob", [])
    fact = await ask(facts, action="add", person_id="u1", attribute="residence", value="Oslo")
    assert [fact["fact"]["person"], *(one["person"] for one in fact["facts"])] == ["Bob", "Bob"]
    for strange in ("SecretNick", "HiddenAlias", "Carol", "Dora"):
        for asked in (
            ask(profiles, action="add_alias", person_id=strange, alias="yy"),
            ask(profiles, action="remove_alias", person_id=strange, alias="HiddenAlias"),
            ask(facts, action="add", person_id=strange, attribute="residence", value="Rome"),
        ):
            answer = await asked
            assert (answer["success"], answer["error_code"], answer["details"]["field"]) == (
                False,
                "not_found",
                "person_id",
            )
            assert not {"u1", "u2"} & set(json.dumps(answer).replace('"', " ").split())
    everywhere = await host.invoke(profiles, {"action": "query", "person_id": "u1"})
    assert set(everywhere["aliases"]) | {everywhere["person_name"]} == {"Bob", "SecretNick", "HiddenAlias"}


async def test_a_bound_token_is_not_told_contradictions_of_private_chats(opened: Open) -> None:
    host = await opened(profile={"share_private": True})
    await said(host, "a", ("Bob", "the kite of a"), group_id="g")
    await said(host, "", ("Bob", "I live in Oslo."), ("Bob", "I live in Rome."), user_id="bob")
    for value in ("Oslo", "Rome"):
        given = {"person_id": "Bob", "chat_id": "private:bob", "attribute": "residence", "value": value}
        assert (await host.invoke("memory_fact_admin", {"action": "add", "valid_from": 1e9, **given}))["success"]
    args = {"action": "conflicts", "chat_id": "a", "group_id": "g", "user_id": "bob"}
    assert (await Callers(host).ask("read", "memory_fact_admin", args))[1]["count"] == 1
    assert (await Callers(host).ask("writer of a", "memory_fact_admin", args))[1]["count"] == 0


# where tokens come from


def test_a_made_token_opens_by_its_line(tmp_path: Path) -> None:
    made = CliRunner().invoke(command_line, ["token", "--role", "write", "--chat", "qq:42", "--name", "bot"])
    token = made.stderr.rpartition(" ")[2].strip()
    assert token not in made.stdout
    assert "http.tokens_file" in made.stderr
    (tmp_path / "tokens").write_text(f"# bots\n\n{made.stdout}", "utf-8")
    tokens = Tokens.read(Http(tokens_file="tokens"), {"AMEMORIX_TOKEN": "mine"}, tmp_path)
    bot, mine = tokens.grant(token.encode()), tokens.grant(b"mine")
    assert bot is not None and mine is not None
    assert (bot.role, bot.chats, bot.name, mine.role, mine.chats) == ("write", ("qq:42",), "bot", "admin", ())
    assert tokens.grant(token[:-1].encode()) is None
    assert tokens.grant(made.stdout.encode()) is None
    with pytest.raises(InvalidConfig, match=r"line 3: .* AMEMORIX_TOKEN is the same"):
        Tokens.read(Http(tokens_file="tokens"), {"AMEMORIX_TOKEN": token}, tmp_path)


@pytest.mark.parametrize(
    "environ",
    [
        {"AMEMORIX_TOKEN": "schlüssel"},
        {"AMEMORIX_TOKEN": "秘密"},
        {"AMEMORIX_TOKEN": "  \t "},
        {"AMEMORIX_TOKEN": "two\nlines"},
        {"AMEMORIX_TOKENS": "read:hunter2"},
        {"AMEMORIX_TOKENS": '{"token": "hunter2", "role": "read"}'},
        {"AMEMORIX_TOKENS": '[{"token": "hunter2"}]'},
        {"AMEMORIX_TOKENS": '[{"token": "hunter2", "role": "root"}]'},
        {"AMEMORIX_TOKENS": '[{"token": "hunter2", "role": "read", "chat": "a"}]'},
        {"AMEMORIX_TOKENS": '[{"token": "hunter2", "role": "admin", "chats": ["a"]}]'},
        {"AMEMORIX_TOKENS": '[{"token": "hunter2", "role": "read"}, {"token": "hunter2", "role": "admin"}]'},
        {"AMEMORIX_TOKENS": '[{"token": "hünter2", "role": "read"}]'},
        {"AMEMORIX_TOKENS": '[{"role": "read"}]'},
        {"AMEMORIX_TOKENS": '["hunter2"]'},
        {"AMEMORIX_TOKENS": " []"},
    ],
)
def test_a_token_that_lets_nobody_in_is_refused_at_the_start(tmp_path: Path, environ: dict[str, str]) -> None:
    config = scratch_config(tmp_path, {"embedding.provider": "none"})
    with pytest.raises(InvalidConfig) as refused:
        asyncio.run(serve(config, port=0, environ=environ, tell=lambda _: pytest.fail("it listens")))
    assert next(iter(environ)) in str(refused.value)
    for secret in ("hunter2", "hünter2", "schlüssel", "秘密"):
        assert secret not in str(refused.value)


@pytest.mark.parametrize(
    "line",
    [
        "hunter2",
        '{"role": "read"}',
        '{"role": "read", "sha256": "hunter2"}',
        '{"role": "read", "token": "hunter2"}',
        "# nobody yet",
        "",
        None,
    ],
)
def test_a_file_of_tokens_that_cannot_be_read_is_refused(tmp_path: Path, line: str | None) -> None:
    if line is not None:
        (tmp_path / "tokens").write_text(line, "utf-8")
    with pytest.raises(InvalidConfig, match="tokens") as refused:
        Tokens.read(Http(tokens_file="tokens"), {}, tmp_path)
    assert "hunter2" not in str(refused.value)


@pytest.mark.parametrize("address", ["http://localhost", "http://127.0.0.1:7400", "http://[::1]:7400"])
async def test_a_list_without_a_scope_is_for_who_may_see_every_chat(
    host: AMemorixHostService, callers: Callers, address: str
) -> None:
    """On loopback too: a token that is bound to chats, or that is none of an administrator, never sees more than before."""
    await host.settle(600)
    elsewhere, callers.web.base_url = callers.web.base_url, httpx.URL(address)
    for component, action in LISTS:
        told = {"action": action}
        status, everything = await callers.ask("admin", component, told)
        assert (status, everything["scope"]) == (200, "all"), (component, action)
        assert (
            everything["warnings"] == []
            and everything == (await callers.ask("admin", component, {**told, "scope": "all"}))[1]
        )
        for token in ("read", "write", "reader of a", "writer of a"):
            for scope in ({}, {"chat_id": ""}, {"chat_id": "", "group_id": "", "user_id": ""}, {"scope": "all"}):
                if not scope.keys() - {"scope"} <= OPERATIONS.resolve(component, told)[0].request.known_keys():
                    continue
                status, answer = await callers.ask(token, component, {**told, **scope})
                assert (status, answer["error_code"]) == (403, "forbidden"), (token, component, action, scope)
            of_a = (await callers.ask(token, component, {**told, "chat_id": "a"}))[1]
            assert "of b" not in json.dumps(of_a) and "bob" not in json.dumps(of_a).lower(), (token, component, action)
    status, answer = await callers.ask("admin", "search_memory", {"query": "kite"})
    assert (status, answer["details"]["field"]) == (400, "chat_id")
    callers.web.base_url = elsewhere
    status, answer = await callers.ask("admin", "memory_source_admin", {"action": "list"})
    assert (status, answer["details"]["field"]) == (400, "chat_id")
