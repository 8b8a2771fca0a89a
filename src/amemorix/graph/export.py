"""The export of the graph, as GraphML or as node-link JSON, row by row."""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import os
from collections.abc import Iterable, Iterator
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO
from xml.sax.saxutils import escape, quoteattr

import numpy as np
from numpy.typing import NDArray

from ..clock import Clock
from ..errors import InvalidRequest, StorageFailure
from ..lazy_regex import lazy_regex
from ..store.access import Sight
from ..store.data_directory import EXPORTS
from ..store.metadata_store import MetadataStore, noted
from ..store.ports import Connection
from ..store.private_files import make_private, private_opener
from ..store.queries import optional_array
from . import rows as graph_rows
from .entity_lookup import find_node
from .requests import Export
from .responses import Exported
from .rows import EdgeRecord
from .view import GraphViewService

__all__ = ["GraphExportService"]

Ids = NDArray[np.int64]
Row = dict[str, Any]
INLINE = 2_000
"""Nodes and edges that come back in the answer."""
SUFFIX = {"graphml": ".graphml", "json": ".json"}
NODE_KEYS = {"name": "string", "type": "string", "created_at": "double"}
EDGE_KEYS = {
    "predicate": "string", "confidence": "double", "weight": "double", "origin": "string", "evidence_count": "int",
    "created_at": "double",
}  # fmt: skip
_NOT_XML = lazy_regex("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")


@dataclass(frozen=True, slots=True)
class _Selection:
    sight: Sight
    nodes: list[int] | None
    edges: list[int] | None
    size: int


class GraphExportService:
    """Writes what may be seen; a file appears when it is whole."""

    def __init__(self, store: MetadataStore, views: GraphViewService, *, clock: Clock, background: Executor) -> None:
        self._store = store
        self._views = views
        self._clock = clock
        self._background = background

    async def export(self, request: Export) -> Exported:
        """Export to the answer or to a file. Raises InvalidRequest for a path that leaves the folder of exports,
        NotFound for a node that is not there, StorageFailure if the file cannot be written."""
        path = self._path(request) if request.path else None
        loop = asyncio.get_running_loop()
        done = await loop.run_in_executor(
            self._background, self._store.read_here, lambda db: self._do(db, request, path)
        )
        if done.path:
            await noted(self._store, {"file": Path(done.path).name})
        return done

    def _do(self, db: Connection, request: Export, path: Path | None) -> Exported:
        chosen = self._chosen(db, request)
        if path is None and chosen.size > INLINE:
            path = self._home / f"graph-{int(self._clock.now() * 1000)}{SUFFIX[request.format]}"
        if path is not None and self._store.keys and not request.plain:
            raise InvalidRequest(
                "plain: this memory is encrypted, and the file would not be: ask for it with `plain`.", field="plain"
            )
        if path is not None:
            return self._to_file(db, request.format, chosen, path)
        text = io.StringIO()
        nodes, edges = self._write(db, request.format, chosen, text)
        whole = text.getvalue()
        answer = Exported(format=request.format, nodes=nodes, edges=edges, bytes=len(whole.encode()))
        if request.format == "json":
            answer.graph = json.loads(whole)
        else:
            answer.graphml = whole
        return answer

    @property
    def _home(self) -> Path:
        return self._store.folder / EXPORTS

    def _path(self, request: Export) -> Path:
        home = self._home.resolve()
        said = Path(request.path)
        path = (home / said).resolve()
        inside = not said.is_absolute() and ".." not in said.parts and home in path.parents
        if not inside or path.is_dir() or any(home in above.parents and above.is_file() for above in path.parents):
            raise InvalidRequest(
                f"path: {request.path!r} is no file below {EXPORTS}/ in the data directory.", field="path"
            )
        return path if path.suffix else path.with_suffix(SUFFIX[request.format])

    # what

    def _chosen(self, db: Connection, request: Export) -> _Selection:
        sight = self._views.sight(db, request)
        view = self._views.view(db, sight)
        if request.node:
            node = find_node(db, "node", request.node, sight)
            near = view.graph.around(node.id, request.depth)
            nodes = [seen.id for seen in graph_rows.nodes(db, near.tolist(), sight)]
            edges = view.graph.joining(near, near[:0])["id"]
            return _Selection(sight, nodes, edges.tolist(), len(nodes) + len(edges))
        if view.alone is None:
            size = graph_rows.entity_count(db) + view.standing.relations
            return _Selection(sight, None, None, size)
        linked = np.concatenate((view.standing.nodes, view.alone)).tolist()
        seen = [node.id for node in graph_rows.nodes(db, linked, sight)]
        return _Selection(sight, seen, view.graph.edges()["id"].tolist(), len(seen) + view.standing.relations)

    def _nodes(self, db: Connection, chosen: _Selection) -> Iterator[Row]:
        for id_, name, kind, created_at, _ in db.run("graph_export_nodes", ids=optional_array(chosen.nodes)):
            yield {"id": f"n{id_}", "name": name, "type": kind, "created_at": created_at}

    def _edges(self, db: Connection, chosen: _Selection) -> Iterator[Row]:
        among = None if chosen.nodes is None else set(chosen.nodes)
        for row in db.run("graph_export_edges", ids=optional_array(chosen.edges), **chosen.sight.values):
            edge = EdgeRecord(*row)
            if among is None or {edge.subject, edge.object} <= among:
                yield {
                    "source": f"n{edge.subject}", "target": f"n{edge.object}", "key": f"r{edge.id}",
                    "predicate": edge.predicate, "confidence": edge.confidence, "weight": edge.weight,
                    "origin": edge.origin, "evidence_count": edge.support, "created_at": edge.created_at,
                }  # fmt: skip

    # where to

    def _to_file(self, db: Connection, format_: str, chosen: _Selection, path: Path) -> Exported:
        unfinished = path.with_name(f".{path.name}.part")
        try:
            make_private(path.parent)
            with open(unfinished, "w", encoding="utf-8", opener=private_opener) as file:
                nodes, edges = self._write(db, format_, chosen, file)
                file.flush()
                os.fsync(file.fileno())
            unfinished.replace(path)
        except OSError as exc:
            raise StorageFailure(f"{path} cannot be written: {exc.strerror}.", file=str(path)) from exc
        finally:
            with contextlib.suppress(OSError):
                unfinished.unlink()
        return Exported(format=format_, nodes=nodes, edges=edges, path=str(path), bytes=path.stat().st_size)

    def _write(self, db: Connection, format_: str, chosen: _Selection, out: TextIO) -> tuple[int, int]:
        write = _graphml if format_ == "graphml" else _node_link
        return write(out, self._nodes(db, chosen), self._edges(db, chosen))


def _node_link(out: TextIO, nodes: Iterable[Row], edges: Iterable[Row]) -> tuple[int, int]:
    """Node-link JSON of a directed multigraph, as `networkx.node_link_graph(…, edges="edges")` reads it."""
    out.write('{"directed": true, "multigraph": true, "graph": {}, "nodes": [')
    written = [_listed(out, nodes)]
    out.write('], "edges": [')
    written.append(_listed(out, edges))
    out.write("]}")
    return written[0], written[1]


def _listed(out: TextIO, rows: Iterable[Row]) -> int:
    count = 0
    for count, row in enumerate(rows, 1):
        out.write(("" if count == 1 else ",\n") + json.dumps(row, ensure_ascii=False))
    return count


def _graphml(out: TextIO, nodes: Iterable[Row], edges: Iterable[Row]) -> tuple[int, int]:
    out.write('<?xml version="1.0" encoding="utf-8"?>\n<graphml xmlns="http://graphml.graphdrawing.org/xmlns">\n')
    for domain, keys in (("node", NODE_KEYS), ("edge", EDGE_KEYS)):
        for name, kind in keys.items():
            out.write(f'<key id="{domain}_{name}" for="{domain}" attr.name="{name}" attr.type="{kind}"/>\n')
    out.write('<graph edgedefault="directed">\n')
    counts = [0, 0]
    for node in nodes:
        counts[0] += 1
        out.write(f"<node id={quoteattr(node['id'])}>{_data('node', NODE_KEYS, node)}</node>\n")
    for edge in edges:
        counts[1] += 1
        ends = f"id={quoteattr(edge['key'])} source={quoteattr(edge['source'])} target={quoteattr(edge['target'])}"
        out.write(f"<edge {ends}>{_data('edge', EDGE_KEYS, edge)}</edge>\n")
    out.write("</graph>\n</graphml>\n")
    return counts[0], counts[1]


def _data(domain: str, keys: Iterable[str], row: Row) -> str:
    return "".join(f'<data key="{domain}_{key}">{escape(_NOT_XML.sub("", str(row[key])))}</data>' for key in keys)
