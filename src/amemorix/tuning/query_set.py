"""The questions that settings are judged by: made of what the memory holds, by rules or by the chat model."""

from __future__ import annotations

import logging
import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any, Literal

from ..errors import ChatUnavailable
from ..language.normalise import CJK, fold
from ..ports import ChatModel
from ..store.ports import Connection
from ..store.queries import array
from .questions import about_fact, about_relation, content_words, copies, from_turn
from .rows import Kind, Question, Split

__all__ = ["Line", "divided", "drafted", "lines_of", "statements", "written_by_model"]

log = logging.getLogger(__name__)
RELATIONS, FACTS = 0.125, 0.25
"""How much of the set these may fill at most; replies take what they leave."""
TRIES = 6
"""Rows looked at for each question wanted: most make none."""
REACH = 2_000
"""Rows looked through for the next one that is of use."""
LEAST_SAID = 4
"""Content words that a line must have to answer anything."""
MOST_TARGETS = 5
"""What more lines tell asks for nothing in particular."""
MOST_TOLD = 500
"""Paragraphs that are read for one question."""
SPLITS: tuple[tuple[Split, float], ...] = (("train", 0.4), ("validation", 0.3), ("held_out", 0.3))
CHATS, LARGEST_CHAT = 5, 0.4
"""From so many chats on, of which none has a larger share of the questions, whole chats are set apart."""
BATCH, LONGEST = 10, 400
"""Lines shown to the chat model at once, and characters of each."""
SYSTEM = (
    "You are given numbered lines of a chat, each with who said it. For each line that holds something worth remembering "
    "write one short question, in the language of the line, that somebody might ask weeks later and that this line "
    "answers. Name the person where it is about one. Use other words than the line does, and do not give the answer "
    "away. Leave out lines that hold nothing worth asking for."
)
_QUESTION: dict[str, Any] = {
    "type": "object", "properties": {"line": {"type": "integer"}, "question": {"type": "string"}},
    "required": ["line", "question"], "additionalProperties": False,
}  # fmt: skip
SCHEMA: dict[str, Any] = {
    "type": "object", "properties": {"questions": {"type": "array", "items": _QUESTION}}, "required": ["questions"],
    "additionalProperties": False,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Line:
    """A living paragraph; `scope` 0 and an empty `chat_id`: everyone may see it."""

    id: int
    scope: int
    chat_id: str
    session: int
    kind: str
    flags: int
    content: str
    speaker: str


def lines_of(db: Connection, ids: Iterable[int], now: float) -> dict[int, Line]:
    """Those of the paragraphs that live."""
    return {row[0]: Line(*row) for row in db.run("tuning_paragraphs", ids=array(ids), now=now)}


def drafted(db: Connection, wanted: int, *, seed: int, now: float) -> list[Question]:
    """Up to `wanted` questions, the same ones for the same rows and seed; none is worded like its answer.

    Looks at a few rows for each, however many there are; no question hides what another looks for.
    """
    found: dict[tuple[str, str], Question] = {}
    targets, asked = set[int](), set[int]()
    shares: tuple[tuple[Literal["relations", "facts", "replies"], float], ...] = (
        ("relations", RELATIONS), ("facts", FACTS), ("replies", 1.0),
    )  # fmt: skip
    for what, share in shares:
        most = min(wanted, len(found) + int(wanted * share))
        left = most - len(found)
        made = _from_replies(db, left, seed, now) if what == "replies" else _about_told(db, what, left, seed, now)
        for draft in made:
            if len(found) >= most:
                break
            turn = draft.hidden if draft.kind == "reply" else ()
            if asked.isdisjoint(draft.targets) and targets.isdisjoint(turn):
                found.setdefault((draft.chat_id, fold(draft.text)), draft)
                targets.update(draft.targets)
                asked.update(turn)
    return list(found.values())


def statements(db: Connection, wanted: int, *, seed: int, now: float) -> list[Line]:
    """Up to `wanted` lines that say something, for somebody to ask about."""
    rows = _rows(db, "statements", wanted, seed, now)
    lines = lines_of(db, rows, now)
    return [lines[row] for row in rows if row in lines and _says_something(lines[row])][:wanted]


def _rows(
    db: Connection, what: Literal["questions", "statements", "facts", "relations"], wanted: int, seed: int, now: float
) -> list[int]:
    """The useful rows at or after random places, in an order that the seed decides."""
    paragraphs, facts, relations = db.run("tuning_highest").fetchone()
    highest = {"facts": facts, "relations": relations}.get(what, paragraphs)
    rng = random.Random(f"{what}:{seed}")
    starts = rng.sample(range(1, highest + 1), min(highest, max(0, wanted) * TRIES))
    found = db.run(f"tuning_{what}_from", starts=array(starts), reach=REACH, now=now)
    rows = sorted(row[0] for row in found if row[0] is not None)
    rng.shuffle(rows)
    return rows


def _from_replies(db: Connection, wanted: int, seed: int, now: float) -> Iterator[Question]:
    """Questions of a chat, answered by what somebody else said next; the question itself is hidden."""
    for row in _rows(db, "questions", wanted, seed, now):
        reply = db.run("tuning_reply", id=row, now=now).fetchone()
        lines = lines_of(db, (row, reply[0]), now) if reply else {}
        if len(lines) == 2:
            asked, told = lines[row], lines[reply[0]]
            text = from_turn(asked.content, asker=asked.speaker, answerer=told.speaker)
            if text and _says_something(told) and not copies(text, told.content):
                yield Question("reply", told.chat_id, text, (told.id,), frozenset({told.session}), (row,))


def _about_told(
    db: Connection, what: Literal["facts", "relations"], wanted: int, seed: int, now: float
) -> Iterator[Question]:
    """Questions that facts or relations answer, with those lines of one chat that tell them in words of their own."""
    rows = _rows(db, what, wanted, seed, now)
    told = {id_: [*some] for id_, some in groupby(db.run(f"tuning_{what}", ids=array(rows)), lambda row: row[0])}
    for row in rows:
        some = told.get(row, [])
        if not some or len(some) > MOST_TOLD:
            continue
        lines = lines_of(db, [paragraph for *_, paragraph in some], now)
        _, subject, about, *_ = some[0]
        cjk = any(line.flags & CJK for line in lines.values())
        text = about_fact(subject, about, cjk=cjk) if what == "facts" else about_relation(subject, about, cjk=cjk)
        if not text or any(fold(value) in fold(text) for _, _, _, value, _ in some):
            continue
        fitting = [line for line in lines.values() if not copies(text, line.content)]
        if fitting and len({line.scope for line in fitting}) == 1 and len(fitting) <= MOST_TARGETS:
            targets = tuple(sorted(line.id for line in fitting))
            others, sessions = tuple(sorted(lines.keys() - set(targets))), frozenset(line.session for line in fitting)
            kind: Kind = "fact" if what == "facts" else "relation"
            yield Question(kind, fitting[0].chat_id, text, targets, sessions, others)


def _says_something(line: Line) -> bool:
    return len(set(content_words(line.content))) >= LEAST_SAID


async def written_by_model(chat: ChatModel, lines: Sequence[Line]) -> list[Question]:
    """A question for each line that is worth one, none worded like it; what there is if the model falls silent."""
    found: dict[int, Question] = {}
    for start in range(0, len(lines), BATCH):
        some = lines[start : start + BATCH]
        shown = "\n".join(f"{i}. {one.speaker or '-'}: {one.content[:LONGEST]}" for i, one in enumerate(some, 1))
        try:
            answer = await chat.answer("tuning", SYSTEM, shown, schema=SCHEMA)
        except ChatUnavailable as exc:
            log.info("no more questions from the chat model: %s", exc)
            break
        for entry in answer["questions"]:
            text = str(entry["question"]).strip()
            if 1 <= entry["line"] <= len(some) and text and not copies(text, some[entry["line"] - 1].content):
                line = some[entry["line"] - 1]
                found.setdefault(line.id, Question("asked", line.chat_id, text, (line.id,), frozenset({line.session})))
    return list(found.values())


def divided(drafts: Sequence[Question], *, seed: int) -> list[Question]:
    """Four tenths of the questions to learn from, three to test with, three to test again.

    Parts are made of whole sessions, or of whole chats where there are enough of them, so that a part never holds the
    neighbours of another's answers; a question that is answered in two parts is left out.
    """
    chats = Counter(draft.chat_id for draft in drafts)
    whole = len(chats) >= CHATS and max(chats.values()) <= LARGEST_CHAT * len(drafts)
    units = [{draft.chat_id} if whole else draft.sessions for draft in drafts]
    part = _parts(Counter(unit for some in units for unit in some), seed)
    found: list[Question] = []
    for draft, some in zip(drafts, units, strict=True):
        parts: set[Split] = {part[unit] for unit in some}
        if len(parts) == 1:
            found.append(replace(draft, split=parts.pop()))
    return found


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
