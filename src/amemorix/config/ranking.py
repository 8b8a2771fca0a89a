"""The settings of search."""

from __future__ import annotations

from typing import Literal

from .section import Section, live, rebuild

__all__ = ["Retrieval", "Weights"]


class Weights(Section):
    """Weights of the fused signals, each scaled to 0..1 before; those of the first candidates are in `rerank.weights`."""

    person: float = live(0.4, "The one person named in the query said it.", ge=0, le=10)
    paragraph: float = live(0.25, "BM25 of the paragraph.", ge=0, le=10)
    window: float = live(0.4, "BM25 of the paragraph with two neighbours on each side.", ge=0, le=10)
    session: float = live(0.2, "BM25 of the whole session.", ge=0, le=10)
    coverage: float = live(0.1, "Share of the query's weighted words in the window.", ge=0, le=10)
    dense: float = live(0.75, "Cosine of the vectors.", ge=0, le=10)
    topic: float = live(0.2, "Highest cosine in the session.", ge=0, le=10)
    reply: float = live(0.2, "The paragraph before is a question like the query.", ge=0, le=10)
    graph: float = live(
        0.6, "Personalised PageRank from the query's entities, or a relation near the query.", ge=0, le=10
    )
    time: float = live(
        0.8, "It happened on the day that the query names; half of it for another stretch of time.", ge=0, le=10
    )
    chronology: float = live(0.05, "It lies before or after the event that the query names, as asked.", ge=0, le=10)
    linked: float = live(
        0.05, "It shares a rare entity with one of the first hits, or one that is related to it.", ge=0, le=10
    )
    when: float = live(0.3, "A question about time meets a paragraph that speaks of time.", ge=0, le=10)
    answer: float = live(0.2, "A question for a name or a number meets a paragraph that holds one.", ge=0, le=10)
    question: float = live(0.1, "Taken off when the paragraph is itself a question.", ge=0, le=10)
    retention: float = live(
        0.1, "Taken off, times how much more it has faded than the freshest candidate (`[lifecycle]`).", ge=0, le=10
    )


class RerankWeights(Weights):
    """Weights of the same signals in the head of the ranking, and of the word-by-word comparison."""

    paragraph: float = live(0.0, "BM25 of the paragraph.", ge=0, le=10)
    window: float = live(0.12, "BM25 of the paragraph with two neighbours on each side.", ge=0, le=10)
    session: float = live(0.1, "BM25 of the whole session.", ge=0, le=10)
    coverage: float = live(0.25, "Share of the query's weighted words in the window.", ge=0, le=10)
    dense: float = live(0.25, "Cosine of the vectors.", ge=0, le=10)
    topic: float = live(0.27, "Highest cosine in the session.", ge=0, le=10)
    reply: float = live(0.12, "The paragraph before is a question like the query.", ge=0, le=10)
    answer: float = live(0.2, "A question for a name or a number meets a paragraph that holds one.", ge=0, le=10)
    question: float = live(0.13, "Taken off when the paragraph is itself a question.", ge=0, le=10)
    tokens: float = live(0.28, "Late interaction with the paragraph's words.", ge=0, le=10)
    words: float = live(0.6, "No effect any more: `tokens` compares Chinese, too.", ge=0, le=10)
    token_window: float = live(0.3, "Late interaction with the words of it and its neighbours.", ge=0, le=10)
    length: float = live(0.1, "It has more than a few words, or follows a question like the query.", ge=0, le=10)


class Rerank(Section):
    """The second look at the head of the ranking, with the vectors of single words."""

    enabled: bool = live(True, "Compare word by word, if the model gives word vectors.")
    depth: int = live(64, "How many of the first candidates are looked at again.", ge=1, le=1000)
    budget_ms: float = live(50.0, "After this long the head ends where it is.", gt=0, le=10_000)
    weights: RerankWeights = RerankWeights()


class Sparse(Section):
    """The lexical index."""

    enabled: bool = live(True, "Search by words at all.")
    backend: Literal["native", "fts5"] = rebuild(
        "native", "`native`. `fts5`, a SQLite file until 0.1.0, is served by it."
    )

    @property
    def notice(self) -> str:
        """What to say of a backend that is no more; empty otherwise."""
        gone = 'retrieval.sparse.backend = "fts5" is no more: the native index answers, with the same scores.'
        return gone if self.backend == "fts5" else ""


class Noise(Section):
    """What has hardly anything to do with the query is not returned."""

    enabled: bool = live(True, "Leave out what is clearly unrelated.")
    min_confidence: float = live(
        0.03, "Where no hit is as likely as this to answer the query, nothing is returned.", ge=0, le=1
    )
    min_relevance: float = live(0.5, "Not used any more: `min_confidence` decides.", ge=0, le=2)
    min_coverage: float = live(0.4, "Not used any more: `min_confidence` decides.", ge=0, le=1)


class Retrieval(Section):
    """How search finds and ranks."""

    candidates: int = live(80, "Candidates each lane may put forward.", ge=10, le=2000)
    lane_budget_ms: float = live(
        1000.0, "A lane whose statements run longer is left out and named in `degraded`.", gt=0, le=60_000
    )
    session_gap_minutes: float = live(360.0, "A pause this long begins a new session.", gt=0, le=100_000)
    session_max_paragraphs: int = live(200, "A session is closed at this length.", ge=10, le=2000)
    weights: Weights = Weights()
    rerank: Rerank = Rerank()
    sparse: Sparse = Sparse()
    noise: Noise = Noise()
