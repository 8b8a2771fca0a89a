"""The facts that a text states of its speaker, or of persons it names, read by rules."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import tzinfo

from ...language.chat_markup import spoken
from ...language.clauses import NOBODY, Clause, Whose, after, clauses
from ...language.normalise import clean_text, content_hash, fold
from ...language.times import Span, find_span
from ...lazy_regex import lazy_regex
from ..timeline import ANY
from .context import is_imagined, is_of_device
from .framing import denies_allergy, unframed
from .implicit_subject import ended_pet, hints_at_end_of_pet, hints_at_news, is_alone, is_fit, is_own
from .patterns import PATTERNS, SUBJECT, Pattern
from .sentences import bare, is_statement, listed, sentences, unquoted
from .slots import FAVOURITE, STATEMENT
from .values import accepted, normal, parts

__all__ = ["LAST", "Claim", "Reader", "read_facts", "statement"]

PLAN_SECONDS = 60 * 86_400.0
"""A plan for no named time is one for so long."""
LAST = "^"
"""The norm of a denial of whichever value was told last."""
LONGEST = 4_000
"""Facts are read from the first characters of a text only."""
_SINCE = frozenset({"partner", "residence", "workplace", "occupation", "school", "pet", "spouse", "avoids", "diet", "allergy",
                    "language", "child", "hometown", "birthday", "name", "nickname"})  # fmt: skip
"""What a named time in the past is the beginning of."""
_CHANGE = lazy_regex(
    r"满(?=[0-9一二三四五六七八九十])|岁生日|分手|离婚|结婚|订婚|在一起了|搬|移居|移民|迁|定居|入职|加入|跳槽|[换转跳]到|去了|到了|开始|离[职开]|辞|退[休出学]|不在|不再|被裁|失业|当上|成为|考[上进]|领?[收领]?养了|起(?!床)|以来|至今"
    r"|\b(?:mov(?:e[ds]?|ing)|relocated|joined|started|became|become|got|quit|left|lost|resigned|retired|fired|laid off|no longer|stopped|adopted|bought|went|married|divorced|broke|split|settled"
    r"|turned|since)\b",
    re.I,
)
"""What tells that it has been so from a time on, and not that it was so at that time."""
_ENDED_LONG_AGO = 62 * 86_400.0
"""Until so long after the time that an end names, what was last said to hold may have been said since."""
_OF_KIN = frozenset({"spouse", "partner", "child", "pet"})
"""What is told of somebody by telling of who belongs to them."""
_YEAR = 365 * 86_400.0
_WEEK = 7 * 86_400.0
_WEEKDAY = lazy_regex(
    r"^(?:在|on )?(?:(?:周|星期|礼拜)[一二三四五六日天]|(?:mon|tues|wednes|thurs|fri|satur|sun)day)\b", re.I
)
_CJK = lazy_regex(r"[\u3400-\u9fff]")
_TOGETHER = frozenset({("occupation", "workplace"), ("diet", "avoids"), ("partner", "spouse")})
"""What one clause may tell besides: the second after the first."""
_NO_JOKE = frozenset({"allergy", "avoids", "diet", "age", "birthday", "name", "nickname", "occupation", "spouse", "child",
                      "hometown"})  # fmt: skip
"""Body and identity: of these nothing is believed that is said with a laugh."""
_LEAD = lazy_regex(
    r"(?:其实|对了|哦+|噢|嗯+|啊|哎呀?|唉|哈+|那个|顺便|因为|所以|不过|但是?|而且|另外|还有|毕竟|记住|记得|别忘了|提醒[你大家]*一?下?|反正|总之|然后|现在|目前|最近|如今"
    r"|那|跟[你大][们家]?说|告诉[你大][们家]?|说实话|老实说|说真的|话说|忘了说"
    r"|\b(?:well|oh|ok(?:ay)?|so|and|but|also|actually|btw|by the way|hey|hi|hello|yes|yeah|no|now|because|since|remember(?: that)?|fyi|haha|lol|honestly|personally|plus|anyway|currently|guess what|as you know|note that)\b"
    r"|[\s,，!！:：~])*",
    re.I,
)
_FIRST = lazy_regex(r"我(?![们俩国校司方等])|俺(?!们)|本人|\bi(?:'m|'ve)?\b(?!')|\bmy\b|(?<=call )me\b", re.I)
_ABOUT = lazy_regex(
    r"我(?![们俩国校司方等])|[他她](?!们)|该?用户|对方|此人|\b(?:the )?user(?:'s)?\b|\b(?:he|she|i)(?:'s|'m|'ve)?\b|\b(?:his|her|my|their)\b|\bthey\b|\bthis person\b",
    re.I,
)
_CAPITAL = lazy_regex(r"[A-Z](?:\B|(?<!\bI)\b)")
_SHORT_FORMS = {"i'm": " am", "i've": " have", "he's": " is", "she's": " is", "my": "'s", "his": "'s", "her": "'s",
                "their": "'s", "user's": "'s", "the user's": "'s"}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Claim:
    """A fact as one text states it; times in epoch seconds."""

    who: str
    """The name of whom it is about; empty for the reader's own subject."""
    attribute: str
    value: str
    norm: str
    polarity: int
    valid_from: float
    valid_to: float | None = None
    told: float | None = None
    """Of one that names its own start: up to when it vouches for it. A change lasts until it is told."""
    unnamed: bool = False
    """It does not say whom it is about: the speaker, if nobody else is being talked of."""
    only_ends: bool = False
    """It means something only where what it denies is held."""
    kind: str = ""
    importance: float = 0.5
    sentence: str = ""
    """The whole sentence where the value is a part of it."""


@dataclass(frozen=True, slots=True)
class Reader:
    """How a text is to be read."""

    at: float
    """When it was said."""
    zone: tzinfo
    first: bool
    """Whether 我 and "I" are somebody who is known."""
    about: bool = False
    """The whole text is about one person: 他, "the user" and a missing subject mean that one."""
    names: tuple[str, ...] = ()
    """Persons who are known by these names, as they stand in the text."""
    own: bool = False
    """News that name nobody are the speaker's own."""


@dataclass(frozen=True, slots=True)
class _Clause:
    """A clause as it was written and folded, place by place, and whom it is about (None: not said)."""

    raw: str
    folded: str
    cased: bool = False
    """Whether its writer uses capitals."""
    who: str | None = None

    def with_subject(self, start: int, stop: int, then: str, who: str) -> _Clause:
        """The subject marked, and what leads up to it dropped."""
        lead = _LEAD.match(self.folded)
        begin = start if lead and lead.end() >= start else 0
        mark = SUBJECT + then
        raw, folded = (
            self.raw[begin:start] + mark + self.raw[stop:],
            self.folded[begin:start] + mark + self.folded[stop:],
        )
        return _Clause(raw, folded, self.cased, who)

    def without(self, start: int, stop: int) -> _Clause:
        """The clause without this stretch; what is left of the words around it is kept apart."""
        gap = " " if self.folded[start:stop].isascii() else ""
        return _Clause(
            (self.raw[:start] + gap + self.raw[stop:]).strip(),
            (self.folded[:start] + gap + self.folded[stop:]).strip(),
            self.cased,
            self.who,
        )


_Met = dict[tuple[_Clause, str | Whose | None], list[Claim]]
"""What a clause says, by whom the one before it was about; what it tells as news of the speaker, by whose it is."""


def read_facts(text: str, how: Reader) -> list[Claim]:
    """What the text states; empty for questions, suppositions, memories of what was, and words of others."""
    found: dict[tuple[str, str, str], Claim] = {}
    met: _Met = {}
    before = NOBODY
    said_there = spoken(clean_text(text)[:LONGEST])
    if how.own and denies_allergy(said_there):
        return [Claim("", "allergy", LAST, LAST, -1, how.at, only_ends=True)]
    line = unframed(said_there)
    for sentence, joking in sentences(listed(unquoted(line))):
        raw = bare(sentence)
        said = clauses(raw, how.names, before)
        before = _goes_on_after(said)
        if not is_statement(sentence):
            continue
        for claim in _in_sentence(raw, said, how, line if how.own and how.first else "", met):
            if not (joking and claim.attribute in _NO_JOKE):
                found.setdefault((claim.who, claim.attribute, claim.norm), claim)
    return list(found.values())


def statement(text: str, at: float) -> Claim:
    """The whole text as a fact; its norm tells nothing of its words."""
    value = " ".join(clean_text(text).split())
    return Claim("", STATEMENT, value, content_hash(fold(value).strip(" .。!！")), 1, at)


def _goes_on_after(said: list[Clause]) -> Whose:
    """Somebody else is told of in the next sentence too; whoever it is, has to be said again."""
    of = after(said[-1].text, said[-1].whose) if said else NOBODY
    return of if of.owner == "other" else NOBODY


def _in_sentence(raw: str, said: list[Clause], how: Reader, line: str, met: _Met) -> Iterator[Claim]:
    """The claims of a sentence; those that name nobody where it stands in a `line` that is the speaker's own.

    What was met before is not read again.
    """
    folded = fold(raw)
    before: str | None = None
    at = 0
    while at < len(said):
        one = said[at]
        for width in (2, 1):
            if at + width > len(said) or any(clause.mood != "plain" for clause in said[at : at + width]):
                continue
            if width == 2 and _is_subject(said[at + 1].text, how):
                continue
            start, stop = one.start, said[at + width - 1].stop
            text = raw[start:stop].strip()
            clause = _Clause(text, folded[start:stop].strip(), _CAPITAL.search(text) is not None)
            key = clause, _carried(one.whose, before)
            if key not in met:
                met[key] = _in_clause(clause, how, key[1])
            named = _owned(met[key], one.whose, how)
            if not named and line and (clause, one.whose) not in met:
                met[clause, one.whose] = _news(clause, one.whose, how, line)
            claims = named or met.get((clause, one.whose), [])
            if claims:
                yield from claims
                before = named[0].who if named else before
                at += width - 1
                break
        at += 1


def _carried(of: Whose, before: str | None) -> str | None:
    """Whom the last claim was about, if a clause that does not say goes on about the same."""
    same = {"speaker": before == "", "named": before == of.name, "they": True, "unsaid": True}
    return before if same.get(of.owner, False) else None


def _owned(claims: list[Claim], of: Whose, how: Reader) -> list[Claim]:
    """The claims that are of somebody whom facts are kept of."""
    if of.kin:
        return [claim for claim in claims if claim.attribute in _OF_KIN]
    return claims if of.owner in ("speaker", "named", "unsaid") or (how.about and of.owner == "they") else []


def _is_subject(clause: str, how: Reader) -> bool:
    """Whether the clause begins with somebody of its own."""
    return bool((_ABOUT if how.about else _FIRST).match(clause.strip())) or clause.strip().startswith(
        how.names or ("\0",)
    )


def _in_clause(clause: _Clause, how: Reader, before: str | None) -> list[Claim]:
    """The claims of a clause; `before` is whom the clause before it was about, for one that does not say."""
    for marked in _subjects(clause, how, before):
        found = _read(marked, how, None)
        if not found:
            bare, span = _without_times(marked, how)
            found = _read(bare, how, span) if span is not None else []
        if found:
            return found
    return []


def _subjects(clause: _Clause, how: Reader, before: str | None) -> Iterator[_Clause]:
    """The clause with its subject marked, in the ways it may be meant."""
    mine = (_ABOUT if how.about else _FIRST).search(clause.folded) if how.first or how.about else None
    if mine:
        then = _SHORT_FORMS.get(mine[0], "")
        yield clause.with_subject(mine.start(), mine.end(), then, "")
    for name in how.names:
        at = clause.raw.find(name)
        if at >= 0 and not (mine and mine.start() < at):
            yield clause.with_subject(at, at + len(name), "", name)
    if mine is None and (before is not None or how.about) and not any(name in clause.raw for name in how.names):
        lead = _LEAD.match(clause.folded)
        raw, folded = (said[lead.end() if lead else 0 :] for said in (clause.raw, clause.folded))
        for mark in (SUBJECT,) if raw[:1] > "\u2e80" else (f"{SUBJECT} ", f"{SUBJECT} is "):
            yield _Clause(mark + raw, mark + folded, clause.cased, before or "")


def _news(clause: _Clause, of: Whose, how: Reader, line: str) -> list[Claim]:
    """What the clause tells without saying of whom, or of a pet by its name alone."""
    if of.carried and of.owner == "other":
        return []
    told = [claim for claim in _unnamed(clause, how, line) if not of.kin or claim.attribute in _OF_KIN]
    return told or _of_gone_pet(clause, how, line)


def _unnamed(clause: _Clause, how: Reader, line: str) -> list[Claim]:
    """What a clause that names nobody tells of the speaker, if the line tells of nobody else."""
    at = line.find(clause.raw) if hints_at_news(clause.raw) else -1
    if at < 0 or _FIRST.search(clause.folded) or not is_alone(line, at, at + len(clause.raw), how.names):
        return []
    lead = _LEAD.match(clause.folded)
    head = lead.end() if lead else 0
    for mark in (SUBJECT,) if clause.raw[head : head + 1] > "\u2e80" else (f"{SUBJECT} ", f"{SUBJECT} is "):
        marked = _Clause(mark + clause.raw[head:], mark + clause.folded[head:], clause.cased, "")
        told, span = _told(marked, mark, how)
        if not is_own(told.raw.removeprefix(mark), clause.raw[:head], line):
            continue
        found = _read(marked, how, None) or _read(told, how, span)
        fit = [one for one in found if one.norm == ANY or is_fit(one.attribute, one.value, clause.folded)]
        if fit:
            return [replace(one, unnamed=True, only_ends=one.polarity < 0) for one in fit]
    return []


def _told(marked: _Clause, mark: str, how: Reader) -> tuple[_Clause, Span | None]:
    """The marked clause without the times that it names, and the first of them."""
    bare, span = _without_times(marked, how)
    raw, folded = (
        said.removeprefix(mark.strip()).removeprefix(mark[1:]).lstrip(" ,，") for said in (bare.raw, bare.folded)
    )
    return _Clause(mark + raw, mark + folded, marked.cased, ""), span


def _of_gone_pet(clause: _Clause, how: Reader, line: str) -> list[Claim]:
    """The end of a pet that is called by its name, in a line that speaks of no device and no dream."""
    if not hints_at_end_of_pet(clause.raw) or is_of_device(line) or is_imagined(line):
        return []
    bare, span = _without_times(clause, how)
    name = ended_pet(clause.raw.strip()) or ended_pet(bare.raw.strip())
    times = _times("pet", -1, span, how.at, is_change=True) if name and name not in how.names else None
    if times is None:
        return []
    return [Claim("", "pet", name, normal("pet", name), -1, *times, only_ends=True)]


def _without_times(clause: _Clause, how: Reader) -> tuple[_Clause, Span | None]:
    """The clause without the times it names, and the first of them."""
    first: Span | None = None
    for words, span in find_span(clause.raw, now=how.at, zone=how.zone):
        at = clause.raw.find(words)
        if words and at >= 0:
            clause = clause.without(at, at + len(words))
            first = first or _gone_by(words, span, clause.folded, how.at)
    return clause, first


def _gone_by(words: str, span: Span, clause: str, at: float) -> Span:
    """The day of the week that is meant: of what has been done the last one, not the next."""
    done = _CHANGE.search(clause) and ("了" in clause or not _CJK.search(clause))
    if span.start > at and done and _WEEKDAY.match(words):
        return replace(span, start=span.start - _WEEK, end=span.end - _WEEK)
    return span


def _read(clause: _Clause, how: Reader, span: Span | None) -> list[Claim]:
    if SUBJECT not in clause.raw:
        return []
    found: list[Claim] = []
    for pattern in PATTERNS:
        if found and (found[0].attribute, pattern.attribute) not in _TOGETHER:
            continue
        match = pattern.regex.fullmatch(clause.folded)
        found += _claims(pattern, match, clause, how, span) if match else []
    return found


def _claims(pattern: Pattern, match: re.Match[str], clause: _Clause, how: Reader, span: Span | None) -> list[Claim]:
    groups = match.groupdict()
    polarity = -pattern.polarity if groups.get("no") and not pattern.fixed else pattern.polarity
    times = _times(pattern.attribute, polarity, span, how.at, is_change=_CHANGE.search(clause.folded) is not None)
    if times is None or (pattern.dated and (span is None or span.end <= how.at)):
        return []
    kind = (groups.get("t") or "").strip()
    attribute = f"{FAVOURITE}:{_thing(kind)}" if pattern.attribute == FAVOURITE else pattern.attribute
    claims: list[Claim] = []
    for raw, sign in _values(pattern, match, clause):
        for value in parts(pattern.shape, raw):
            norm = pattern.norm or normal(pattern.attribute, value)
            if not norm or not accepted(pattern.shape, value, cased=clause.cased) or _is_known(pattern, value, how):
                return []
            shown = f"{value} ({kind})" if pattern.attribute == "pet" and kind else value
            claims.append(Claim(clause.who or "", attribute, shown, norm, sign * polarity, *times))
    return claims


def _values(pattern: Pattern, match: re.Match[str], clause: _Clause) -> list[tuple[str, int]]:
    """What is said, and with -1 what is said not to be so instead."""
    if pattern.fixed:
        return [(pattern.fixed, 1)]
    found = [("v", 1), ("w", -1)] if match.groupdict().get("w") else [("v", 1)]
    return [(clause.raw[match.start(group) : match.end(group)].strip(" .~!"), sign) for group, sign in found]


def _is_known(pattern: Pattern, value: str, how: Reader) -> bool:
    """Whether it is a person who is left, and no place."""
    return pattern.shape in ("town", "firm", "house") and value in how.names


def _thing(kind: str) -> str:
    return {"colour": "color", "film": "movie"}.get(kind, kind)


def _times(
    attribute: str, polarity: int, span: Span | None, at: float, *, is_change: bool
) -> tuple[float, float | None, float | None] | None:
    """(valid from, valid to, told); None if the time named does not go with the fact.

    A denial that names a time not long ago counts from when it is said: what it ends may have been said after that time.
    """
    if attribute == "plan":
        future = span is not None and span.end > at
        return at, span.end if span is not None and future else at + PLAN_SECONDS, None
    if span is None or span.start <= at <= span.end:
        return at, None, None
    if attribute == "age" and is_change and polarity > 0 and span.start <= at < span.start + _YEAR:
        return span.start, None, at
    if span.start > at or attribute not in _SINCE:
        return None
    if polarity < 0 and at - span.end <= _ENDED_LONG_AGO:
        return at, None, None
    begun = span.start if polarity > 0 else span.end
    return begun, None, at if is_change else begun
