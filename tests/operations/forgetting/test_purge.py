"""After a purge no byte of the text is left in any file: looked for here without the program's own scanner."""

from __future__ import annotations

import asyncio
import contextlib
import json
import random
import shutil
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest

from amemorix import AMemorixHostService
from amemorix.forgetting import purge as purging
from amemorix.language.normalise import term_hashes, tokens
from amemorix.store.reserve import RESERVE
from amemorix.testing import HashEmbedder, memory_host
from conftest import Open
from database_file import content, open_database
from entrance import admin_of, change, contents, data_of, found, reading, rows, said, told
from memory_dump import tables
from pace import until

ADMIN = "memory_delete_admin"
SOUNDS = {"away": "bdfgk", "here": "mnprs"}
SIGNS = {"away": "鹳鹬鹭鹮麂麝麟鼯鼹龆龈龉龊龌虬蚜蚝蚣蛞蛟", "here": "蜃蜈蜥蝮螭蟠蠹衾袂裨褥襦觚觞觥訇谥豉豕貉"}
"""What the words of a chat are made of: no word is one of another chat."""


def rare_text(rng: random.Random, chinese: bool, chat: str = "here") -> str:
    """A text of words that no other text has."""
    if chinese:
        return "".join(rng.choices(SIGNS[chat], k=rng.randint(12, 60))) + "。"
    syllables = [letter + vowel for letter in SOUNDS[chat] for vowel in "aeiou"]
    return " ".join("".join(rng.choices(syllables, k=5)) for _ in range(rng.randint(4, 30)))


def needles(text: str) -> set[bytes]:
    """Stretches of a text in UTF-8 and as JSON writes it, and what the indexes make of it."""
    forms = {text, json.dumps(text)[1:-1]}
    raw = {form[at : at + 12].encode() for form in forms for at in range(0, max(1, len(form) - 11), 3)}
    hashes = sorted({int(h) for h in term_hashes(tokens(text))})
    blobs = {b"".join(h.to_bytes(4, "little") for h in hashes[at : at + 3]) for at in range(0, len(hashes) - 2, 2)}
    words = {h.to_bytes(4, "little").hex().encode() for h in hashes}
    return {needle for needle in raw | blobs | words if len(needle) >= 8}


def left(folder: Path, texts: Iterable[str]) -> list[tuple[str, bytes]]:
    """(file, needle) of everything that is left of the texts."""
    wanted: dict[bytes, set[bytes]] = {}
    for needle in {needle for text in texts for needle in needles(text)}:
        wanted.setdefault(needle[:8], set()).add(needle)
    heads = np.sort(np.frombuffer(b"".join(wanted), "<u8"))
    found: set[tuple[str, bytes]] = set()
    for path in sorted(folder.rglob("*")):
        if path.name == RESERVE or not path.is_file():
            continue  # the reserve only takes room
        raw = content(path)
        for offset in range(min(8, len(raw) - 7)):
            words = np.frombuffer(raw, "<u8", (len(raw) - offset) // 8, offset)
            for place in offset + 8 * np.flatnonzero(np.isin(words, heads)):
                some = (needle for needle in wanted[raw[place : place + 8]] if raw.startswith(needle, place))
                found |= {(str(path.relative_to(folder)), needle) for needle in some}
    return sorted(found)


def in_copy(folder: Path, target: Path) -> Path:
    """The files as they are now: reading the database's own file beside its connections could drop their locks."""
    shutil.copytree(folder, target, ignore=shutil.ignore_patterns("nothing"))
    return target


admin = admin_of(ADMIN)


async def fill(host: AMemorixHostService, rng: random.Random, chat: str, count: int) -> list[str]:
    """Texts and turns in a chat, with relations, persons, tags and metadata of rare words as well."""
    texts: list[str] = []
    for n in range(count):
        text, extra = rare_text(rng, bool(n % 2), chat), rare_text(rng, bool(n % 3), chat)
        texts += [text, extra]
        if n % 4 == 0:
            ends = {"subject": extra[:40], "predicate": "belongs to", "object": text[:40]}
            await told(host, text, chat_id=chat, external_id=f"{chat}-{n}", source=f"notes-{chat}",
                       relations=[ends], tags=[extra[:60]], metadata={"why": extra})  # fmt: skip
        else:
            await said(host, chat, (extra[:30].strip(), text, 1.7e9 + 1000 * n), source=f"talk-{chat}")
            texts[-1] = extra[:30].strip()
    return texts


@pytest.mark.parametrize("seed", [1, 2])
async def test_a_purged_chat_leaves_no_byte(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    async with memory_host(tmp_path, embed=HashEmbedder(32)) as host:
        gone = await fill(host, rng, "away", 40)
        stays = await fill(host, rng, "here", 40)
        await host.settle(600)
        await host.invoke("memory_runtime_admin", {"action": "save"})
        backed_up(host, data_of(host) / "memory.before-migration")
        assert left(in_copy(data_of(host), tmp_path / "before"), gone)
        ranked = {text: await contents(host, text[:20], limit=20, chat_id="here") for text in stays[:10]}

        done = await admin(host, "execute", mode="chat", selector="away", purge=True)

        receipt = done["receipt"]
        assert (done["status"], receipt["found"], receipt["log_emptied"]) == ("purged", {}, True)
        assert receipt["erased"]["paragraphs"] == 40 and receipt["erased"]["chats"] == 1
        assert receipt["copies"] == [{"file": "memory.before-migration", "done": "rewritten"}]
        assert receipt["needles"] > 100 and receipt["files"] > 3 and receipt["bytes"] > 100_000
        assert left(in_copy(data_of(host), tmp_path / "after"), gone) == []
        assert left(tmp_path / "after", stays), "what stays is there"
        assert {text: await contents(host, text[:20], limit=20, chat_id="here") for text in ranked} == ranked
    folder = data_of_stopped(host)
    assert left(folder, gone) == []
    with open_database(folder / "memory.before-migration") as copy:
        assert copy.execute("select count(*) from paragraphs").fetchone() == (40,)
    copy.close()


def backed_up(host: AMemorixHostService, to: Path) -> None:
    with reading(host) as db, contextlib.closing(open_database(to)) as target:
        db.backup(target)


@pytest.mark.parametrize(
    "text",
    [
        "my wallet pin is kangaroo-1234-quokka",
        "我的银行卡密码是袋鼠一二三四五六",
        'a "quoted"\nline of quokkas \\ and more',
    ],
)
async def test_one_purged_text_leaves_no_byte_and_the_rest_as_it_was(tmp_path: Path, text: str) -> None:
    async with memory_host(tmp_path, embed=HashEmbedder(32)) as host:
        await fill(host, random.Random(7), "here", 30)
        await host.settle(600)
        await host.invoke("memory_runtime_admin", {"action": "save"})
        before = await tables(host)
        await told(host, text, chat_id="here", external_id="secret-external-id", source="secret source")
        await host.settle(600)
        await host.invoke("memory_runtime_admin", {"action": "save"})

        done = await admin(host, "execute", mode="source", selector="secret source", reason=text, requested_by="Ann")
        erased = await admin(host, "purge", operation_id=done["operation_id"])

        (operation,) = erased["operations"]
        assert (operation["selector"], operation["reason"], operation["requested_by"]) == ({}, "", "Ann")
        await host.settle(600)
        assert await tables(host) == before
        assert left(in_copy(data_of(host), tmp_path / "after"), [text, "secret-external-id", "secret source"]) == []


@pytest.mark.parametrize("gone", ["🎂", "……", "kite"])
async def test_texts_without_words_hinder_no_purge(tmp_path: Path, gone: str) -> None:
    async with memory_host(tmp_path) as host:
        for text in ("🎂", "……", "kite"):
            await told(host, text, external_id=text, source=f"source {text}")
        done = await admin(host, "execute", mode="source", selector=f"source {gone}")
        assert (await admin(host, "purge", operation_id=done["operation_id"]))["operations"][0]["status"] == "purged"
        assert len(rows(host, "select id from paragraphs")) == 2


async def test_a_purged_person_leaves_no_name(tmp_path: Path) -> None:
    async with memory_host(tmp_path) as host:
        await said(
            host,
            "c",
            ("Zebulonia Quist", "I drink coffee."),
            ("Bob", "Zebulonia Quist hates tea!"),
            ("Bob", "It rains."),
        )
        await said(host, "zh", ("欧阳麒麟鼯", "我对花生过敏。"), ("小雨", "欧阳麒麟鼯不吃花生。"), ("小雨", "下雨了。"))
        await host.settle(600)
        for person in ("Zebulonia Quist", "欧阳麒麟鼯"):
            await admin(host, "execute", mode="person", selector=person, purge=True)
        assert rows(host, "select name from persons order by 1") == [("Bob",), ("小雨",)]
        assert left(in_copy(data_of(host), tmp_path / "after"), ["Zebulonia Quist", "欧阳麒麟鼯"]) == []
        assert sorted(await contents(host, "It rains 下雨了", limit=9)) == ["It rains.", "下雨了。"]
        assert (await found(host, "Zebulonia"))["hits"] == []
        await said(host, "c", ("Zebulonia Quist", "I am back, with coffee."))
        (hit,) = (await found(host, "coffee", person_id="Zebulonia Quist"))["hits"]
        assert hit["content"] == "I am back, with coffee."


async def test_what_quotes_a_purged_text_is_emptied(tmp_path: Path) -> None:
    secret = "the treasure lies under the seventh birch tree"
    async with memory_host(tmp_path) as host:
        await told(host, secret, external_id="1", chat_id="c")
        await told(host, "quite another matter altogether, of lamps", external_id="2", chat_id="c")
        for text, name in ((secret, "quoting"), ("quite another matter altogether, of lamps", "other")):
            hits = json.dumps([{"content": text}])
            change(host, "insert into undo_records (kind, detail, created_at) values (?, ?, 0)", (name, hits))
            change(
                host,
                "insert into correction_plans (request, plan, status, created_at) values (?, '{}', 'executed', 0)",
                (text,),
            )
            change(host, "insert into feedback_tasks (query_tool_id, query, asked_at, hits) values (?, 'q', 0, ?)", (name, hits))  # fmt: skip
            change(host, "insert into tasks (kind, key, status, due_at, created_at, updated_at) "
                         "select 'feedback', max(id), 'pending', 0, 0, 0 from feedback_tasks")  # fmt: skip
            change(host, "insert into memory_v5_operations (action, kind, items, reason, created_at) "
                         "values ('freeze', 'paragraph', '[1]', ?, 0)", (text,))  # fmt: skip
        done = await admin(host, "execute", mode="paragraph", selector={"external_ids": ["1"]}, purge=True)

        assert done["receipt"]["scrubbed"] == {
            "undo_records": 1, "correction_plans": 1, "feedback_tasks": 1, "memory_v5_operations": 1,
        }  # fmt: skip
        assert left(in_copy(data_of(host), tmp_path / "after"), [secret]) == []
        assert rows(host, "select detail from undo_records where kind = 'quoting'") == [("{}",)]
        assert rows(host, "select status from tasks where kind = 'feedback' order by key desc") == [
            ("pending",),
            ("skipped",),
        ]
        assert rows(host, "select count(*) from correction_plans where request like 'quite another%'") == [(1,)]


async def test_a_stretch_of_talk_is_told_anew_without_what_was_purged(tmp_path: Path) -> None:
    async with memory_host(tmp_path) as host:
        await said(
            host,
            "c",
            ("Ann", "my wallet pin is kangaroo1234", 1.7e9),
            ("Ann", "keep the wallet to yourself", 1.7e9 + 60),
        )
        await host.settle(600)
        assert "kangaroo" in (await found(host, "wallet", mode="episode"))["hits"][0]["content"]
        await admin(host, "execute", mode="paragraph", selector="kangaroo1234", purge=True)
        await host.settle(600)
        (hit,) = (await found(host, "wallet", mode="episode"))["hits"]
        assert "kangaroo" not in hit["content"] and "yourself" in hit["content"]


async def test_what_came_back_to_life_is_not_purged(tmp_path: Path) -> None:
    hangs = {"subject": "kite", "predicate": "hangs in", "object": "hall"}
    async with memory_host(tmp_path) as host:
        await told(host, "The kite hangs in the hall.", external_id="1", source="a", relations=[hangs])
        done = await admin(host, "execute", mode="mixed", selector={"sources": ["a"], "entity_names": ["kite"]})
        await told(host, "It is hanging there again.", external_id="2", source="b", relations=[hangs])
        await admin(host, "purge", operation_id=done["operation_id"])
        assert rows(host, "select content from paragraphs") == [("It is hanging there again.",)]
        assert rows(host, "select s.name, predicate, o.name from relations r join entities s on s.id = subject "
                             "join entities o on o.id = object where r.deleted_at is null") == [("kite", "hangs in", "hall")]  # fmt: skip


async def test_only_old_deletions_are_purged_by_age(tmp_path: Path) -> None:
    async with memory_host(tmp_path) as host:
        for n in range(3):
            await told(host, f"kite number {n}", external_id=str(n), source=f"s{n}")
            await admin(host, "execute", mode="source", selector=f"s{n}")
        assert (await admin(host, "purge", older_than_days=1))["purged_count"] == 0
        assert [one["operation_id"] for one in (await admin(host, "purge", grace_hours=0, limit=2))["operations"]] == [
            "d1",
            "d2",
        ]
        assert (await admin(host, "purge", older_than_days=0))["purged_count"] == 1
        assert rows(host, "select count(*) from paragraphs") == [(0,)]


async def test_foreign_files_are_left_and_named(tmp_path: Path) -> None:
    secret = "the treasure lies under the seventh birch tree"
    async with memory_host(tmp_path) as host:
        await told(host, secret, external_id="1")
        (data_of(host) / "diary.txt").write_text(f"I wrote: {secret}!", "utf-8")
        (data_of(host) / "memory.old-copy").write_text(f"I wrote: {secret}!", "utf-8")
        answer = await host.invoke(ADMIN, {"action": "execute", "mode": "paragraph", "selector": {"query": "birch"}})
        answer = await host.invoke(ADMIN, {"action": "purge", "operation_id": answer["operation_id"]})
        assert (answer["success"], answer["left"]) == (False, ["diary.txt", "memory.old-copy"])
        assert answer["operations"][0]["receipt"]["copies"] == [
            {"file": "diary.txt", "done": "left: it is not a file of this program"},
            {"file": "memory.old-copy", "done": "left: it is not a file of this program"},
        ]


async def test_a_purge_under_load_holds_up_nobody(opened: Open, tmp_path: Path) -> None:
    host, rng = await opened(embed=HashEmbedder(32)), random.Random(3)
    gone = await fill(host, rng, "away", 60)
    await host.settle(600)
    over, written, answered = asyncio.Event(), 0, 0

    async def write() -> None:
        nonlocal written
        while not over.is_set():
            await told(host, rare_text(rng, False), chat_id="busy", external_id=f"busy-{written}")
            written += 1

    async def search() -> None:
        nonlocal answered
        while not over.is_set():
            await found(host, gone[answered % len(gone)][:20], chat_id=rng.choice(["busy", "away"]))
            answered += 1

    async with asyncio.TaskGroup() as group:
        for work in (write, search, search):
            group.create_task(work())
        await until(lambda: min(written, answered) > 5)
        done = await admin(host, "execute", mode="chat", selector="away", purge=True)
        during = written, answered
        over.set()
    assert done["receipt"]["found"] == {} and min(during) > 5
    await host.settle(600)
    assert left(in_copy(data_of(host), tmp_path / "after"), gone) == []
    assert rows(host, "select count(*) from paragraphs") == [(written,)]


async def test_a_large_database_is_rewritten_only_if_something_is_left(
    opened: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(purging, "SMALL_BYTES", 0)
    host = await opened()
    gone = await fill(host, random.Random(5), "away", 300)
    await fill(host, random.Random(6), "here", 300)
    done = await admin(host, "execute", mode="chat", selector="away", purge=True)
    assert done["receipt"]["found"] == {}
    await host.stop()
    assert left(data_of_stopped(host), gone) == []


async def test_a_purge_outlives_a_reload_and_a_stop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(purging, "STEP", 1)
    async with memory_host(tmp_path, embed=HashEmbedder(32)) as host:
        gone = await fill(host, random.Random(5), "away", 40)
        for n, precision in enumerate(("float16", "int8")):
            await told(host, rare_text(random.Random(n), False, "away"), source=f"s{n}", chat_id="here")
            call = asyncio.create_task(admin(host, "execute", mode="source", selector=f"s{n}", purge=True))
            await asyncio.sleep(0.05)
            await host.update_config({"embedding.quantization_type": precision})
            assert (await call)["receipt"]["found"] == {}
        call = asyncio.create_task(admin(host, "execute", mode="chat", selector="away", purge=True))
        await asyncio.sleep(0.1)
        await host.stop()
        with contextlib.suppress(AssertionError):
            assert (await call)["status"] == "purged"
        await host.start()
        await host.settle(600)
        assert (await admin(host, "list_operations", status="purged"))["total"] == 3
        assert left(in_copy(data_of(host), tmp_path / "after"), gone) == []


def data_of_stopped(host: AMemorixHostService) -> Path:
    return host.config_path.parent.parent / "data" / "a-memorix"
