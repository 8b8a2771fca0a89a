"""Short forms of the calls that the tests of the graph make."""

from __future__ import annotations

from typing import Any

from amemorix import AMemorixHostService
from amemorix.testing import stale_indexes
from entrance import admin_of, reading, refused, told, written

__all__ = [
    "Rows",
    "changed",
    "edges",
    "family",
    "fits",
    "graph",
    "nodes",
    "page",
    "rows",
    "triple",
    "turned_down",
    "wrong",
]

TABLES = (
    "entities", "entity_aliases", "paragraph_entities", "relations", "relation_evidence", "relation_embeddings",
)  # fmt: skip
Rows = dict[str, list[tuple[Any, ...]]]


def triple(subject: str, predicate: str, object_: str, **more: Any) -> dict[str, Any]:
    return {"subject": subject, "predicate": predicate, "object": object_, **more}


graph = admin_of("memory_graph_admin")


async def page(host: AMemorixHostService, **args: Any) -> dict[str, Any]:
    return await graph(host, "get_graph", **args)


async def nodes(host: AMemorixHostService, **args: Any) -> list[str]:
    """Names of the nodes of a page."""
    return [node["name"] for node in (await page(host, **args))["nodes"]]


async def edges(host: AMemorixHostService, **args: Any) -> set[tuple[str, str, str]]:
    """(source, label, target) of the edges of a page, by name."""
    found = await page(host, **args)
    names = {node["id"]: node["name"] for node in found["nodes"]}
    return {(names[e["source"]], e["label"], names[e["target"]]) for e in found["edges"]}


async def changed(host: AMemorixHostService, action: str, **args: Any) -> str:
    """Make a change; its undo id."""
    result = await graph(host, action, **args)
    assert result["undo_id"], result
    return result["undo_id"]


async def wrong(host: AMemorixHostService, action: str, field: str, code: str = "invalid_request", **args: Any) -> str:
    """A call that is refused, names the field and changes no row; the sentence of its error."""
    before = await rows(host)
    error = await refused(host, "memory_graph_admin", {"action": action, **args}, field, code)
    assert await rows(host) == before
    return error


async def turned_down(host: AMemorixHostService, text: str, field: str, **args: Any) -> str:
    """A text that is refused and leaves nothing behind."""
    before = await rows(host), await written(host)
    given = {"external_id": "down", "source_type": "note", "text": text, **args}
    result = await host.invoke("ingest_text", given)
    assert (result["success"], result["details"]["field"]) == (False, field), result
    assert (await rows(host), await written(host)) == before
    return result["error"]


async def rows(host: AMemorixHostService) -> Rows:
    """Every row of the graph."""
    with reading(host) as db:
        return {table: sorted(db.execute(f"select * from {table}").fetchall(), key=repr) for table in TABLES}


async def fits(host: AMemorixHostService) -> None:
    """The indexes equal those built from nothing, nothing points nowhere, and what was merged is merged flat."""
    await host.settle()
    assert await stale_indexes(host) == []
    with reading(host) as db:
        assert db.execute("pragma foreign_key_check").fetchall() == []
        for sentence in LOOSE:
            assert db.execute(sentence).fetchall() == [], sentence


LOOSE = (
    "select s.id from entities s join entities t on t.id = s.merged_into where t.merged_into is not null",
    "select s.id from relations s join relations t on t.id = s.merged_into where t.merged_into is not null",
    "select r.id from relations r join entities e on e.id in (r.subject, r.object) "
    "where r.deleted_at is null and (e.deleted_at is not null or e.merged_into is not null)",
    "select id from relations where merged_into is not null and deleted_at is null",
    "select m.entity from paragraph_entities m join entities e on e.id = m.entity where e.merged_into is not null",
    "select a.norm from entity_aliases a join entities e on e.id = a.entity where e.merged_into is not null",
    "select a.norm from entity_aliases a join entities e on e.norm = a.norm",
)  # fmt: skip


async def family(host: AMemorixHostService) -> None:
    """A small graph in two languages."""
    await told(
        host,
        "林澈住在杭州。",
        relations=[triple("林澈", "住在", "杭州")],
        entities=[{"name": "林澈", "aliases": ["阿澈"]}],
    )
    await told(host, "Mia works at Lot.", relations=[triple("Mia", "works at", "Lot")])
