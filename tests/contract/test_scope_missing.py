"""A scope that went missing, is spelt otherwise or looks like another never widens what a call reads."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from typing import Any

import httpx
import pytest

from amemorix import AMemorixHostService
from amemorix.frontends.http.openapi import BASE_PATH
from amemorix.host.operations import OPERATIONS
from amemorix.host.permission import _SCOPE_WORD, MOST_UNKNOWN, Operation, permitted  # pyright: ignore[reportPrivateUsage]
from conftest import Open
from doors import through_each_door, web_client
from entrance import contents, fitting, found, hits, refused, said, told
from pace import assert_linear

SPELLINGS = (
    "conversation_id", "conversation", "conversationId", "thread_id", "threadId", "thread", "room_id", "room", "guild_id", "guild",
    "channel", "channel_id", "agent_id", "agentId", "namespace", "session_id", "session", "sessionKey", "CHAT_ID", "chatId", "ChatID",
    "chat-id", "chat id", "chat", "chatroom", "chat_room_id", "chat_name", "tenant", "tenant_id", "stream_id", "chat_stream_id",
    "server_id", "workspace", "team_id", "dialog_id", "peer_id", "GROUP_ID", "groupId", "userId", "USER_ID", "uid", "user_name",
    "owner_id", "account_id", "personId", "app_id", "run_id", "bot_id", "scope_id", "current_chat_id", "target_group", "from_user_id",
    "chatid", "chat_ids", "person", "group", "user", "ｃhat_id", "chat_id\u200b", "\u0441hat_id", "群号", "会话id", "filters", "where",
)  # fmt: skip
SCOPED = [op for op in OPERATIONS if op.is_scoped]
"""Operations that read for a chat, or for everybody."""
LISTS = {
    "maintain_memory_recycle_bin", "memory_correction_admin_list", "memory_document_admin_count", "memory_document_admin_get",
    "memory_document_admin_list", "memory_episode_admin_get", "memory_episode_admin_list", "memory_fact_admin_conflicts",
    "memory_fact_admin_get", "memory_fact_admin_list", "memory_graph_admin_edge_detail", "memory_graph_admin_get_graph",
    "memory_graph_admin_node_detail", "memory_graph_admin_suggest_merges", "memory_source_admin_list", "memory_text_admin_chats",
    "memory_text_admin_get", "memory_text_admin_list", "memory_v5_admin_recycle_bin", "memory_v5_admin_status",
}  # fmt: skip
"""Those that show what there is, and look for nothing."""
NEEDED: dict[str, dict[str, Any]] = {
    "get_person_profile": {"person_id": "Ada"},
    "search_memory": {"query": "safe"},
    "memory_fact_admin_query": {"text": "safe"},
    "memory_graph_admin_search": {"query": "safe"},
    "memory_text_admin_get": {"ids": "p1"},
    "memory_document_admin_get": {"ids": "p1"},
}


def args_of(op: Operation) -> dict[str, Any]:
    return {**({"action": op.action} if op.action else {}), **NEEDED.get(op.name, {})}


@pytest.fixture
async def secret(host: AMemorixHostService) -> AMemorixHostService:
    """One private line."""
    await said(host, "", ("Ada", "The code of the safe is 4711."), user_id="ada")
    return host


@through_each_door
async def test_no_spelling_of_a_scope_is_passed_over(secret: AMemorixHostService) -> None:
    for key in SPELLINGS:
        for value in ("group-chat", None, ""):
            result = await secret.invoke("search_memory", {"query": "code of the safe", key: value})
            assert (result["success"], result["details"].get("field")) == (False, key), (key, value)
            assert re.search(r"'(chat|group|user|person)_id'", result["error"]), key


async def test_every_operation_refuses_a_scope_that_it_does_not_know(host: AMemorixHostService) -> None:
    tried = {op.name: (op, args) for op in OPERATIONS if (args := fitting(op)) is not None}
    assert len(tried) > 60
    for op, args in tried.values():
        for key in ("conversation_id", "channel", "tenant"):
            assert key not in op.request.known_keys()
            result = await host.invoke(op.component, {**args, key: "x"})
            assert (result["success"], result["details"]["field"]) == (False, key), op.name


async def test_a_bound_that_another_operation_has_is_not_passed_over(secret: AMemorixHostService) -> None:
    turns = [{"speaker": "Ada", "text": "Which code has the safe?"}]
    await refused(secret, "get_context", {"chat_id": "c", "messages": turns, "only_own": True}, "only_own")
    for key in ("onlyOwn", "only_ow"):
        await refused(secret, "search_memory", {"chat_id": "c", "query": "safe", key: True}, key)


@through_each_door
async def test_a_filter_of_another_memory_is_no_decoration(secret: AMemorixHostService) -> None:
    for extra in (
        {"filters": {"user_id": "bob"}},
        {"options": {"chat_id": "b"}},
        {"metadata": {"AND": [{"agent_id": 1}]}},
    ):
        await refused(secret, "search_memory", {"query": "safe", **extra}, next(iter(extra)))


@through_each_door
async def test_what_is_no_scope_is_still_only_warned_about(secret: AMemorixHostService) -> None:
    for key in ("limitt", "verbose", "kk", "rerank", "options", "format"):
        result = await secret.invoke("search_memory", {"query": "safe", "user_id": "ada", key: 3})
        assert result["success"], key
        assert result["warnings"][0].startswith(f"unknown argument {key!r}")


def test_the_work_grows_with_the_name_of_an_argument() -> None:
    for word in ("filter", "namespace", "to"):
        args = {"query": "safe", "user_id": "ada"}
        assert_linear(lambda n, word=word, args=args: permitted(*OPERATIONS.resolve("search_memory", {**args, f"chat{word * n}zz": 1})), 2, 20)  # fmt: skip
        assert_linear(lambda n, word=word: _SCOPE_WORD.fullmatch(f"chat{word * n}zz"), 2, 20)


async def test_more_unknown_arguments_than_anybody_misspells_are_refused_together(secret: AMemorixHostService) -> None:
    for size in (MOST_UNKNOWN // 2, 20_000):
        names = {f"k{n}": 1 for n in range(size)}
        for extra in (names, {"options": names}, {"options": [names]}, {"options": [{}] * size}):
            answer = await secret.invoke("search_memory", {"query": "safe", "user_id": "ada", **extra})
            assert answer["success"] == (size <= MOST_UNKNOWN), (size, len(extra))
            assert answer["success"] or f"more than {MOST_UNKNOWN}" in answer["error"]


async def test_a_known_argument_that_is_close_is_named(host: AMemorixHostService) -> None:
    error = await refused(host, "ingest_text", {"text": "x", "chat_id": "c", "persons": ["林"]}, "persons")
    assert "Did you mean 'person_ids'?" in error


@through_each_door
async def test_a_scope_given_as_null_is_an_error(host: AMemorixHostService) -> None:
    for op in OPERATIONS:
        for key in {"chat_id", "group_id", "user_id", "person_id"} & op.request.known_keys():
            if op.effect == "write" or (args := fitting(op)) is None:
                continue
            result = await host.invoke(op.component, {**args, key: None})
            assert (result["success"], result["details"]["field"]) == (False, key), op.name
    said_ = await refused(host, "search_memory", {"query": "x", "chat_id": None}, "chat_id")
    assert "leave it out and say `scope`: `all`" in said_


@through_each_door
async def test_what_is_written_for_a_chat_that_is_null_is_not_told_to_everybody(host: AMemorixHostService) -> None:
    note = {"external_id": "n", "source_type": "note", "text": "secret"}
    for nobody in ({"chat_id": None}, {"user_id": None}, {"chat_id": "", "group_id": None}):
        await refused(host, "ingest_text", {**note, **nobody}, next(k for k, v in nobody.items() if v is None))
    await told(host, "the kettle", chat_id="c", group_id=None, user_id=None)
    assert await contents(host, "the kettle", chat_id="c") == ["the kettle"]


@through_each_door
async def test_a_read_of_everything_says_so(secret: AMemorixHostService) -> None:
    assert SCOPED
    for op in SCOPED:
        asked = args_of(op)
        if any(field.is_required() and name not in asked for name, field in op.request.model_fields.items()):
            continue
        if op.name == "memory_graph_admin_edge_detail":
            continue
        open_, named = (
            await secret.invoke(op.component, asked),
            await secret.invoke(op.component, {**asked, "chat_id": "c"}),
        )
        assert open_["success"], (op.name, open_)
        assert (open_["scope"], named["scope"]) == ("all", "chat"), op.name
        said_so = await secret.invoke(op.component, {**asked, "scope": "all"})
        assert (said_so["success"], said_so["scope"], said_so["warnings"]) == (True, "all", []), op.name
        await refused(secret, op.component, {**asked, "scope": "all", "chat_id": "c"}, "scope")
        empty = await secret.invoke(op.component, {**asked, "chat_id": ""})
        assert (empty["scope"], len(empty["warnings"])) == ("all", 1), op.name
        assert "every chat" in empty["warnings"][0]


@through_each_door
async def test_an_empty_chat_beside_a_user_is_told_to_mean_the_private_chat(secret: AMemorixHostService) -> None:
    answer = await found(secret, "safe", chat_id="", user_id="ada")
    assert answer["scope"] == "chat"
    assert "ada" in answer["warnings"][0]


@through_each_door
async def test_a_scope_can_be_required(opened: Open) -> None:
    host = await opened(privacy={"require_scope": "always"})
    await said(host, "c", ("Ada", "the kettle"))
    for nobody in ({}, {"chat_id": ""}):
        assert "scope" in await refused(host, "search_memory", {"query": "the kettle", **nobody}, "chat_id")
    assert (
        await contents(host, "the kettle", scope="all")
        == await contents(host, "the kettle", chat_id="c")
        == ["the kettle"]
    )
    await host.update_config({"privacy.require_scope": "never"})
    assert await contents(host, "the kettle") == ["the kettle"]


async def ask(host: AMemorixHostService, path: str, body: Mapping[str, Any]) -> httpx.Response:
    async with web_client(host) as web:
        return await web.post(f"{BASE_PATH}/{path}", json=body)


async def test_over_http_a_scope_is_required(secret: AMemorixHostService) -> None:
    for nobody in ({}, {"chat_id": ""}, {"chat_id": "", "group_id": "", "user_id": ""}):
        answer = await ask(secret, "search_memory", {"query": "safe", **nobody})
        assert (answer.status_code, answer.json()["details"]["field"]) == (400, "chat_id")
    for op in SCOPED:
        if op.name in LISTS:
            continue
        answer = (await ask(secret, op.component, args_of(op))).json()
        assert answer["success"] is False, op.name
        if op.name in NEEDED:
            assert answer["details"]["field"] == "chat_id"
    words = {"action": "list", "query": "safe"}
    assert (await ask(secret, "memory_episode_admin", words)).json()["details"]["field"] == "chat_id"
    everything = (await ask(secret, "search_memory", {"query": "safe", "scope": "all"})).json()
    assert (everything["scope"], len(everything["hits"])) == ("all", 1)
    await secret.update_config({"privacy.require_scope": "never"})
    assert (await ask(secret, "search_memory", {"query": "safe"})).json()["scope"] == "all"


async def test_on_loopback_lists_and_status_need_no_scope(secret: AMemorixHostService) -> None:
    await said(secret, "c", ("Bob", "The bell of the tower."))
    await secret.settle(600)
    graph = await secret.invoke("memory_graph_admin", {"action": "get_graph"})
    needed: dict[str, dict[str, Any]] = {
        "memory_episode_admin_get": {"episode_id": "e1"}, "memory_fact_admin_get": {"fact_id": "f1"},
        "memory_graph_admin_node_detail": {"node": graph["nodes"][0]["id"] if graph["nodes"] else "n1"},
    }  # fmt: skip
    for op in (op for op in SCOPED if op.name in LISTS):
        args = {**args_of(op), **needed.get(op.name, {})}
        everything = (await ask(secret, op.component, {**args, "scope": "all"})).json()
        assert (await ask(secret, op.component, args)).json() == everything, op.name
        if op.name not in ("memory_fact_admin_get", "memory_graph_admin_node_detail", "memory_graph_admin_edge_detail"):
            assert (everything["success"], everything["scope"]) == (True, "all"), (op.name, everything)
        empty = (await ask(secret, op.component, {**args, "chat_id": ""})).json()
        assert any("every chat" in warning for warning in empty.get("warnings", ["every chat"])), op.name
    sources = (await ask(secret, "memory_source_admin", {"action": "list"})).json()
    assert {item["chat_id"] for item in sources["items"]} == {"private:ada", "c"}
    await secret.update_config({"privacy.require_scope": "always"})
    for op in (op for op in SCOPED if op.name in LISTS - needed.keys() - {"memory_graph_admin_edge_detail"}):
        answer = (await ask(secret, op.component, args_of(op))).json()
        assert (answer["success"], answer["details"]["field"]) == (False, "chat_id"), op.name


@pytest.mark.parametrize("parameter", ["chat_id=", "chat_id=c", "CHAT_ID=c", "timeout_ms=900&room=1", "limit=3", "x"])
async def test_over_http_nothing_is_said_in_the_address(secret: AMemorixHostService, parameter: str) -> None:
    answer = await ask(secret, f"search_memory?{parameter}", {"query": "safe", "scope": "all"})
    field = parameter.rpartition("&")[2].partition("=")[0]
    assert (answer.status_code, answer.json()["details"]["field"]) == (400, field)
    assert "body" in answer.json()["error"]


# who asks


async def private(opened: Open, **settings: Any) -> AMemorixHostService:
    host = await opened(**settings)
    await said(host, "", ("Ada", "My parrot is called Pepper."), user_id="ada")
    await said(host, "", ("Bob", "My parrot is called Basil."), user_id="bob")
    await said(host, "g", ("Ada", "Parrots live long."), group_id="g")
    return host


@through_each_door
async def test_who_asks_is_told_what_they_said_in_private_only_if_it_is_asked_for(opened: Open) -> None:
    host = await private(opened)
    group, own = ["Parrots live long."], ["My parrot is called Pepper.", "Parrots live long."]
    assert await contents(host, "parrot", chat_id="g", user_id="ada") == group
    assert sorted(await contents(host, "parrot", chat_id="g", user_id="ada", include_private=True)) == own
    assert await contents(host, "parrot", chat_id="g", include_private=False, user_id="ada") == group
    assert await contents(host, "parrot", chat_id="g", user_id="nobody", include_private=True) == group

    await host.update_config({"profile.share_private": True})
    assert sorted(await contents(host, "parrot", chat_id="g", user_id="ada")) == own
    assert await contents(host, "parrot", chat_id="g", user_id="ada", include_private=False) == group


@through_each_door
async def test_who_asks_is_never_passed_over_in_silence(opened: Open) -> None:
    host = await private(opened)
    (warning,) = (await found(host, "parrot", chat_id="g", user_id="ada"))["warnings"]
    assert "include_private" in warning
    assert (
        warning.replace("ada", "nobody") == (await found(host, "parrot", chat_id="g", user_id="nobody"))["warnings"][0]
    )
    assert (await found(host, "parrot", chat_id="g", user_id="ada", include_private=True))["warnings"] == []
    assert (await found(host, "parrot", chat_id="g", user_id="ada", include_private=False))["warnings"] == []
    assert (await found(host, "parrot", chat_id="private:ada", user_id="ada"))["warnings"] == []
    (alone,) = (await found(host, "parrot", chat_id="g", include_private=True))["warnings"]
    assert "user_id" in alone


@through_each_door
async def test_who_asks_does_not_make_a_group_a_private_chat(opened: Open) -> None:
    """What is shared with somebody's private chat is not shared with every group where they speak."""
    host = await private(opened, shared_memory_groups=[{"targets": ["private:ada", "group:club"]}])
    await said(host, "club", ("Cy", "The parrot of the club."), group_id="club")
    assert await contents(host, "parrot", chat_id="g", user_id="ada") == ["Parrots live long."]
    assert "The parrot of the club." in await contents(host, "parrot", user_id="ada")


# look-alike chats


def look_alikes() -> list[str]:
    """Chat ids that a careless comparison takes for each other."""
    base = "Chat-1"
    signs = [
        "", " x", "/", ".", ":", "%", "_", "*", "\\", "'", '"', ";--", "?", "#", "0", "-", "\u00e9", "e\u0301", "\u0430", "ß", "ss",
    ]  # fmt: skip
    found = [base + sign for sign in signs] + [sign + base for sign in signs if sign.strip()]
    return list(
        dict.fromkeys([*found, base.lower(), base.upper(), "1", "01", "10", "chat", "group:Chat-1", "private:Chat-1"])
    )


@pytest.mark.parametrize("shape", ["chat_id", "group_id", "user_id"])
async def test_look_alike_chats_do_not_hear_each_other(opened: Open, shape: str) -> None:
    host = await opened()
    chats = look_alikes()
    for n, chat in enumerate(chats):
        args = {"chat_id": chat} if shape == "chat_id" else {"chat_id": "", shape: chat}
        await said(host, args.pop("chat_id"), ("Ada", f"the number here is {n}"), **args)
    await host.settle(600)
    for n, chat in enumerate(chats):
        mode = random.Random(n).choice(["search", "episode", "aggregate", "hybrid"])
        window = {"time_start": 1} if mode == "hybrid" else {}
        heard = await hits(host, "number", **{shape: chat}, mode=mode, limit=50, **window)
        texts = {
            line.rpartition(" ")[2] for hit in heard for line in hit["content"].splitlines() if "number here" in line
        }
        assert texts == {str(n)}, (chat, mode)
