"""What a deletion is asked to delete, read from whatever form it is given in, and the rows that this means."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Literal

from ..errors import Conflict, InvalidRequest, NotFound
from ..ids import paragraph_key
from ..indexes.name_directory import NameDirectory
from ..language.normalise import clean_text, fold, normalise_name
from ..lazy_regex import lazy_regex
from ..store.metadata_store import MetadataStore
from ..store.operations import flagged_ids, row_ids
from ..store.ports import Connection
from ..store.queries import array, optional_array
from ..store.rows import paragraphs as paragraph_rows
from .mentions import Called, Mentioned, MentionFinder, Visible

__all__ = ["DeleteMode", "Seeds", "Selector", "paragraphs_holding", "read_selector", "seeds_of"]

DeleteMode = Literal["relation", "paragraph", "entity", "source", "person", "chat", "mixed"]
MOST_VALUES = 10_000
LONGEST = 10_000
PAGE = 1_000
LETTERS = {"paragraphs": "p", "relations": "r", "entities": "n"}
_HASH = lazy_regex(r"[0-9a-fA-F]{64}")
_DIGITS = lazy_regex(r"[0-9]{1,18}")

_KEYS: dict[str, dict[str, str]] = {
    "paragraph": {
        "id": "paragraphs", "ids": "paragraphs", "paragraph_id": "paragraphs", "paragraph_ids": "paragraphs",
        "hash": "hashes", "hashes": "hashes", "paragraph_hashes": "hashes",
        "external_id": "external_ids", "external_ids": "external_ids", "query": "query",
    },
    "relation": {
        "id": "relations", "ids": "relations", "relation_id": "relations", "relation_ids": "relations",
        "hash": "relations", "hashes": "relations", "relation_hashes": "relations",
        "subject": "subject", "predicate": "predicate", "object": "object", "query": "sentence",
    },
    "entity": {
        "id": "entities", "ids": "entities", "entity_id": "entities", "entity_ids": "entities",
        "hash": "entities", "hashes": "entities", "entity_hashes": "entities",
        "name": "entity_names", "names": "entity_names", "entity_names": "entity_names", "query": "entity_names",
    },
    "source": {"source": "sources", "sources": "sources", "name": "sources", "names": "sources"},
    "person": {
        "id": "persons", "ids": "persons", "person_id": "persons", "person_ids": "persons",
        "name": "persons", "names": "persons",
    },
    "chat": {"id": "chats", "ids": "chats", "chat_id": "chats", "chat_ids": "chats"},
    "mixed": {
        "paragraph_ids": "paragraphs", "paragraph_hashes": "hashes", "external_ids": "external_ids",
        "relation_ids": "relations", "relation_hashes": "relations",
        "entity_ids": "entities", "entity_hashes": "entities", "entity_names": "entity_names",
        "source": "sources", "sources": "sources", "person_ids": "persons", "chat_ids": "chats",
    },
}  # fmt: skip
"""For each mode, what a key of the selector fills."""
_PLAIN = {
    "paragraph": "paragraphs", "relation": "relations", "entity": "entity_names", "source": "sources",
    "person": "persons", "chat": "chats",
}  # fmt: skip
"""What a selector without keys fills."""
NUMBERED = ("persons", "chats", "external_ids")
"""What platforms number: an id that is given as a number is taken for its digits."""
SINGLE = ("query", "sentence", "subject", "predicate", "object")


@dataclass(frozen=True, slots=True)
class Selector:
    """What is named, kind by kind; ids as rows, names as they were given."""

    paragraphs: tuple[int, ...] = ()
    hashes: tuple[str, ...] = ()
    external_ids: tuple[str, ...] = ()
    relations: tuple[int, ...] = ()
    entities: tuple[int, ...] = ()
    entity_names: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    persons: tuple[str, ...] = ()
    chats: tuple[str, ...] = ()
    query: str = ""
    """Paragraphs that hold these words."""
    sentence: str = ""
    """Relations whose subject, predicate and object hold these words."""
    subject: str = ""
    predicate: str = ""
    object: str = ""

    def to_dict(self) -> dict[str, Any]:
        """What is given, without what is not."""
        found = {one.name: getattr(self, one.name) for one in fields(self)}
        return {name: value for name, value in found.items() if value}


Given = dict[str, dict[Any, None]]
"""What a selector names so far, by field; each thing once."""


def read_selector(mode: DeleteMode, raw: Any) -> Selector:
    """The selector of a mode: an id, a name or words as text, a list of them, or an object with keys.

    Raises InvalidRequest naming the place: nothing selected, an unknown key, a value that fits no kind.
    """
    given: Given = {}
    if isinstance(raw, Mapping):
        for key, value in raw.items():
            _read_key(given, mode, str(key), value)
    elif isinstance(raw, list):
        for place, value in enumerate(_bounded(raw, "selector")):
            _read_plain(given, mode, value, f"selector.{place}")
    elif raw is not None and raw != "":
        _read_plain(given, mode, raw, "selector", words=True)
    if not given:
        raise InvalidRequest(f"selector is empty: say which {mode} to delete.", field="selector")
    found: dict[str, Any] = {kind: next(iter(some)) if kind in SINGLE else tuple(some) for kind, some in given.items()}
    return Selector(**found)


def _read_key(given: Given, mode: DeleteMode, key: str, value: Any) -> None:
    known = _KEYS[mode]
    if key not in known:
        raise InvalidRequest(
            f"selector.{key} is unknown with mode `{mode}`; known: {', '.join(known)}.",
            field=f"selector.{key}", allowed=sorted(known),
        )  # fmt: skip
    kind = known[key]
    if value is None:
        return
    if kind in SINGLE:
        given[kind] = {_text(value, f"selector.{key}"): None}
        return
    several = isinstance(value, list)
    for place, one in enumerate(_bounded(value, f"selector.{key}") if several else [value]):
        where = f"selector.{key}.{place}" if several else f"selector.{key}"
        _add(given, kind, one, where, number=kind in NUMBERED and key not in ("name", "names"))


def _read_plain(given: Given, mode: DeleteMode, value: Any, where: str, *, words: bool = False) -> None:
    if mode == "mixed":
        raise InvalidRequest(
            f"{where}: mode `mixed` needs an object with {', '.join(_KEYS[mode])}.", field=where,
            allowed=sorted(_KEYS[mode]),
        )  # fmt: skip
    kind = _PLAIN[mode]
    text = value.strip() if isinstance(value, str) else ""
    if mode == "entity" and _row(text, "n", letter=True) is not None:
        kind = "entities"
    elif mode == "paragraph" and _HASH.fullmatch(text):
        kind = "hashes"
    elif words and text and mode in ("paragraph", "relation") and _row(text, LETTERS[kind]) is None:
        given["query" if mode == "paragraph" else "sentence"] = {_text(value, where): None}
        return
    _add(given, kind, value, where, number=kind in NUMBERED)


def _add(given: Given, kind: str, value: Any, where: str, *, number: bool) -> None:
    """Add an id or a name; where platforms have numeric ids, a `number` is one."""
    if kind not in LETTERS:
        text = _text(str(value) if number and isinstance(value, int) and not isinstance(value, bool) else value, where)
        if kind == "hashes" and not _HASH.fullmatch(text):
            raise InvalidRequest(f"{where} is no hash: 64 hexadecimal digits.", field=where)
        given.setdefault(kind, {})[text.lower() if kind == "hashes" else text] = None
        return
    row = value if isinstance(value, int) and not isinstance(value, bool) else None
    if isinstance(value, str):
        row = _row(value.strip(), LETTERS[kind])
    if row is None or not 0 < row < 1 << 62:
        own = f'; an external id is given as {{"external_ids": ["{value}"]}}' if kind == "paragraphs" else ""
        raise InvalidRequest(f"{where} is no id: expected one such as {LETTERS[kind]}12{own}.", field=where)
    given.setdefault(kind, {})[row] = None


def _row(text: str, prefix: str, *, letter: bool = False) -> int | None:
    """The row of an id such as `p12` or, unless the letter is needed, `12`."""
    bare = text[1:] if text[:1] == prefix else "" if letter else text
    return int(bare) if _DIGITS.fullmatch(bare) and bare.isascii() else None


def _text(value: Any, where: str) -> str:
    if not isinstance(value, str):
        raise InvalidRequest(f"{where} must be a text.", field=where)
    text = clean_text(value)
    if not text:
        raise InvalidRequest(f"{where} is blank.", field=where)
    if len(text) > LONGEST:
        raise InvalidRequest(f"{where} is longer than {LONGEST} characters.", field=where)
    return text


def _bounded(values: list[Any], where: str) -> list[Any]:
    if len(values) > MOST_VALUES:
        raise InvalidRequest(f"{where}: {len(values)} in one call, at most {MOST_VALUES}.", field=where)
    return values


@dataclass(frozen=True, slots=True)
class Seeds:
    """Rows that are named, paragraphs also if they are deleted; what hangs on them is worked out when it is deleted."""

    paragraphs: frozenset[int] = frozenset()
    relations: frozenset[int] = frozenset()
    entities: frozenset[int] = frozenset()
    sources: frozenset[int] = frozenset()
    source_names: tuple[str, ...] = ()
    persons: Mapping[int, tuple[Called, ...]] = field(default_factory=dict[int, tuple[Called, ...]])
    """Each with every name."""
    namesakes: Mapping[int, str] = field(default_factory=dict[int, str])
    """Ids of others whose name is the id of one of them."""
    chats: frozenset[int] = frozenset()
    chat: int | None = None
    """Only within this chat."""
    words: str = ""
    """Words that a text which is meant holds; past `upto` no text has been read yet."""
    finder: MentionFinder | None = None
    """Finds what names the persons; what it has found up to `upto` is in `mentioned`."""
    mentioned: Mentioned = field(default_factory=Mentioned)
    upto: int = 0
    whole: bool = False
    """Whether the persons go with what bears their names."""
    missing: tuple[str, ...] = ()
    """What was named and is not there."""
    meant: tuple[str, ...] = ()
    """Chats of a group or a user whose number was named."""

    @property
    def norms(self) -> set[str]:
        """Every name of the persons, as names are compared."""
        return {name.name for names in self.persons.values() for name in names}


def seeds_of(
    db: Connection, store: MetadataStore, selector: Selector, chat_id: str, *,
    directory: NameDirectory, visible: Visible, keep_mentions: bool,
) -> Seeds:  # fmt: skip
    """Look up what is named; may read every text, so it runs outside the transaction that deletes.

    Raises NotFound for a chat that is unknown, Conflict for a name that several persons have.
    """
    names = store.names
    chat = names.chat_row(db, chat_id) if chat_id else None
    if chat_id and chat is None:
        raise NotFound(f"chat_id: there is no chat {chat_id!r}.", field="chat_id")
    sources = db.run("sources_of_names", names=array(selector.sources), chat=chat).fetchall()
    held = {name for _, name in sources}
    missing = [name for name in selector.sources if name not in held]
    persons, namesakes = _persons(db, selector.persons, chat, directory, missing)
    chats = {name: names.chat_row(db, name) for name in selector.chats}
    unknown = [name for name, row in chats.items() if row is None]
    missing += unknown
    owned = (row for name in unknown for row in (*names.chats_of(db, name, ""), *names.chats_of(db, "", name)))
    upto, finder = paragraph_rows.highest(db), None
    if persons:
        called = [name for some in persons.values() for name in some]
        finder = MentionFinder(persons, called, directory=directory, visible=visible, chat=chat, keep=keep_mentions)
    words = " ".join(fold(selector.query).split())
    paragraphs = _paragraphs(db, selector, chat, missing)
    return Seeds(
        paragraphs=frozenset(paragraphs.union(paragraphs_holding(db, words, chat, 0))),
        relations=frozenset(_relations(db, selector, chat, missing)),
        entities=frozenset(_entities(db, store, selector, chat, missing)),
        sources=frozenset(row for row, _ in sources),
        source_names=tuple(dict.fromkeys(name for _, name in sources)),
        persons=persons,
        namesakes={row: person_id for row, person_id in namesakes.items() if row not in persons},
        chats=frozenset(row for row in chats.values() if row is not None),
        chat=chat,
        words=words,
        finder=finder,
        mentioned=finder.read(db, 0) if finder else Mentioned(),
        upto=upto,
        whole=chat is None and not keep_mentions and bool(persons),
        missing=tuple(missing),
        meant=tuple(key.chat_id for row in owned if (key := names.chat_of(db, row)) is not None),
    )


def paragraphs_holding(db: Connection, words: str, chat: int | None, after: int) -> list[int]:
    """The paragraphs past one whose text holds the words, whatever its case, width or script form."""
    found, chats = list[int](), optional_array(None if chat is None else (chat,))
    while words and (rows := db.run("texts_after", chats=chats, limit=PAGE, after=after).fetchall()):
        found += [id_ for id_, _, text in rows if words in " ".join(fold(text).split())]
        after = rows[-1][0]
    return found


def _paragraphs(db: Connection, selector: Selector, chat: int | None, missing: list[str]) -> set[int]:
    found = set(row_ids(db, "paragraphs_in_chat", selector.paragraphs, chat=chat))
    missing += [paragraph_key(id_) for id_ in selector.paragraphs if id_ not in found]
    for query, keys in (
        ("paragraphs_of_hashes", selector.hashes), ("paragraphs_of_external_ids", selector.external_ids),
    ):  # fmt: skip
        for key in keys:
            some = row_ids(db, "paragraphs_in_chat", row_ids(db, query, [key]), chat=chat)
            missing += [] if some else [key]
            found.update(some)
    return found


def _relations(db: Connection, selector: Selector, chat: int | None, missing: list[str]) -> set[int]:
    found = set(row_ids(db, "deletable_relations", selector.relations))
    if chat is not None:
        found &= flagged_ids(db, "relations_in_chat", found, chat=chat).keys()
    missing += [f"r{id_}" for id_ in selector.relations if id_ not in found]
    asked = [_norm(word) for word in (selector.subject, selector.predicate, selector.object)]
    sentence = _norm(selector.sentence)
    for id_, *words in db.run("relation_sentences") if sentence or any(asked) else ():
        norms = [_norm(word) for word in words]
        if any(asked):
            said = all(want in ("", norm) for want, norm in zip(asked, norms, strict=True))
        else:
            said = sentence in " ".join(norms)
        found |= {id_} if said else set()
    return found


def _norm(word: str) -> str:
    return normalise_name(word.replace("_", " "))


def _entities(
    db: Connection, store: MetadataStore, selector: Selector, chat: int | None, missing: list[str]
) -> set[int]:
    def here(ids: Iterable[int]) -> set[int]:
        return set(ids if chat is None else flagged_ids(db, "entities_in_chat", ids, chat=chat))

    found = here(row_ids(db, "deletable_entities", selector.entities))
    missing += [f"n{id_}" for id_ in selector.entities if id_ not in found]
    for name in selector.entity_names:
        rows = here(row[0] for row in store.names.entities(db, [normalise_name(name)]))
        missing += [] if rows else [name]
        found |= rows
    return found


def _persons(
    db: Connection, keys: Sequence[str], chat: int | None, directory: NameDirectory, missing: list[str]
) -> tuple[dict[int, tuple[Called, ...]], dict[int, str]]:
    found: dict[int, tuple[Called, ...]] = {}
    namesakes: dict[int, str] = {}
    for key in keys:
        rows = directory.matching(key, None if chat is None else (chat,)) or directory.matching(key)
        if chat is not None:
            rows = row_ids(db, "persons_in_chat", rows, chat=chat)
        known = db.run("persons_known", ids=array(rows)).fetchall()
        if len(known) > 1 and any(person_id == key for _, person_id, _ in known):
            namesakes |= {row: person_id for row, person_id, _ in known if person_id != key}
            known = [one for one in known if one[1] == key]
        if len(known) > 1:
            ids = sorted(person_id for _, person_id, _ in known)
            raise Conflict(
                f"selector: {key!r} is the name of {len(ids)} persons; say which by id: {', '.join(ids[:10])}.",
                field="selector", person_ids=ids[:100],
            )  # fmt: skip
        missing += [] if known else [key]
        for row, _, _ in known:
            names = db.run("mention_names", ids=array([row]))
            found[row] = tuple(Called(chat, normalise_name(name)) for _, chat, name in names)
    return found, namesakes
