"""The sentences of what somebody said, with their relative times made absolute; and lines that take back the one before."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, date, tzinfo

from ...language.chat_markup import GAP, spoken
from ...language.normalise import clean_text, is_mostly_cjk, simplified
from ...language.time_grammar import MONTHS
from ...language.times import Span, find_span, is_question, local_moment
from ...lazy_regex import lazy_regex

__all__ = ["dated", "retracts", "sentences", "spans", "written_dates"]

LONGEST = 4_000
"""Only the first characters of a text are read."""
SHORTEST_WORDS, SHORTEST_CHARACTERS = 3, 4
"""What is shorter goes with the sentence before it."""
_ENDS = lazy_regex(r"(?<=[。！？!?；;…])(?![。！？!?；;…\"”」』)）])|\n+|(?<=[a-z0-9)\"'.]\.)\s+(?=\S)", re.I)
_LETTER = lazy_regex(r"[^\W_]")
_RETRACTS = lazy_regex(
    r"[\W_]*(?:(?:ha(?:ha)+|lol|哈+)[\W_]*)?"
    r"(?:(?:刚才|刚刚|上面)?都?是?我?(?:(?:开个?玩笑|骗你们?|骗人|逗你们?玩?|瞎说|乱说)(?:的[啦呢]?|啦)|假的啦?)"
    r"|(?:i'm |i was )?(?:just |only )?(?:kidding|joking)(?: about that| guys)?|jk|just a joke)(?=[\W_]|哈|lol|$)",
    re.I,
)
_REPEATED = lazy_regex(r"(?:每个?|\bevery|\beach|\bmost|\bon|\balternate)\s*$", re.I)
_PLURAL_DAY = lazy_regex(r"days?\s+(?:nights?|mornings?|evenings?)?s$|days$", re.I)
_WEEKDAY = lazy_regex(
    r"^(?:在|on )?(?:(?:周|星期|礼拜)[一二三四五六日天]|(?:mon|tues|wednes|thurs|fri|satur|sun)day)", re.I
)
_DONE = lazy_regex(r"了|过|\b(?:\w{2,}ed|got|went|did|had|was|were|bought|left|quit|met|saw|began|became|broke|won|lost|came|took|found|made|sold|gave)\b", re.I)  # fmt: skip
_YEAR = lazy_regex(r"(?:19|20)\d\d")
_MONTH, _DAY = r"-(?:0[1-9]|1[0-2])", r"-(?:0[1-9]|[12]\d|3[01])"
_BEHIND = lazy_regex(
    rf"(?P<before>.?)(?P<space> ?)\((?:(?P<from>\d{{4}}{_MONTH}{_DAY}) - (?P<to>\d{{4}}{_MONTH}{_DAY})"
    rf"|(?P<first>\d{{4}})-(?P<last>\d{{4}})|(?P<only>\d{{4}}(?:{_MONTH}(?:{_DAY})?)?))\)(?P<after> ?)",
    re.S,
)
"""The date that `dated` puts behind a time in words: one, or the first and the last. What a person put into brackets may look
like it."""
_HAN = lazy_regex(r"[\u3400-\u9fff]")
DAY, WEEK = 86_400.0, 7 * 86_400.0


def sentences(text: str, *, said: bool = True) -> list[str]:
    """The sentences, without chat codes and the words of others; `said`: one person has said it all.

    One that the next calls a joke is left out.
    """
    pieces: list[str] = []
    for line in spoken(clean_text(text)[:LONGEST], said=said).split("\n"):
        start = len(pieces)
        for piece in _ENDS.split(line):
            piece = " ".join(piece.replace(GAP.strip(), " ").split())
            if not _LETTER.search(piece):
                continue
            if len(pieces) > start and _is_short(piece):
                pieces[-1] += f" {piece}" if piece.isascii() else piece
            else:
                pieces.append(piece)
    # of one that takes back what was said before, what is so instead counts: "jk, I'm not allergic"
    kept: list[str] = []
    for piece, after in zip(pieces, [*pieces, ""][1:], strict=True):
        own = _RETRACTS.sub("", piece).lstrip(" ,，.!！~") if retracts(piece) else piece
        if _LETTER.search(own) and not (after and retracts(after)):
            kept.append(own)
    return kept


def _is_short(piece: str) -> bool:
    if is_question(piece) or retracts(piece):
        return False
    return len(piece) < SHORTEST_CHARACTERS if is_mostly_cjk(piece) else len(piece.split()) < SHORTEST_WORDS


def retracts(line: str) -> bool:
    """Whether the line calls what was said before it a joke or a lie."""
    return _RETRACTS.match(simplified(line)) is not None and not line.rstrip().endswith(("?", "？"))


def spans(sentence: str, at: float, zone: tzinfo) -> list[tuple[str, Span]]:
    """The times that a sentence names, as its speaker means them: a day of the week that is done with is the last one."""
    found: list[tuple[str, Span]] = []
    for words, span in find_span(sentence, now=at, zone=zone):
        before = sentence[: sentence.find(words)]
        if _REPEATED.search(before) and not before.lower().rstrip().endswith("on"):
            continue
        if _PLURAL_DAY.search(words):
            continue
        if span.start > at and _WEEKDAY.match(words) and _DONE.search(sentence):
            span = Span(span.start - WEEK, span.end - WEEK)
        found.append((words, span))
    return found


def dated(sentence: str, named: Sequence[tuple[str, Span]], zone: tzinfo) -> str:
    """The sentence with each relative time followed by its date: `last Friday (2023-05-05)`."""
    done = 0
    for words, span in named:
        at = sentence.find(words, done)
        if at < 0 or _YEAR.search(words):
            continue
        end = at + len(words)
        date = _date(span, zone)
        sentence = f"{sentence[:end]} ({date}){sentence[end:]}"
        done = end + len(date) + 3
    return sentence


def _date(span: Span, zone: tzinfo) -> str:
    first, last = (local_moment(at, zone or UTC) for at in (span.start, max(span.start, span.end - 1)))
    long = span.end - span.start
    if long <= DAY + 1:
        return f"{first:%Y-%m-%d}"
    if (first.month, first.day, last.month, last.day) == (1, 1, 12, 31):
        return f"{first:%Y}" if first.year == last.year else f"{first:%Y}-{last:%Y}"
    if first.day == 1 and first.month == last.month and long > 27 * DAY:
        return f"{first:%Y-%m}"
    return f"{first:%Y-%m-%d} - {last:%Y-%m-%d}"


def written_dates(text: str, year: int) -> str:
    """The text with the dates that `dated` put behind its times as a person writes them: `last week (20–26 April)`,
    上周（4月20–26日）; a year is named unless it is this one."""

    def written(found: re.Match[str]) -> str:
        start = found["from"] or found["first"] or found["only"]
        first, last = ([int(part) for part in day.split("-")] for day in (start, found["to"] or found["last"] or start))
        try:
            for day in (first, last):
                date(*(*day, 1, 1)[:3])
        except ValueError:  # no such day, so a person wrote it
            return found[0]
        years = {first[0], last[0]} != {year}
        if _HAN.match(found["before"]):
            return f"{found['before']}（{_chinese_dates(first, last, years)}）"
        return f"{found['before']}{found['space']}({_english_dates(first, last, years)}){found['after']}"

    return _BEHIND.sub(written, text)


def _chinese_dates(first: Sequence[int], last: Sequence[int], years: bool) -> str:
    units = "年月日"
    if len(first) == 1:
        return f"{first[0]}–{last[0]}年" if last != first else f"{first[0]}年"
    start = "".join(f"{part}{unit}" for part, unit in zip(first, units, strict=False) if years or unit != "年")
    if last == first:
        return start
    same = next(at for at in range(3) if last[at] != first[at])
    end = "".join(f"{part}{unit}" for part, unit in list(zip(last, units, strict=True))[same:])
    return f"{start.removesuffix('日') if same == 2 else start}–{end}"


def _english_dates(first: Sequence[int], last: Sequence[int], years: bool) -> str:
    if len(first) == 1:
        return f"{first[0]}–{last[0]}" if last != first else f"{first[0]}"
    named = [f"{MONTHS[part[1] - 1].capitalize()}" for part in (first, last)]
    spelled = [" ".join(map(str, [*part[2:], name])) for part, name in zip((first, last), named, strict=True)]
    ends = [f" {part[0]}" if years else "" for part in (first, last)]
    if last == first:
        return spelled[0] + ends[0]
    if last[:2] == first[:2]:
        return f"{first[2]}–{spelled[1]}{ends[1]}"
    return f"{spelled[0]}{ends[0] if last[0] != first[0] else ''} – {spelled[1]}{ends[1]}"
