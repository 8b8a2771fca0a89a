"""The facts that a correction is about, read by the rules that read facts."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC

from ...facts.language.rules import Claim, Reader, read_facts
from ...facts.language.values import normal
from ...lazy_regex import lazy_regex
from .claim import Correction
from .text import alike, in_its_words, matters

__all__ = ["Matter", "denies", "facts_said", "matter_of", "states"]

_FAMILIES = (frozenset({"allergy", "avoids"}), frozenset({"workplace", "occupation"}), frozenset({"name", "nickname"}))
"""What is said under one of these names may be kept under another."""


_TOPICS = (
    (lazy_regex(r"过敏|过敏史|过敏源|allerg(?:y|ies)", re.I), "allergy"),
    (lazy_regex(r"生日|birthday", re.I), "birthday"),
    (lazy_regex(r"住址|住处|住的地方|住哪里?|home|address|where (?:i|he|she) lives?", re.I), "residence"),
    (lazy_regex(r"公司|单位|工作单位|employer|workplace", re.I), "workplace"),
    (lazy_regex(r"职业|occupation|profession", re.I), "occupation"),
    (lazy_regex(r"年龄|岁数|age", re.I), "age"),
    (lazy_regex(r"手机号码?|电话号?码?|phone(?: number)?", re.I), "phone"),
    (lazy_regex(r"邮箱|e-?mail(?: address)?", re.I), "email"),
)  # fmt: skip
"""What is to be forgotten as a whole, whatever its value."""


@dataclass(frozen=True, slots=True)
class Matter:
    """The attributes that a correction may mean (none: it does not say), and the claims of what is right."""

    attributes: frozenset[str]
    right: tuple[Claim, ...]
    norms: frozenset[str]
    """What is wrong, in the form that values of these attributes are compared in."""
    topic: bool = False
    """Whether every value of the attribute is meant."""


def matter_of(correction: Correction, text: str) -> Matter:
    """What the correction, said in these words, speaks of."""
    topics = [attribute for words, attribute in _TOPICS if words.fullmatch(correction.wrong)]
    if topics and not correction.right:
        return Matter(frozenset(topics), (), frozenset(), topic=True)
    names = (correction.subject,) if correction.subject and not correction.of_speaker else ()
    claims = [c for c in facts_said(text, names) if _speaks(c, correction.right) or _speaks(c, correction.wrong)]
    right = tuple(c for c in claims if c.polarity > 0 and _speaks(c, correction.right))
    found = {claim.attribute for claim in claims} or matters(f"{correction.about} {correction.right}")
    meant = frozenset(found).union(*(family for family in _FAMILIES if family & found))
    return Matter(meant, right, frozenset(normal(attribute, _bare(correction.wrong)) for attribute in meant))


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


def _bare(value: str) -> str:
    return value.removesuffix("岁")
