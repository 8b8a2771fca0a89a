"""Episodes as they are about to be stored: described by rules, or in a chat model's words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ..language.extractive_summary import keywords, summarise, title
from ..language.normalise import term_hashes, tokens
from ..store.ports import Connection
from ..store.rows import paragraphs as paragraph_rows
from ..store.rows.paragraphs import PersonOf
from .deriving_rows import EpisodeDraft, Material

__all__ = ["SPEAKER", "TITLE_CHARS", "Persons", "rules_draft", "speaker_of", "times_of", "words_of"]

SPEAKER = 1
TITLE_CHARS = 120
Persons = Mapping[int, Sequence[PersonOf]]
"""Paragraph -> persons bound to it."""


def rules_draft(db: Connection, segment: Sequence[Material], model_due: float | None) -> EpisodeDraft:
    """A stretch described by its own words."""
    texts = [paragraph.content for paragraph in segment]
    words = keywords(texts)
    persons = paragraph_rows.persons(db, [paragraph.id for paragraph in segment])
    heading = title(words, texts)
    start, end = times_of(segment)
    return EpisodeDraft(
        scope=segment[0].scope,
        stretch=segment[0].id,
        title=heading,
        summary=summarise([(speaker_of(persons, p.id), p.content) for p in segment], words),
        event_start=start,
        event_end=end,
        participants=tuple(dict.fromkeys(p.person_id for found in persons.values() for p in found)),
        keywords=tuple(words),
        paragraphs=tuple(p.id for p in segment),
        terms=words_of((heading, *words)),
        model_due=model_due,
    )


def speaker_of(persons: Persons, paragraph: int) -> str:
    """The name of who said it, empty if nobody is known to have."""
    return next((person.name for person in persons.get(paragraph, ()) if person.role == SPEAKER), "")


def times_of(segment: Sequence[Material]) -> tuple[float | None, float | None]:
    """When the dated ones among the paragraphs begin and end; None if none is."""
    starts = [p.event_start for p in segment if p.event_start is not None]
    ends = [p.event_end for p in segment if p.event_end is not None]
    return min(starts, default=None), max(ends, default=None)


def words_of(texts: Iterable[str]) -> tuple[int, ...]:
    """Ascending distinct hashes of the words of these texts."""
    return tuple(sorted({int(term) for term in term_hashes(tokens(" ".join(texts)))}))
