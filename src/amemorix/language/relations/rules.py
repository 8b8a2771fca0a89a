"""Entities and relations by rules: which reader a sentence goes to, and what is kept of what it finds."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from ...lazy_regex import lazy_regex
from ..chat_markup import spoken, uncoded
from ..normalise import QUESTION, is_mostly_cjk, normalise_name, read_flags, simplified
from ..passages import Extraction, KnowledgeType, Mention, Passage, Triple
from ..stopwords import LONGEST_NAME, is_name
from . import chinese, english

__all__ = ["DEFINITION", "MOST_CHARS", "extract", "possible_names", "read_definitions", "read_passage"]

DEFINITION = lazy_regex(
    r"^\s*(?:[-*+•]\s+)?(?P<term>[^\s:：|,，。.!?！？][^:：|，。!?！？\n]{0,38}?)\s*[:：]\s*(?P<meaning>\S[^\n]*?)\s*$"
)
"""A line `term: meaning`."""
MOST_CHARS = 20_000
"""What is read of one passage."""
LONGEST_MEANING = 40


def extract(passage: Passage, knowledge: KnowledgeType) -> Extraction:
    """What a text of some kind names and says; a quote says nothing about the world that could be held against it."""
    if knowledge == "quote":
        return Extraction()
    return read_passage(passage, read_definitions(passage) if knowledge == "factual" else ())


def read_passage(passage: Passage, defined: Sequence[Triple] = ()) -> Extraction:
    """What the text names and says. A question says nothing, and names only what is known."""
    text = uncoded(passage.text[:MOST_CHARS].replace("’", "'"))
    reader = chinese if is_mostly_cjk(text) else english
    if reader is chinese and (plain := simplified(text)) != text:
        return _as_written(text, plain, read_passage(replace(passage, text=plain), defined))
    asks = bool(read_flags(text[-200:]) & QUESTION) and len(text) < 200
    relations = [*defined, *reader.relations(spoken(text, said=bool(passage.speaker)), passage)]
    entities = [*_known(passage, reader.names(text)), *([] if asks else reader.mentions(text))]
    return _distinct(entities, relations)


def _as_written(text: str, plain: str, found: Extraction) -> Extraction:
    """What was read in simplified characters, in the characters of the text."""

    def written(name: str) -> str:
        at = plain.find(name)
        return name if at < 0 else text[at : at + len(name)]

    return Extraction(
        tuple(replace(mention, name=written(mention.name)) for mention in found.entities),
        tuple(replace(r, subject=written(r.subject), object=written(r.object)) for r in found.relations),
    )


def read_definitions(passage: Passage) -> list[Triple]:
    """The lines `term: meaning` whose meaning is short enough to be a thing."""
    found: list[Triple] = []
    for line in passage.text[:MOST_CHARS].split("\n"):
        match = DEFINITION.match(line)
        if match is None or "://" in line or normalise_name(match["term"]) in passage.known:
            continue
        term, meaning = match["term"].strip(" *`"), match["meaning"].rstrip("。.;；")
        if is_name(term) and is_name(meaning, LONGEST_MEANING) and not re.search(r"[。！？!?；]|\. ", meaning):
            found.append(Triple(term, "是" if is_mostly_cjk(line) else "is", meaning, 0.7))
    return found


def possible_names(text: str) -> set[str]:
    """Normalised words and neighbouring words of a text by which something may be known."""
    text = text[:MOST_CHARS].replace("’", "'")
    reader = chinese if is_mostly_cjk(text) else english
    return {normalise_name(name) for name in reader.names(text)}


def _known(passage: Passage, names: Iterable[str]) -> Iterator[Mention]:
    """What the memory knows and the text names; of names within one another the longest."""
    met = {norm: passage.known[norm] for name in names if (norm := normalise_name(name)) in passage.known}
    for norm, mention in met.items():
        if not any(norm != other and norm in other for other in met):
            yield mention


def _distinct(entities: Iterable[Mention], relations: Iterable[Triple]) -> Extraction:
    mentions: dict[str, Mention] = {}
    for mention in entities:
        if (norm := normalise_name(mention.name)) and len(norm) <= LONGEST_NAME:
            known = mentions.get(norm)
            mentions[norm] = Mention(known.name, known.kind or mention.kind) if known else mention
    triples = {
        (normalise_name(r.subject), r.predicate, normalise_name(r.object)): r
        for r in relations
        if normalise_name(r.subject) != normalise_name(r.object)
    }
    return Extraction(tuple(mentions.values()), tuple(triples.values()))
