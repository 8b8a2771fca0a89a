"""Times as people write them, in English and Chinese."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Any, Literal
from zoneinfo import ZoneInfo

from ..errors import InvalidRequest
from ..lazy_regex import lazy_regex
from .time_grammar import MONTHS, RULES, Range, Rule, spell

__all__ = [
    "NEVER", "Edge", "Span", "asks_something", "asks_when", "date_words",
    "find_span", "format_day", "format_time", "has_time_words", "is_question", "local_moment", "local_zone", "read_bound",
    "read_event", "read_expiry", "read_instant", "read_time", "zone_name",
]  # fmt: skip

Edge = Literal["start", "end"]
"""Which instant of a named span is meant."""

_ACCEPTED = (
    "give epoch seconds, ISO 8601 (2025-03-01T09:30:00+08:00), YYYY/MM/DD[ HH:mm[:ss]], 2025年3月1日, "
    "or words such as 'yesterday', 'last week', '3 days ago', '昨天', '上周三', '三天前'."
)
_LONGEST_TEXT = 100
_FIRST, _LATEST = -62_135_596_800.0, 253_402_300_800.0  # the years 1 and 10000
_MILLISECONDS = (_LATEST, 1e13)  # epoch numbers between these count milliseconds
_BARE_MINUTES = lazy_regex(r"([0-9]{4}[-/.][0-9]{1,2}[-/.][0-9]{1,2}[ t]+[0-9]{1,2})((?::[0-9]{1,2}){1,2})")
"""A date with a clock as tables write it, `2025/1/3 9:1`."""

_TIME_WORDS = lazy_regex(
    r"\b(?:yesterday|today|tonight|tomorrow|ago|recently|lately|the other day|weekends?|since"
    r"|(?:mon|tues|wednes|thurs|fri|satur|sun)days?|(?:[01]?[0-9]|2[0-3]):[0-5][0-9]|[0-9]{1,2} ?[ap]m|(?:19|20)[0-9]{2}"
    r"|january|february|april|june|july|august|september|october|november|december|(?:in|of|last|next|by) (?:march|may)"
    r"|(?:march|may) [0-9]{1,2}|(?:last|past|this|next|coming|every) (?:night|morning|afternoon|evening|week|month|year"
    r"|spring|summer|autumn|fall|winter)|(?:[0-9]+|an?|one|two|three|four|five|six|few|couple of|several)"
    r" (?:second|minute|hour|day|week|month|year)s?)\b"
    r"|[前昨今明后][天日晚早夜]|[上下这本]一?个?(?:周|星期|礼拜|月|年)|[去今明前后]年|周末|(?:周|星期|礼拜)[一二三四五六日天]"
    r"|[0-9一二三四五六七八九十](?:月|[日号](?!码)|点钟?)|[0-9〇零一二三四五六七八九]{4}年|刚才|刚刚|最近|以前|当时|从前"
    r"|(?:秒|分钟|小时|钟头|天|周|星期|礼拜|个月|年)[以之]?[前后]|凌晨|早上|上午|中午|下午|傍晚|晚上|[春夏秋冬]天"
)
_WHEN = lazy_regex(
    r"\b(?:when|how (?:long|soon|often)|how (?:many|much) (?:time|seconds|minutes|hours|days|weeks|months|years)"
    r"|(?:what|which) (?:date|day|week|weekend|month|year|time|season))\b"
    r"|(?:什么|啥)(?:时候|时间|日子|日期)|何时|几时|几[点号月]|哪一?[天年月周日]|哪个(?:月|星期|季节|周末)|多久|多长时间"
    r"|多少(?:秒|分钟|个?小时|天|周|个?月|年)"
)
NEVER = math.inf
"""The expiry of what is kept for good."""
NEVER_WORDS = frozenset({"never", "forever", "永不", "永久", "永不过期"})
_QUESTION = lazy_regex(r"(?:[?？]|吗|呢|么)\W*$")
LONGEST_QUESTION = 60
"""Characters of a question that may do without its mark."""
_UNMARKED = lazy_regex(
    r"^(?:有没有|有谁|谁有|谁家|谁会|谁能|谁知道|请问|求问|求推荐)|(?:多大|多少钱?|多久|多远|几[点岁个号月]|哪[里儿个天]?|谁|啥|怎么样?|咋样?|干嘛|来着)了?\W*$"
    r"|^(?:who|what|where|which|whose|how (?:much|many|long|old|far|do|did|does|is|are|was)|when (?:is|are|did|do|does|was|will)"
    r"|why (?:is|are|did|do|does)|any(?:one|body) (?:got|know|have|want)|(?:do|did|are|have|can|could|would|will) you)\b"
)
_STATEMENT = lazy_regex(r"[没这那要]什?么[^\w?？]*$")


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of time in epoch seconds, UTC; both ends belong to it."""

    start: float
    end: float


def read_time(value: Any, *, now: float, zone: tzinfo, edge: Edge) -> float:
    """The epoch seconds that `value` names: a number, a date or words relative to `now` in `zone`.

    `edge` chooses the first or the last instant of a named day, week, month, minute and so on; a number, or a time
    written with its seconds, is one instant. Weeks begin on Monday. "N weeks ago" is that calendar week; a date without
    its year is this year's, or last year's when it would lie more than half a year ahead.
    Raises ValueError with a sentence that says what is accepted.
    """
    if isinstance(value, str):
        span = _read_text(_BARE_MINUTES.sub(_padded, _fold(value).strip()), now, zone)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        span = _number_span(value)
        value = "this number"
    else:
        raise ValueError(f"A {type(value).__name__} is no time: {_ACCEPTED}")
    if span is None:
        raise ValueError(f"Cannot read {value[:60]!r} as a time: {_ACCEPTED}")
    return span.start if edge == "start" else span.end


# Arguments of calls: an InvalidRequest names the field


def read_bound(field: str, value: Any, now: float, zone: tzinfo) -> float | None:
    """A bound of a window: a start is the first moment of the span named, an end its last. None stays None."""
    return _read_argument(field, value, now, zone, "end" if field.endswith("end") else "start")


def read_instant(field: str, value: Any, now: float, zone: tzinfo) -> float | None:
    """The last moment of the time named. None stays None."""
    return _read_argument(field, value, now, zone, "end")


def read_event(
    fields: tuple[str, str], values: tuple[Any, Any], now: float, zone: tzinfo
) -> tuple[float | None, float | None]:
    """(start, end) of an event: one that has only one of them begins and ends there; InvalidRequest if start > end."""
    start = _read_argument(fields[0], values[0], now, zone, "start")
    end = _read_argument(fields[1], values[1], now, zone, "end")
    if start is not None and end is not None and start > end:
        raise InvalidRequest(f"{fields[0]} is after {fields[1]}.", field=fields[0])
    return (end if start is None else start), (start if end is None else end)


def read_expiry(expires_at: Any, ttl_seconds: float | None, now: float, zone: tzinfo) -> float | None:
    """When it expires, as epoch seconds; None if nothing was said. Raises InvalidRequest for a time that has passed, or is no date."""
    if ttl_seconds is not None:
        if now + ttl_seconds >= _LATEST:
            raise InvalidRequest("ttl_seconds: it would end after the year 9999.", field="ttl_seconds")
        return now + ttl_seconds
    if isinstance(expires_at, str) and expires_at.strip().lower() in NEVER_WORDS:
        return NEVER
    at = _read_argument("expires_at", expires_at, now, zone, "end")
    if at is not None and at <= now:
        raise InvalidRequest("expires_at has passed already.", field="expires_at")
    return at


def _read_argument(field: str, value: Any, now: float, zone: tzinfo, edge: Edge) -> float | None:
    if value is None or value == "":
        return None
    try:
        return read_time(value, now=now, zone=zone, edge=edge)
    except ValueError as exc:
        raise InvalidRequest(f"{field}: {exc}", field=field) from exc


# Within texts


def find_span(text: str, *, now: float, zone: tzinfo) -> list[tuple[str, Span]]:
    """The expressions of time in a text, in their order, each with the span it names as seen from `now` in `zone`.

    Words that are only sometimes about time (a bare "3点", "morning" or "May") are left alone. A span named by one
    moment ("2 hours ago") starts where it ends.
    """
    folded = _fold(text)
    present = _moment(now, zone)
    hits = [(m.start(), -m.end(), m, rule) for rule in RULES if not rule.loose for m in rule.pattern.finditer(folded)]
    found: list[tuple[str, Span]] = []
    reached = 0
    for start, _, match, rule in sorted(hits, key=lambda hit: hit[:2]):
        span = _resolve(rule, match, present) if start >= reached else None
        if span is not None:
            found.append((text[start : match.end()].strip(), span))
            reached = match.end()
    return found


def format_time(epoch: float, zone: tzinfo) -> str:
    """ISO 8601 to the second with the offset of `zone`, such as `2025-03-01T09:30:00+08:00`."""
    return local_moment(epoch, zone).isoformat(timespec="seconds")


def format_day(epoch: float, zone: tzinfo) -> str:
    """The day, such as `2025-03-01`."""
    return local_moment(epoch, zone).date().isoformat()


def date_words(epoch: float, zone: tzinfo, cjk: bool) -> str:
    """The day in words that a search can match: `8 May 2023`, or `2023年5月8日` for a text in Chinese."""
    day = local_moment(epoch, zone)
    if cjk:
        return f"{day.year}年{day.month}月{day.day}日"
    return f"{day.day} {MONTHS[day.month - 1].capitalize()} {day.year}"


def has_time_words(text: str) -> bool:
    """Whether the text says when something happens, in any form."""
    return _TIME_WORDS.search(_fold(text)) is not None


def asks_when(text: str) -> bool:
    """Whether the text asks for a time, a date or a duration."""
    return _WHEN.search(_fold(text)) is not None


def is_question(text: str) -> bool:
    """Whether the text ends as a question does; closing quotes, spaces and emoji after it do not matter."""
    ending = text.rstrip()[-64:]
    return _QUESTION.search(ending) is not None and _STATEMENT.search(ending) is None


def asks_something(text: str) -> bool:
    """Whether the text is a question, or begins or ends as one that was typed without its mark."""
    return is_question(text) or (len(text) <= LONGEST_QUESTION and _UNMARKED.search(_fold(text.strip())) is not None)


def local_zone() -> tzinfo:
    """The machine's zone, daylight saving included."""
    return _LocalZone()


def zone_name(zone: tzinfo) -> str:
    """Its IANA name; empty for the machine's, which need not have one."""
    return zone.key if isinstance(zone, ZoneInfo) else ""


class _LocalZone(tzinfo):
    """The rules of the operating system's own zone."""

    def utcoffset(self, dt: datetime | None) -> timedelta | None:
        return None if dt is None else dt.replace(tzinfo=None).astimezone().utcoffset()

    def dst(self, dt: datetime | None, /) -> timedelta | None:
        return None if dt is None else timedelta(0)

    def tzname(self, dt: datetime | None) -> str | None:
        return "local" if dt is None else dt.replace(tzinfo=None).astimezone().tzname()

    def fromutc(self, dt: datetime) -> datetime:
        moment = dt.replace(tzinfo=UTC).astimezone()
        wall = moment.replace(tzinfo=self)
        return wall if wall.utcoffset() == moment.utcoffset() else wall.replace(fold=1)


def local_moment(epoch: float, zone: tzinfo) -> datetime:
    """The second in the zone, or in UTC where the zone has no date for it: within a day of the years 1 and 9999."""
    # the last instant of a day is nearer to the next day than a datetime can tell
    return _moment(math.floor(epoch), zone)


def _moment(epoch: float, zone: tzinfo) -> datetime:
    try:
        return datetime.fromtimestamp(epoch, zone)
    except (OverflowError, ValueError):  # of a zone that has no date for it
        return datetime.fromtimestamp(min(max(epoch, _FIRST), _LATEST - 1), UTC)


# Reading

_WIDE = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)} | {0x3000: 0x20}
_UPPER = {code: code + 32 for code in range(65, 91)} | {code: code - 0xFEC0 for code in range(0xFF21, 0xFF3B)}
_FOLD = _WIDE | _UPPER


def _fold(text: str) -> str:
    """Half-width and lower case; the length stays, so that positions do too."""
    return text.translate(_FOLD)


def _number_span(value: float) -> Span | None:
    low, high = _MILLISECONDS
    if not 0 <= value < high:  # refuses NaN too
        return None
    seconds = value / 1000 if value > low else float(value)
    return Span(seconds, seconds)


def _read_text(text: str, now: float, zone: tzinfo) -> Span | None:
    if len(text) > _LONGEST_TEXT:
        return None
    present = _moment(now, zone)
    for rule in RULES:
        if match := rule.pattern.fullmatch(text):
            return _resolve(rule, match, present)
    if re.fullmatch(r"[0-9]+(\.[0-9]+)?", text) and not re.fullmatch(r"(19|20)[0-9]{6}", text):
        return _number_span(float(text))
    return _read_iso(text, zone)


def _padded(found: re.Match[str]) -> str:
    return found.group(1) + "".join(f":{part:0>2}" for part in found.group(2).split(":")[1:])


def _read_iso(text: str, zone: tzinfo) -> Span | None:
    """The forms of ISO 8601 without separators, and its week dates."""
    if not re.fullmatch(r"[0-9tzw:+. -]+", text):
        return None
    try:
        moment = datetime.fromisoformat(text.upper())
        return _span(spell(moment, days=1) if len(text) <= 10 else (moment, moment), zone)
    except (ValueError, OverflowError):
        return None


def _resolve(rule: Rule, match: re.Match[str], present: datetime) -> Span | None:
    """The span of a match, or None when there is no such date."""
    try:
        return _span(rule.name_range(match, present), present.tzinfo or UTC)
    except (ValueError, OverflowError):
        return None


def _span(named: Range, zone: tzinfo) -> Span:
    first, last = (m if m.tzinfo else m.replace(tzinfo=zone) for m in named)
    start = first.timestamp()
    end = last.timestamp() if first == last else _last_instant(last)
    if not -_LATEST < start <= end < _LATEST:
        raise ValueError("no such time")
    return Span(start, end)


def _last_instant(last: datetime) -> float:
    """The end of a span: the float before the next second when the span takes up the rest of this one."""
    if last.microsecond < datetime.max.microsecond:
        return last.timestamp()
    return math.nextafter(last.replace(microsecond=0).timestamp() + 1, -math.inf)
