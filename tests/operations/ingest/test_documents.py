"""`memory_document_admin`: what was stored under an id, whole; got, listed, counted, described and deleted."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from amemorix import AMemorixHostService
from amemorix.audit_context import Grant, entered_by
from amemorix.clock import FrozenClock
from amemorix.frontends.http.json_response import BASE_PATH
from amemorix.testing import memory_host
from database_file import on_disk
from doors import web_client
from entrance import admin_of, call, change, contents, data_of, hits, refused, rows, said, told

documents = admin_of("memory_document_admin")
LONG = (
    "\r\n\r\n".join(f"  Part {i}.\tA line of the {i}th part, which goes on for a while.  " * 9 for i in range(40))
    + "\n\n"
)
TEXTS = [
    "plain", "  around  ", "\n\nlines\n\n", "a\r\nb\rc\nd", "tab\there", "First line.\n\nParagraph 0", "中文，第一行。\r\n\r\n第二行。 ",
    "👩‍👩‍👧‍👦 family", "שלום עולם", "e\u0301 and \u00e9", LONG, "\u3000wide\u3000", "x" * 9_000, "\ufeffmarked",
]  # fmt: skip


async def ids(host: AMemorixHostService, action: str = "list", **args: Any) -> list[str]:
    return [item["external_id"] for item in (await documents(host, action, **args))["items"]]


async def test_every_text_comes_back_byte_for_byte(host: AMemorixHostService) -> None:
    for i, text in enumerate(TEXTS):
        await told(host, text, external_id=f"d{i}", source="s")
    got = await documents(host, "get", source="s", external_ids=[f"d{i}" for i in range(len(TEXTS))])
    assert [item["text"] for item in got["items"]] == TEXTS
    assert (await documents(host, "list", source="s"))["items"] == got["items"]
    long = got["items"][TEXTS.index(LONG)]
    assert len(long["paragraph_ids"]) > 1 and long["id"] == long["paragraph_ids"][0]
    # only what its paragraphs do not give back is stored a second time
    assert rows(host, "select count(*) from originals") < [(len(TEXTS),)]
    plain = rows(
        host, "select count(*) from originals o join external_memory_refs r on r.id = o.ref where r.external_id = 'd0'"
    )
    assert plain == [(0,)]


async def test_the_same_words_in_other_spacing_come_back_as_told_last(host: AMemorixHostService) -> None:
    await told(host, "one two", external_id="x", source="s")
    for text in ("one  two", " one two\n", "one two"):
        answer = await told(host, text, external_id="x", source="s")
        assert answer["stored_ids"] == []
        assert (await documents(host, "get", source="s", external_id="x"))["items"][0]["text"] == text
    assert await told(host, "one two", external_id="x", source="s") | {"reason": ""} == answer | {"reason": ""}


async def test_what_a_document_says_of_itself(host: AMemorixHostService, clock: FrozenClock) -> None:
    start = clock.now()
    await told(
        host, "A kite.", external_id="x", source="s", source_type="flow", chat_id="c", tags=["b", "a"], metadata={"n": 1},
        timestamp=1_700_000_000, ttl_seconds=900,
    )  # fmt: skip
    clock.advance(60)
    (item,) = (await documents(host, "get", source="s", external_id="x"))["items"]
    assert item == {
        "id": "p1", "external_id": "x", "text": "A kite.", "metadata": {"n": 1}, "tags": ["b", "a"], "source": "s",
        "source_type": "flow", "chat_id": "c", "created_at": start, "updated_at": start, "revision": 1,
        "expires_at": start + 900, "time": 1_700_000_000, "derive": True, "paragraph_ids": ["p1"],
    }  # fmt: skip
    await told(host, "A red kite.", external_id="x", source="s", source_type="flow", chat_id="c", metadata={"n": 2})
    (item,) = (await documents(host, "get", source="s", external_id="x"))["items"]
    assert (item["text"], item["created_at"], item["updated_at"], item["revision"]) == (
        "A red kite.",
        start,
        start + 60,
        2,
    )
    assert (item["tags"], item["metadata"], item["paragraph_ids"]) == ([], {"n": 2}, ["p2"])
    assert await ids(host, tags=["a"]) == []
    (hit,) = await hits(host, "red kite", chat_id="c")
    assert (hit["external_id"], hit["source"], hit["metadata"], hit["tags"]) == ("x", "s", {"n": 2}, [])


async def test_got_by_ids_and_what_is_missing(host: AMemorixHostService) -> None:
    await told(host, LONG, external_id="x", source="s", chat_id="a")
    await told(host, "in b", external_id="x", source="s", chat_id="b")
    await told(host, "elsewhere", external_id="x", source="t")
    got = await documents(host, "get", source="s", external_ids=["x", "y"])
    assert ([item["chat_id"] for item in got["items"]], got["missing"]) == (["a", "b"], ["y"])
    last = got["items"][0]["paragraph_ids"][-1]
    got = await documents(host, "get", ids=[last, "p999"])
    assert ([item["text"] for item in got["items"]], got["missing"]) == ([LONG], ["p999"])
    got = await documents(host, "get", source="s", external_id="x", chat_id="b")
    assert [item["text"] for item in got["items"]] == ["in b"]
    got = await documents(host, "get", source="t", external_id="x", chat_id="b", only_own=True)
    assert (got["items"], got["missing"]) == ([], ["x"])
    for args in ({}, {"external_id": "x"}, {"source": "s"}):
        await refused(host, "memory_document_admin", {"action": "get", **args})
    await refused(
        host, "memory_document_admin", {"action": "get", "source": "s", "external_ids": ["x"] * 1001}, "external_ids"
    )
    assert await ids(host, only_own=True, chat_id="b") == ["x"]
    await refused(host, "memory_document_admin", {"action": "list", "only_own": True}, "chat_id")


async def test_filters_of_list_and_count(host: AMemorixHostService, clock: FrozenClock) -> None:
    await told(host, "one", external_id="1", source="s", tags=["a"], metadata={"k": 1, "deep": {"x": [1, 2]}})
    clock.advance(10)
    await told(host, "two", external_id="2", source="s", tags=["a", "b"], metadata={"k": True})
    clock.advance(10)
    await told(host, "three", external_id="3", source="t", source_type="flow", tags=["b"], metadata={"k": None})
    await said(host, "c", ("Ann", "four"), source="t2")
    (*_, turn) = every = await ids(host)
    assert every == ["1", "2", "3", turn]
    at = clock.now() - 10
    cases: list[tuple[list[str], dict[str, Any]]] = [
        (["1", "2"], {"source": "s"}), (["3"], {"source_type": "flow"}), ([], {"source": "s", "source_type": "flow"}),
        (["1", "2"], {"tags": ["a"]}), (["2"], {"tags": ["b", "a"]}), (["2", "3"], {"tags": "b"}), ([], {"tags": ["a", "z"]}),
        (["1"], {"metadata": {"k": 1}}), (["2"], {"metadata": {"k": True}}), (["3"], {"metadata": {"k": None}}),
        (["1"], {"metadata": {"deep": {"x": [1, 2]}}}), ([], {"metadata": {"deep": {}}}), ([], {"metadata": {"x": [1, 2]}}),
        (["1", "2"], {"external_ids": ["2", "1", "9", "1"], "source": "s"}), (["1"], {"external_ids": "1", "source": "s"}),
        ([], {"external_ids": "1", "source": "s", "source_type": "flow"}), (["1", "2"], {"until": at}),
        (["2", "3", turn], {"since": at}), (["2"], {"since": at, "until": at}), ([turn], {"chat_id": "c", "only_own": True}),
        (["3", turn], {"since": at + 1, "chat_id": "c"}),
    ]  # fmt: skip
    for wanted, filters in cases:
        assert await ids(host, **filters) == wanted, filters
        assert (await documents(host, "count", **filters))["count"] == len(wanted), filters
    assert (await documents(host, "count"))["count"] == 4
    assert await ids(host, source="no such") == []


async def test_pages_hold_while_writes_go_on(host: AMemorixHostService, clock: FrozenClock) -> None:
    for i in range(23):
        if i % 3 == 0:
            clock.advance(1)  # several have the same time
        await told(host, f"text {i}", external_id=f"{i:02}", source="s", chat_id=f"chat {i % 2}")
    first = [f"{i:02}" for i in range(23)]
    for descending in (False, True):
        seen, cursor, later = list[str](), "", 0
        while cursor or not seen:
            page = await documents(host, "list", source="s", limit=4, cursor=cursor, descending=descending)
            seen += [item["external_id"] for item in page["items"]]
            cursor, later = page["next"], later + 1
            await told(host, f"later {later} {descending}", external_id=f"new {later} {descending}", source="s")
            if later == 1 and descending:  # what was shown already goes
                await documents(host, "delete", source="s", external_ids=[seen[0]])
        assert [one for one in seen if one in first] == (first[::-1] if descending else first)
        assert len(seen) == len(set(seen))
        assert ("new 1 False" in seen, "new 1 True" in seen) == (True, False)
    for cursor in ("nonsense", f"1.0_{10**30}", "1.0_-1"):
        await refused(host, "memory_document_admin", {"action": "list", "cursor": cursor}, "cursor")
    await refused(host, "memory_document_admin", {"action": "list", "limit": 1001}, "limit")


async def test_listed_by_what_was_changed_last(host: AMemorixHostService, clock: FrozenClock) -> None:
    for one in "abc":
        clock.advance(1)
        await told(host, f"text {one}", external_id=one, source="s")
    clock.advance(1)
    await told(host, "text a, again", external_id="a", source="s")
    clock.advance(1)
    await documents(host, "set", source="s", external_id="b", metadata={"n": 1})
    assert await ids(host, source="s", order="updated") == ["c", "a", "b"]
    assert await ids(host, source="s", order="updated", descending=True, limit=2) == ["b", "a"]
    assert await ids(host, source="s") == ["a", "b", "c"]


async def test_described_anew_without_a_new_text(host: AMemorixHostService, clock: FrozenClock) -> None:
    start = clock.now()
    await told(host, LONG, external_id="x", source="s", metadata={"a": 1, "b": {"c": 2}}, tags=["old"])
    await told(host, "a walrus", external_id="y", source="s")
    clock.advance(5)

    async def shown(external_id: str = "x") -> dict[str, Any]:
        return (await documents(host, "get", source="s", external_id=external_id))["items"][0]

    answer = await documents(host, "set", source="s", external_id="x", metadata={"b": {"d": 3}}, merge=True)
    assert (answer["count"], answer["missing"]) == (1, [])
    assert (await shown())["metadata"] == {"a": 1, "b": {"d": 3}}
    await documents(host, "set", source="s", external_ids=["x", "y", "z"], tags=["new"])
    item = await shown()
    assert (item["tags"], item["metadata"], item["text"], item["revision"]) == (
        ["new"],
        {"a": 1, "b": {"d": 3}},
        LONG,
        1,
    )
    assert (item["created_at"], item["updated_at"]) == (start, start + 5)
    assert await ids(host, tags=["new"]) == ["x", "y"] and await ids(host, tags=["old"]) == []
    assert {hit["external_id"] for hit in await hits(host, "walrus", tags=["new"])} == {"y"}
    await documents(host, "set", source="s", external_id="x", tags=["more"], merge=True)
    assert (await shown())["tags"] == ["new", "more"]
    await documents(host, "set", ids=[item["paragraph_ids"][-1]], metadata={}, tags=[])
    assert ((await shown())["metadata"], (await shown())["tags"]) == ({}, [])
    await documents(host, "set", source="s", external_id="y", expires_at=clock.now() + 60)
    clock.advance(61)
    assert await ids(host, source="s") == ["x"]
    assert (await documents(host, "set", source="s", external_ids=["y", "x"], metadata={}))["missing"] == ["y"]
    await refused(host, "memory_document_admin", {"action": "set", "source": "s", "external_id": "x"}, "metadata")
    await refused(host, "memory_document_admin", {"action": "set", "metadata": {}}, "external_ids")
    big = {"action": "set", "source": "s", "external_id": "x", "metadata": {"n": "x" * 70_000}}
    await refused(host, "memory_document_admin", big, "metadata")
    await told(host, "small", external_id="z", source="s", metadata={"n": "x" * 40_000})
    grown = {"action": "set", "source": "s", "external_id": "z", "metadata": {"m": "x" * 40_000}, "merge": True}
    await refused(host, "memory_document_admin", grown, "metadata")


@pytest.mark.parametrize("order", ["created", "updated"])
@pytest.mark.parametrize("descending", [False, True])
async def test_among_many_a_tag_finds_its_documents_page_by_page(
    host: AMemorixHostService, clock: FrozenClock, order: str, descending: bool
) -> None:
    tags = {
        f"d{i}": ["all", *(["third"] if i % 3 == 0 else []), *(["few"] if i % 400 == 5 else [])] for i in range(1800)
    }
    for source in ("s", "t"):
        for start in range(0, len(tags), 600):
            clock.advance(1)
            items = [
                {"text": f"line {id_}", "external_id": id_, "source": source, "tags": some, "derive": False}
                for id_, some in list(tags.items())[start : start + 600]
            ]
            await call(host, "ingest_texts", items=items)
    await documents(host, "set", source="s", external_ids=["d405", "d3"], metadata={"n": 1})
    named = list(tags)
    if order == "updated":
        named = [one for one in named if one not in ("d3", "d405")] + ["d3", "d405"]
    for wanted in (["third"], ["few"], ["few", "all"], ["few", "third"], ["third", "all"]):
        found, cursor = list[str](), ""
        while True:
            page = await documents(
                host, "list", source="s", tags=wanted, order=order, descending=descending, limit=250, cursor=cursor
            )
            found += [item["external_id"] for item in page["items"]]
            if not (cursor := page["next"]):
                break
        meant = [one for one in named if set(wanted) <= set(tags[one])]
        assert found == (meant[::-1] if descending else meant)
        assert (await documents(host, "count", source="s", tags=wanted))["count"] == len(meant)


async def test_told_again_with_other_metadata_or_tags(host: AMemorixHostService) -> None:
    await told(host, "the text", external_id="x", source="s", metadata={"n": 1}, tags=["a"])
    answer = await told(host, "the text", external_id="x", source="s", metadata={"n": 2})
    assert (answer["reason"], answer["stored_ids"]) == ("metadata_changed", [])
    answer = await told(host, "the text", external_id="x", source="s", tags=["b"])
    assert (answer["reason"], answer["stored_ids"]) == ("metadata_changed", [])
    (item,) = (await documents(host, "list", tags=["b"]))["items"]
    assert (item["metadata"], item["tags"]) == ({"n": 2}, ["b"])
    assert (await told(host, "the text", external_id="x", source="s"))["reason"] == "exists"


@pytest.mark.parametrize("nothing", [{}, None])
async def test_told_again_with_no_metadata_a_text_has_none(host: AMemorixHostService, nothing: Any) -> None:
    """What is given counts, be it empty; what is not given stays."""

    async def held() -> Any:
        (item,) = (await documents(host, "list", source="s"))["items"]
        return item["metadata"], item["tags"]

    await told(host, "the text", external_id="x", source="s", metadata={"n": 1}, tags=["a"])
    assert (await told(host, "the text", external_id="x", source="s"))["reason"] == "exists"
    assert await held() == ({"n": 1}, ["a"])
    assert (await told(host, "the text", external_id="x", source="s", metadata=nothing))["reason"] == "metadata_changed"
    assert await held() == ({}, ["a"])
    assert (await told(host, "the text", external_id="x", source="s", metadata=nothing))["reason"] == "exists"
    assert (await told(host, "the text", external_id="x", source="s", tags=[]))["reason"] == "metadata_changed"
    assert await held() == ({}, [])
    for kept in ("keep", "merge"):
        await told(host, "the text", external_id="x", source="s", metadata={"n": 1}, tags=["a"])
        again = {"external_id": "y", "source": "s", "metadata": nothing, "tags": [], "same_text": kept}
        assert (await told(host, "the text", **again))["reason"] == "exists"
        assert await held() == ({"n": 1}, ["a"])


async def test_a_turn_and_a_summary_told_again_with_no_metadata_have_none(host: AMemorixHostService) -> None:
    async def again(component: str, **arguments: Any) -> Any:
        await call(host, component, chat_id="c", **arguments)
        items = (await documents(host, "list", chat_id="c"))["items"]
        return {item["external_id"]: item["metadata"] for item in items}

    turn = {"external_id": "t", "speaker": "Ann", "text": "I like kites"}
    assert await again("ingest_messages", messages=[{**turn, "metadata": {"n": 1}}]) == {"t": {"n": 1}}
    assert await again("ingest_messages", messages=[turn]) == {"t": {"n": 1}}
    assert await again("ingest_messages", messages=[{**turn, "metadata": {}}]) == {"t": {}}
    assert await again("ingest_messages", messages=[turn], metadata={"m": 1}) == {"t": {"m": 1}}
    assert await again("ingest_messages", messages=[turn], metadata={}) == {"t": {}}
    summary = {"external_id": "s", "text": "Ann likes kites"}
    assert await again("ingest_summary", **summary, metadata={"n": 1}) == {"t": {}, "s": {"n": 1}}
    assert await again("ingest_summary", **summary) == {"t": {}, "s": {"n": 1}}
    assert await again("ingest_summary", **summary, metadata={}) == {"t": {}, "s": {}}


async def test_the_same_text_is_kept_once_if_that_is_asked(host: AMemorixHostService, clock: FrozenClock) -> None:
    where = {"source": "s", "chat_id": "c"}
    first = await told(host, "said  twice\n", external_id="x", metadata={"a": 1, "b": 1}, tags=["t"], **where)
    for how, metadata in (("keep", {"a": 1, "b": 1}), ("merge", {"a": 1, "b": 2, "c": 3})):
        again = await told(host, "said  twice\n", external_id="y", same_text=how, metadata={"b": 2, "c": 3}, **where)
        assert (again["external_id"], again["stored_ids"]) == ("x", [])
        (item,) = (await documents(host, "list", **where))["items"]
        assert (item["metadata"], item["tags"], item["paragraph_ids"]) == (metadata, ["t"], first["stored_ids"])
    for n, (text, other) in enumerate((("said twice\n", where), ("said  twice\n", {**where, "source": "t"}), ("said  twice\n", {"source": "s", "chat_id": "d"}))):  # fmt: skip
        made = await told(host, text, external_id=f"z{n}", same_text="keep", **other)
        assert (made["external_id"], len(made["stored_ids"])) == (f"z{n}", 1)
    await documents(host, "delete", source="s", chat_id="c", external_ids=["x"])
    assert (await told(host, "said  twice\n", external_id="w", same_text="keep", **where))["external_id"] == "w"
    await told(host, "gone soon", external_id="soon", ttl_seconds=10, **where)
    clock.advance(10)
    assert (await told(host, "gone soon", external_id="later", same_text="merge", **where))["external_id"] == "later"


async def test_however_many_store_the_same_text_at_once_it_is_kept_once(host: AMemorixHostService) -> None:
    how = {"source": "s", "chat_id": "c", "same_text": "merge"}
    answers = await asyncio.gather(
        *(told(host, "the very same text", external_id=f"w{n}", metadata={f"k{n}": n}, **how) for n in range(20))
    )
    (item,) = (await documents(host, "list", source="s"))["items"]
    assert {one["external_id"] for one in answers} == {item["external_id"]}
    assert item["metadata"] == {f"k{n}": n for n in range(20)}
    items = [{"text": "in one call", "external_id": f"i{n}", **how} for n in range(3)]
    answer = await call(host, "ingest_texts", items=items)
    assert [one["external_id"] for one in answer["results"]] == ["i0"] * 3


async def test_deleted_by_ids_and_by_filters(host: AMemorixHostService) -> None:
    for i in range(6):
        await told(
            host,
            f"kite {i}\n\n{LONG if i == 1 else ''}",
            external_id=f"{i}",
            source="s",
            tags=["odd" if i % 2 else "even"],
        )
    await told(host, "kite elsewhere", external_id="0", source="t")
    answer = await documents(host, "delete", source="s", external_ids=["0", "1", "9"])
    assert (answer["deleted_count"], answer["missing"]) == (2, ["9"])
    assert answer["operation_id"].startswith("d")
    assert await ids(host, source="s") == ["2", "3", "4", "5"]
    answer = await documents(host, "delete", source="s", external_ids=["0", "1"])
    assert (answer["deleted_count"], answer["missing"], answer["operation_id"]) == (0, ["0", "1"], "")
    answer = await documents(host, "delete", source="s", tags=["odd"])
    assert (answer["deleted_count"], answer["missing"]) == (2, [])
    assert await ids(host) == ["2", "4", "0"]
    await call(host, "memory_delete_admin", "restore", operation_id=answer["operation_id"])
    assert await ids(host, source="s") == ["2", "3", "4", "5"]
    assert (await documents(host, "delete", source="no such"))["deleted_count"] == 0
    assert (await documents(host, "delete", source="s"))["deleted_count"] == 4
    assert await ids(host) == ["0"]
    await refused(host, "memory_document_admin", {"action": "delete"}, "source")
    await refused(host, "memory_document_admin", {"action": "delete", "tags": []}, "source")


async def test_what_lies_in_the_recycle_bin_is_erased_too(host: AMemorixHostService, clock: FrozenClock) -> None:
    for name, filters in (("ids", {"external_ids": ["ids", "short"]}), ("tags", {"tags": ["t"]}), ("kind", {"metadata": {"k": "kind"}}), ("all", {})):  # fmt: skip
        word = f"xylophone-{name}"
        for one in (name, "short"):
            about = {"source": name, "chat_id": f"chat-{name}", "tags": ["t"], "metadata": {"k": name}}
            await told(
                host, f"the {word} of {one}", external_id=one, **about, ttl_seconds=60 if one == "short" else None
            )
        await told(host, f"the {word} in other words", external_id=name, **about)
        await told(host, f"the kite of {name}", external_id="another", source=f"{name} too", chat_id=f"chat-{name}")
        clock.advance(61)
        where = {"source": name, "chat_id": f"chat-{name}"}
        assert (await documents(host, "delete", source=name, external_ids=[name]))["deleted_count"] == 1
        assert (await documents(host, "delete", **where, **filters))["deleted_count"] == 0
        answer = await documents(host, "delete", **where, **filters, purge=True)
        assert (answer["deleted_count"], answer["missing"], answer["receipt"]["found"]) == (2, [], {}), name
        files = on_disk(data_of(host))
        assert not [one for one in files if word.encode() in one], name
        assert await ids(host, source=f"{name} too") == ["another"]
        assert (await documents(host, "delete", **where, **filters, purge=True))["deleted_count"] == 0


async def test_a_chat_in_which_nothing_is_left_goes_with_its_name(host: AMemorixHostService) -> None:
    async def chats() -> set[str]:
        return {one for (one,) in rows(host, "select chat_id from chats")}

    for chat in ("therapy-of-ann", "therapy-of-bob"):
        for n in range(2):
            await told(host, f"line {n} of {chat}", external_id=f"{n}", source=chat, chat_id=chat)
    await told(host, "somebody else's line", source="elsewhere", chat_id="therapy-of-bob")
    answer = await documents(
        host, "delete", chat_id="therapy-of-ann", external_ids=["0"], source="therapy-of-ann", purge=True
    )
    assert answer["deleted_count"] == 1 and await chats() == {"therapy-of-ann", "therapy-of-bob"}
    await documents(host, "delete", source="therapy-of-ann", chat_id="therapy-of-ann")
    for chat in ("therapy-of-ann", "therapy-of-bob"):
        answer = await documents(host, "delete", source=chat, chat_id=chat, purge=True)
        assert answer["success"] and answer["receipt"]["found"] == {}
    assert await chats() == {"therapy-of-bob"}
    files = on_disk(data_of(host))
    assert not [one for one in files if b"therapy-of-ann" in one]
    await told(host, "a kettle", source="therapy-of-ann", chat_id="therapy-of-ann")
    assert await contents(host, "kettle", chat_id="therapy-of-ann") == ["a kettle"]


async def test_a_document_that_lost_a_part_no_longer_tells_it(host: AMemorixHostService) -> None:
    text = "\n\n".join(
        [
            *("An ordinary sentence that fills the space of a part. " * 12 for _ in range(3)),
            "The safe opens with 4711-ABCD-9982.",
        ]
    )
    await told(host, text, external_id="x", source="s")
    (item,) = (await documents(host, "get", source="s", external_id="x"))["items"]
    assert item["text"] == text
    operation = await call(
        host, "memory_delete_admin", "execute", mode="paragraph", selector=item["paragraph_ids"][-1:]
    )
    (left,) = (await documents(host, "get", source="s", external_id="x"))["items"]
    assert "4711" not in left["text"] and left["paragraph_ids"] == item["paragraph_ids"][:-1]
    await call(host, "memory_delete_admin", "restore", operation_id=operation["operation_id"])
    assert (await documents(host, "get", source="s", external_id="x"))["items"] == [item]
    await call(
        host, "memory_delete_admin", "execute", mode="paragraph", selector=item["paragraph_ids"][-1:], purge=True
    )
    assert not [one for one in rows(host, "select content from originals") if "4711" in one[0]]
    (left,) = (await documents(host, "get", source="s", external_id="x"))["items"]
    assert "4711" not in left["text"]


async def test_a_purge_leaves_no_byte_of_an_original(host: AMemorixHostService) -> None:
    secret = "  The   password\r\n\r\nof  the   vault is   zyxwvutsrq-12345.  "
    await told(host, secret, external_id="x", source="s", tags=["very-secret-tag"])
    await told(host, "another text stays", external_id="y", source="s")
    await told(host, f"{secret} and more", external_id="x", source="s")
    answer = await documents(host, "delete", source="s", external_ids=["x"], purge=True)
    assert answer["deleted_count"] == 1 and answer["receipt"]["found"] == {}
    assert rows(host, "select count(*) from originals") == [(0,)]
    assert rows(host, "select count(*) from document_tags") == [(0,)]
    for file in data_of(host).rglob("*"):
        if file.is_file():
            held = file.read_bytes()
            assert b"zyxwvutsrq" not in held and b"very-secret-tag" not in held, file
    assert await ids(host) == ["y"]


async def test_a_memory_moves_with_originals_and_tags(
    host: AMemorixHostService, tmp_path: Path, clock: FrozenClock
) -> None:
    clock.advance(7)
    for i, text in enumerate(TEXTS):
        await told(host, text, external_id=f"{i}", source="s", tags=[f"t{i % 3}"], metadata={"i": i})
    before = (await documents(host, "list", source="s"))["items"]
    exported = await call(host, "memory_runtime_admin", "export_memory")
    async with memory_host(tmp_path / "other", clock=clock) as other:
        place = data_of(other) / "exports" / "in.jsonl"
        place.parent.mkdir(exist_ok=True)
        place.write_bytes(Path(exported["path"]).read_bytes())
        await call(other, "memory_runtime_admin", "import_export", path="in.jsonl")
        assert (await documents(other, "list", source="s"))["items"] == before
        assert await ids(other, tags=["t1"]) == [item["external_id"] for item in before if item["tags"] == ["t1"]]


async def test_expired_documents_are_nowhere(host: AMemorixHostService, clock: FrozenClock) -> None:
    await told(host, "a kite", external_id="x", source="s", ttl_seconds=60, tags=["t"])
    clock.advance(59)
    assert await ids(host) == ["x"]
    clock.advance(1)
    assert await ids(host) == [] == await ids(host, tags=["t"]) == await contents(host, "kite", tags=["t"])
    assert (await documents(host, "count"))["count"] == 0
    assert (await documents(host, "get", source="s", external_id="x"))["missing"] == ["x"]
    assert (await documents(host, "delete", source="s", external_ids=["x"]))["deleted_count"] == 0


async def test_many_texts_in_one_call(host: AMemorixHostService) -> None:
    items = [{"text": f" text {i} ", "external_id": f"{i}", "source": "s", "metadata": {"i": i}} for i in range(300)]
    answer = await call(host, "ingest_texts", items=items)
    assert [one["external_id"] for one in answer["results"]] == [f"{i}" for i in range(300)]
    assert [one["stored_ids"] for one in answer["results"]] == [[f"p{i + 1}"] for i in range(300)]
    got = (await documents(host, "list", source="s", limit=1000))["items"]
    assert [(item["text"], item["metadata"]) for item in got] == [(f" text {i} ", {"i": i}) for i in range(300)]
    again = await call(
        host, "ingest_texts", items=[items[0], {**items[1], "text": "new"}, {"text": "fresh", "source": "s"}]
    )
    assert [one["reason"] for one in again["results"]] == ["exists", "", ""]
    assert again["results"][1]["superseded_ids"] == ["p2"]
    assert [one["success"] for one in again["results"]] == [True] * 3


async def test_many_texts_are_stored_together_or_not_at_all(host: AMemorixHostService) -> None:
    good = {"text": "good", "external_id": "g"}
    for bad, field in (
        ({"text": " "}, "items.1.text"), ({"text": "x", "metadata": {"n": "x" * 70_000}}, "items.1.metadata"),
        ({"text": "x", "timestamp": "no time at all"}, "items.1.timestamp"), ({}, "items.1.text"),
        ({"text": "x", "expires_at": 1, "ttl_seconds": 1}, "items.1"),
    ):  # fmt: skip
        await refused(host, "ingest_texts", {"items": [good, bad]}, field)
    await refused(host, "ingest_texts", {"items": []}, "items")
    await refused(host, "ingest_texts", {"items": [{"text": f"{i}"} for i in range(10_001)]}, "items")
    answer = await call(host, "ingest_texts", items=[good, {"text": "shy", "chat_id": "c"}])
    await host.update_config({"filter.enabled": True, "filter.mode": "blacklist", "filter.chats": ["c"]})
    answer = await call(
        host,
        "ingest_texts",
        items=[
            {"text": "a", "chat_id": "d"},
            {"text": "b", "chat_id": "c"},
            {"text": "e", "chat_id": "c", "respect_filter": False},
        ],
    )
    assert [one["reason"] for one in answer["results"]] == ["", "chat_filtered", ""]


async def test_too_large_metadata_is_refused_before_the_text_is_read(host: AMemorixHostService) -> None:
    await refused(host, "ingest_text", {"text": "x", "metadata": {"n": "x" * 70_000}}, "metadata")
    # the size of the metadata is what is complained of, though the text is wrong as well
    both = {"text": "x" * 3_000_000, "metadata": {"n": "x" * 70_000}}
    assert "metadata" in await refused(host, "ingest_text", both, "metadata")


async def test_a_destructive_call_that_fails_answers_with_zeros(host: AMemorixHostService) -> None:
    failed = await host.invoke("memory_delete_admin", {"action": "execute", "mode": "paragraph", "selector": "nothing"})
    assert (failed["success"], failed["deleted_count"], failed["operation_id"], failed["items"]) == (False, 0, "", [])
    assert failed["error_code"] == "not_found"
    failed = await host.invoke("memory_document_admin", {"action": "delete"})
    assert (failed["success"], failed["deleted_count"], failed["missing"]) == (False, 0, [])
    assert json.dumps(failed)
    failed = await host.invoke("memory_document_admin", {"action": "get"})
    assert "items" not in failed


async def test_who_may(host: AMemorixHostService) -> None:
    await told(host, "of c", external_id="x", source="s", chat_id="c")
    with entered_by("http", Grant("read")):
        assert (await host.invoke("memory_document_admin", {"action": "list", "chat_id": "c"}))["success"]
        for action in ("list", "count"):
            assert (await host.invoke("memory_document_admin", {"action": action}))["error_code"] == "forbidden"
    with entered_by("http", Grant("write")):
        for args in (
            {"action": "set", "source": "s", "external_id": "x", "metadata": {}},
            {"action": "delete", "source": "s", "external_ids": ["x"]},
        ):
            assert (await host.invoke("memory_document_admin", args))["error_code"] == "forbidden"
    await host.update_config({"filter.enabled": True, "filter.mode": "blacklist", "filter.chats": ["c"]})
    assert await ids(host, chat_id="c") == []


async def test_who_may_store_many(host: AMemorixHostService) -> None:
    mine, theirs, everybodys = ({"text": "x", "chat_id": "c"}, {"text": "y", "chat_id": "d"}, {"text": "z"})
    with entered_by("http", Grant("read")):
        assert (await host.invoke("ingest_texts", {"items": [mine]}))["error_code"] == "forbidden"
    with entered_by("http", Grant("write")):
        assert (await host.invoke("ingest_texts", {"items": [mine, theirs]}))["success"]
        assert (await host.invoke("ingest_texts", {"items": [mine, everybodys]}))["error_code"] == "forbidden"
    with entered_by("http", Grant("write", ("c",))):
        assert (await host.invoke("ingest_texts", {"items": [mine]}))["success"]
        assert (await host.invoke("ingest_texts", {"items": [mine, theirs]}))["error_code"] == "forbidden"
    await refused(host, "ingest_texts", {"items": [{"text": "x", "chat_id": None}]}, "chat_id")
    unknown = await call(host, "ingest_texts", items=[{"text": "x", "colour": 1}])
    assert "items.0.colour" in unknown["warnings"][0]


SAID = "I am Ann Baker, I live in Leeds, I am allergic to peanuts and work for Kestrel Ltd."


async def test_nothing_is_read_out_of_what_is_only_kept(
    host: AMemorixHostService, tmp_path: Path, clock: FrozenClock
) -> None:
    async def derived(host: AMemorixHostService) -> dict[str, Any]:
        await host.settle()
        asked = await call(host, "search_memory", query="where does Ann live?", chat_id="c", user_id="ann")
        profile = await call(host, "get_person_profile", person_id="ann")
        return {
            "facts": asked["facts"], "profile": profile["summary"],
            "rows": [rows(host, f"select count(*) from {table}") for table in ("facts", "episodes", "paragraph_entities", "relations")],
        }  # fmt: skip

    turns = [{"speaker": "ann", "text": f"{SAID} Line {i}."} for i in range(6)]
    await call(host, "ingest_messages", chat_id="c", messages=turns, derive=False)
    for i in range(4):
        await told(host, f"{SAID} Note {i}.", chat_id="c", person_ids=["ann"], source_type="person_fact", derive=False)
    await call(host, "ingest_summary", chat_id="c", external_id="s", text=f"A summary: {SAID}", derive=False)
    nothing = await derived(host)
    assert (nothing["facts"], nothing["rows"]) == ([], [[(0,)]] * 4)
    assert "Leeds" not in json.dumps(nothing["profile"])
    assert len(await contents(host, "Ann Baker Leeds", limit=20)) == 11

    # names that become known later, a rebuild of what is derived, and a move to another memory change nothing
    await call(host, "memory_graph_admin", "create_node", name="Kestrel Ltd")
    await host.settle()
    assert rows(host, "select count(*) from paragraph_entities") == [(0,)]
    exported = await call(host, "memory_runtime_admin", "export")
    async with memory_host(tmp_path / "other", clock=clock) as other:
        place = data_of(other) / "exports" / "in.jsonl"
        place.parent.mkdir(exist_ok=True)
        place.write_bytes(Path(exported["path"]).read_bytes())
        await call(other, "memory_runtime_admin", "import_export", path="in.jsonl")
        moved = await derived(other)
    assert (moved["facts"], moved["rows"]) == ([], [[(0,)]] * 4)

    for args in ({"entities": ["Leeds"]}, {"relations": [{"subject": "a", "predicate": "b", "object": "c"}]}):
        await refused(host, "ingest_text", {"text": "x", "derive": False, **args}, next(iter(args)))


async def test_told_again_to_be_read_or_not(host: AMemorixHostService) -> None:
    note = {"chat_id": "c", "person_ids": ["ann"], "source_type": "person_fact", "external_id": "n", "source": "s"}
    await told(host, SAID, **note)
    await host.settle()
    assert (await call(host, "search_memory", query="Where does ann live?", chat_id="c"))["facts"]
    again = await told(host, SAID, **note, derive=False)
    assert again["superseded_ids"]
    await host.settle()
    assert (await call(host, "search_memory", query="Where does ann live?", chat_id="c"))["facts"] == []
    (item,) = (await documents(host, "get", source="s", external_id="n"))["items"]
    assert item["derive"] is False
    assert (await told(host, SAID, **note, derive=False))["reason"] == "exists"


def nested(depth: int) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for n in range(depth):
        made = {"k": made} if n % 2 else {"k": [made]}
    return made


@pytest.mark.parametrize("depth", [180, 600])
async def test_metadata_that_is_nested_too_deep_is_answered_as_text(host: AMemorixHostService, depth: int) -> None:
    text = {"text": "Ann likes the ferry at nine.", "source": "s", "chat_id": "c", "person_ids": ["Ann"]}
    await told(host, **text, external_id="deep", metadata={"k": 1, "deep": {}})
    deep = '[{"a]\\\\\\"[{":' * (depth // 2) + '"end"' + "}]" * (depth // 2)
    change(host, "update paragraphs set metadata = ?", (f'{{"k": 1, "deep": {deep}, "after": [2]}}',))
    await host.settle()
    (hit,) = await hits(host, "ferry", chat_id="c")
    (item,) = (await documents(host, "list", metadata={"k": 1}))["items"]
    assert hit["metadata"] == item["metadata"]
    assert (item["metadata"]["k"], item["metadata"]["after"]) == (1, [2])
    inner: Any = item["metadata"]["deep"]
    while not isinstance(inner, str):
        (inner,) = inner.values() if isinstance(inner, dict) else inner
    assert inner.endswith("}]") or (inner.endswith("}") and '"end"' in inner)
    for component, args in (
        ("memory_text_admin", {"action": "list", "chat_id": "c"}), ("memory_document_admin", {"action": "get", "source": "s", "external_ids": ["deep"]}),
        ("get_person_profile", {"person_id": "Ann", "chat_id": "c"}), ("search_memory", {"query": "ferry", "mode": "aggregate"}),
    ):  # fmt: skip
        assert json.dumps(await call(host, component, **args))
    async with web_client(host) as web:
        assert (await web.post(f"{BASE_PATH}/memory_text_admin/list", json={"chat_id": "c"})).status_code == 200
    assert (await documents(host, "set", source="s", external_ids=["deep"], metadata={"n": 2}, merge=True))[
        "count"
    ] == 1
    (item,) = (await documents(host, "list"))["items"]
    assert (item["metadata"]["k"], item["metadata"]["n"]) == (1, 2)


async def test_metadata_that_no_answer_could_hold_is_refused(host: AMemorixHostService) -> None:
    text = {"text": "The ferry leaves at nine.", "source": "s", "source_type": "note", "chat_id": "c"}
    await told(host, **text, external_id="kept", metadata=nested(60))
    for depth in (120, 400, 2_000):
        await refused(host, "ingest_text", {**text, "external_id": "deep", "metadata": nested(depth)}, "metadata")
        describe = {"action": "set", "source": "s", "external_ids": ["kept"], "metadata": nested(depth)}
        await refused(host, "memory_document_admin", describe, "metadata")
    await documents(host, "set", source="s", external_ids=["kept"], metadata={"a": nested(60)})
    (hit,) = await hits(host, "ferry", chat_id="c")
    assert hit["metadata"] == {"a": nested(60)}
