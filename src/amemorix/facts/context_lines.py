"""The lines around one that names nobody, which show whose news it tells."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC

from ..indexes.projections import Indexes
from ..store.ports import Connection
from . import material as fact_material
from .language.context import is_imagined, is_of_device, leads_to_speaker, shows_person, tells_where
from .language.framing import retracts
from .language.implicit_subject import mentions_somebody
from .language.rules import Claim, Reader, read_facts
from .material import FactMaterial

__all__ = ["ContextLines"]

LINES, WITHIN_SECONDS = 3, 1_800.0
"""Lines before one that names nobody in which somebody may have been brought in, and how old they may be."""


class ContextLines:
    """Reads what stands around a line."""

    def __init__(self, indexes: Indexes) -> None:
        self._indexes = indexes

    def believed(self, db: Connection, paragraph: FactMaterial, claims: list[Claim]) -> list[Claim]:
        """The claims without those that may be of something else, or were a joke, by the lines around."""
        if not any(_is_loose(claim) for claim in claims):
            return claims
        if self._is_taken_back(db, paragraph):
            return [claim for claim in claims if not _is_loose(claim)]
        lines = self._before(db, paragraph)
        of_pet = not any(is_imagined(line) or is_of_device(line) for line, _ in lines[:1])
        unnamed = any(claim.unnamed for claim in claims) and self._is_of_speaker(paragraph, lines)
        return [
            claim
            for claim in claims
            if (unnamed or not claim.unnamed) and (of_pet or not (claim.only_ends and claim.attribute == "pet"))
        ]

    def taken_back(self, db: Connection, paragraph: FactMaterial) -> tuple[int, frozenset[str]] | None:
        """The line before it of the same speaker that it calls a joke, and the kinds of news there that name nobody."""
        if not (paragraph.live and paragraph.speaker and paragraph.kind == "message" and retracts(paragraph.content)):
            return None
        for content, speaker, row in fact_material.just_before(db, paragraph.id, LINES, WITHIN_SECONDS):
            if speaker == paragraph.speaker:
                return row, frozenset(claim.attribute for claim in self._read(content, paragraph) if _is_loose(claim))
        return None

    def named(self, paragraph: FactMaterial) -> dict[str, int]:
        """Names in the text, each with the one person it can mean there."""
        meant = self._names_in(paragraph.content, paragraph.scope)
        return {name: next(iter(rows)) for name, rows in meant if len(rows) == 1}

    def _read(self, content: str, paragraph: FactMaterial) -> list[Claim]:
        names = tuple(name for name, rows in self._names_in(content, paragraph.scope) if len(rows) == 1)
        return read_facts(content, Reader(paragraph.recorded_at, UTC, True, names=names, own=True))

    def _is_taken_back(self, db: Connection, paragraph: FactMaterial) -> bool:
        """Whether the speaker's next line, if it comes soon, calls it a joke."""
        after = db.run("fact_just_after", id=paragraph.id, limit=LINES, seconds=WITHIN_SECONDS)  # the oldest first
        mine = [content for content, speaker, _ in after if speaker == paragraph.speaker]
        return bool(mine) and retracts(mine[0])

    def _is_of_speaker(self, paragraph: FactMaterial, lines: Sequence[tuple[str, bool]]) -> bool:
        """Whether news that name nobody are the speaker's own: something has to show it."""
        start = lines[:1] if lines and not lines[0][1] and tells_where(lines[0][0]) else lines
        for line, by_other in start:
            others = [name for name, _ in self._names_in(line, paragraph.scope)]
            if is_imagined(line) or mentions_somebody(line, others, by_other=by_other):
                return False
        before, by_other = lines[0] if lines else ("", False)
        return shows_person(paragraph.content, before) or (bool(lines) and leads_to_speaker(before, by_other=by_other))

    def _before(self, db: Connection, paragraph: FactMaterial) -> list[tuple[str, bool]]:
        """(line, whether somebody else said it) right before, the newest first; the speaker's own name is 你 or 我."""
        own = frozenset({paragraph.speaker})
        found: list[tuple[str, bool]] = []
        for content, speaker, _ in fact_material.just_before(db, paragraph.id, LINES, WITHIN_SECONDS):
            for name, meant in self._names_in(content, paragraph.scope):
                if meant == own and len(name) > 1:
                    content = content.replace(name, "我" if speaker == paragraph.speaker else "你")
            found.append((content, speaker != paragraph.speaker))
        return found

    def _names_in(self, content: str, scope: int) -> list[tuple[str, frozenset[int]]]:
        """Names in a text, the longest first, each with the persons that it can mean in a chat."""
        directory, chats = self._indexes.names.index, (0, scope)
        spoken = (name.removesuffix("'s").removesuffix("’s") for name in directory.find(content, chats).names)
        return [(name, directory.matching(name, chats)) for name in sorted(spoken, key=len, reverse=True)]


def _is_loose(claim: Claim) -> bool:
    return claim.unnamed or claim.only_ends
