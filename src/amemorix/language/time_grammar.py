"""The grammar of written times: patterns of English and Chinese expressions, each with the range of time it names."""

from __future__ import annotations

import calendar
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone

from ..lazy_regex import lazy_regex

__all__ = ["MONTHS", "RULES", "Range", "Rule", "spell"]

Range = tuple[datetime, datetime]
"""First and last instant: naive means the reader's wall clock, aware means that very moment.

The last microsecond of a second, the latest that a `datetime` can name, stands for all that is left of the second.
"""

_Match = re.Match[str]
_Namer = Callable[[_Match, datetime], Range]
_TICK = timedelta(microseconds=1)
_HALF_YEAR = timedelta(days=183)


@dataclass(frozen=True, slots=True)
class Rule:
    """One way to write a time; its pattern wants half-width lower case."""

    pattern: re.Pattern[str]
    namer: _Namer
    day: bool
    """The pattern names a day, and goes on with an optional part of it or clock time."""
    loose: bool
    """Inside a longer text the same words often mean something else."""

    def name_range(self, match: re.Match[str], present: datetime) -> Range:
        """The range that a match names, seen from the aware `present`; ValueError or OverflowError if there is none."""
        named = self.namer(match, present)
        return _part_of_day(match, named) if self.day else named


# The calendar


def spell(start: datetime, **length: float) -> Range:
    """From `start` to the last microsecond of the length, given in the units of `timedelta`."""
    return start, start + (timedelta(**length) - _TICK)


def _midnight(present: datetime) -> datetime:
    return present.replace(hour=0, minute=0, second=0, microsecond=0, tzinfo=None, fold=0)


def _months(year: int, month: int, count: int = 1) -> Range:
    """`count` months from the given one; a month outside 1..12 counts on into other years."""
    year, month = divmod(year * 12 + month - 1, 12)
    last_year, last_month = divmod(year * 12 + month + count - 1, 12)
    last = datetime(last_year, last_month + 1, 1)
    length = calendar.monthrange(last_year, last_month + 1)[1]
    return datetime(year, month + 1, 1), spell(last, days=length)[1]


def _shifted(day: datetime, unit: str, steps: int) -> Range:
    """The day, week, weekend, month or year that comes `steps` after the one `day` is in."""
    if unit == "year":
        return _months(day.year + steps, 1, 12)
    if unit == "month":
        return _months(day.year, day.month + steps)
    if unit == "day":
        return spell(day + timedelta(days=steps), days=1)
    monday = day + timedelta(weeks=steps, days=-day.weekday())
    return spell(monday, weeks=1) if unit == "week" else spell(monday + timedelta(days=5), days=2)


def _in_some_year(which: str, make: Callable[[int], Range], day: datetime) -> Range:
    """What comes once a year, chosen by `last`, `this` or `next`, else as `read_time` says of dates without a year."""
    if which == "last":
        return next(r for r in map(make, (day.year, day.year - 1, day.year - 2)) if r[1] < day)
    if which == "next":
        return next(r for r in map(make, (day.year, day.year + 1)) if r[0] > day)
    before, named = make(day.year - 1), make(day.year)
    if which == "this":
        return before if before[1] > day else named
    return before if named[0] - day > _HALF_YEAR else named


# Words

_DIGITS = {c: i for i, c in enumerate("零一二三四五六七八九")} | {"〇": 0, "两": 2}
_NUMBER_OF = {
    "a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9,
    "ten": 10, "eleven": 11, "twelve": 12, "fifteen": 15, "twenty": 20, "thirty": 30,
}  # fmt: skip
_VAGUE = {"couple of": (2, 2), "few": (2, 7), "several": (2, 7), "几": (2, 7), "好几": (3, 9)}
_UNITS = {
    "秒": "second", "分": "minute", "小时": "hour", "钟头": "hour", "天": "day", "日": "day", "周": "week",
    "星期": "week", "礼拜": "week", "周末": "weekend", "月": "month", "年": "year",
}  # fmt: skip
_HALVES = {
    "minute": ("second", 30), "hour": ("minute", 30), "day": ("hour", 12), "week": ("day", 3),
    "month": ("day", 15), "year": ("month", 6),
}  # fmt: skip
_SECONDS = {"second": 1, "minute": 60, "hour": 3600}
_DAYS = {
    "大前": -3, "前": -2, "昨": -1, "今": 0, "明": 1, "后": 2, "大后": 3, "day before yesterday": -2, "yesterday": -1,
    "last": -1, "today": 0, "to": 0, "this": 0, "tomorrow": 1, "day after tomorrow": 2,
}  # fmt: skip
_YEARS = {"大前": -3, "前": -2, "去": -1, "今": 0, "本": 0, "明": 1, "后": 2}
_STEPS = {"last": -1, "past": -1, "previous": -1, "next": 1, "coming": 1}
MONTHS = (
    "january", "february", "march", "april", "may", "june",
    "july", "august", "september", "october", "november", "december",
)  # fmt: skip
"""English names, in order."""
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_SEASONS = {"spring": 3, "春": 3, "summer": 6, "夏": 6, "autumn": 9, "fall": 9, "秋": 9, "winter": 12, "冬": 12}
_PARTS = {
    "凌晨": (0, 6), "清晨": (5, 9), "早上": (5, 12), "早晨": (5, 12), "上午": (6, 12), "中午": (11, 14), "下午": (12, 18),
    "傍晚": (17, 20), "晚上": (18, 24), "夜里": (18, 24), "深夜": (22, 24), "早": (5, 12), "晚": (18, 24), "夜": (18, 24),
    "morning": (5, 12), "noon": (12, 13), "afternoon": (12, 18), "evening": (17, 24), "night": (18, 24),
}  # fmt: skip


def _number(word: str) -> int:
    """`12`, `twelve`, `十二`, `二十四` or, digit by digit, `二〇二五`."""
    if word in _NUMBER_OF:
        return _NUMBER_OF[word]
    tens, ten, ones = word.partition("十")
    if ten:
        return _number(tens or "一") * 10 + _number(ones or "零")
    return int("".join(str(_DIGITS.get(c, c)) for c in word))


def _amount(match: _Match) -> tuple[str, int, int]:
    """Unit, least and most of "3 days", "几个星期", "half an hour"."""
    words = match["n"]
    unit = _UNITS.get(match["unit"], match["unit"])
    if words.startswith(("half", "半")):
        if unit not in _HALVES:
            raise ValueError(f"half a {unit} is no time")
        unit, n = _HALVES[unit]
        return unit, n, n
    least, most = _VAGUE.get(words) or (_number(words),) * 2
    return unit, least, most


def _year(word: str, day: datetime) -> int:
    """`2025`, `二〇二五`, or the first characters of 去年, 大前年."""
    return day.year + _YEARS[word] if word in _YEARS else _number(word)


def _month(word: str) -> int:
    """The number of `sep`, `september`, `9`, `九`."""
    names = [number for number, name in enumerate(MONTHS, 1) if word.isascii() and name.startswith(word[:3])]
    return names[0] if names else _number(word)


# Days and clock times


def _part_of_day(match: _Match, named: Range) -> Range:
    """Narrow a day to the part or the clock time written after it."""
    if match["hour"] or match["oclock"]:
        return _clock_time(match, named[0])
    if match["part"] is None:
        return named
    first, last = _PARTS[match["part"]]
    return spell(named[0] + timedelta(hours=first), hours=last - first)


def _clock_time(match: _Match, day: datetime) -> Range:
    """With seconds one instant, else the minute or the hour."""
    hour = _number(match["hour"] or match["oclock"])
    minute = {"半": 30, "一刻": 15, "三刻": 45}.get(match["minute"]) or _number(match["minute"] or "0")
    if hour * 60 + minute > 24 * 60 or minute > 59:
        raise ValueError("no such time of day")
    hour = _hour_of_24(hour, match["half"] or match["half_only"] or match["part"])
    start = day + timedelta(hours=hour, minutes=minute)
    if match["offset"]:
        start = start.replace(tzinfo=_offset(match["offset"]))
    if match["second"]:
        instant = start + timedelta(seconds=float(f"{match['second']}.{match['fraction'] or 0}"))
        return instant, instant
    return spell(start, minutes=1) if match["minute"] else spell(start, hours=1)


def _hour_of_24(hour: int, part: str | None) -> int:
    """The hour that `part` (am, pm or a part of the day) makes of an hour on the clock's face."""
    if part in ("a", "凌晨", "早上", "早", "morning") and hour == 12:
        return 0
    if part in ("晚上", "夜里", "深夜", "晚", "夜", "night") and (hour <= 4 or hour == 12):
        return hour + 24 if hour <= 4 else 24
    if part in ("中午", "noon") and hour <= 3:
        return hour + 12
    if part in ("p", "下午", "傍晚", "晚上", "夜里", "深夜", "晚", "夜", "afternoon", "evening", "night"):
        return hour + 12 if hour < 12 else hour
    return hour


def _offset(word: str) -> timezone:
    """`z`, `utc`, `+08`, `-0330` or `+05:30`."""
    if word.isalpha():
        return UTC
    digits = word[1:].replace(":", "").ljust(4, "0")
    ahead = timedelta(hours=int(digits[:2]), minutes=int(digits[2:]))
    return timezone(-ahead if word[0] == "-" else ahead)


# What each pattern names


def _date(match: _Match, present: datetime) -> Range:
    day = _midnight(present)
    month, number = _month(match["month"]), _number(match["day"])

    def make(year: int) -> Range:
        return spell(datetime(year, month, number), days=1)

    return make(_year(match["year"], day)) if match["year"] else _in_some_year("", make, day)


def _whole_month(match: _Match, present: datetime) -> Range:
    day, groups = _midnight(present), match.groupdict()
    month = _month(match["month"])
    if not 1 <= month <= 12:
        raise ValueError("no such month")
    if year := groups.get("year"):
        return _months(_year(year, day), month)
    return _in_some_year(groups.get("which") or "", lambda year: _months(year, month), day)


def _season(match: _Match, present: datetime) -> Range:
    day, groups = _midnight(present), match.groupdict()
    first = _SEASONS[match["season"]]
    if year := groups.get("year"):
        return _months(_year(year, day), first, 3)
    return _in_some_year(groups["which"], lambda year: _months(year, first, 3), day)


def _whole_year(match: _Match, present: datetime) -> Range:
    return _months(_year(match["year"], present), 1, 12)


def _iso_week(match: _Match, _: datetime) -> Range:
    return spell(datetime.fromisocalendar(int(match["year"]), int(match["week"]), 1), weeks=1)


def _day_word(match: _Match, present: datetime) -> Range:
    return _shifted(_midnight(present), "day", _DAYS[match["word"]])


def _this_day(_: _Match, present: datetime) -> Range:
    return _shifted(_midnight(present), "day", 0)


def _unit(match: _Match, present: datetime) -> Range:
    """What "last week", "上上个月" or "周末" names."""
    which = match["which"] or ""
    steps = which.count("下") - which.count("上") or _STEPS.get(which, 0)
    return _shifted(_midnight(present), _UNITS.get(match["unit"], match["unit"]), steps)


def _weekday(match: _Match, present: datetime) -> Range:
    """The day of "last Monday", the nearest before today; "next" is the nearest after, no word this week's."""
    day = _midnight(present)
    wanted = next(i for i, name in enumerate(_WEEKDAYS) if name.startswith(match["weekday"][:3]))
    ahead = wanted - day.weekday()
    if match["which"] == "last":
        ahead = ahead % 7 - 7
    elif match["which"] in ("next", "coming"):
        ahead = (ahead - 1) % 7 + 1
    return spell(day + timedelta(days=ahead), days=1)


def _weekday_zh(match: _Match, present: datetime) -> Range:
    """上周三 is in the week before this one, 周三 in this one."""
    which = match["which"] or ""
    monday = _shifted(_midnight(present), "week", which.count("下") - which.count("上"))[0]
    return spell(monday + timedelta(days="一二三四五六日".index(match["weekday"].replace("天", "日"))), days=1)


def _distance(match: _Match, present: datetime) -> Range:
    """The whole day of "3 days ago", the moment of "in two hours"."""
    unit, least, most = _amount(match)
    if match.groupdict().get("back"):
        least, most = -most, -least
    if unit in _SECONDS:
        return _moment(present, least * _SECONDS[unit]), _moment(present, most * _SECONDS[unit])
    day = _midnight(present)
    return _shifted(day, unit, least)[0], _shifted(day, unit, most)[1]


def _stretch(match: _Match, present: datetime) -> Range:
    """The time between the present and the far end of "the past 3 days" or "the next two weeks"."""
    unit, _, most = _amount(match)
    sign = -1 if match.groupdict().get("back") else 1
    if unit in _SECONDS:
        far = _moment(present, sign * most * _SECONDS[unit])
    else:
        far = _shifted(_midnight(present), unit, sign * most)[0 if sign < 0 else 1]
        far = far.replace(tzinfo=present.tzinfo)
    return (far, present) if sign < 0 else (present, far)


def _moment(present: datetime, seconds: float) -> datetime:
    """Seconds of elapsed time, not of wall-clock time."""
    return datetime.fromtimestamp(present.timestamp() + seconds, present.tzinfo)


def _now(_: _Match, present: datetime) -> Range:
    return present, present


def _just_now(_: _Match, present: datetime) -> Range:
    return _moment(present, -3600), present


# Patterns

_ZH = "[〇零一二三四五六七八九十]"
_BEGIN, _END = "(?:(?<![0-9a-z])|(?![0-9a-z]))", "(?:(?![0-9a-z])|(?<![0-9a-z]))"
_JOIN = "[ ,]{0,2}t?(?:at |in the |的)?"
_CLOCK = (
    rf"(?:(?P<hour>[0-9]{{1,2}}|{_ZH}{{1,3}}|两)(?::(?=[0-5][0-9])|点钟?|时)(?P<minute>[0-5]?[0-9]|半|[一三]刻|{_ZH}{{1,3}})?"
    r"(?:[:分](?P<second>[0-5][0-9])(?:[.,](?P<fraction>[0-9]{1,9}))?秒?|分)?(?: ?(?P<half>[ap])(?:m|\.m\.))?"
    r"(?: ?(?P<offset>z|utc|gmt|[+-][0-9]{2}(?::?[0-9]{2})?))?|(?P<oclock>[0-9]{1,2}) ?(?P<half_only>[ap])(?:m|\.m\.))"
)
_TAIL = rf"(?:{_JOIN}(?P<part>{'|'.join(_PARTS)}))?(?:{_JOIN}{_CLOCK})?"
_MONTH = (
    r"(?P<month>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?"
    r"|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)(?:\.(?= ?[0-9]))?"
)
_DAY = "(?P<day>[0-9]{1,2})(?:st|nd|rd|th)?"
_COMMA_YEAR = "(?:,? (?P<year>[0-9]{4}))?"
_YEAR_ZH = rf"(?P<year>大前|[去今本明]|(?<![目以之最])[前后]|[0-9]{{4}}|{_ZH}{{4}})年"
_MONTH_ZH = rf"(?P<month>[0-9]{{1,2}}|{_ZH}{{1,2}})月"
_DAY_ZH = rf"(?P<day>[0-9]{{1,2}}|{_ZH}{{1,3}})[日号]"
_N = rf"(?:an? )?(?P<n>[0-9]{{1,4}}|half an?|few|couple of|several|{'|'.join(_NUMBER_OF)})"
_UNIT = "(?P<unit>second|minute|hour|day|weekend|week|month|year)s?"
_N_ZH = r"(?<![〇零一二三四五六七八九十百第])(?P<n>[0-9]{1,3}|[一二两三四五六七八九十]{1,3}|好几|几|半)"
_UNIT_ZH = r"个?(?P<unit>秒|分|小时|钟头|天|日|星期|礼拜|周|(?<=个)月|年)钟?"
_SEASON = "(?P<season>spring|summer|autumn|fall|winter)"
_WHICH_ZH = "(?P<which>(?<![早晚])[上下]{1,4}|[这本])一?个?"
_WEEK_ZH = "(?:周|星期|礼拜)"


def _rule(pattern: str, namer: _Namer, *, day: bool = False, loose: bool = False) -> Rule:
    return Rule(lazy_regex(f"{_BEGIN}{pattern}{_TAIL if day else ''}{_END}"), namer, day, loose)


RULES = (
    _rule(r"(?P<year>[0-9]{4})(?P<sep>[-/.])(?P<month>[0-9]{1,2})(?P=sep)(?P<day>[0-9]{1,2})", _date, day=True),
    _rule(r"(?P<year>[0-9]{4})[-/](?P<month>[0-9]{1,2})(?![-/0-9])", _whole_month),
    _rule(r"(?P<year>[0-9]{4})-?w(?P<week>[0-9]{2})(?!-)", _iso_week),
    _rule(r"(?:in|since|during|of) (?P<year>(?:19|20)[0-9]{2})", _whole_year),
    _rule(r"(?P<year>(?:19|20)[0-9]{2})", _whole_year, loose=True),
    _rule(rf"(?:on )?(?:the )?{_DAY}(?: of)? {_MONTH}{_COMMA_YEAR}", _date, day=True),
    _rule(rf"(?:on )?{_MONTH} (?:the )?{_DAY}{_COMMA_YEAR}", _date, day=True),
    _rule(rf"(?:in )?{_MONTH},? (?:of )?(?P<year>[0-9]{{4}})", _whole_month),
    _rule(rf"(?!this may)(?P<which>last|this|next|in|since) {_MONTH}", _whole_month),
    _rule(_MONTH, _whole_month, loose=True),
    _rule(rf"(?P<which>last|this|next) {_SEASON}", _season),
    _rule(rf"(?:in )?(?:the )?{_SEASON}(?: of)?,? (?P<year>[0-9]{{4}})", _season),
    _rule(r"(?:the )?(?P<word>day before yesterday|day after tomorrow|yesterday|today|tomorrow|to(?=night)"
          r"|(?:last|this)(?= (?:morning|afternoon|evening|night)))", _day_word, day=True),
    _rule(r"(?:the )?(?P<which>last|past|previous|this|current|next|coming) (?P<unit>weekend|week|month|year)", _unit),
    _rule(rf"(?<!every )(?:(?P<which>last|this|next|coming|on) )?(?P<weekday>{'|'.join(_WEEKDAYS)})", _weekday, day=True),
    _rule(r"(?:(?P<which>last|this|next|on) )?(?P<weekday>mon|tues?|wed|thu(?:rs?)?|fri|sat|sun)", _weekday,
          day=True, loose=True),
    _rule(rf"{_N} {_UNIT} (?:(?P<back>ago)|from now)", _distance),
    _rule(rf"in {_N} {_UNIT}", _distance),
    _rule(rf"(?:in |over |during )?(?:the )?(?:(?P<back>last|past|previous)|next|coming) {_N} {_UNIT}", _stretch),
    _rule(r"just now|a moment ago", _just_now),
    _rule(r"now|right now|at the moment", _now, loose=True),
    _rule(rf"(?:{_YEAR_ZH}的?)?{_MONTH_ZH}{_DAY_ZH}", _date, day=True),
    _rule(rf"(?:{_YEAR_ZH}的?)?{_MONTH_ZH}份?(?![天0-9])", _whole_month),
    _rule(rf"{_YEAR_ZH}的?(?P<season>[春夏秋冬])[天季]", _season),
    _rule(rf"{_YEAR_ZH}", _whole_year),
    _rule(r"(?P<word>大前|大后|[昨今明]|(?<![目以之最然先])[前后])(?:[天日]|(?<=[昨今明])(?=[早晚夜]))", _day_word, day=True),
    _rule(rf"(?<![一二两三四五六七八九十几每])(?:{_WHICH_ZH})?{_WEEK_ZH}(?P<weekday>[二三四五六日天]|一(?![直起般样些定共个]))",
          _weekday_zh, day=True),
    _rule(rf"{_WHICH_ZH}(?P<unit>周末|周|星期|礼拜|月(?![亮饼光球])|年(?![纪级龄头]))", _unit),
    _rule(r"(?P<which>(?!))?(?P<unit>周末)", _unit),
    _rule(rf"{_N_ZH}{_UNIT_ZH}[以之]?(?:(?P<back>前)|后)", _distance),
    _rule(rf"(?:(?P<back>最近|过去|近|这)|未来|接下来)的?{_N_ZH}{_UNIT_ZH}[里内]?", _stretch),
    _rule(r"刚才|刚刚", _just_now),
    _rule(r"现在|此刻|目前", _now, loose=True),
    _rule(r"(?=.)", _this_day, day=True, loose=True),
)  # fmt: skip
"""The first rule that matches a whole text reads it."""
