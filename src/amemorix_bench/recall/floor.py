"""Plain BM25 over single turns: what any memory has to beat."""

from __future__ import annotations

import heapq
import math
from collections import Counter, defaultdict
from collections.abc import Sequence

from amemorix.language.normalise import query_terms, tokens

from .dataset import Corpus, Dataset, Question

__all__ = ["BM25Floor", "Floors"]

K1, B = 1.2, 0.75


class BM25Floor:
    """Okapi BM25 (Robertson and Zaragoza 2009, section 3) over (id, text) pairs, with this package's terms."""

    def __init__(self, documents: Sequence[tuple[str, str]]) -> None:
        self._ids = [id_ for id_, _ in documents]
        self._postings: dict[str, list[tuple[int, float]]] = defaultdict(list)
        counts = [Counter(tokens(text)) for _, text in documents]
        lengths = [sum(count.values()) for count in counts]
        mean = sum(lengths) / max(len(lengths), 1) or 1.0
        for row, (count, length) in enumerate(zip(counts, lengths, strict=True)):
            norm = K1 * (1 - B + B * length / mean)
            for term, occurrences in count.items():
                self._postings[term].append((row, occurrences * (K1 + 1) / (occurrences + norm)))

    def search(self, query: str, limit: int) -> list[str]:
        """Ids of the `limit` best documents, best first; documents without a term of the query are left out."""
        scores: dict[int, float] = defaultdict(float)
        for term in query_terms(query):
            held = self._postings.get(term, [])
            idf = math.log(1 + (len(self._ids) - len(held) + 0.5) / (len(held) + 0.5))
            for row, weight in held:
                scores[row] += idf * weight
        best = heapq.nlargest(limit, scores, key=lambda row: (scores[row], -row))
        return [self._ids[row] for row in best]


class Floors:
    """BM25 over the turns of each corpus, or over those of all of them; what was asked once is remembered."""

    def __init__(self, dataset: Dataset, *, merged: bool) -> None:
        self._corpora = dataset.corpora
        self._merged = merged
        self._built: tuple[str, BM25Floor] | None = None
        self._answers: dict[tuple[str, str], list[str]] = {}

    def search(self, corpus: Corpus, question: Question, limit: int) -> list[str]:
        """Keys of the best turns for a question about a corpus, best first."""
        asked = corpus.key(question.id), question.text
        if asked not in self._answers:
            self._answers[asked] = self._over(corpus).search(question.text, limit)
        return self._answers[asked]

    def _over(self, corpus: Corpus) -> BM25Floor:
        """Only the last one is kept: questions come corpus by corpus."""
        name = "" if self._merged else corpus.id
        if self._built is None or self._built[0] != name:
            self._built = name, _floor(self._corpora if self._merged else [corpus])
        return self._built[1]


def _floor(corpora: Sequence[Corpus]) -> BM25Floor:
    return BM25Floor([(c.key(turn.id), f"{turn.speaker}: {turn.text}") for c in corpora for turn in c.turns])
