"""Each check finds what it looks for, says what to do, and `repair` mends what can be mended."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from amemorix import AMemorixHostService
from amemorix.testing import HashEmbedder, ScriptedChat, pause_background, resume_background
from conftest import Open
from database_file import open_database
from entrance import admin_of, change
from pace import until

TEXTS = ("Mia keeps bees in Lisbon.", "林澈对花生过敏。", "Tom plays the cello on Sundays.")


ask = admin_of("memory_runtime_admin")


async def filled(opened: Open, folder: Path | None = None, **settings: Any) -> AMemorixHostService:
    host = await opened(folder, embed=HashEmbedder(), **settings)
    for i, text in enumerate(TEXTS):
        await host.invoke("ingest_text", {"external_id": str(i), "source_type": "note", "text": text})
    await host.settle()
    await pause_background(host)  # what is spoilt is to be found, not mended in the background
    return host


async def findings(host: AMemorixHostService, **args: Any) -> dict[str, dict[str, Any]]:
    report = (await ask(host, "refresh_self_check", **args))["report"]
    return {finding["name"]: finding for finding in report["findings"]}


async def bad(host: AMemorixHostService, **args: Any) -> list[str]:
    return [name for name, finding in (await findings(host, **args)).items() if not finding["ok"]]


async def hits(host: AMemorixHostService, query: str) -> list[str]:
    return [hit["content"] for hit in (await host.invoke("search_memory", {"query": query}))["hits"]]


async def test_a_whole_memory_passes_and_needs_no_repair(opened: Open) -> None:
    host = await filled(opened)
    assert await bad(host, deep=True, probe=True) == []
    assert (await ask(host, "repair"))["done"] == []


async def test_lost_words_are_read_again(opened: Open) -> None:
    host = await filled(opened, retrieval={"noise": {"enabled": False}})
    change(host, "delete from terms")
    found = (await findings(host))["words"]
    assert (found["ok"], found["repairable"]) == (False, True)
    assert "3 live" in found["detail"]
    answer = await ask(host, "repair")
    assert answer["report"]["ok"]
    assert (await hits(host, "花生过敏"))[0] == TEXTS[1]


@pytest.mark.parametrize("vector", [b"short", b"\x00\x7e" * 256], ids=["of another length", "not a number"])
async def test_a_vector_that_is_none_is_made_again(opened: Open, vector: bytes) -> None:
    host = await filled(opened)
    change(host, "update embeddings set vector = ? where paragraph = 2", (vector,))
    name = next(iter(name for name in await findings(host) if name.startswith("vectors-")))
    assert await bad(host, deep=True) == [name]
    assert "1 vectors are made again" in " ".join((await ask(host, "repair"))["done"])
    await host.settle()
    assert await bad(host, deep=True) == []
    query = await host.invoke("search_memory", {"query": "花生过敏", "explain": True})
    assert query["hits"][0]["content"] == TEXTS[1]


async def test_a_vector_below_the_watermark_that_is_gone_is_made_again(opened: Open) -> None:
    host = await filled(opened)
    resume_background(host)

    async def lost() -> bool:
        """Whether the loop was past the paragraph: before it is, it makes the vector again by itself."""
        change(host, "delete from embeddings where paragraph = 1")
        await host.settle()
        return await bad(host) != []

    await until(lost)
    [name] = await bad(host)
    assert name.startswith("vectors-")
    await ask(host, "repair")
    await host.settle()
    assert await bad(host) == []


async def vectors(host: AMemorixHostService) -> list[str]:
    """Findings on each generation of vectors."""
    return [one["detail"] for name, one in (await findings(host)).items() if name.startswith("vectors-")]


async def test_vectors_that_are_not_made_yet_are_not_searched_by(opened: Open) -> None:
    host = await opened(embed=HashEmbedder())
    await host.settle()  # the generation has begun
    await pause_background(host)
    for text in TEXTS:
        await host.invoke("ingest_text", {"source_type": "note", "text": text})
    assert await vectors(host) == [
        "0 vectors of callable; search goes by words so far; texts that wait to be embedded: 3"
    ]
    resume_background(host)
    await host.settle()
    assert await vectors(host) == ["3 vectors of callable; search goes by them"]
    await pause_background(host)
    await host.invoke("ingest_text", {"source_type": "note", "text": "The kite is in the attic."})
    assert await vectors(host) == [
        "3 vectors of callable; search goes by them, and by words for the rest; texts that wait to be embedded: 1"
    ]
    await ask(host, "rebuild_all_vectors")
    assert await vectors(host) == [
        "3 vectors of callable; search goes by them",
        "0 vectors of callable; search will go by them when all are made; texts that wait to be embedded: 4",
    ]


async def test_vectors_of_a_model_that_is_gone_are_not_searched_by(opened: Open, tmp_path: Path) -> None:
    host = await filled(opened, tmp_path)
    await host.stop()
    host = await opened(tmp_path, embedding={"provider": "none"})
    await pause_background(host)
    await host.invoke("ingest_text", {"source_type": "note", "text": "The kite is in the attic."})
    assert await vectors(host) == ["3 vectors of callable; their model is not at work, so search does not go by them"]


async def test_a_lexical_index_in_a_file_is_served_by_the_native_one(
    opened: Open, caplog: pytest.LogCaptureFixture
) -> None:
    host = await filled(opened, retrieval={"sparse": {"backend": "fts5"}})
    assert (await hits(host, "cello"))[0] == TEXTS[2]
    notice = (await findings(host))["setting"]
    assert notice["ok"] and "native" in notice["detail"]
    assert notice["detail"] in caplog.text


async def test_an_index_that_does_not_fit_is_made_anew(opened: Open) -> None:
    host = await filled(opened)
    change(host, "drop trigger paragraphs_updated")  # the log does not tell that one was deleted
    change(host, "update paragraphs set deleted_at = 1 where id = 1")
    assert await bad(host) == ["sparse"]
    assert "made anew from the rows: sparse" in " ".join((await ask(host, "repair"))["done"])
    assert await bad(host) == []
    assert (await hits(host, "cello"))[0] == TEXTS[2]


async def test_work_that_was_given_up_is_tried_again(opened: Open) -> None:
    host = await filled(opened)
    change(host, "update tasks set status = 'failed', attempts = 99, error = 'no luck' where kind = 'episodes'")
    found = (await findings(host))["work-episodes"]
    assert (found["ok"], found["repairable"]) == (False, True)
    assert "no luck" in found["detail"]
    await ask(host, "repair")
    await host.settle()
    assert await bad(host) == []


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("changes_floor", "1000"), ("facts_upto", "99999"), ("facts_upto", "abc"), ("facts_scan", "x"),
        ("extracted_upto", "-5"), ("episodes_upto", "9" * 40),
    ],
)  # fmt: skip
async def test_what_would_never_be_read_is_read_again(opened: Open, key: str, value: str) -> None:
    host = await filled(opened)
    await pause_background(host)
    change(host, "insert into meta values (?1, ?2) on conflict do update set value = ?2", (key, value))
    turns = (("Mia", "I moved to Rome."), ("小明", "我搬到上海了。"))
    messages = [{"speaker": name, "person_id": name, "text": text} for name, text in turns]
    assert (await host.invoke("ingest_messages", {"chat_id": "c", "messages": messages}))["success"]
    found = (await findings(host))["reading"]
    assert (found["ok"], found["repairable"]) == (False, True)
    assert found["detail"].startswith(f"{key}: ")

    assert f"reading: reading begins anew: {key}" in (await ask(host, "repair"))["done"]
    await host.settle(600)
    assert await bad(host, deep=True) == []
    for name, place in (("Mia", "Rome"), ("小明", "上海")):
        answer = await host.invoke("memory_fact_admin", {"action": "list", "person_id": name})
        assert [fact["value"] for fact in answer["items"]] == [place]
        assert place in (await host.invoke("get_person_profile", {"person_id": name, "chat_id": "c"}))["summary"]


async def test_a_database_index_that_does_not_fit_its_table_is_made_anew(opened: Open, tmp_path: Path) -> None:
    host = await filled(opened)
    await host.stop()
    with open_database(tmp_path / "data" / "a-memorix" / "memory.db") as db:
        db.execute("pragma writable_schema = on")
        turn = "update sqlite_schema set sql = replace(sql, :was, :becomes) where name = 'chats_by_user'"
        assert db.execute(turn, {"was": "user_id <> ''", "becomes": "user_id = 'z'"}).rowcount == 1
    db.close()
    with open_database(tmp_path / "data" / "a-memorix" / "memory.db") as db:
        db.execute("pragma writable_schema = on")
        db.execute("insert into chats (chat_id, user_id, created_at) values ('x', 'y', 0)")
        assert db.execute(turn, {"becomes": "user_id <> ''", "was": "user_id = 'z'"}).rowcount == 1
    db.close()
    await host.start()
    assert await bad(host) == []
    assert (await findings(host, deep=True))["database"]["repairable"]
    assert (await ask(host, "repair"))["report"]["ok"]
    assert await bad(host, deep=True) == []


async def test_rows_that_point_to_nothing_are_named_and_left(opened: Open) -> None:
    host = await filled(opened)
    await host.stop()
    with open_database(_database(host)) as db:
        db.execute("pragma foreign_keys = off")
        db.execute("insert into paragraph_entities (entity, paragraph) values (999, 1)")
    db.close()
    await host.start()
    found = (await findings(host))["references"]
    assert (found["ok"], found["repairable"], found["mend"]) == (False, False, "Restore a backup.")
    assert "paragraph_entities to entities" in found["detail"]
    assert not (await ask(host, "repair"))["report"]["ok"]


def _database(host: AMemorixHostService) -> Path:
    return host.config_path.parent.parent / "data" / "a-memorix" / "memory.db"


async def test_a_config_file_that_does_not_fit_is_told(opened: Open) -> None:
    host = await filled(opened)
    host.config_path.write_text("[retrieval]\ncandidates = -1\n")
    found = (await findings(host))["config"]
    assert not found["ok"]
    assert "retrieval.candidates" in found["detail"]


async def test_a_chat_model_is_asked_only_on_demand(opened: Open) -> None:
    chat = ScriptedChat({"check": {"ok": True}})
    host = await filled(opened, chat=chat)
    assert "chat" not in await findings(host)
    assert (await findings(host, probe=True))["chat"]["ok"]


async def test_a_chat_model_that_is_away_is_told(opened: Open) -> None:
    host = await filled(opened, chat=ScriptedChat({}))
    assert await bad(host, probe=True) == ["chat"]


async def test_an_embedding_model_that_is_away_is_told(opened: Open) -> None:
    class Moody(HashEmbedder):
        away = False

        def __call__(self, texts: Any) -> Any:
            if self.away:
                raise ConnectionError("the line is dead")
            return super().__call__(texts)

    moody = Moody()
    host = await opened(embed=moody)
    await host.invoke("ingest_text", {"external_id": "1", "source_type": "note", "text": TEXTS[0]})
    await host.settle()
    moody.away = True
    assert await bad(host, probe=True) == ["model"]
