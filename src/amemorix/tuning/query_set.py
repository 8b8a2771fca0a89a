"""The questions that settings are judged by, made of what the memory holds."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Literal

from ..language.normalise import fold
from ..language.text_flags import CJK
from ..store.ports import Connection
from . import material as tuning_material
from .material import Highest, Line, Matter, Told
from .questions import about_fact, about_relation, content_words, copies, from_turn
from .rows import NewQuery, Split

__all__ = ["Draft", "Kind", "divided", "drafted", "statements"]

Kind = Literal["reply", "fact", "relation", "episode", "asked", "labelled"]
SHARES: tuple[tuple[Kind, float], ...] = (("episode", 0.125), ("relation", 0.125), ("fact", 0.25), ("reply", 1.0))
"""How much of the set each kind may fill at most; replies take what the others leave."""
TRIES = 6
"""Rows looked at for each question wanted: most make none."""
LEAST_SAID = 4
"""Content words that a line must have to answer anything."""
MOST_TARGETS: Mapping[str, int] = {"fact": 5, "relation": 5, "episode": 20}
"""What is answered in more places asks for nothing in particular."""
MOST_TOLD = 500
"""Paragraphs that are read for one question."""
SPLITS: tuple[tuple[Split, float], ...] = (("train", 0.4), ("validation", 0.3), ("held_out", 0.3))
CHATS, LARGEST_CHAT = 5, 0.4
"""From so many chats on, of which none has a larger share of the questions, whole chats are set apart."""


@dataclass(frozen=True, slots=True)
class Draft:
    """A question that has not been given to a part yet; `sessions` are those in which it is answered.

    `hidden` is passed over in what is found; a reply is also looked for as if the turn that asked for it were not
    stored, and lent its neighbours nothing.
    """

    kind: Kind
    chat_id: str
    text: str
    targets: tuple[int, ...]
    sessions: frozenset[int]
    hidden: tuple[int, ...] = ()


def drafted(db: Connection, wanted: int, *, seed: int, now: float) -> list[Draft]:
    """Up to `wanted` questions, the same ones for the same rows and seed; none is worded like its answer.

    Looks at a few rows for each, however many there are.
    """
    maker = _Maker(db, seed, now)
    found: dict[tuple[str, str], Draft] = {}
    targets, asked = set[int](), set[int]()
    for kind, share in SHARES:
        most = wanted if kind == "reply" else min(wanted, len(found) + int(wanted * share))
        for draft in maker.drafts(kind, most - len(found)):
            if len(found) >= most:
                break
            if not _clashes(draft, targets, asked):
                found.setdefault((draft.chat_id, fold(draft.text)), draft)
                targets.update(draft.targets)
                asked.update(_turn(draft))
    return list(found.values())


def _turn(draft: Draft) -> tuple[int, ...]:
    return draft.hidden if draft.kind == "reply" else ()


def _clashes(draft: Draft, targets: set[int], asked: set[int]) -> bool:
    """Whether what one question hides is what another looks for."""
    return not asked.isdisjoint(draft.targets) or not targets.isdisjoint(_turn(draft))


def statements(db: Connection, wanted: int, *, seed: int, now: float) -> list[Line]:
    """Up to `wanted` lines that say something, for somebody to ask about."""
    return _Maker(db, seed, now).statements(wanted)


class _Maker:
    """Reads rows from random places on, and makes questions of them."""

    def __init__(self, db: Connection, seed: int, now: float) -> None:
        self._db = db
        self._seed = seed
        self._now = now
        self._highest: Highest = tuning_material.highest(db)

    def drafts(self, kind: Kind, wanted: int) -> Iterator[Draft]:
        """Questions of a kind, as many as there may be in so many tries."""
        if kind == "reply":
            return self._replies(wanted)
        if kind == "fact":
            return self._of_told("facts", self._highest.facts, wanted, _fact)
        if kind == "relation":
            return self._of_told("relations", self._highest.relations, wanted, _relation)
        return self._of_told("episodes", self._highest.episodes, wanted, _episode)

    def statements(self, wanted: int) -> list[Line]:
        """Lines that say something."""
        rows = self._rows("statements", self._highest.paragraphs, wanted)
        lines = tuning_material.lines(self._db, rows, self._now)
        return [lines[row] for row in rows if row in lines and _says_something(lines[row].content)][:wanted]

    def _rows(self, what: Matter, highest: int, wanted: int) -> list[int]:
        """Rows in an order that the seed decides."""
        rng = random.Random(f"{what}:{self._seed}")
        starts = rng.sample(range(1, highest + 1), min(highest, max(0, wanted) * TRIES))
        rows = sorted(tuning_material.rows_from(self._db, what, starts, self._now))
        rng.shuffle(rows)
        return rows

    def _replies(self, wanted: int) -> Iterator[Draft]:
        """Questions of a chat, answered by what somebody else said next; the question itself is hidden."""
        for row in self._rows("questions", self._highest.paragraphs, wanted):
            answer = tuning_material.reply(self._db, row, self._now)
            if answer is None:
                continue
            lines = tuning_material.lines(self._db, (row, answer), self._now)
            if len(lines) == 2:
                asked, told = lines[row], lines[answer]
                text = from_turn(asked.content, asker=asked.speaker, answerer=told.speaker)
                if text and _says_something(told.content) and not copies(text, told.content):
                    yield Draft("reply", told.chat_id, text, (answer,), frozenset({told.session}), (row,))

    def _of_told(
        self,
        what: Literal["facts", "relations", "episodes"],
        highest: int,
        wanted: int,
        make: Callable[[Sequence[Told], Mapping[int, Line]], Draft | None],
    ) -> Iterator[Draft]:
        rows = self._rows(what, highest, wanted)
        told = {id_: [*some] for id_, some in groupby(tuning_material.told(self._db, what, rows), lambda one: one.id)}
        for row in rows:
            some = told.get(row, [])
            if len(some) > MOST_TOLD:
                continue
            lines = tuning_material.lines(self._db, [one.paragraph for one in some], self._now)
            draft = make(some, lines) if lines else None
            if draft is not None:
                yield draft


def _fact(told: Sequence[Told], lines: Mapping[int, Line]) -> Draft | None:
    one = told[0]
    text = about_fact(one.subject, one.about, cjk=_in_cjk(lines))
    return _draft("fact", text, lines) if text and not _gives_away(text, told) else None


def _relation(told: Sequence[Told], lines: Mapping[int, Line]) -> Draft | None:
    one = told[0]
    text = about_relation(one.subject, one.about, cjk=_in_cjk(lines))
    return _draft("relation", text, lines) if text and not _gives_away(text, told) else None


def _gives_away(text: str, told: Sequence[Told]) -> bool:
    return any(fold(one.value) in fold(text) for one in told)


def _episode(told: Sequence[Told], lines: Mapping[int, Line]) -> Draft | None:
    if len(set(content_words(told[0].subject))) < 2:
        return None
    return _draft(
        "episode", told[0].subject, {id_: line for id_, line in lines.items() if _says_something(line.content)}
    )


def _draft(kind: Kind, text: str, lines: Mapping[int, Line]) -> Draft | None:
    """The question with those lines of one chat that answer it in words of their own."""
    fitting = [line for line in lines.values() if not copies(text, line.content)]
    if not fitting or len({line.scope for line in fitting}) > 1 or len(fitting) > MOST_TARGETS[kind]:
        return None
    targets = tuple(sorted(line.id for line in fitting))
    others = tuple(sorted(lines.keys() - set(targets)))
    return Draft(kind, fitting[0].chat_id, text, targets, frozenset(line.session for line in fitting), others)


def _in_cjk(lines: Mapping[int, Line]) -> bool:
    return any(line.flags & CJK for line in lines.values())


def _says_something(text: str) -> bool:
    return len(set(content_words(text))) >= LEAST_SAID


def divided(drafts: Sequence[Draft], *, seed: int) -> list[NewQuery]:
    """Four tenths of the questions to learn from, three to test with, three to test again.

    Parts are made of whole sessions, or of whole chats where there are enough of them, so that a part never holds the
    neighbours of another's answers; a question that is answered in two parts is left out.
    """
    whole = _by_chats(drafts)
    units = [{draft.chat_id} if whole else draft.sessions for draft in drafts]
    counts = Counter(unit for some in units for unit in some)
    part: dict[int | str, Split] = _parts(counts, seed)
    found: list[NewQuery] = []
    for draft, some in zip(drafts, units, strict=True):
        parts: set[Split] = {part[unit] for unit in some}
        if len(parts) == 1:
            found.append(NewQuery(parts.pop(), draft.kind, draft.chat_id, draft.text, draft.targets, draft.hidden))
    return found


def _by_chats(drafts: Sequence[Draft]) -> bool:
    chats = Counter(draft.chat_id for draft in drafts)
    return len(chats) >= CHATS and max(chats.values()) <= LARGEST_CHAT * len(drafts)


def _parts(counts: Mapping[int | str, int], seed: int) -> dict[int | str, Split]:
    """Unit -> the part that lacks most, the largest units first and equal ones in an order that the seed decides."""
    order = sorted(counts, key=str)
    random.Random(f"parts:{seed}").shuffle(order)
    order.sort(key=lambda unit: -counts[unit])
    total, held = sum(counts.values()), defaultdict[Split, int](int)
    part: dict[int | str, Split] = {}
    for unit in order:
        split = max(SPLITS, key=lambda one: one[1] - held[one[0]] / total)[0]
        part[unit] = split
        held[split] += counts[unit]
    return part
