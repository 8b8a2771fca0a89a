"""What a history does to a memory, and whether the memory holds what it must afterwards, row by row and index by index."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from amemorix.testing import HashEmbedder

__all__ = [
    "COMPONENTS",
    "DIMENSION",
    "Delete",
    "Held",
    "Ledger",
    "Operation",
    "Piece",
    "Shelf",
    "Write",
    "applied",
    "examine",
]

WORDS = [
    a + b + c for a in ("zor", "mel", "tak", "piv") for b in ("im", "ul", "ado", "ek") for c in ("", "ta.", "nor\n")
]
WORDS += ["雨伞", "值班", "乌龙茶。", "周末去爬山"]
COMPONENTS = {"ingest_text": "note", "ingest_summary": "chat_summary", "ingest_messages": "chat"}
"""Component -> the source type of what it stores."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A text by its recipe: the same seed and length give the same words."""

    external_id: str
    seed: int
    words: int

    @property
    def mark(self) -> str:
        """A word that no other text has."""
        return f"mark{self.seed:x}q"

    def text(self) -> str:
        """The words, in sentences, with the mark in the middle."""
        words = random.Random(self.seed).choices(WORDS, k=self.words)
        words.insert(self.words // 2, self.mark)
        return " ".join(words)

    def relation(self) -> tuple[str, str, str] | None:
        """Subject, predicate and object that some texts speak of; few, so that many texts support the same one."""
        if self.seed % 3:
            return None
        return f"lamp {self.seed % 5}", "stands in", f"hall {self.seed % 4}"


@dataclass(frozen=True, slots=True)
class Write:
    """Texts handed over in one call."""

    component: str
    pieces: tuple[Piece, ...]


@dataclass(frozen=True, slots=True)
class Delete:
    """Sources of the worker's chat, by type, deleted in one call."""

    kinds: tuple[str, ...]


Operation = Write | Delete


@dataclass(frozen=True, slots=True)
class Held:
    """What stands under an external id: how often it was written, and the text; None once it is deleted."""

    revision: int
    piece: Piece | None


Shelf = dict[tuple[str, str], Held]
"""(kind of source, external id) -> what is held there, for one chat."""


def applied(shelf: Shelf, operation: Operation) -> Shelf:
    """The shelf after the operation."""
    after = dict(shelf)
    if isinstance(operation, Delete):
        gone = [key for key, held in shelf.items() if key[0] in operation.kinds and held.piece]
        after |= {key: Held(shelf[key].revision, None) for key in gone}
    if isinstance(operation, Write):
        for piece in operation.pieces:
            key = COMPONENTS[operation.component], piece.external_id
            held = after.get(key, Held(0, None))
            if held.piece is None or held.piece != piece:
                after[key] = Held(held.revision + 1, piece)
    return after


def seen(shelf: Shelf) -> dict[tuple[str, str], tuple[int, str | None]]:
    """The shelf as rows show it: the texts without white space, because that is lost between paragraphs."""
    return {
        key: (held.revision, None if held.piece is None else "".join(held.piece.text().split()))
        for key, held in shelf.items()
    }


@dataclass(slots=True)
class Ledger:
    """What was acknowledged, for each chat, and the one call of each that was under way."""

    shelves: list[Shelf]
    pending: dict[int, Operation] = field(default_factory=dict[int, Operation])
    acknowledged: int = 0

    def begun(self, chat: int, operation: Operation) -> None:
        """A call is about to be made."""
        self.pending[chat] = operation

    def done(self, chat: int) -> None:
        """The call was answered."""
        self.shelves[chat] = applied(self.shelves[chat], self.pending.pop(chat))
        self.acknowledged += 1

    def allowed(self, chat: int) -> list[Shelf]:
        """What may be found: everything acknowledged, with or without the whole of the call under way."""
        shelf = self.shelves[chat]
        return [shelf, applied(shelf, self.pending[chat])] if chat in self.pending else [shelf]


DIMENSION = 16

REFERENCES = """
select c.chat_id, s.source_type, r.external_id, r.id, r.revision, r.deleted_at is not null from external_memory_refs r
join sources s on s.id = r.source join chats c on c.id = s.chat"""
PARAGRAPHS = """
select ref, revision, position, superseded_at is null and deleted_at is null, content from paragraphs
order by ref, revision, position"""
LIVE = "select id, source, content from paragraphs where superseded_at is null and deleted_at is null order by id"
RELATIONS = """
select a.name, r.predicate, b.name, r.deleted_at is null from relations r
join entities a on a.id = r.subject join entities b on b.id = r.object"""
RELATIONS_WITHOUT_VECTOR = """
select id from relations where deleted_at is null and inactive_at is null and origin <> 'rule'
and id not in (select relation from relation_embeddings where generation = ?)"""
EPISODES = "select id, source, paragraph_count from episodes"
MEMBERS = "select episode, paragraph from episode_paragraphs order by episode, position"

Found = dict[tuple[str, str], tuple[int, str | None]]


def examine(db: sqlite3.Connection, ledger: Ledger) -> list[Shelf]:
    """What each chat holds, out of what it may hold; AssertionError for anything else.

    The memory has settled, and nothing is writing.
    """
    assert db.execute("pragma quick_check").fetchall() == [("ok",)]
    assert db.execute("pragma foreign_key_check").fetchall() == []
    found = _shelves(db)
    shelves = [_the_one(found.pop(f"c{chat}", {}), ledger.allowed(chat), chat) for chat in range(len(ledger.shelves))]
    assert not found, f"chats that nobody wrote to: {found}"
    _examine_relations(db, shelves)
    _examine_vectors(db)
    _examine_episodes(db)
    return shelves


def _the_one(found: Found, allowed: Sequence[Shelf], chat: int) -> Shelf:
    for shelf in reversed(allowed):
        if found == seen(shelf):
            return shelf
    wanted = seen(allowed[0])
    differences = {key: (found.get(key), wanted.get(key)) for key in found.keys() | wanted.keys()}
    raise AssertionError(f"chat {chat}: (found, acknowledged) {_differing(differences)}")


def _differing(pairs: dict[Any, tuple[Any, Any]]) -> dict[Any, Any]:
    return {key: pair for key, pair in pairs.items() if pair[0] != pair[1]}


def _shelves(db: sqlite3.Connection) -> dict[str, Found]:
    """Chat -> what its references hold, each checked to be whole."""
    paragraphs = {ref: list(rows) for ref, rows in groupby(db.execute(PARAGRAPHS), lambda row: row[0])}
    found: dict[str, Found] = {}
    for chat, kind, external_id, ref, revision, deleted in db.execute(REFERENCES):
        text = _text(paragraphs.pop(ref, []), revision, deleted, f"{chat} {kind} {external_id}")
        found.setdefault(chat, {})[kind, external_id] = (revision, text)
    assert not paragraphs, "paragraphs of no reference"
    terms = db.execute("select count(*) from paragraphs p left join terms t on t.id = p.id where t.id is null")
    assert terms.fetchone() == (0,), "paragraphs without terms"
    return found


def _text(rows: list[tuple[Any, ...]], revision: int, deleted: bool, where: str) -> str | None:
    """The text of the newest revision, None if it is deleted; older ones must be out of sight."""
    revisions = {number: list(part) for number, part in groupby(rows, lambda row: row[1])}
    assert list(revisions) == list(range(1, revision + 1)), f"{where}: revisions {list(revisions)}, not 1 to {revision}"
    for number, part in revisions.items():
        assert [row[2] for row in part] == list(range(len(part))), f"{where}: positions of revision {number}"
        live = {bool(row[3]) for row in part}
        assert live == {number == revision and not deleted}, f"{where}: revision {number} of {revision} live: {live}"
    return None if deleted else "".join("".join(row[4].split()) for row in revisions[revision])


def _examine_relations(db: sqlite3.Connection, shelves: Iterable[Shelf]) -> None:
    note = COMPONENTS["ingest_text"]
    texts = [held.piece for shelf in shelves for (kind, _), held in shelf.items() if kind == note and held.piece]
    wanted = {relation for piece in texts if (relation := piece.relation())}
    rows = db.execute(RELATIONS).fetchall()
    live = {tuple(row[:3]) for row in rows if row[3]}
    assert live == wanted, f"relations found but not supported {live - wanted}, lost {wanted - live}"


def _examine_vectors(db: sqlite3.Connection) -> None:
    """One generation serves, none is being built, and it has the vector of every live paragraph and relation."""
    generations = dict(db.execute("select status, id from embedding_generations where status <> 'retired'"))
    assert generations.keys() <= {"serving"}
    live = {id_: content for id_, _, content in db.execute(LIVE)}
    if not generations:
        assert not live
        return
    serving = generations["serving"]
    query = "select paragraph, vector from embeddings where generation = ?"
    vectors = {id_: vector for id_, vector in db.execute(query, (serving,)) if id_ in live}
    made = HashEmbedder(DIMENSION).embed(list(live.values())).astype("<f2")
    assert vectors == {id_: vector.tobytes() for id_, vector in zip(live, made, strict=True)}, "embeddings"
    assert db.execute(RELATIONS_WITHOUT_VECTOR, (serving,)).fetchall() == []


def _examine_episodes(db: sqlite3.Connection) -> None:
    """Each live paragraph is in one episode of its source, and nothing else is in any."""
    source_of = {id_: source for id_, source, _ in db.execute(LIVE)}
    members = {episode: [row[1] for row in rows] for episode, rows in groupby(db.execute(MEMBERS), lambda row: row[0])}
    for episode, source, count in db.execute(EPISODES):
        mine = members.pop(episode, [])
        assert len(mine) == count > 0, f"episode {episode} says {count} of {mine}"
        assert {source_of.pop(id_, "dead") for id_ in mine} == {source}, f"episode {episode} holds {mine}"
    assert not members, f"members of no episode: {members}"
    assert not source_of, f"paragraphs in no episode: {source_of}"
