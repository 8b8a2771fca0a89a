"""What a profile says: short statements with their evidence, sorted into sections, and the text made of them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import tzinfo
from math import ceil
from typing import Literal

from ..language.normalise import fold, is_mostly_cjk
from ..language.times import format_day
from ..lazy_regex import lazy_regex

__all__ = [
    "HEADINGS", "SECTIONS", "Basis", "ProfileItem", "estimated_tokens", "ranked", "render", "score", "side_by_side", "within",
    "worded",
]  # fmt: skip

Basis = Literal["said", "told", "fact", "relation", "model"]
SECTIONS = ("identity", "allergies", "likes", "dislikes", "relations", "habits", "plans", "notes", "recent")
HEADINGS = {
    "identity": ("Who they are", "身份"),
    "allergies": ("Allergies", "过敏"),
    "likes": ("Likes", "喜好"),
    "dislikes": ("Dislikes", "不喜欢"),
    "relations": ("People and things around them", "身边的人和物"),
    "habits": ("Habits and skills", "习惯与技能"),
    "plans": ("Plans", "打算"),
    "notes": ("Also known", "其他"),
    "recent": ("Lately said", "近来说过"),
}
"""Section -> what it is called, in English and Chinese."""
YEAR = 365 * 86_400.0
FRESH_SHARE = 0.3
"""How much of an item's score wanes with its age, by 1/e in a year."""
REPEATED = 0.15
"""How much a second mention adds to the weight, and each further doubling."""
LEAST, ENOUGH = 0.12, 3
"""The weight of what is left out where there are so many statements that weigh more."""
BREVITY = 0.8
"""How much the length of a statement counts against it where room is short."""
CONSIDERED = 100
"""Statements of a person that a profile chooses from."""
_WIDE = r"\u2e80-\u9fff\uac00-\ud7a3\uf900-\ufaff\uff00-\uffef\U00020000-\U000323af"
_TOKENS = lazy_regex(rf"[{_WIDE}]|[^\s{_WIDE}]+")


def estimated_tokens(text: str) -> int:
    """Tokens of a text without a tokenizer: 1 a Chinese, Japanese or Korean character, ceil(length / 4) any other word."""
    return sum(ceil(len(found) / 4) for found in _TOKENS.findall(text))


@dataclass(frozen=True, slots=True)
class ProfileItem:
    """One statement about a person.

    `evidence` are paragraphs, the newest first; `ref` is the fact or relation that it tells of (`f7`, `r3`), `beside` the
    fact that it is shown behind: one that contradicts or doubts it.
    """

    section: str
    statement: str
    basis: Basis
    evidence: tuple[int, ...]
    confidence: float
    at: float
    ref: str = ""
    weight: float = 0.5
    mark: str = ""
    """What is added to a statement that another one puts in doubt."""
    beside: str = ""
    sentence: str = ""
    """The person's own words behind a typed value."""
    dated: bool = True
    """Whether it matters when it was said."""

    @property
    def key(self) -> str:
        """The bare letters of the statement."""
        return "".join(filter(str.isalnum, fold(self.statement)))


def score(item: ProfileItem, newest: float) -> float:
    """0..1: how much the statement matters and how sure it is, less what its age beside the newest one takes off."""
    age = max(0.0, newest - item.at)
    often = 1 + REPEATED * math.log2(max(1, len(item.evidence)))
    fresh = 1 - FRESH_SHARE + FRESH_SHARE * math.exp(-age / YEAR)
    return round(item.confidence * min(1.0, item.weight * often) * fresh, 4)


def ranked(items: Iterable[ProfileItem]) -> list[ProfileItem]:
    """The items that matter most, the first first; what the same words say in the same section is one of them."""
    merged: dict[tuple[str, str], ProfileItem] = {}
    for item in items:
        known = merged.setdefault((item.section, item.key), item)
        if known is not item:
            best = max(known, item, key=lambda one: (one.confidence, one.at))
            evidence = tuple(dict.fromkeys([*best.evidence, *known.evidence, *item.evidence]))
            merged[item.section, item.key] = replace(best, evidence=evidence, at=max(known.at, item.at))
    newest = max((item.at for item in merged.values()), default=0.0)
    by_score = sorted(
        merged.values(), key=lambda item: (-score(item, newest), -item.at, len(item.statement), item.statement)
    )
    return by_score[:CONSIDERED]


def within(
    items: Sequence[ProfileItem], *, each: int, budget: int, zone: tzinfo, relevance: Mapping[ProfileItem, float]
) -> list[ProfileItem]:
    """Of items in the order of their rank those that fit a budget of tokens, at most `each` of a section.

    What is relevant comes before the others, and counts in no section; of the others what says its part in few words.
    What stands beside another brings it along.
    """
    chinese = is_chinese(items)
    newest = max((item.at for item in items), default=0.0)
    costs = {item: estimated_tokens(worded(item, chinese=chinese, zone=zone)) + 1 for item in items}
    worth = {item: score(item, newest) / costs[item] ** BREVITY for item in items}
    of_ref = {item.ref: item for item in items if item.ref}
    taken: dict[ProfileItem, None] = {}
    counts: dict[str, int] = {}
    room = budget
    clear = sum(item.weight >= LEAST for item in items) >= ENOUGH
    for item in sorted(items, key=lambda item: (-relevance.get(item, 0.0), -worth[item])):
        if item in taken:
            continue
        if item not in relevance and (counts.get(item.section, 0) >= each or (clear and item.weight < LEAST)):
            continue
        other = of_ref.get(item.beside)
        if other is not None and other.weight < LEAST and not other.mark:
            other = None  # what doubts it tells a reader nothing
        group = [one for one in (other, item) if one is not None and one not in taken]
        headings = {one.section for one in group} - counts.keys()
        cost = sum(costs[one] for one in group)
        cost += sum(estimated_tokens(HEADINGS[section][chinese]) for section in headings)
        if cost > room:
            continue
        room -= cost
        for one in group:
            taken[one] = None
            counts[one.section] = counts.get(one.section, 0) + (one not in relevance)
    return side_by_side(list(taken))


def side_by_side(items: Sequence[ProfileItem]) -> list[ProfileItem]:
    """The items, what another one contradicts or doubts right behind it."""
    refs = {item.ref for item in items} - {""}
    behind: dict[str, list[ProfileItem]] = {}
    for item in items:
        if item.beside in refs:
            behind.setdefault(item.beside, []).append(item)
    waiting = [item for item in reversed(items) if item.beside not in refs]
    ordered: list[ProfileItem] = []
    while waiting:
        ordered.append(item := waiting.pop())
        waiting += reversed(behind.pop(item.ref, []))
    return ordered + [item for some in behind.values() for item in some]


def is_chinese(items: Sequence[ProfileItem]) -> bool:
    """Whether the statements are in Chinese; lines of late say nothing of it while anything else does."""
    lasting = [item.statement for item in items if item.section != "recent"]
    return is_mostly_cjk(" ".join(lasting or [item.statement for item in items]))


def render(name: str, items: Sequence[ProfileItem], zone: tzinfo) -> str:
    """The profile as text: a line for each section, in Chinese if the statements are; own words in quotation marks."""
    if not items:
        return ""
    chinese = is_chinese(items)
    lines = [name] if name else []
    for section in SECTIONS:
        said = [worded(item, chinese=chinese, zone=zone) for item in items if item.section == section]
        if said:
            heading = HEADINGS[section][chinese]
            lines.append(f"{heading}：{'；'.join(said)}" if chinese else f"{heading}: {'; '.join(said)}")
    return "\n".join(lines)


def worded(item: ProfileItem, *, chinese: bool, zone: tzinfo | None = None) -> str:
    """The statement as it is shown: what the person said in quotation marks; with its date where a zone is given."""
    text = item.statement
    if item.basis == "said":
        text = f"“{text}”" if chinese else f'"{text}"'
    text += item.mark
    if zone is None or not item.dated:
        return text
    day = format_day(item.at, zone)
    return f"{text}（{day}）" if chinese else f"{text} ({day})"
