"""A name that becomes known has the earlier lines read again that hold it: once, in the background, whatever happens."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from amemorix import AMemorixHostService
from amemorix.errors import StorageFailure
from amemorix.graph import extraction
from amemorix.ingest import late_names as namings
from amemorix.testing import memory_host, pause_background
from entrance import change, rows, said, told
from memory_dump import tables
from pace import PATIENCE, until

LATER = pytest.mark.parametrize(
    ("text", "name", "value"), [("小王住在广州", "小王", "广州"), ("Melanie lives in Oslo.", "Melanie", "oslo")]
)


async def facts(host: AMemorixHostService) -> list[tuple[str, str]]:
    await host.settle(600)
    sql = "select p.person_id, f.norm from facts f join persons p on p.id = f.person where f.status = 'active' order by 1, 2"
    return rows(host, sql)


async def shown(host: AMemorixHostService) -> list[tuple[str, str]]:
    listed = await host.invoke("memory_fact_admin", {"action": "list", "chat_id": "c"})
    return sorted((one["value"], one["status"]) for one in listed["items"])


async def read_again(host: AMemorixHostService) -> list[int]:
    return [row[0] for row in rows(host, "select id from changes where kind = 'naming' order by seq")]


@LATER
async def test_a_line_is_read_again_when_whom_it_names_speaks(
    host: AMemorixHostService, text: str, name: str, value: str
) -> None:
    await said(host, "c", ("Ann", text), ("Ann", "hm"))
    await said(host, "d", ("Ann", text))
    assert await facts(host) == []
    await said(host, "c", (name, "hm"))
    assert await facts(host) == [(name, value)]
    assert 2 not in await read_again(host)
    assert 3 not in await read_again(host)


@LATER
async def test_an_alias_counts_as_a_name(host: AMemorixHostService, text: str, name: str, value: str) -> None:
    await said(host, "c", ("Ann", text), ("u7", "hm"))
    assert await facts(host) == []
    asked = {"action": "add_alias", "person_id": "u7", "alias": name, "chat_id": "c"}
    result = await host.invoke("memory_profile_admin", asked)
    assert result["success"], result
    assert await facts(host) == [("u7", value)]


@pytest.mark.parametrize(("text", "name"), [("小王住在广州", "小王"), ("Bob lives in Oslo.", "Bob")])
async def test_a_name_that_a_second_person_has_means_nobody(host: AMemorixHostService, text: str, name: str) -> None:
    await said(host, "c", ("Ann", text), (name, "hm"))
    assert len(await facts(host)) == 1
    message = {"speaker": name, "person_id": "another", "text": "hm"}
    result = await host.invoke("ingest_messages", {"chat_id": "c", "messages": [message]})
    assert result["success"], result
    assert await facts(host) == []


@pytest.mark.parametrize(
    ("early", "late"),
    [("馒头真可爱", "我在写《馒头》"), ("Everybody loves Coco Bean so much!", "We got a dog named Coco Bean.")],
)
async def test_an_entity_is_found_in_the_lines_before_it(host: AMemorixHostService, early: str, late: str) -> None:
    sql = "select e.norm, l.paragraph from paragraph_entities l join entities e on e.id = l.entity order by 1, 2"
    await said(host, "c", ("Ann", early))
    await host.settle(600)
    await said(host, "c", ("Ann", late))
    await host.settle(600)
    name = "馒头" if "馒头" in late else "coco bean"
    assert {row for row in rows(host, sql) if row[0] == name} == {(name, 1), (name, 2)}


@pytest.mark.parametrize(
    ("naming", "other"),
    [("We got a dog named Coco Bean.", "coco beans are cheap"), ("我在写《馒头》", "今天买了馒头店的票")],
)
async def test_a_line_that_was_read_when_the_name_was_known_is_not_read_again(
    host: AMemorixHostService, monkeypatch: pytest.MonkeyPatch, naming: str, other: str
) -> None:
    monkeypatch.setattr(extraction, "STEP", 1)
    await pause_background(host)
    await said(host, "c", ("Ann", naming), ("Ann", other))
    await host.settle(600)
    assert rows(host, "select id from changes where kind in ('naming', 'mention') and id = 2") == []


async def test_a_line_that_was_being_read_when_the_name_was_looked_for_is_read_again(
    host: AMemorixHostService, monkeypatch: pytest.MonkeyPatch
) -> None:
    loop, named = asyncio.get_running_loop(), list[dict[str, Any]]()
    possible_names = extraction.possible_names

    def meanwhile(text: str) -> Any:
        """The name comes to be known while the line is being read without it."""
        if not named:
            create = host.invoke("memory_graph_admin", {"action": "create_node", "name": "馒头"})
            named.append(asyncio.run_coroutine_threadsafe(create, loop).result(PATIENCE))
        return possible_names(text)

    monkeypatch.setattr(extraction, "possible_names", meanwhile)
    await said(host, "c", ("Ann", "馒头真可爱"))
    await until(lambda: bool(named))
    assert named[0]["success"], named
    await host.settle(PATIENCE)
    linked = "select e.norm from paragraph_entities l join entities e on e.id = l.entity where l.paragraph = 1"
    assert ("馒头",) in rows(host, linked)


@LATER
async def test_a_line_that_was_deleted_meanwhile_is_read_when_it_is_back(
    host: AMemorixHostService, tmp_path: Path, text: str, name: str, value: str
) -> None:
    await said(host, "c", ("Ann", text))
    await host.settle(600)
    asked = {"action": "execute", "mode": "paragraph", "selector": [1]}
    gone = await host.invoke("memory_delete_admin", asked)
    await said(host, "c", (name, "hm"))
    assert await facts(host) == []
    await host.invoke("memory_delete_admin", {"action": "restore", "operation_id": gone["operation_id"]})
    assert await facts(host) == [(name, value)]

    async with memory_host(tmp_path / "straight") as straight:
        await said(straight, "c", ("Ann", text), (name, "hm"))
        await straight.settle(600)
        assert await spoken(host) == await spoken(straight)


async def spoken(host: AMemorixHostService) -> list[list[tuple[Any, ...]]]:
    """What extraction has read."""
    found = (
        "select e.norm, l.paragraph from paragraph_entities l join entities e on e.id = l.entity order by 1, 2",
        "select s.norm, r.predicate, o.norm from relations r join entities s on s.id = r.subject "
        "join entities o on o.id = r.object where r.deleted_at is null order by 1, 2, 3",
    )
    return [rows(host, sql) for sql in found]


@LATER
async def test_it_is_looked_for_once(host: AMemorixHostService, text: str, name: str, value: str) -> None:
    await said(host, "c", ("Ann", text), (name, "hm"))
    assert await facts(host) == [(name, value)]
    before, changes = await tables(host), await read_again(host)
    await said(host, "c", (name, "oh"))
    await host.settle(600)
    assert await read_again(host) == changes
    assert (await tables(host))["facts"] == before["facts"]
    assert rows(host, "select * from name_news") == []


async def test_a_crash_loses_no_line_and_repeats_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(namings, "SLICE", 2)
    lines = [
        ("Ann", "小王住在广州"),
        ("Ann", "hm"),
        ("Ann", "oh"),
        ("Ann", "小王对芒果过敏"),
        ("Ann", "小王在出版社工作"),
    ]
    async with memory_host(tmp_path) as host:
        await said(host, "c", *lines)
        await host.settle(600)
        change(host, "create trigger power after insert on changes when new.kind = 'naming' and new.id = 4 "
                     "begin select raise(abort, 'the power went'); end")  # fmt: skip
        await said(host, "c", ("小王", "hm"))
        with pytest.raises(StorageFailure, match="the power went"):
            await host.settle(600)
        assert await read_again(host) == [1]
        change(host, "drop trigger power")

    async with memory_host(tmp_path) as host:
        assert len(await facts(host)) == 3
        assert sorted(await read_again(host)) == [1, 4, 5]


@pytest.mark.parametrize(("speaker", "text", "wrong", "right"), [
    ("小王", "我在Google上班", "我不在Google上班，我在Stripe上班", "Stripe"),
    ("Bob", "I work at Google.", "I don't work at Google, I work at Stripe", "Stripe"),
])  # fmt: skip
async def test_a_correction_a_deletion_and_their_undoing_give_everything_back(
    host: AMemorixHostService, speaker: str, text: str, wrong: str, right: str
) -> None:
    lines = [
        {"external_id": f"{n}", "speaker": speaker, "person_id": "u1", "text": words, "time": 1.69e9 + n}
        for n, words in enumerate(("hello there", text))
    ]
    await host.invoke("ingest_messages", {"chat_id": "c", "messages": lines})
    await host.settle(600)
    before = await shown(host)
    asked = {"action": "preview", "chat_id": "c", "person_id": "u1", "text": wrong}
    plan = (await host.invoke("memory_correction_admin", asked))["plan_id"]
    asked = {"action": "execute", "plan_id": plan, "confirmed": True}
    assert (await host.invoke("memory_correction_admin", asked))["success"]
    await host.settle(600)
    corrected = await tables(host)

    gone = await host.invoke("memory_delete_admin", {"action": "execute", "mode": "person", "selector": "u1"})
    back = await host.invoke("memory_delete_admin", {"action": "restore", "operation_id": gone["operation_id"]})
    await host.settle(600)
    assert (back["status"], back["not_restored"]) == ("restored", [])
    assert await tables(host) == corrected
    assert (await host.invoke("memory_correction_admin", {"action": "rollback", "plan_id": plan}))["success"]
    again = await host.invoke("ingest_messages", {"chat_id": "c", "messages": lines})

    assert (again["stored_ids"], again["skipped_ids"]) == ([], ["0", "1"])
    await host.settle(600)
    assert await shown(host) == before
    live = "select r.external_id, count(*) from paragraphs p join external_memory_refs r on r.id = p.ref where p.deleted_at is null and p.superseded_at is null group by 1"
    assert sorted(rows(host, live)) == [("0", 1), ("1", 1)]
    assert (
        rows(host, "select id from external_memory_refs where deleted_at is not null and external_id in ('0', '1')")
        == []
    )


async def test_a_text_that_lives_under_a_deleted_reference_is_not_stored_twice(host: AMemorixHostService) -> None:
    for text in ("我住在上海", "I live in Oslo."):
        await told(host, text, external_id=text, chat_id="c")
        change(host, "update external_memory_refs set deleted_at = 1")
        again = await told(host, text, external_id=text, chat_id="c")
        assert again["stored_ids"] == []
        revised = await told(host, text + " ok", external_id=text, chat_id="c")
        assert len(revised["stored_ids"]) == 1
    live = "select content from paragraphs where deleted_at is null and superseded_at is null order by id"
    assert rows(host, live) == [("我住在上海 ok",), ("I live in Oslo. ok",)]
