"""The reading of paragraphs in the background: each once, whatever happens, and never more than they say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from amemorix import AMemorixHostService
from amemorix.errors import StorageFailure
from amemorix.testing import HashEmbedder, ScriptedChat, memory_host, pause_background
from conftest import Open
from entrance import change, contents, cut_change_log, hits, refused, rows, said, told

Rows = set[tuple[str, str, str, str]]
Links = set[tuple[str, str]]


async def relations(host: AMemorixHostService, *, settle: bool = True) -> Rows:
    """Live relations with their origin."""
    if settle:
        await host.settle(600)
    sql = (
        "select s.name, r.predicate, o.name, r.origin from relations r join entities s on s.id = r.subject "
        "join entities o on o.id = r.object where r.deleted_at is null"
    )
    return {tuple(row) for row in await query(host, sql)}


async def query(host: AMemorixHostService, sql: str) -> list[tuple[Any, ...]]:
    return rows(host, sql)


async def content_of_tables(host: AMemorixHostService) -> list[Any]:
    """Everything that extraction writes, without row ids of relations that differ by nothing else."""
    return [
        sorted(await relations(host)),
        sorted(await query(host, "select name, kind from entities")),
        sorted(await query(host, "select paragraph, e.name from paragraph_entities join entities e on e.id = entity")),
        sorted(
            await query(
                host,
                "select e.paragraph, r.subject, r.predicate, r.object, r.confidence from relation_evidence e "
                "join relations r on r.id = e.relation",
            )
        ),
    ]


TALK = [
    ("林澈", "林澈喜欢《边城》"), ("苏晚", "边城我也看过"), ("Ada", "I moved to Berlin with Grace Hopper."),
    ("Grace", "Berlin is lovely"), ("Grace", "We got a dog and named him Coco."), ("Ada", "Coco is so sweet!"),
]  # fmt: skip
NAMED: Links = {
    ("林澈", "林澈喜欢《边城》"), ("边城", "林澈喜欢《边城》"), ("边城", "边城我也看过"),
    ("Berlin", "I moved to Berlin with Grace Hopper."), ("Grace Hopper", "I moved to Berlin with Grace Hopper."),
    ("Berlin", "Berlin is lovely"), ("Coco", "We got a dog and named him Coco."), ("Coco", "Coco is so sweet!"),
}  # fmt: skip


async def named(host: AMemorixHostService) -> Links:
    """(entity, paragraph) of all links, when everything has been read."""
    await host.settle(600)
    sql = (
        "select e.name, p.content from paragraph_entities l join entities e on e.id = l.entity "
        "join paragraphs p on p.id = l.paragraph"
    )
    return {(name, content) for name, content in await query(host, sql)}


async def test_messages_are_read_for_names_and_for_no_relations(host: AMemorixHostService) -> None:
    await said(host, "c", *TALK, ("林澈", "我住在杭州"), ("Ada", "I live in Oslo."))
    assert await named(host) == NAMED | {("Oslo", "I live in Oslo.")}
    assert await relations(host) == set()


async def test_reading_in_steps_is_the_same_as_reading_at_once(
    opened: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    at_once = await opened(tmp_path / "once")
    await said(at_once, "c", *TALK)
    expected = await content_of_tables(at_once)

    monkeypatch.setattr("amemorix.graph.extraction.STEP", 1)
    stepwise = await opened(tmp_path / "steps")
    for turn in TALK:
        await said(stepwise, "c", turn)
        await stepwise.settle(600)
    assert await content_of_tables(stepwise) == expected


async def test_a_crash_before_the_transaction_repeats_nothing_and_loses_nothing(tmp_path: Path) -> None:
    async with memory_host(tmp_path, extraction={"poll_interval_seconds": 3600.0}) as host:
        await host.settle(600)
        change(host, "create trigger power before insert on meta when new.key = 'extracted_upto' "
                     "begin select raise(abort, 'the power went'); end")  # fmt: skip
        await said(host, "c", *TALK)
        with pytest.raises(StorageFailure, match="the power went"):
            await host.settle(600)
        assert await query(host, "select * from paragraph_entities") == []
        change(host, "drop trigger power")

    async with memory_host(tmp_path) as host:
        assert await named(host) == NAMED


async def test_reading_again_changes_nothing(host: AMemorixHostService) -> None:
    await said(host, "c", *TALK)
    before = await content_of_tables(host)
    last = (await query(host, "select max(seq) from changes where kind = 'entity'"))[0][0]

    change(host, "update meta set value = '0' where key = 'extracted_upto'")
    assert await content_of_tables(host) == before
    assert (await query(host, "select max(seq) from changes where kind = 'entity'"))[0][0] == last


async def test_a_log_that_was_cut_is_made_good_from_the_rows(
    host: AMemorixHostService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("amemorix.graph.extraction.STEP", 2)
    await said(host, "c", *TALK)
    before = await content_of_tables(host)
    for table in ("paragraph_entities", "entities"):
        change(host, f"delete from {table}")
    change(host, "update paragraphs set extracted = 0")
    await host.settle(600)
    await pause_background(host)
    cut_change_log(host)
    change(host, "update meta set value = '1' where key = 'extracted_upto'")
    after = await content_of_tables(host)
    assert (after[0], after[1]) == (before[0], before[1])


async def test_the_change_log_is_kept_as_long_as_it_is_read(host: AMemorixHostService) -> None:
    await said(host, "c", *TALK)
    await host.settle(600)
    ((last,),) = rows(host, "select seq from sqlite_sequence where name = 'changes'")
    assert rows(host, "select value from meta where key = 'extracted_upto'") == [(str(last),)]
    assert (await host.invoke("memory_stats", {}))["lag"]["extraction"] == 0


async def test_a_deleted_paragraph_is_not_read(tmp_path: Path) -> None:
    async with memory_host(tmp_path, extraction={"poll_interval_seconds": 3600.0}) as host:
        await host.settle(600)
        await told(host, "Grace lives in Oslo.", source="diary", chat_id="c")
        result = await host.invoke("memory_source_admin", {"action": "delete", "source": "diary"})
        assert result["success"], result
        assert await named(host) == set()


async def test_a_callers_relation_stays_the_callers(host: AMemorixHostService) -> None:
    given = {"subject": "Grace", "predicate": "lives in", "object": "Oslo", "confidence": 0.4}
    await told(host, "Grace lives in Oslo.", chat_id="c", relations=[given])
    assert await relations(host) == {("Grace", "lives in", "Oslo", "caller")}
    assert await query(host, "select confidence from relations") == [(0.4,)]


async def test_nothing_is_read_where_it_is_switched_off(opened: Open, tmp_path: Path) -> None:
    for name, settings in (("off", {"enabled": False}), ("rules", {"rules": False})):
        host = await opened(tmp_path / name, extraction=settings)
        await said(host, "c", *TALK)
        assert await named(host) == set()
        assert await query(host, "select * from entities") == []

    host = await opened(tmp_path / "types", extraction={"disabled_source_types": ["diary"]})
    await told(host, "Grace lives in Oslo.", source_type="diary", chat_id="c")
    await told(host, "Grace lives in Rome.", source_type="note", chat_id="c")
    assert await named(host) == {("Rome", "Grace lives in Rome.")}


async def test_switched_on_later_it_reads_what_was_missed(tmp_path: Path) -> None:
    async with memory_host(tmp_path, extraction={"enabled": False}) as host:
        await said(host, "c", *TALK)
        assert await named(host) == set()
        await host.update_config({"extraction.enabled": True})
        assert await named(host) == NAMED


async def test_no_more_is_taken_than_the_settings_allow(opened: Open) -> None:
    host = await opened(extraction={"max_entities": 2})
    await said(host, "c", ("Ada", "We met Rob, Nora and Tim in Lisbon."))
    assert len(await named(host)) == 2


async def test_what_was_read_in_one_chat_is_not_shown_in_another(host: AMemorixHostService) -> None:
    await said(host, "c", ("苏晚", "我的猫叫馒头"))
    await said(host, "d", ("林澈", "今天吃了馒头"))
    await host.settle(600)
    assert await contents(host, "苏晚的猫", chat_id="d") == []
    for hit in await hits(host, "馒头", chat_id="d"):
        assert "relations" not in hit["explain"]


async def test_the_kind_of_a_text_is_told_by_its_form_or_by_the_caller(host: AMemorixHostService) -> None:
    poem = "床前明月光\n疑是地上霜\n举头望明月\n低头思故乡"
    await told(host, poem, chat_id="c", external_id="poem")
    await told(host, "压缩机是冰箱的核心", chat_id="c", knowledge_type="factual", external_id="short")
    await told(host, "今天下雨了", chat_id="c", external_id="none")
    found = {
        hit["external_id"]: hit["explain"].get("knowledge", "")
        for hit in await hits(host, "明月 压缩机 下雨", chat_id="c")
    }
    assert found == {"poem": "quote", "short": "factual", "none": ""}
    assert await relations(host) == set()
    assert not {name for (name,) in await query(host, "select name from entities")} & set(poem.split("\n"))


async def test_a_kind_that_does_not_exist_is_refused(host: AMemorixHostService) -> None:
    args = {"external_id": "x", "source_type": "note", "text": "x", "knowledge_type": "poem"}
    await refused(host, "ingest_text", args, "knowledge_type")


async def test_the_chat_models_relations_have_vectors(opened: Open) -> None:
    runs = {"subject": "马师傅", "predicate": "经营", "object": "麦香坊", "evidence": [1]}
    chat = ScriptedChat({"episodes": {"relations": [runs]}})
    host = await opened(embed=HashEmbedder(), chat=chat, episode={"model_quiet_minutes": 0})
    await said(host, "c", ("马师傅", "北门口那个麦香坊是我开的"))
    assert await relations(host) == {("马师傅", "经营", "麦香坊", "model")}
    assert await query(host, "select count(*) from relation_embeddings") == [(1,)]


@pytest.mark.parametrize(("text", "speaker"), [("quill likes tea", "quill"), ("暮暮住在上海", "暮暮")])
async def test_what_comes_back_tells_no_more_than_before(host: AMemorixHostService, text: str, speaker: str) -> None:
    await said(host, "c", ("Ann", text))
    await host.settle(600)
    await said(host, "c", (speaker, "hm"))
    await host.settle(600)
    before = await content_of_tables(host)
    gone = await host.invoke("memory_delete_admin", {"action": "execute", "mode": "paragraph", "selector": [1]})
    assert gone["success"], gone
    await host.settle(600)
    await host.invoke("memory_delete_admin", {"action": "restore", "operation_id": gone["operation_id"]})
    await host.settle(600)
    assert await content_of_tables(host) == before
