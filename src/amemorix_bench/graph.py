"""How long looking at a large graph takes."""

from __future__ import annotations

import random
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from amemorix.host.service import AMemorixHostService

from .heartbeat import heartbeat
from .metrics import percentile
from .workspace import answered, open_memory, working_folder

__all__ = ["GraphReport", "GraphTimes", "run"]

A_TEXT = 1_000
"""Relations in each stored text."""
PAGE = 200
PREDICATES = ("knows", "likes", "works at", "lives in", "owns", "认识", "喜欢", "住在", "参加", "推荐")


@dataclass(frozen=True, slots=True)
class GraphTimes:
    """Milliseconds of one call, many times over; `stall` is the longest that the event loop waited meanwhile."""

    call: str
    p50: float
    p95: float
    stall: float


@dataclass(frozen=True, slots=True)
class GraphReport:
    """What was measured, of a graph of this size."""

    nodes: int
    edges: int
    fill_seconds: float
    times: list[GraphTimes]

    def to_record(self) -> dict[str, Any]:
        """As JSON values."""
        return asdict(self)


async def run(nodes: int, edges: int, *, repeats: int = 20, data_dir: Path | None = None) -> GraphReport:
    """Fill a memory with a graph whose nodes differ in importance, and look at it in every way."""
    with working_folder(data_dir) as folder:
        async with open_memory(folder, {"embedding": {"provider": "none"}}) as host:
            started = time.perf_counter()
            await _fill(host, nodes, edges)
            seconds = time.perf_counter() - started
            await host.settle()
            whole = await answered(host, "memory_graph_admin", {"action": "get_graph", "limit": 1})
            hub = whole["nodes"][0]["name"]
            times = [await _measured(host, call, args, repeats) for call, args in _calls(hub).items()]
            times.append(await _after_a_write(host, repeats))
            return GraphReport(whole["total_nodes"], whole["total_relations"], round(seconds, 1), times)


def _calls(hub: str) -> Mapping[str, Mapping[str, Any]]:
    return {
        "get_graph, page 1": {"action": "get_graph", "limit": PAGE},
        "get_graph, page 100": {"action": "get_graph", "limit": PAGE, "offset": 99 * PAGE},
        "get_graph, page 100, edges to earlier pages": {
            "action": "get_graph", "limit": PAGE, "offset": 99 * PAGE, "edges": "before",
        },
        "get_graph of a chat that sees it all, page 1": {"action": "get_graph", "limit": PAGE, "chat_id": "graph"},
        "get_graph of a chat that sees it all, page 100": {
            "action": "get_graph", "limit": PAGE, "offset": 99 * PAGE, "chat_id": "graph",
        },
        "search, exact": {"action": "search", "query": hub},
        "search, part of a name": {"action": "search", "query": "de 77"},
        "node_detail of the hub": {"action": "node_detail", "node": hub},
    }  # fmt: skip


async def _fill(host: AMemorixHostService, nodes: int, edges: int) -> None:
    """Every node once, then relations between nodes of which low numbers are met more often."""
    dice = random.Random(1)
    ends = [(n, (n + 1) % nodes) for n in range(nodes)]
    ends += [(int(nodes * dice.random() ** 2), dice.randrange(nodes)) for _ in range(edges - nodes)]
    relations = [
        {"subject": f"node {a}", "predicate": dice.choice(PREDICATES), "object": f"node {b}"} for a, b in ends if a != b
    ]
    for at in range(0, len(relations), A_TEXT):
        args = {"external_id": f"part-{at}", "source_type": "graph", "chat_id": "graph", "text": f"Part {at}."}
        await answered(host, "ingest_text", {**args, "relations": relations[at : at + A_TEXT]})


async def _measured(host: AMemorixHostService, call: str, args: Mapping[str, Any], repeats: int) -> GraphTimes:
    await answered(host, "memory_graph_admin", dict(args))
    taken: list[float] = []
    async with heartbeat() as pulse:
        for _ in range(repeats):
            started = time.perf_counter()
            await answered(host, "memory_graph_admin", dict(args))
            taken.append((time.perf_counter() - started) * 1000)
    return _times(call, taken, pulse.longest)


async def _after_a_write(host: AMemorixHostService, repeats: int) -> GraphTimes:
    """The first page when an edge has just changed, so that the order is worked out anew."""
    taken: list[float] = []
    async with heartbeat() as pulse:
        for n in range(repeats):
            edge = {"action": "create_edge", "subject": f"node {n}", "predicate": "met", "object": f"node {n + 50}"}
            await answered(host, "memory_graph_admin", edge)
            started = time.perf_counter()
            await answered(host, "memory_graph_admin", {"action": "get_graph", "limit": PAGE})
            taken.append((time.perf_counter() - started) * 1000)
    return _times("get_graph, page 1, right after a write", taken, pulse.longest)


def _times(call: str, taken: list[float], stall: float) -> GraphTimes:
    return GraphTimes(call, round(percentile(taken, 50), 1), round(percentile(taken, 95), 1), stall)
