"""The facts that a correction is about, read by the rules that read facts."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC

from .correction import Correction
from .correction_text import alike, in_its_words, matters
from .fact_rules import Claim, Reader, read_facts

__all__ = ["Matter", "denies", "facts_said", "matter_of", "states"]

_FAMILIES = (frozenset({"allergy", "avoids"}), frozenset({"workplace", "occupation"}), frozenset({"name", "nickname"}))
"""What is said under one of these names may be kept under another."""


@dataclass(frozen=True, slots=True)
class Matter:
    """The attributes that a correction may mean (none: it does not say), and the claims of what is right."""

    attributes: frozenset[str]
    right: tuple[Claim, ...]


def matter_of(correction: Correction, text: str) -> Matter:
    """What the correction, said in these words, speaks of."""
    names = (correction.subject,) if correction.subject and not correction.of_speaker else ()
    claims = [c for c in facts_said(text, names) if _speaks(c, correction.right) or _speaks(c, correction.wrong)]
    right = tuple(c for c in claims if c.polarity > 0 and _speaks(c, correction.right))
    found = {claim.attribute for claim in claims} or matters(f"{correction.about} {correction.right}")
    wider = [family for family in _FAMILIES if family & found]
    return Matter(frozenset(found).union(*wider), right)


def facts_said(text: str, names: tuple[str, ...]) -> list[Claim]:
    """What a text that is about one person says; the times of the claims mean nothing."""
    return read_facts(text, Reader(0.0, UTC, first=True, about=True, names=names))


def states(text: str, correction: Correction, matter: Matter) -> bool:
    """Whether the text states what is right, as far as rules can tell."""
    if not matter.right or in_its_words(text, correction):
        return alike(text, correction.right)
    said = {(claim.attribute, claim.norm) for claim in facts_said(text, ()) if claim.polarity > 0}
    return any((claim.attribute, claim.norm) in said for claim in matter.right)


def denies(text: str, correction: Correction, matter: Matter) -> bool:
    """Whether the text itself says that what is wrong is not so."""
    claims = [c for c in facts_said(text, ()) if c.attribute in matter.attributes and _speaks(c, correction.wrong)]
    return bool(claims) and all(claim.polarity < 0 for claim in claims)


def _speaks(claim: Claim, words: str) -> bool:
    return bool(words) and alike(claim.value, words)
