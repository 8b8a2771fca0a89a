"""What a profile says: short statements with their evidence, sorted into sections."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

from ..language.normalise import fold, is_mostly_cjk

__all__ = ["HEADINGS", "SECTIONS", "Basis", "ProfileItem", "dump", "gathered", "load", "render", "score", "worded"]

Basis = Literal["said", "told", "fact", "relation", "topic", "model"]
SECTIONS = ("identity", "allergies", "likes", "dislikes", "relations", "habits", "plans", "notes", "recent")
FORMAT = 3
"""Changes whenever the rules would read the same texts differently: older snapshots are not built upon then."""
HEADINGS = {
    "identity": ("Who they are", "身份"),
    "allergies": ("Allergies", "过敏"),
    "likes": ("Likes", "喜好"),
    "dislikes": ("Dislikes", "不喜欢"),
    "relations": ("People and things around them", "关系"),
    "habits": ("Habits and skills", "习惯与技能"),
    "plans": ("Plans", "打算"),
    "notes": ("Also known", "其他"),
    "recent": ("Lately about", "近期话题"),
}
"""Section -> what it is called, in English and Chinese."""
YEAR = 365 * 86_400.0
FRESH_SHARE = 0.3
"""How much of an item's score wanes with its age, by 1/e in a year."""


@dataclass(frozen=True, slots=True)
class ProfileItem:
    """One statement about a person.

    `evidence` are paragraphs; `ref` is the fact or relation that the statement tells of. Words that the person said
    (`said`) or that were written of them (`told`) hold while one of the paragraphs with these words lives; what was put
    together from several (`topic`, `model`) holds only while all of them do.
    """

    section: str
    statement: str
    basis: Basis
    evidence: tuple[int, ...]
    confidence: float
    at: float
    ref: int = 0

    @property
    def needs_all(self) -> bool:
        """Whether the statement falls with the first of its paragraphs."""
        return self.basis in ("topic", "model")


def score(item: ProfileItem, newest: float) -> float:
    """0..1: how sure the statement is, and how fresh beside the newest one."""
    age = max(0.0, newest - item.at)
    return round(item.confidence * (1 - FRESH_SHARE + FRESH_SHARE * math.exp(-age / YEAR)), 4)


def gathered(items: Iterable[ProfileItem], each: int) -> list[ProfileItem]:
    """The best `each` of every section, in the order of the sections; the same words twice are one statement."""
    merged: dict[tuple[str, str], ProfileItem] = {}
    for item in items:
        key = (item.section, _key(item.statement))
        known = merged.get(key)
        merged[key] = item if known is None else _both(known, item)
    newest = max((item.at for item in merged.values()), default=0.0)
    ranked = sorted(
        merged.values(), key=lambda item: (-score(item, newest), -item.at, len(item.statement), item.statement)
    )
    return [item for section in SECTIONS for item in _first(ranked, section, each)]


def _first(ranked: Sequence[ProfileItem], section: str, each: int) -> list[ProfileItem]:
    return [item for item in ranked if item.section == section][:each]


def _both(one: ProfileItem, other: ProfileItem) -> ProfileItem:
    """The surer of two that say the same; words that were only said again lend each other their evidence."""
    best = max(one, other, key=lambda item: (item.confidence, item.at))
    if best.needs_all or {one.basis, other.basis} - {"said", "told"}:
        return best
    evidence = sorted({*one.evidence, *other.evidence}, reverse=True)[:8]
    return replace(best, evidence=tuple(evidence), at=max(one.at, other.at))


def _key(statement: str) -> str:
    return "".join(char for char in fold(statement) if char.isalnum())


def render(name: str, items: Sequence[ProfileItem]) -> str:
    """The profile as text: a line for each section, in Chinese if the statements are; own words in quotation marks.

    Topics of late say nothing of the language while anything else does: they change with the time of deriving.
    """
    if not items:
        return ""
    lasting = [item.statement for item in items if item.basis != "topic"]
    chinese = is_mostly_cjk(" ".join(lasting or [item.statement for item in items]))
    lines = [name] if name else []
    for section in SECTIONS:
        said = [worded(item, chinese) for item in items if item.section == section]
        if said:
            heading = HEADINGS[section][chinese]
            lines.append(f"{heading}：{'；'.join(said)}" if chinese else f"{heading}: {'; '.join(said)}")
    return "\n".join(lines)


def worded(item: ProfileItem, chinese: bool) -> str:
    """The statement as it is shown: what the person said in quotation marks."""
    if item.basis != "said":
        return item.statement
    return f"“{item.statement}”" if chinese else f'"{item.statement}"'


def dump(items: Sequence[ProfileItem]) -> str:
    """The items as they are stored."""
    return json.dumps({"format": FORMAT, "items": [asdict(item) for item in items]}, ensure_ascii=False)


def load(content: str) -> list[ProfileItem]:
    """The items of a snapshot; none if it was made by other rules."""
    stored: dict[str, Any] = json.loads(content)
    return [_item(**item) for item in stored["items"]] if stored.get("format") == FORMAT else []


def _item(evidence: Sequence[int], **fields: Any) -> ProfileItem:
    return ProfileItem(evidence=tuple(evidence), **fields)
