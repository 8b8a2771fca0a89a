"""`memory_graph_admin`: look at entities and relations, change them by hand, and undo that."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from ..audit_context import naming
from ..ingest.relations import RelationWriteService
from ..ops import Operations
from ..store.ports import Connection
from ..store.rows import undo_records
from . import edit, requests, responses
from . import search as graph_search
from . import undo as graph_undo
from .edit import Changed, Edit

if TYPE_CHECKING:
    from ..host.kernel import SDKMemoryKernel

__all__ = ["ops"]

ops: Operations[SDKMemoryKernel] = Operations()
COMPONENT = "memory_graph_admin"
MOST_NAMED = 20
"""Relations that the audit names; the record of the change holds all of them."""
Asked = TypeVar("Asked", bound=requests.ByHand)


@ops.operation(COMPONENT, "get_graph", "get", "list")
async def get_graph(kernel: SDKMemoryKernel, request: requests.GetGraph) -> responses.GraphPage:
    """Page through the graph, the most important nodes first."""
    return await kernel.store.read(lambda db: kernel.graph.page(db, request))


@ops.operation(COMPONENT, "search")
async def search(kernel: SDKMemoryKernel, request: requests.SearchGraph) -> responses.Found:
    """Find entities and relations by name, alias or predicate."""
    return await kernel.store.read(lambda db: graph_search.search(db, kernel.graph, request))


@ops.operation(COMPONENT, "node_detail", "get_node")
async def node_detail(kernel: SDKMemoryKernel, request: requests.NodeDetail) -> responses.NodeAnswer:
    """Show a node with its relations and paragraphs."""
    return await kernel.store.read(lambda db: kernel.graph.node(db, request))


@ops.operation(COMPONENT, "edge_detail", "get_edge")
async def edge_detail(kernel: SDKMemoryKernel, request: requests.EdgeDetail) -> responses.EdgeAnswer:
    """Show the relations from one node to another, with what supports them."""
    return await kernel.store.read(lambda db: kernel.graph.edge(db, request))


@ops.operation(COMPONENT, "create_node", effect="write")
async def create_node(kernel: SDKMemoryKernel, request: requests.CreateNode) -> responses.Change:
    """Make a node."""
    return await _changed(kernel, edit.create_node, request)


@ops.operation(COMPONENT, "delete_node", effect="destructive")
async def delete_node(kernel: SDKMemoryKernel, request: requests.DeleteNode) -> responses.Change:
    """Delete a node with its relations; `undo` brings all of them back."""
    return await _changed(kernel, edit.delete_node, request)


@ops.operation(COMPONENT, "rename_node", effect="write")
async def rename_node(kernel: SDKMemoryKernel, request: requests.RenameNode) -> responses.Change:
    """Rename a node; its old name becomes an alias."""
    return await _changed(kernel, edit.rename_node, request)


@ops.operation(COMPONENT, "merge_nodes", effect="write")
async def merge_nodes(kernel: SDKMemoryKernel, request: requests.MergeNodes) -> responses.Change:
    """Make several nodes one; their names go on to mean it."""
    return await _changed(kernel, edit.merge_nodes, request)


@ops.operation(COMPONENT, "add_alias", effect="write")
async def add_alias(kernel: SDKMemoryKernel, request: requests.AliasEdit) -> responses.Change:
    """Let a node go by another name too."""
    return await _changed(kernel, edit.add_alias, request)


@ops.operation(COMPONENT, "remove_alias", effect="write")
async def remove_alias(kernel: SDKMemoryKernel, request: requests.AliasEdit) -> responses.Change:
    """Let a node no longer go by an alias."""
    return await _changed(kernel, edit.remove_alias, request)


@ops.operation(COMPONENT, "suggest_merges")
async def suggest_merges(kernel: SDKMemoryKernel, request: requests.SuggestMerges) -> responses.MergeSuggestions:
    """Name pairs of nodes that may be one and the same."""
    return await kernel.merge_suggestions.suggest(request)


@ops.operation(COMPONENT, "create_edge", effect="write")
async def create_edge(kernel: SDKMemoryKernel, request: requests.CreateEdge) -> responses.Change:
    """Make a relation, on paragraphs or by hand."""
    return await _changed(kernel, edit.create_edge, request)


@ops.operation(COMPONENT, "delete_edge", effect="destructive")
async def delete_edge(kernel: SDKMemoryKernel, request: requests.EdgeEdit) -> responses.Change:
    """Delete a relation, or all from one node to another; `undo` brings them back."""
    return await _changed(kernel, edit.delete_edge, request)


@ops.operation(COMPONENT, "update_edge_weight", "set_edge_weight", effect="write")
async def update_edge_weight(kernel: SDKMemoryKernel, request: requests.WeighEdge) -> responses.Change:
    """Say how much relations weigh in the walk of search and in the order of nodes."""
    return await _changed(kernel, edit.weigh_edge, request)


@ops.operation(COMPONENT, "undo", effect="write")
async def undo(kernel: SDKMemoryKernel, request: requests.UndoGraphEdit) -> responses.Undone:
    """Undo a change: the rows are exactly as they were."""
    now = kernel.surroundings.clock.now()
    record = await kernel.store.write(lambda db: graph_undo.undo(db, request.undo_id, now))
    return responses.Undone(undo_id=f"u{record.id}", kind=record.kind, undone_at=now)


@ops.operation(COMPONENT, "list_undo")
async def list_undo(kernel: SDKMemoryKernel, request: requests.ListUndo) -> responses.UndoList:
    """List the changes that can be undone."""

    def read(db: Connection) -> responses.UndoList:
        undone = request.include_undone
        items: list[responses.UndoItem] = []
        records = undo_records.listed(db, graph_undo.KINDS, undone=undone, limit=request.limit, offset=request.offset)
        for row in records:
            later = None if row.undone_at is not None else graph_undo.later(db, row)
            items.append(
                responses.UndoItem(
                    undo_id=f"u{row.id}",
                    kind=row.kind,
                    summary=graph_undo.sentence(db, row),
                    requested_by=row.requested_by,
                    reason=row.reason,
                    created_at=row.created_at,
                    undone_at=row.undone_at,
                    undo_first=f"u{later}" if later else "",
                )
            )
        return responses.UndoList(
            items=items, count=len(items), total=undo_records.count(db, graph_undo.KINDS, undone=undone)
        )

    return await kernel.store.read(read)


@ops.operation(COMPONENT, "export", effect="write", role="admin")
async def export(kernel: SDKMemoryKernel, request: requests.Export) -> responses.Exported:
    """Export the graph as GraphML or node-link JSON; a large one to a file below `exports/`."""
    return await kernel.graph_export.export(request)


async def _changed(
    kernel: SDKMemoryKernel, change: Callable[[Edit, Asked], Changed], request: Asked
) -> responses.Change:
    """Make a change in one transaction, and let the audit say to which node and relations it was done."""
    name = naming()

    def unit(db: Connection) -> Changed:
        now, relations = kernel.surroundings.clock.now(), RelationWriteService(kernel.store)
        done = change(Edit(db, now, request.requested_by, request.reason, relations), request)
        touched = ",".join(f"r{id_}" for id_ in done.relations[:MOST_NAMED])
        name(node=f"n{done.node}" if done.node else "", relations=touched)
        return done

    done = await kernel.store.write(unit)
    node, relations = await kernel.store.read(lambda db: kernel.graph.changed(db, done.node, done.relations))
    return responses.Change(
        changed=done.made or done.count > 0,
        created=done.made,
        node=node,
        relations=relations,
        relation_ids=[f"r{id_}" for id_ in done.relations],
        count=done.count,
        undo_id=f"u{done.undo}" if done.undo else "",
        warnings=list(done.warnings),
    )
