"""The rows that a selector means."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from ..errors import Conflict, NotFound
from ..indexes.name_directory import NameDirectory
from ..language.normalise import fold, normalise_name
from ..store.metadata_store import MetadataStore
from ..store.ports import Connection
from ..store.queries import array, optional_array
from ..store.rows import paragraphs as paragraph_rows
from . import closure as closure_rows
from .mentions import Called, Mentioned, MentionFinder, Visible
from .selectors import Selector

__all__ = ["Scan", "Seeds", "Selection", "WholePerson"]

PAGE = 1_000


@dataclass(frozen=True, slots=True)
class Scan:
    """Paragraphs found by reading their texts; those past `upto` have not been read yet."""

    holds: Callable[[int, str], bool]
    """(chat, text) to whether it is meant."""
    chats: tuple[int, ...] | None
    upto: int

    def read(self, db: Connection, after: int) -> list[int]:
        """The paragraphs past `after` whose text is meant."""
        found, values = list[int](), {"chats": optional_array(self.chats), "limit": PAGE}
        while rows := db.run("texts_after", **values, after=after).fetchall():
            found += [id_ for id_, chat, text in rows if self.holds(chat, text)]
            after = rows[-1][0]
        return found


@dataclass(frozen=True, slots=True)
class WholePerson:
    """A person with every name."""

    row: int
    person_id: str
    names: tuple[Called, ...]


@dataclass(frozen=True, slots=True)
class Seeds:
    """Rows that are named, paragraphs also if they are deleted; what hangs on them is worked out when it is deleted."""

    paragraphs: frozenset[int] = frozenset()
    relations: frozenset[int] = frozenset()
    entities: frozenset[int] = frozenset()
    sources: frozenset[int] = frozenset()
    source_names: tuple[str, ...] = ()
    persons: tuple[WholePerson, ...] = ()
    chats: frozenset[int] = frozenset()
    chat: int | None = None
    """Only within this chat."""
    scans: tuple[Scan, ...] = ()
    finder: MentionFinder | None = None
    """Finds what names the persons; what it has found up to `upto` is in `mentioned`."""
    mentioned: Mentioned = field(default_factory=Mentioned)
    upto: int = 0
    whole: bool = False
    """Whether the persons go with what bears their names."""
    missing: tuple[str, ...] = field(default=())
    """What was named and is not there."""
    meant: tuple[str, ...] = field(default=())
    """Chats of a group or a user whose number was named."""

    @property
    def norms(self) -> set[str]:
        """Every name of the persons, as names are compared."""
        return {name.name for one in self.persons for name in one.names}


class Selection:
    """Looks up what is named; may read every text, so it runs outside the transaction that deletes."""

    def __init__(self, store: MetadataStore, visible: Visible) -> None:
        self._store = store
        self._visible = visible

    def seeds(
        self, db: Connection, selector: Selector, chat_id: str, directory: NameDirectory, *, keep_mentions: bool
    ) -> Seeds:
        """Raises NotFound for a chat that is unknown, Conflict for a name that several persons have."""
        chat = self._chat(db, chat_id)
        missing: list[str] = []
        sources = db.run("sources_of_names", names=array(selector.sources), chat=chat).fetchall()
        missing += _lacking(selector.sources, (name for _, name in sources))
        persons = self._persons(db, selector.persons, chat, directory, missing)
        chats = {name: self._store.names.chat_row(db, name) for name in selector.chats}
        missing += [name for name, row in chats.items() if row is None]
        upto, scans, finder = paragraph_rows.highest(db), list[Scan](), None
        if wanted := " ".join(fold(selector.query).split()):  # as it stands, whatever its case, width or script form

            def holds(_: int, text: str) -> bool:
                return wanted in " ".join(fold(text).split())

            scans = [Scan(holds, None if chat is None else (chat,), upto)]
        if persons:
            rows, names = [one.row for one in persons], [name for one in persons for name in one.names]
            finder = MentionFinder(
                rows, names, directory=directory, visible=self._visible, chat=chat, keep=keep_mentions
            )
        paragraphs = self._paragraphs(db, selector, chat, missing)
        return Seeds(
            paragraphs=frozenset(paragraphs | {id_ for scan in scans for id_ in scan.read(db, 0)}),
            relations=frozenset(self._relations(db, selector, chat, missing)),
            entities=frozenset(self._entities(db, selector, chat, missing)),
            sources=frozenset(row for row, _ in sources),
            source_names=tuple(dict.fromkeys(name for _, name in sources)),
            persons=tuple(persons),
            chats=frozenset(row for row in chats.values() if row is not None),
            chat=chat,
            scans=tuple(scans),
            finder=finder,
            mentioned=finder.read(db, 0) if finder else Mentioned(),
            upto=upto,
            whole=chat is None and not keep_mentions and bool(persons),
            missing=tuple(missing),
            meant=tuple(self._of_owner(db, [name for name, row in chats.items() if row is None])),
        )

    def _chat(self, db: Connection, chat_id: str) -> int | None:
        if not chat_id:
            return None
        row = self._store.names.chat_row(db, chat_id)
        if row is None:
            raise NotFound(f"chat_id: there is no chat {chat_id!r}.", field="chat_id")
        return row

    def _of_owner(self, db: Connection, names: Iterable[str]) -> Iterator[str]:
        """Ids of the chats that a group or a user of one of these ids has."""
        for name in names:
            for row in (*self._store.names.chats_of(db, name, ""), *self._store.names.chats_of(db, "", name)):
                if (key := self._store.names.chat_of(db, row)) is not None:
                    yield key.chat_id

    def _paragraphs(self, db: Connection, selector: Selector, chat: int | None, missing: list[str]) -> set[int]:
        found = set(closure_rows.ids(db, "paragraphs_in_chat", selector.paragraphs, chat=chat))
        missing += [f"p{id_}" for id_ in selector.paragraphs if id_ not in found]
        by_other: set[int] = set()
        for query, keys in (
            ("paragraphs_of_hashes", selector.hashes), ("paragraphs_of_external_ids", selector.external_ids),
        ):  # fmt: skip
            for key in keys:
                some = closure_rows.ids(db, query, [key])
                some = closure_rows.ids(db, "paragraphs_in_chat", some, chat=chat)
                missing += [] if some else [key]
                by_other.update(some)
        return found | by_other

    def _relations(self, db: Connection, selector: Selector, chat: int | None, missing: list[str]) -> set[int]:
        found = set(closure_rows.ids(db, "deletable_relations", selector.relations))
        if chat is not None:
            found &= closure_rows.flagged(db, "relations_in_chat", found, chat=chat).keys()
        missing += [f"r{id_}" for id_ in selector.relations if id_ not in found]
        if not any((selector.sentence, selector.subject, selector.predicate, selector.object)):
            return found
        return found | {row[0] for row in db.run("relation_sentences") if _says(row, selector)}

    def _entities(self, db: Connection, selector: Selector, chat: int | None, missing: list[str]) -> set[int]:
        def here(ids: Iterable[int]) -> set[int]:
            return set(ids if chat is None else closure_rows.flagged(db, "entities_in_chat", ids, chat=chat))

        found = here(closure_rows.ids(db, "deletable_entities", selector.entities))
        missing += [f"n{id_}" for id_ in selector.entities if id_ not in found]
        for name in selector.entity_names:
            rows = here(row[0] for row in self._store.names.entities(db, [normalise_name(name)]))
            missing += [] if rows else [name]
            found |= rows
        return found

    def _persons(
        self, db: Connection, keys: Sequence[str], chat: int | None, directory: NameDirectory, missing: list[str]
    ) -> list[WholePerson]:
        found: dict[int, WholePerson] = {}
        for key in keys:
            rows = directory.matching(key, None if chat is None else (chat,)) or directory.matching(key)
            if chat is not None:
                rows = closure_rows.ids(db, "persons_in_chat", rows, chat=chat)
            known = db.run("persons_known", ids=array(rows)).fetchall()
            if len(known) > 1:
                ids = sorted(person_id for _, person_id, _ in known)
                raise Conflict(
                    f"selector: {key!r} is the name of {len(ids)} persons; say which by id: {', '.join(ids[:10])}.",
                    field="selector", person_ids=ids[:100],
                )  # fmt: skip
            missing += [] if known else [key]
            for row, person_id, _ in known:
                names = db.run("mention_names", ids=array([row]))
                called = tuple(Called(chat, normalise_name(name)) for _, chat, name in names)
                found[row] = WholePerson(row, person_id, called)
        return list(found.values())


def _says(row: tuple[int, str, str, str], selector: Selector) -> bool:
    _, *words = row
    norms = [normalise_name(word.replace("_", " ")) for word in words]
    asked = [normalise_name(word.replace("_", " ")) for word in (selector.subject, selector.predicate, selector.object)]
    if any(asked):
        return all(not want or want == norm for want, norm in zip(asked, norms, strict=True))
    return normalise_name(selector.sentence.replace("_", " ")) in " ".join(norms)


def _lacking(wanted: Iterable[str], found: Iterable[str]) -> list[str]:
    held = set(found)
    return [name for name in wanted if name not in held]
