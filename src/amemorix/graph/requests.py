"""What a caller may ask of the graph."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AliasChoices, Field

from ..fields import AskingRequest, LetteredName, Name, Offset, OneOrMore, PathInput, RequiredName
from ..ops import Request

__all__ = [
    "AliasEdit", "ByHand", "CreateEdge", "CreateNode", "DeleteNode", "EdgeDetail", "EdgeEdit", "Export", "GetGraph",
    "GraphSight", "MergeNodes", "NodeDetail", "RenameNode", "SearchGraph", "SuggestMerges", "WeighEdge",
]  # fmt: skip

NODE = AliasChoices("node", "node_id", "name", "hash", "hash_or_name", "id")
RELATION = AliasChoices("relation", "relation_id", "hash", "id", "edge_id")
SOURCE = AliasChoices("source", "subject", "source_node")
TARGET = AliasChoices("target", "object", "target_node")


Key = Annotated[Name, Field(description="An id such as `n12`, or a name or alias.")]
RequiredKey = Annotated[RequiredName, Field(description="An id such as `n12`, or a name or alias.")]
LetteredKey = Annotated[LetteredName, Field(description="An id such as `n12`, or a name or alias.")]


class GraphSight(AskingRequest):
    """Who looks: only what rests on memories that this chat may see is shown; without any of them, everything is."""

    respect_filter: bool = Field(True, description="Apply the chat filter of the configuration.")


class GetGraph(GraphSight):
    """Which part of the graph."""

    limit: int = Field(200, ge=1, le=5_000, description="Most nodes.")
    offset: Offset = Field(0, description="Nodes to pass over, in this order.")
    order: Literal["importance", "recent", "name"] = Field(
        "importance", description="`importance`: the weights of a node's relations times the paragraphs behind them."
    )
    edges: Literal["among", "before"] = Field(
        "among",
        description="`among` the nodes of this page; `before`: also those that join them with earlier pages, so that "
        "all pages together hold every edge once.",
    )
    edge_limit: int = Field(2_000, ge=0, le=50_000, description="Most edges; the weightiest are kept.")


class SearchGraph(GraphSight):
    """What to look for."""

    query: LetteredName = Field(description="A name, an alias or a predicate, or a part of one.")
    limit: int = Field(50, ge=1, le=200)
    offset: int = Field(0, ge=0, le=100_000)
    kind: Literal["", "entity", "relation"] = Field("", description="Only these.")


class _Detail(GraphSight):
    relation_limit: int = Field(20, ge=1, le=500)
    paragraph_limit: int = Field(20, ge=1, le=500)
    evidence_node_limit: int = Field(80, ge=12, le=500, description="Most nodes of the evidence graph.")


class NodeDetail(_Detail):
    """The node."""

    node: RequiredKey = Field(validation_alias=NODE)


class _Edge(Request):
    relation: Name = Field("", validation_alias=RELATION, description="An id such as `r12`.")
    source: Key = Field("", validation_alias=SOURCE)
    target: Key = Field("", validation_alias=TARGET)
    predicate: Name = Field("", description="Only relations that say this.")


class EdgeDetail(_Edge, _Detail):
    """The edge: a relation by its id, or all relations from a source to a target."""


class ByHand(Request):
    """Who changes the graph, and why."""

    requested_by: Name = ""
    reason: Name = ""


class CreateNode(ByHand):
    """The node to make."""

    name: LetteredName = Field(validation_alias=AliasChoices("name", "node"))
    type: Name = Field("", validation_alias=AliasChoices("type", "kind"))
    aliases: list[LetteredName] = Field(default_factory=list, max_length=100)
    metadata: dict[str, Any] = Field(default_factory=dict)


class DeleteNode(ByHand):
    """The node to delete, with its relations."""

    node: RequiredKey = Field(validation_alias=NODE)


class RenameNode(ByHand):
    """The node and its new name; the old one becomes an alias."""

    node: RequiredKey = Field(
        validation_alias=AliasChoices("node", "old_name", "node_id", "name", "hash", "hash_or_name", "id")
    )
    new_name: LetteredName = Field(validation_alias=AliasChoices("new_name", "target_name"))
    merge: bool = Field(default=False, description="If another node has the name, become part of that one.")


class MergeNodes(ByHand):
    """Nodes that are one and the same."""

    sources: Annotated[list[RequiredName], OneOrMore] = Field(
        min_length=1, max_length=1_000, validation_alias=AliasChoices("sources", "source", "nodes"),
        description="Nodes that become part of the target: ids or names.",
    )  # fmt: skip
    target: RequiredKey = Field(validation_alias=AliasChoices("target", "target_node", "into"))


class AliasEdit(ByHand):
    """Another name of a node."""

    node: Key = Field("", validation_alias=NODE)
    alias: LetteredName


class SuggestMerges(GraphSight):
    """Where to look for nodes that may be one and the same."""

    node: Key = Field("", validation_alias=NODE)
    limit: int = Field(50, ge=1, le=1_000)
    offset: int = Field(0, ge=0, le=100_000)
    min_score: float = Field(0.5, ge=0, le=1)


class CreateEdge(ByHand):
    """The relation to make; its ends are made if they are new."""

    subject: LetteredKey = Field(validation_alias=AliasChoices("subject", "source"))
    predicate: RequiredName = Field(validation_alias=AliasChoices("predicate", "relation", "label"))
    object: LetteredKey = Field(validation_alias=AliasChoices("object", "target"))
    confidence: float = Field(1.0, ge=0, le=1)
    weight: float | None = Field(None, gt=0, le=1_000, description="1 for a new relation if not given.")
    paragraphs: Annotated[list[RequiredName], OneOrMore] = Field(
        default_factory=list, max_length=1_000,
        validation_alias=AliasChoices("paragraphs", "paragraph", "source_paragraph", "paragraph_ids"),
        description="Paragraphs that say it; without any it is asserted by hand, and only the host sees it.",
    )  # fmt: skip


class EdgeEdit(_Edge, ByHand):
    """An edge: a relation by its id, or all relations from a source to a target."""


class WeighEdge(EdgeEdit):
    """An edge and its weight."""

    weight: float = Field(
        gt=0, le=1_000, description="1 is what every relation begins with; the walk of search uses it."
    )


class UndoGraphEdit(ByHand):
    """The change to undo."""

    undo_id: RequiredName = Field(
        validation_alias=AliasChoices("undo_id", "id", "operation_id"), description="As in the answer of the change."
    )


class ListUndo(Request):
    """Which changes to list."""

    limit: int = Field(50, ge=1, le=500)
    offset: Offset = 0
    include_undone: bool = False


class Export(GraphSight):
    """What to export, and where to."""

    format: Literal["graphml", "json"] = "graphml"
    node: Key = Field("", validation_alias=NODE)
    depth: int = Field(2, ge=0, le=6, description="With `node`: steps away from it.")
    path: PathInput = Field("", description="A file below `exports/` in the data directory; without one, small graphs come back "
                       "in the answer and large ones go to a file of their own.")  # fmt: skip
    plain: bool = Field(False, description="Write a file in the clear though the memory is encrypted.")
