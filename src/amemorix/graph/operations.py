"""`memory_graph_admin`: look at entities and relations, change them by hand, and undo that."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..ops import Operations
from .edit import Changed
from .requests import (
    AliasEdit,
    CreateEdge,
    CreateNode,
    DeleteNode,
    EdgeDetail,
    EdgeEdit,
    Export,
    GetGraph,
    ListUndo,
    MergeNodes,
    NodeDetail,
    RenameNode,
    SearchGraph,
    SuggestMerges,
    Undo,
    WeighEdge,
)
from .responses import (
    Change,
    EdgeAnswer,
    Exported,
    Found,
    GraphPage,
    MergeSuggestions,
    NodeAnswer,
    UndoItem,
    UndoList,
    Undone,
)

if TYPE_CHECKING:
    from ..host.kernel import SDKMemoryKernel

__all__ = ["ops"]

ops: Operations[SDKMemoryKernel] = Operations()
COMPONENT = "memory_graph_admin"


@ops.operation(COMPONENT, "get_graph", "get", "list")
async def get_graph(kernel: SDKMemoryKernel, request: GetGraph) -> GraphPage:
    """Page through the graph, the most important nodes first."""
    return await kernel.graph.page(request)


@ops.operation(COMPONENT, "search")
async def search(kernel: SDKMemoryKernel, request: SearchGraph) -> Found:
    """Find entities and relations by name, alias or predicate."""
    return await kernel.graph_search.search(request)


@ops.operation(COMPONENT, "node_detail", "get_node")
async def node_detail(kernel: SDKMemoryKernel, request: NodeDetail) -> NodeAnswer:
    """Show a node with its relations and paragraphs."""
    return await kernel.graph.node(request)


@ops.operation(COMPONENT, "edge_detail", "get_edge")
async def edge_detail(kernel: SDKMemoryKernel, request: EdgeDetail) -> EdgeAnswer:
    """Show the relations from one node to another, with what supports them."""
    return await kernel.graph.edge(request)


@ops.operation(COMPONENT, "create_node", effect="write")
async def create_node(kernel: SDKMemoryKernel, request: CreateNode) -> Change:
    """Make a node."""
    return await _told(kernel, await kernel.graph_edits.create_node(request))


@ops.operation(COMPONENT, "delete_node", effect="destructive")
async def delete_node(kernel: SDKMemoryKernel, request: DeleteNode) -> Change:
    """Delete a node with its relations; `undo` brings all of them back."""
    return await _told(kernel, await kernel.graph_edits.delete_node(request))


@ops.operation(COMPONENT, "rename_node", effect="write")
async def rename_node(kernel: SDKMemoryKernel, request: RenameNode) -> Change:
    """Rename a node; its old name becomes an alias."""
    return await _told(kernel, await kernel.graph_edits.rename_node(request))


@ops.operation(COMPONENT, "merge_nodes", effect="write")
async def merge_nodes(kernel: SDKMemoryKernel, request: MergeNodes) -> Change:
    """Make several nodes one; their names go on to mean it."""
    return await _told(kernel, await kernel.graph_edits.merge_nodes(request))


@ops.operation(COMPONENT, "add_alias", effect="write")
async def add_alias(kernel: SDKMemoryKernel, request: AliasEdit) -> Change:
    """Let a node go by another name too."""
    return await _told(kernel, await kernel.graph_edits.add_alias(request))


@ops.operation(COMPONENT, "remove_alias", effect="write")
async def remove_alias(kernel: SDKMemoryKernel, request: AliasEdit) -> Change:
    """Let a node no longer go by an alias."""
    return await _told(kernel, await kernel.graph_edits.remove_alias(request))


@ops.operation(COMPONENT, "suggest_merges")
async def suggest_merges(kernel: SDKMemoryKernel, request: SuggestMerges) -> MergeSuggestions:
    """Name pairs of nodes that may be one and the same."""
    return await kernel.merge_suggestions.suggest(request)


@ops.operation(COMPONENT, "create_edge", effect="write")
async def create_edge(kernel: SDKMemoryKernel, request: CreateEdge) -> Change:
    """Make a relation, on paragraphs or by hand."""
    return await _told(kernel, await kernel.graph_edits.create_edge(request))


@ops.operation(COMPONENT, "delete_edge", effect="destructive")
async def delete_edge(kernel: SDKMemoryKernel, request: EdgeEdit) -> Change:
    """Delete a relation, or all from one node to another; `undo` brings them back."""
    return await _told(kernel, await kernel.graph_edits.delete_edge(request))


@ops.operation(COMPONENT, "update_edge_weight", "set_edge_weight", effect="write")
async def update_edge_weight(kernel: SDKMemoryKernel, request: WeighEdge) -> Change:
    """Say how much relations weigh in the walk of search and in the order of nodes."""
    return await _told(kernel, await kernel.graph_edits.weigh_edge(request))


@ops.operation(COMPONENT, "undo", effect="write")
async def undo(kernel: SDKMemoryKernel, request: Undo) -> Undone:
    """Undo a change: the rows are exactly as they were."""
    record = await kernel.graph_undo.undo(request.undo_id)
    return Undone(undo_id=f"u{record.id}", kind=record.kind, undone_at=kernel.surroundings.clock.now())


@ops.operation(COMPONENT, "list_undo")
async def list_undo(kernel: SDKMemoryKernel, request: ListUndo) -> UndoList:
    """List the changes that can be undone."""
    page = await kernel.graph_undo.list(undone=request.include_undone, limit=request.limit, offset=request.offset)
    items = [
        UndoItem(
            undo_id=f"u{row.id}",
            kind=row.kind,
            summary=sentence,
            requested_by=row.requested_by,
            reason=row.reason,
            created_at=row.created_at,
            undone_at=row.undone_at,
            undo_first=f"u{later}" if later else "",
        )
        for row, sentence, later in page.records
    ]
    return UndoList(items=items, count=len(items), total=page.total)


@ops.operation(COMPONENT, "export", effect="write", role="admin")
async def export(kernel: SDKMemoryKernel, request: Export) -> Exported:
    """Export the graph as GraphML or node-link JSON; a large one to a file below `exports/`."""
    return await kernel.graph_export.export(request)


async def _told(kernel: SDKMemoryKernel, changed: Changed) -> Change:
    node, relations = await kernel.graph.changed(changed.node, changed.relations)
    return Change(
        changed=changed.made or changed.count > 0,
        created=changed.made,
        node=node,
        relations=relations,
        relation_ids=[f"r{id_}" for id_ in changed.relations],
        count=changed.count,
        undo_id=f"u{changed.undo}" if changed.undo else "",
        warnings=list(changed.warnings),
    )
