"""Settling the part of a group that a statement touches comes to what settling the whole group comes to."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Sequence
from typing import Any

import pytest

from amemorix import AMemorixHostService
from amemorix.facts.ledger import Change, FactLedger, Said
from amemorix.facts.rows import FactGroup
from amemorix.facts.timeline import ANY, AUTHORITY, Point
from amemorix.facts.timeline_window import NEAREST, FactWindow
from conftest import Open
from entrance import said

START = 1_680_000_000.0
MINUTE = 60.0


def facts_of(db: sqlite3.Connection) -> list[tuple[Any, ...]]:
    """Every fact that has a statement, without its row and that of what took its place."""
    return db.execute(
        "select f.attribute, f.norm, f.polarity, f.value, f.status, f.authority, f.confidence, f.valid_from, f.valid_to,"
        " f.outdone_at, s.norm, s.polarity, s.valid_from, f.asserted_at,"
        " (select group_concat(paragraph) from fact_evidence e where e.fact = f.id)"
        " from facts f left join facts s on s.id = f.superseded_by and f.status = 'superseded'"
        " where f.deleted_at is null and (f.asserted_at is not null or exists ("
        "  select 1 from fact_evidence e join paragraphs p on p.id = e.paragraph where e.fact = f.id"
        "  and e.stance = 'support' and p.deleted_at is null))"
        " order by 1, 2, 3, 8, 10, 15"
    ).fetchall()


def settled_whole(host: AMemorixHostService, db: sqlite3.Connection) -> list[tuple[Any, ...]]:
    """The same after every group has been looked at as a whole."""
    ledger = FactLedger(host.kernel.store, profile=host.kernel.config.profile)
    rows = db.execute("select distinct person, scope, attribute, case cardinality when 'set' then norm end from facts")
    for person, scope, attribute, norm in rows.fetchall():
        ledger.settle(db, FactGroup(person, None, scope, attribute, norm), Change(START, START, "checked"))
    return facts_of(db)


class Rolled(Exception):
    """Takes the transaction back."""


async def same_as_whole(host: AMemorixHostService) -> None:
    seen: list[Any] = []

    def check(db: sqlite3.Connection) -> None:
        seen.extend((facts_of(db), settled_whole(host, db)))
        raise Rolled

    with pytest.raises(Rolled):
        await host.kernel.store.write(check)
    assert seen[0] == seen[1]


async def paragraphs(host: AMemorixHostService, count: int) -> list[int]:
    """Lines that state nothing, to rest statements on."""
    await said(host, "c", *(("林澈", f"第{n}句", START + n) for n in range(count)))
    return await host.kernel.store.read(
        lambda db: [row[0] for row in db.execute("select id from paragraphs order by id")]
    )


def statements(rng: random.Random, rows: Sequence[int], *, ranks: Sequence[str], span: int) -> list[Said]:
    found: list[Said] = []
    for row in rows:
        at = START + MINUTE * rng.randint(0, span)
        norm, polarity = rng.choice(["a", "a b", "c", "d"]), rng.choice([1, 1, 1, -1])
        if polarity < 0 and rng.random() < 0.2:
            norm = ANY
        told = rng.choice([None, None, None, at, at + MINUTE * rng.randint(0, span)])
        confidence = rng.choice([0.6, 0.7, 0.9])
        found.append(Said(row, norm, polarity, norm, at, None, rng.choice(ranks), confidence, told=told))
    return found


async def person(host: AMemorixHostService) -> tuple[int, int]:
    return await host.kernel.store.read(
        lambda db: db.execute("select p.speaker, p.scope from paragraphs p where p.speaker <> 0").fetchone()
    )


@pytest.mark.parametrize("attribute", ["residence", "occupation", "like"])
@pytest.mark.parametrize("seed", range(12))
async def test_any_history_settles_as_the_whole_does(opened: Open, attribute: str, seed: int) -> None:
    rng = random.Random(seed)
    host = await opened(facts={"enabled": False})
    rows = await paragraphs(host, rng.randint(2, 30))
    who, scope = await person(host)
    ledger = FactLedger(host.kernel.store, profile=host.kernel.config.profile)

    def deleted(db: sqlite3.Connection, some: Sequence[int], at: float | None) -> None:
        groups = host.kernel.store.facts.groups_of(db, some)
        for row in some:
            db.execute("update paragraphs set deleted_at = ? where id = ?", (at, row))
        for group, since in groups:
            ledger.settle(db, group, Change(START, START, "came or went"), since=since)

    def tell(db: sqlite3.Connection, one: Said) -> None:
        group = FactGroup(who, None, scope, attribute, one.norm if attribute == "like" else None)
        ledger.record(db, group, one, Change(START, START, "stated"))

    everything = statements(rng, rows, ranks=list(AUTHORITY), span=rng.choice([4, 20, 1000]))
    if seed % 3 == 0:
        everything.sort(key=lambda one: one.at)
    told: list[int] = []
    for one in everything:
        await host.kernel.store.write(lambda db, one=one: tell(db, one))
        told.append(one.paragraph)
        if rng.random() < 0.2:
            some = rng.sample(told, min(len(told), 3))
            at = START if rng.random() < 0.6 else None
            await host.kernel.store.write(lambda db, some=some, at=at: deleted(db, some, at))
        if rng.random() < 0.1:
            facts = await host.kernel.store.read(lambda db: host.kernel.store.facts.listed(
                db, entity=None, attribute=None, text=None, now=START, limit=50, offset=0, statuses=["active"]))  # fmt: skip
            undo = None
            if facts:
                fact = rng.choice(facts)
                result = await host.invoke("memory_fact_admin", {"action": "retract", "fact_id": fact.id})
                undo = result.get("undo_id")
            if undo and rng.random() < 0.7:
                await host.invoke("memory_fact_admin", {"action": "undo", "undo_id": undo})
        await same_as_whole(host)


@pytest.mark.parametrize("order", ["forward", "backward", "shuffled"])
async def test_long_histories_of_one_authority_settle_as_the_whole_does(opened: Open, order: str) -> None:
    rng = random.Random(order)
    host = await opened(facts={"enabled": False})
    rows = await paragraphs(host, 6 * NEAREST)
    who, scope = await person(host)
    ledger = FactLedger(host.kernel.store, profile=host.kernel.config.profile)
    everything = [
        Said(row, norm, 1, norm, START + n * MINUTE, None, "direct_user", 0.9)
        for n, row in enumerate(rows)
        for norm in rng.choice("abcd")
    ]
    if order == "backward":
        everything.reverse()
    if order == "shuffled":
        rng.shuffle(everything)
    group = FactGroup(who, None, scope, "occupation")

    def tell(db: sqlite3.Connection) -> None:
        for one in everything:
            ledger.record(db, group, one, Change(START, START, "stated"))

    await host.kernel.store.write(tell)
    await same_as_whole(host)
    window = FactWindow(host.kernel.store)
    last = Point(0, rows[-1], START + 1e6, "e", 1, "e", "direct_user", 0.9)
    early = Point(0, rows[-1], START + 10.5 * MINUTE, "e", 1, "e", "direct_user", 0.9)
    parts = await host.kernel.store.read(lambda db: [window.part(db, group, [one], None) for one in (last, early)])
    assert len(parts[0].rows) == 1, "what is said in its order touches what stands"
    assert len(parts[1].rows) <= 2 * NEAREST, "however much was said"
