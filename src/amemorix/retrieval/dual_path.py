"""The search for paragraphs: lanes, gate, fusion, cut, a second look at the head."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from ..ports import SparseScores
from ..signs import CJK
from ..storage.embeddings import EmbeddingRepository
from ..storage.names import NameRepository
from ..storage.paragraphs import Candidate, ParagraphRepository
from ..text import fold
from .fusion import Fused, candidates, fuse
from .lanes import DenseScores, Lanes, dense_lane, empty_scores, graph_lane, person_lane, sparse_lane, time_lane
from .plan import SearchPlan
from .rerank import Reranked, Reranker
from .signals import Evidence, gather
from .threshold import cut

__all__ = ["DualPathRetriever", "Lexical", "Ranking"]

Ids = NDArray[np.int64]
T = TypeVar("T")
log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Ranking:
    """Candidates in order, and the lanes that did not answer."""

    fused: Fused
    degraded: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Lexical:
    """What the sparse lane scored, within the ids that the window and the person allow (None: all)."""

    allow: Ids | None
    scores: SparseScores
    failed: tuple[str, ...]


class DualPathRetriever:
    """Finds by words, by meaning and over the graph at once; the row decides what may be seen."""

    def __init__(self, names: NameRepository, paragraphs: ParagraphRepository, embeddings: EmbeddingRepository) -> None:
        self._names = names
        self._paragraphs = paragraphs
        self._reranker = Reranker(embeddings, paragraphs)

    def lexical(self, db: sqlite3.Connection, lanes: Lanes, plan: SearchPlan) -> Lexical:
        """What the words find: all that can be done while the query's vector is still being made."""
        allow = self._allowed(db, plan)
        if not plan.settings.sparse.enabled:
            return Lexical(allow, empty_scores(), ())
        try:
            return Lexical(allow, sparse_lane(lanes, plan, allow), ())
        except Exception:
            log.exception("the sparse lane failed")
            return Lexical(allow, empty_scores(), ("sparse",))

    def rank(self, db: sqlite3.Connection, lanes: Lanes, plan: SearchPlan, lexical: Lexical) -> Ranking:
        """Rank what may be seen; at most a few hundred candidates."""
        failed = [*plan.degraded, *lexical.failed]
        allow, sparse = lexical.allow, lexical.scores

        def run(name: str, lane: Callable[[], T], otherwise: T) -> T:
            try:
                return lane()
            except Exception:
                log.exception("the %s lane failed", name)
                failed.append(name)
                return otherwise

        nothing, nobody = DenseScores(np.zeros(0, np.int64), np.zeros(0, np.float32), 0.0), np.zeros(0, np.int64)
        dense = run("dense", lambda: dense_lane(db, lanes, self._paragraphs, plan, sparse, allow), nothing)
        graph = run("graph", lambda: graph_lane(db, lanes, self._names, self._paragraphs, plan), {})
        person = run("person", lambda: person_lane(db, self._paragraphs, plan), nobody)
        time = run("time", lambda: time_lane(db, self._paragraphs, plan), nobody)
        supported = np.fromiter(graph, np.int64, len(graph))
        found = candidates(sparse, dense, [supported, person, time], plan.settings.candidates)
        if allow is not None:
            found = np.intersect1d(found, allow, assume_unique=True)
        visible = list(self._paragraphs.gate(db, found, plan.scopes, plan.now).values())
        fused = self._fused(db, plan, visible, sparse, dense, graph)
        fused = cut(fused, plan, _in_another_language(visible, plan))
        head = run("rerank", lambda: self._reranker.rerank(db, plan, fused, sparse), Reranked(fused))
        if head.late:
            failed.append("rerank")
        return Ranking(head.fused, tuple(dict.fromkeys(failed)))

    def _allowed(self, db: sqlite3.Connection, plan: SearchPlan) -> Ids | None:
        """Sorted ids that meet the time window and the person asked for; None if neither restricts."""
        sets: list[Ids] = []
        if plan.window is not None:
            sets.append(self._paragraphs.in_window(db, plan.window.start, plan.window.end, plan.scopes))
        if plan.persons is not None:
            sets.append(self._paragraphs.of_persons(db, plan.persons))
        if not sets:
            return None
        return sets[0] if len(sets) == 1 else np.intersect1d(*sets, assume_unique=True)

    def _fused(
        self,
        db: sqlite3.Connection,
        plan: SearchPlan,
        visible: Sequence[Candidate],
        sparse: SparseScores,
        dense: DenseScores,
        graph: dict[int, float],
    ) -> Fused:
        evidence = Evidence(
            sparse, dense, graph,
            mentions=lambda unsaid: self._mentions(db, plan, unsaid),
            questions=lambda ids: self._paragraphs.questions(db, ids),
        )  # fmt: skip
        ids = np.array([c.id for c in visible], np.int64)
        return fuse(ids, gather(plan, visible, evidence), plan.settings.weights, sparse, dense)

    def _mentions(self, db: sqlite3.Connection, plan: SearchPlan, unsaid: Sequence[Candidate]) -> NDArray[np.float32]:
        """1 for each candidate whose text holds the name that the query holds."""
        names = [fold(name) for name in plan.query.names] if plan.query else []
        texts = self._paragraphs.contents(db, [c.id for c in unsaid])
        return np.array([any(name in fold(texts.get(c.id, "")) for name in names) for c in unsaid], np.float32)


def _in_another_language(visible: Sequence[Candidate], plan: SearchPlan) -> list[int]:
    """Ids of Chinese, Japanese and Korean candidates for a query in words, and of the others for one in those."""
    cjk = plan.query is not None and plan.query.cjk
    return [c.id for c in visible if bool(c.flags & CJK) != cjk]
