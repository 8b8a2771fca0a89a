"""What is told of the graph."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, Field

from ..ops import Response, ScopedResponse

__all__ = [
    "Change", "EdgeAnswer", "EdgeItem", "EvidenceGraph", "EvidenceLink", "EvidenceNode", "Exported", "Found", "FoundItem",
    "GraphPage", "MergeSuggestion", "MergeSuggestions", "NodeAnswer", "NodeItem", "ParagraphItem", "RelationItem",
]  # fmt: skip


class NodeItem(BaseModel, defer_build=True):
    """A node; `weight` is its importance."""

    id: str
    name: str
    type: str = ""
    weight: float = 0.0
    degree: int = Field(default=0, description="Relations that begin or end here.")
    evidence_count: int = Field(default=0, description="Paragraphs behind them.")
    created_at: float = 0.0


class EdgeItem(BaseModel, defer_build=True):
    """All relations from one node to another."""

    source: str
    target: str
    weight: float = Field(default=0.0, description="Sum of confidence times weight.")
    label: str = Field(default="", description="What they say, the best supported first.")
    predicates: list[str] = Field(default_factory=list)
    relation_ids: list[str] = Field(default_factory=list)
    relation_count: int = 0
    evidence_count: int = 0
    ended_at: float | None = Field(default=None, description="Always null: relations end by being deleted.")


class GraphPage(ScopedResponse):
    """A page of nodes in order, and the edges among them."""

    nodes: list[NodeItem] = Field(default_factory=list)
    edges: list[EdgeItem] = Field(default_factory=list)
    total_nodes: int = 0
    total_edges: int = Field(default=0, description="Ordered pairs of nodes with a relation.")
    total_relations: int = 0
    offset: int = 0
    limit: int = 0
    next_offset: int | None = Field(default=None, description="Where the next page begins; null at the end.")
    edges_left_out: int = Field(default=0, description="Relations of this page beyond `edge_limit`.")


class RelationItem(BaseModel, defer_build=True):
    """A relation."""

    id: str
    subject: str
    subject_id: str
    predicate: str
    object: str
    object_id: str = Field(description="Empty of what is no node.")
    text: str = ""
    confidence: float = 1.0
    weight: float = 1.0
    origin: str = Field(
        default="caller", description="`caller`, `rule`, `model`; `admin`: asserted by hand; `fact`: a view of a fact."
    )
    evidence_count: int = 0
    created_at: float = 0.0
    ended_at: float | None = Field(default=None, description="Always null: a relation ends by being deleted.")


class ParagraphItem(BaseModel, defer_build=True):
    """A paragraph that supports what was asked for."""

    id: str
    content: str
    source: str = ""
    chat_id: str = ""
    external_id: str = ""
    time_start: float | None = None
    time_end: float | None = None
    recorded_at: float = 0.0


class EvidenceNode(BaseModel, defer_build=True):
    """An entity, a relation or a paragraph."""

    id: str
    type: str
    label: str


class EvidenceLink(BaseModel, defer_build=True):
    """`subject`, `object`: an entity at an end of a relation; `supports`: a paragraph behind a relation; `mentions`: a
    paragraph that is linked to an entity."""

    source: str
    target: str
    kind: str


class EvidenceGraph(BaseModel, defer_build=True):
    """Paragraphs, what they support, and the entities that are joined by it."""

    nodes: list[EvidenceNode] = Field(default_factory=list)
    edges: list[EvidenceLink] = Field(default_factory=list)


class NodeAnswer(ScopedResponse):
    """A node with what is known of it."""

    node: NodeItem | None = None
    aliases: list[str] = Field(default_factory=list, description="Only shown to the host.")
    former_names: list[str] = Field(default_factory=list, description="Of nodes that became part of it; the host's.")
    metadata: dict[str, Any] = Field(default_factory=dict, description="Only shown to the host.")
    relations: list[RelationItem] = Field(default_factory=list, description="The best supported first.")
    relation_count: int = 0
    known: list[RelationItem] = Field(
        default_factory=list,
        description="Of a person: partner, children, pets, work and school as the facts have them, each as `fact:f7`; no "
        "relations of the graph, and changed by correcting the fact (`memory_fact_admin`).",
    )
    paragraphs: list[ParagraphItem] = Field(default_factory=list, description="The newest first.")
    paragraph_count: int = 0
    evidence_graph: EvidenceGraph = Field(default_factory=EvidenceGraph)


class EdgeAnswer(ScopedResponse):
    """The relations from one node to another, with what supports them."""

    edge: EdgeItem | None = None
    relations: list[RelationItem] = Field(default_factory=list)
    paragraphs: list[ParagraphItem] = Field(default_factory=list)
    evidence_graph: EvidenceGraph = Field(default_factory=EvidenceGraph)


class FoundItem(BaseModel, defer_build=True):
    """An entity or a relation."""

    type: str = Field(description="`entity` or `relation`.")
    id: str
    name: str
    matched_field: str = Field(description="`name`, `alias`, `predicate`, `subject` or `object`.")
    matched_text: str = ""
    match: str = Field(description="`exact`, `prefix` or `contains`.")
    entity_type: str = ""
    relation: RelationItem | None = None


class Found(ScopedResponse):
    """What was found, exact matches first, then those that begin like it, then those that hold it."""

    items: list[FoundItem] = Field(default_factory=list)
    count: int = 0
    more: bool = Field(default=False, description="There is more beyond this page.")


class MergeSuggestion(BaseModel, defer_build=True):
    """Two nodes that may be one and the same."""

    source: NodeItem
    target: NodeItem = Field(description="The one that is better known.")
    score: float
    reasons: list[str] = Field(
        description="`same_form`: alike but for punctuation and spaces; `contains`: one name within the other; "
        "`alike`: names that share most pairs of characters; `shared_neighbours:N`."
    )


class MergeSuggestions(ScopedResponse):
    """Pairs, the likeliest first; nothing is merged by itself."""

    items: list[MergeSuggestion] = Field(default_factory=list)
    total: int = 0


class Change(Response):
    """What a change by hand came to."""

    changed: bool = False
    created: bool = False
    node: NodeItem | None = None
    relations: list[RelationItem] = Field(default_factory=list, description="Those made or changed that live.")
    relation_ids: list[str] = Field(default_factory=list)
    count: int = Field(default=0, description="Rows that were made, changed, merged or deleted.")
    undo_id: str = Field(default="", description="For `undo`; empty where nothing is to be undone.")


class UndoItem(BaseModel, defer_build=True):
    """A change by hand."""

    undo_id: str
    kind: str
    summary: str
    requested_by: str = ""
    reason: str = ""
    created_at: float
    undone_at: float | None = None
    undo_first: str = Field(default="", description="The later change that has to be undone before.")


class UndoList(Response):
    """Changes by hand, the newest first."""

    items: list[UndoItem] = Field(default_factory=list)
    count: int = 0
    total: int = 0


class Undone(Response):
    """What was undone."""

    undo_id: str = ""
    kind: str = ""
    undone_at: float | None = None


class Exported(ScopedResponse):
    """The graph, in the answer or in a file."""

    format: str = ""
    nodes: int = 0
    edges: int = 0
    path: str = Field(default="", description="The file it was written to; empty if it is in the answer.")
    bytes: int = 0
    graphml: str = ""
    graph: dict[str, Any] = Field(default_factory=dict, description="Node-link JSON, as networkx reads it.")
