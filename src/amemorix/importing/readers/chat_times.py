"""Times as programs for chatting write them: by twelve hours, in the order of their country."""

from __future__ import annotations

import re

from ...lazy_regex import lazy_regex

__all__ = ["HALF", "HALF_AFTER", "by_24_hours", "half_of"]

HALF = "凌晨|清晨|早晨|早上|上午|中午|下午|傍晚|晚上"
"""What stands before an hour in Chinese."""
HALF_AFTER = r"[AaPp]\.?\s?[Mm]\b\.?"
"""What stands behind one in English."""
_LATER = ("下午", "傍晚", "晚上")
_CLOCK = lazy_regex(
    rf"(?<!\s)\s*({HALF})\s*(\d{{1,2}})(?=[:：.])|(?<=[\s日T])(\d{{1,2}})([:：][\d:：]+)\s?({HALF_AFTER})"
)


def half_of(hour: int, half: str) -> int:
    """The hour of the day; one that is written by 24 hours stays as it is."""
    word = half[:1].lower()
    if not half or hour > 12:
        return hour
    if word == "p" or half in _LATER:
        return (0 if half == "晚上" else 12) if hour == 12 else hour + 12
    if half == "中午":
        return hour + 12 if hour < 10 else hour
    return hour % 12


def by_24_hours(time: str) -> str:
    """A time with the hour by 24 hours; any other stays as it is."""

    def spelled(found: re.Match[str]) -> str:
        if found.group(1):
            return f" {half_of(int(found.group(2)), found.group(1)):02}"
        return f"{half_of(int(found.group(3)), found.group(5)):02}{found.group(4)}"

    return _CLOCK.sub(spelled, time, count=1)
