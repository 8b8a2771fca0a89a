"""Plain BM25 over single turns: what any memory has to beat."""

from __future__ import annotations

import heapq
import math
from collections import Counter, defaultdict
from collections.abc import Sequence

from ..text import query_terms, tokens

__all__ = ["BM25Floor"]

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
