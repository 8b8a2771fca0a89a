"""What people say has ended, and which of their earlier statements that takes back."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from ..language.normalise import fold, is_mostly_cjk, tokens
from ..lazy_regex import lazy_regex
from .items import ProfileItem
from .patterns import OTHER_SUBJECT, SELF, ZH_SELF, is_supposed
from .rows import SPEAKER, FactOf, Line

__all__ = ["Ending", "endings", "has_ended", "outlived"]

READ_CHARS = 4_000
"""Of a longer text only the beginning is read."""
SHORTEST = 2
"""Chinese characters that have to be left of a denial for it to mean something."""
Sections = tuple[str, ...]
_ANY: Sections = ()
_WORK: Sections = ("identity", "habits", "plans")
_BONDS: Sections = ("relations", "likes", "plans", "habits")
_ENDING_WORDS: tuple[tuple[Sections, re.Pattern[str]], ...] = (
    (_WORK, lazy_regex(r"离职|辞职|辞掉|辞了|被裁|退休|毕业")),
    (_BONDS, lazy_regex(r"分手|离婚|绝交|散伙")),
    (("identity",), lazy_regex(r"搬走|搬离|搬出|离开")),
    (("habits", "likes", "plans"), lazy_regex(r"戒掉|戒了|放弃|退出|取消|泡汤")),
    (_BONDS, lazy_regex(r"\b(?:broke|broken|split) up with\b|\b(?:got |am |are )?divorced(?: from)?\b")),
    (_WORK, lazy_regex(r"\b(?:quit|resigned from|retired from|was fired from|got fired from|laid off from|left)\b(?: my| the)?(?: job)?(?: at)?")),
    (("identity",), lazy_regex(r"\bmoved (?:out|away)\b(?: of| from)?")),
    (("habits", "likes", "plans"), lazy_regex(r"\b(?:stopped|gave up|given up|cancell?ed|called off)\b")),
    (_ANY, lazy_regex(r"不(?![仅只但光过错少同久断如止然管论知])|没有?(?=[在住养做吃喝])|戒")),
    (_ANY, lazy_regex(r"\b(?:no longer|not(?! (?:only|just|sure))|never|(?:do|does|did|is|are|was|have|has|wo|ca)n['’]?t(?! wait))\b")),
)  # fmt: skip
"""(sections of what ends, all if none is named; the words that say so): the most telling first, denials last."""
_DENIALS = [rule for sections, rule in _ENDING_WORDS if sections == _ANY]
_SENTENCE = lazy_regex(r"[^。！？!?\n]+?(?:[。！？!?\n]+|\.(?=\s|$)|$)")
_CLAUSE = lazy_regex(r"[，,；;：]+|\s+(?:and|but|so|because)\s+", re.IGNORECASE)
_FILLER = lazy_regex(
    r"我们?|俺|本人|自己|已经|早就|早已|现在|目前|如今|最近|终于|刚刚?|正式|完全|真的|昨天|今天|明天|以后|"
    r"[上下这去今前本](?:个)?(?:周末?|月|年|星期)|[了的呢啦吧啊呀也都还就再和跟与从在把被给对太会]|[\W\d_]"
)
_COMMON = lazy_regex(r"喜欢|讨厌|[爱想要吃喝去来做住能看玩说是有]")
_EN_FILLER = frozenset(tokens("longer anymore any more really actually now currently already still job work"))
_EN_COMMON = frozenset(tokens("like love hate want eat drink go live know think see use enjoy need feel"))


@dataclass(frozen=True, slots=True)
class Ending:
    """That something is so no more: what has to stand in an earlier statement that it takes back."""

    at: float
    row: int
    sections: Sections
    letters: str = ""
    """Chinese characters in their order."""
    words: frozenset[str] = frozenset()

    def ends(self, item: ProfileItem) -> bool:
        """Whether the statement is an earlier one that says what has ended."""
        if self.sections and item.section not in self.sections:
            return False
        last = max(item.evidence, default=0)
        if item.basis in ("fact", "relation"):
            follows = self.row > last and self.at >= item.at
        else:
            follows = (self.at, self.row) > (item.at, last)
        if not follows:
            return False
        asserted = (c for c in _CLAUSE.split(fold(item.statement)) if not any(rule.search(c) for rule in _DENIALS))
        return any(self._is_in(clause) for clause in asserted)

    def _is_in(self, clause: str) -> bool:
        if self.words:
            return self.words <= set(tokens(clause))
        rest = iter(clause)
        return all(letter in rest for letter in self.letters)


def endings(lines: Sequence[Line], items: Sequence[ProfileItem]) -> list[Ending]:
    """What the person's own lines and what is already known of them say has ended."""
    found = [one for line in lines if line.role == SPEAKER for one in _read(line.content, line.at, line.id, own=True)]
    for item in items:
        if item.basis in ("said", "told", "model"):
            found += _read(item.statement, item.at, max(item.evidence, default=0), own=item.basis == "said")
    return found


def has_ended(item: ProfileItem, said: Iterable[Ending]) -> bool:
    """Whether one of the endings takes the statement back."""
    return any(ending.ends(item) for ending in said)


def outlived(fact: FactOf, facts: Iterable[FactOf]) -> bool:
    """Whether the fact is over: it holds no more, or a later one that holds denies what it says in other words."""
    if not fact.holds or fact.polarity < 0:
        return not fact.holds
    one = fold(fact.value)
    for other in facts:
        later = (other.at, other.id) > (fact.at, fact.id)
        if other.holds and other.polarity <= 0 and other.attribute == fact.attribute and later:
            two = fold(other.value)
            if one.startswith(two) or two.startswith(one):
                return True
    return False


def _read(text: str, at: float, row: int, *, own: bool) -> Iterator[Ending]:
    for sentence in _SENTENCE.findall(text[:READ_CHARS]):
        if is_supposed(sentence):
            continue
        chinese = is_mostly_cjk(sentence)
        if own and chinese and not ZH_SELF.search(sentence):
            continue
        for clause in _CLAUSE.split(sentence):
            if own and (OTHER_SUBJECT.search(clause) if chinese else not SELF.search(clause)):
                continue
            if ending := _ending(fold(clause), at, row, chinese):
                yield ending


def _ending(clause: str, at: float, row: int, chinese: bool) -> Ending | None:
    for sections, rule in _ENDING_WORDS:
        if rule.search(clause) is None:
            continue
        rest = rule.sub(" ", clause)
        if chinese:
            letters = _FILLER.sub("", rest)
            meant = len(letters) >= SHORTEST and _COMMON.sub("", letters)
            return Ending(at, row, sections, letters=letters) if meant else None
        words = frozenset(tokens(rest)) - _EN_FILLER
        return Ending(at, row, sections, words=words) if words - _EN_COMMON else None
    return None
