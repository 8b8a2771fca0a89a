"""A purge takes out of every backup what it erases, and leaves the backup with all the rest."""

from __future__ import annotations

import shutil
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from amemorix import AMemorixHostService
from amemorix.forgetting import erasure
from amemorix.store.queries import connect
from amemorix.testing import HashEmbedder, memory_host
from entrance import call, contents, data_of, reading, rows, said, told
from test_purge import admin, in_copy, left

RUNTIME = "memory_runtime_admin"
ANN, ALIAS, SECRET = "qq:77777001", "Schnuckiputzi", "zanzibar quorum vexillology"
OTHER = "multifarious dodecahedra"


def turn(text: str, person: str = ANN, name: str = "Zebulonia", **more: Any) -> dict[str, Any]:
    return {"speaker": name, "person_id": person, "text": text, **more}


async def by_hand(host: AMemorixHostService) -> None:
    await call(host, "memory_profile_admin", action="add_alias", person_id=ANN, alias=ALIAS, chat_id="away")


async def with_a_message(host: AMemorixHostService) -> None:
    await call(host, "ingest_messages", chat_id="away", messages=[turn("I am here", aliases=[ALIAS])])


async def with_a_text(host: AMemorixHostService) -> None:
    await told(host, "a note of the evening", chat_id="away", person_ids=[ANN], person_aliases={ANN: [ALIAS]})


async def everywhere(host: AMemorixHostService) -> None:
    await call(host, "memory_profile_admin", action="add_alias", person_id=ANN, alias=ALIAS)


async def an_override(host: AMemorixHostService) -> None:
    await call(host, "memory_profile_admin", action="set_override", person_id=ANN, text=f"{ALIAS} drinks tea")


async def a_fact(host: AMemorixHostService) -> None:
    fact = {"person_id": ANN, "attribute": "nickname", "value": ALIAS}
    await call(host, "memory_fact_admin", action="add", chat_id="away", **fact)


async def backed_up(host: AMemorixHostService) -> str:
    await host.settle(600)
    return (await call(host, RUNTIME, action="backup"))["backup"]["id"]


WAYS = [by_hand, with_a_message, with_a_text, everywhere, an_override, a_fact]
BOUND_TO_THE_CHAT = (by_hand, a_fact)


@pytest.mark.parametrize("mode", ["chat", "person", "person in a chat"])
@pytest.mark.parametrize("way", WAYS, ids=[way.__name__ for way in WAYS])
async def test_a_backup_is_rewritten_whatever_is_known_of_a_person(tmp_path: Path, way: Any, mode: str) -> None:
    async with memory_host(tmp_path, embed=HashEmbedder(32)) as host:
        for chat, text in (("away", SECRET), ("here", OTHER)):
            await call(host, "ingest_messages", chat_id=chat, messages=[turn(text)])
            await said(host, chat, ("Bob", f"the kettle of {chat} is blue"))
        await way(host)
        made = [await backed_up(host), await backed_up(host)]

        where = {"chat_id": "away"} if mode == "person in a chat" else {}
        selector = "away" if mode == "chat" else ANN
        done = await admin(host, "execute", mode=mode.split()[0], selector=selector, purge=True, **where)

        receipt = done["receipt"]
        assert {one["done"] for one in receipt["copies"]} == {"rewritten"}, receipt["copies"]
        assert (receipt["found"], receipt["complete"]) == ({}, True)
        listed = [one["id"] for one in (await call(host, RUNTIME, action="list_backups"))["backups"]]
        assert sorted(listed) == sorted(made)
        gone = [SECRET, OTHER, ANN, "Zebulonia", ALIAS] if mode == "person" else [SECRET]
        gone += [ALIAS] if way in BOUND_TO_THE_CHAT and mode != "person" else []
        assert left(in_copy(data_of(host), tmp_path / "after"), gone) == []
        shutil.rmtree(tmp_path / "after")
        for one in made:
            assert (await call(host, RUNTIME, action="verify_backup", backup=one))["problems"] == []
        await call(host, RUNTIME, action="restore_backup", backup=made[0])
        rest = ["the kettle of here is blue", *([OTHER] if mode != "person" else [])]
        assert set(await contents(host, f"kettle {OTHER}", chat_id="here")) == set(rest)


async def test_two_values_that_meet_in_a_file_are_no_remnant(host: AMemorixHostService) -> None:
    """An id that stays, and the first byte of the hash that stands behind it in the file, spell an id that went."""
    for n in range(400):
        await told(host, f"the kettle of evening {n} is blue", external_id=f"m{1000 + n}", chat_id="here")
    stored = "select r.external_id, r.content_hash from external_memory_refs r order by 1"
    meeting = [key + chr(raw[0]) for key, raw in rows(host, stored) if chr(raw[0]).isdecimal()]
    assert meeting
    await call(
        host, "ingest_messages", chat_id="here", messages=[turn(f"line {key}", external_id=key) for key in meeting]
    )
    made = await backed_up(host)

    receipt = (await admin(host, "execute", mode="person", selector=ANN, purge=True))["receipt"]

    assert (receipt["found"], receipt["complete"], receipt["rewritten"]) == ({}, True, 1)
    assert receipt["copies"] == [{"file": f"backups/{made}/memory.db", "done": "rewritten"}]


async def test_every_column_that_can_hold_text_is_looked_through(host: AMemorixHostService) -> None:
    """Planted in each text and each blob that a table has by now: what a purge reads of the values misses none."""
    await said(host, "c", ("Ann", "The kettle is blue."))
    columns = (
        "select m.name, c.name from sqlite_schema m, pragma_table_info(m.name) c "
        "where m.type = 'table' and c.type not in ('INTEGER', 'INT', 'REAL')"
    )
    tables = rows(host, columns)
    assert len(tables) > 100

    with reading(host) as db, closing(connect(":memory:")) as copy:  # without its rules
        for (sql,) in db.execute("select sql from sqlite_schema where type = 'table' and name not like 'sqlite_%'"):
            copy.execute(sql)
        for table in {table for table, _ in tables}:
            names = [name for of, name in tables if of == table]
            copy.execute(f'create table "planted {table}" as select * from "{table}" limit 0')
            for name in names:
                copy.execute(f'insert into "planted {table}" ("{name}") values (?)', (f"{SECRET} {table}.{name}",))
        read = [value.decode(errors="replace") for value in erasure.values(copy)]
    met = {value.removeprefix(f"{SECRET} ") for value in read if value.startswith(SECRET)}
    assert met == {f"{table}.{name}" for table, name in tables}
