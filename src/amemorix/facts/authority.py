"""How much what a text states counts, by who said it."""

from __future__ import annotations

import json

from .language.rules import Claim
from .material import FactMaterial

__all__ = ["CORRECTION", "HEARSAY", "PERSON_FACT", "SUMMARISED", "corrected", "own", "standing_of"]

PERSON_FACT, CORRECTION = "person_fact", "correction"
TRUST = {
    "manual_confirmed": ("manual", 0.97),
    "server_verified": ("imported", 0.9),
    "trusted_import": ("imported", 0.9),
}
OWN_WORDS, HEARSAY, SUMMARISED = ("direct_user", 0.9), ("rule", 0.7), ("summary", 0.6)
UNNAMED = ("direct_user", 0.75)
NOT_THE_PERSON = ("bot", "assistant", "model", "summary", "llm", "inferred")
"""What an `evidence_source` begins with that is not the person's own words."""


def own(claim: Claim) -> tuple[str, float]:
    """The standing of a speaker's own words, less sure where they do not say of whom."""
    return UNNAMED if claim.unnamed else OWN_WORDS


def corrected(paragraph: FactMaterial) -> tuple[str, float] | None:
    """The authority of a statement that was stored to correct what was held, as the one who corrected it gave it."""
    if paragraph.source_type != CORRECTION:
        return None
    authority = json.loads(paragraph.metadata).get("authority")
    return TRUST["manual_confirmed"] if authority == "manual" else OWN_WORDS if authority == "direct_user" else None


def standing_of(metadata: str) -> tuple[str, float]:
    """The authority of a fact that a caller hands over, and how sure it is; a person's own words are not doubted."""
    given = json.loads(metadata)
    trust, source = str(given.get("trust", "")), str(given.get("evidence_source", "")).strip().lower()
    if trust in TRUST:
        return TRUST[trust]
    own = source and not source.startswith(NOT_THE_PERSON)
    return OWN_WORDS if own else SUMMARISED
