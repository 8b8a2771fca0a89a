"""Which statements of a person a query asks for: by the hits they rest on, the words they share, and what is asked."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from ..language.normalise import fold, tokens
from ..language.stopwords import VAGUE
from ..lazy_regex import lazy_regex
from .language.slots import FAVOURITE, SLOTS, STATEMENT
from .rows import FactRow
from .word_lists import any_of, read_lists

__all__ = ["Question", "ranked", "read_question"]

NEAR, NEAR_LEAST = 2.0, 0.3
"""What it counts that a statement is near in meaning to what is asked, and the cosine from which on it is: one in a hundred
statements of other matters reaches it."""
SLOT, KIND, WORDS, HIT, DENIED = 2.0, 1.0, 1.0, 1.5, 0.001
"""What it counts that a query asks for an attribute, or for a kind of statement, that a statement holds all of its words,
that it rests on the first hit, and that it is denied."""
OF_ANOTHER = 0.5
"""What is left of all that where somebody asks for himself, and the statement is about another."""
QUESTIONS_FILE = "questions.toml"
_WHO = lazy_regex(
    r"\bwho(?:'s|\s+is|\s+am)\b\W*$|\btell me (?:more |something |everything )?about\b\W*$|\bwhat do (?:you|we) know\b|\bwhat is known\b"
    r"|^\W*是谁|谁是\W*$|什么人\W*$|^\W*介绍|[的]?(?:资料|情况|信息|档案)\W*$|(?:知道|了解)\W*(?:什么|哪些|多少)?\W*$",
    re.I,
)
"""Anything about somebody."""


@dataclass(frozen=True, slots=True)
class _Ask:
    words: re.Pattern[str]
    attributes: frozenset[str]
    kinds: frozenset[str]
    denied: bool | None
    takes: bool
    last: bool


@cache
def _asks() -> tuple[_Ask, ...]:
    rows: list[dict[str, Any]] = read_lists(QUESTIONS_FILE)["question"]
    return tuple(
        _Ask(
            any_of(row["words"], row.get("pattern", "")), frozenset(row.get("attributes", ())), frozenset(row.get("kinds", ())),
            row.get("denied"), row.get("takes", False), row.get("last", False),
        )
        for row in rows
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Question:
    """What a query without the names of persons asks for."""

    text: str
    """Folded."""
    asked: tuple[_Ask, ...]
    words: frozenset[str]
    """Its words of two characters or more, without those that ask for something."""
    of_everything: bool

    def relevance(self, row: FactRow) -> float:
        """How much it asks for a fact: by its attribute or kind, and by the words of its value."""
        is_denied = row.polarity < 0
        score = WORDS * self._share(row.value)
        fitting = [one for one in self.asked if one.denied is None or one.denied == is_denied or _untyped(row)]
        if self._names(row.attribute, fitting):
            score += SLOT
        elif _untyped(row) and any(
            row.kind in one.kinds if row.kind else one.words.search(fold(row.value)) for one in fitting
        ):
            score += KIND
        return score - DENIED * is_denied if score > 0 else 0.0

    def names(self, row: FactRow) -> bool:
        """Whether it asks for the attribute of a fact."""
        fitting = [one for one in self.asked if one.denied is None or one.denied == (row.polarity < 0)]
        return not _untyped(row) and self._names(row.attribute, fitting)

    def _names(self, attribute: str, asked: Sequence[_Ask]) -> bool:
        kind, _, thing = attribute.partition(":")
        if kind not in SLOTS:
            return fold(attribute) in self.text
        if kind == FAVOURITE and thing and not set(tokens(thing)) <= set(tokens(self.text)):
            return False
        return any(kind in one.attributes for one in asked)

    def _share(self, value: str) -> float:
        if not self.words:
            return 0.0
        text = fold(value)
        return sum(word in text for word in self.words) / len(self.words)


def _untyped(row: FactRow) -> bool:
    return row.attribute == STATEMENT


def read_question(bare: str) -> Question:
    """What is asked for, in a query without the names it holds."""
    text = rest = " ".join(fold(bare).split())
    asked: list[_Ask] = []
    words = text
    for one in _asks():
        if one.words.search(rest) and not (one.last and asked):
            asked.append(one)
            words = one.words.sub(" ", words)
            rest = one.words.sub(" ", rest) if one.takes else rest
    kept = frozenset(term for term in tokens(words) if len(term) > 1 and term not in VAGUE)
    return Question(text, tuple(asked), kept, not any(map(str.isalnum, text)) or bool(_WHO.search(text)))


def ranked(
    question: Question, rows: Sequence[FactRow], before: Iterable[FactRow], resting_on: Mapping[int, int], limit: int,
    near: Mapping[int, float], of_another: Collection[int] = (),
) -> list[FactRow]:  # fmt: skip
    """The facts that are asked for, the best first: within one matter the newest.

    `before`: what gave way to these; who asks for it, asks for what took its place. `resting_on`: fact -> the place of the
    first hit that it rests on. `near`: fact -> how near its words are to what is asked. `of_another`: those that are about
    somebody else than who asks for himself. What may be outdated stands behind what says so, and not without it.
    """
    scores = {row.id: question.relevance(row) + _nearness(near.get(row.id, 0.0)) for row in rows}
    for row in before:
        after = row.superseded_by or 0
        scores[after] = max(scores.get(after, 0.0), question.relevance(row) + _nearness(near.get(row.id, 0.0)))
    for fact, place in resting_on.items():
        scores[fact] += HIT / (1 + place)
    for fact in of_another:
        scores[fact] *= OF_ANOTHER
    scores = {id_: score for id_, score in scores.items() if score > 0 or question.of_everything}
    # of one matter, such as a slot with one value, the best score counts for all
    of_matter: dict[tuple[int | None, int | None, str], float] = {}
    for row in rows:
        if row.id in scores and row.cardinality == "single":
            key = (row.person, row.entity, row.attribute)
            of_matter[key] = max(of_matter.get(key, 0.0), scores[row.id])
    wanted = [row for row in rows if row.id in scores]
    wanted.sort(
        key=lambda row: (
            -of_matter.get((row.person, row.entity, row.attribute), scores[row.id]),
            -row.valid_from,
            -row.id,
        )
    )
    return _newest_first(wanted, {row.id: row for row in rows}, limit)


def _nearness(cosine: float) -> float:
    return NEAR * max(0.0, cosine - NEAR_LEAST) / (1 - NEAR_LEAST)


def _newest_first(wanted: Iterable[FactRow], held: Mapping[int, FactRow], limit: int) -> list[FactRow]:
    shown: dict[int, FactRow] = {}
    for row in wanted:
        chain = [row]
        while (after := held.get(chain[-1].doubted_by or 0)) is not None and after not in chain:
            chain.append(after)
        fresh = [one for one in reversed(chain) if one.id not in shown]
        if len(shown) + len(fresh) <= limit:
            shown |= {one.id: one for one in fresh}
    return list(shown.values())
