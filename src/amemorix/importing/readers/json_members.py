"""The members of the lists in a JSON file, read one after the other."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import ijson
from ijson.common import ObjectBuilder

from ...errors import InvalidRequest
from ..records import Bad, Record
from .json_events import Event, TooDeep, events

__all__ = ["Member", "members", "records"]

TOP = ""
"""Stands for a file that is one list."""
_STARTS, _ENDS = ("start_map", "start_array"), ("end_map", "end_array")
Heard = Callable[[str, str, Any], None]


@dataclass(frozen=True, slots=True)
class Member:
    """A JSON object, with the list it stands in and its place there."""

    key: str
    place: str
    value: dict[str, Any]


def members(
    path: Path,
    keys: Collection[str],
    expected: str,
    told: Callable[[float], None],
    heard: Heard | None = None,
) -> Iterator[Member | Bad]:
    """The objects of the lists that the file holds under these keys (`""`: the file is a list), in the file's order.

    A key within another is `data.messages`, one within the objects of a list `chats.item.messages`. What is no object is a
    Bad, and so is the place from where on the file is no JSON any more. `told` hears which share of the file has been
    read, `heard` what stands outside of the lists: (prefix, event, value). Raises InvalidRequest, which says what was `expected`, if there is none of the lists.
    """
    met = False
    try:
        with path.open("rb") as file:
            size = max(os.fstat(file.fileno()).st_size, 1)
            for member in _members(events(file), keys, heard):
                if member is None:
                    met = True
                else:
                    told(file.tell() / size)
                    yield member
    except (ijson.JSONError, UnicodeDecodeError) as exc:
        if not met:
            why = f"is {exc}" if isinstance(exc, TooDeep) else "is no JSON in UTF-8"
            raise InvalidRequest(f"{path.name} {why}; expected {expected}.", field="path") from exc
        yield Bad("the end", f"the file breaks off or is no JSON from here on ({_first_line(exc)})")
    except IsADirectoryError as exc:
        raise InvalidRequest(f"{path.name} is a directory; expected {expected}.", field="path") from exc
    except FileNotFoundError as exc:
        raise InvalidRequest(f"{path.name} is not there; expected {expected}.", field="path") from exc
    if not met:
        raise InvalidRequest(f"{path.name} holds something else; expected {expected}.", field="path")


def records(
    found: Iterator[Member | Bad], start: int, make: Callable[[Member], Record | Bad | None]
) -> Iterator[tuple[int, Record | Bad]]:
    """What `make` makes of the members beyond `start`, each with its ordinal; it is shown all, so that it can count."""
    for position, member in enumerate(found, start=1):
        made = member if isinstance(member, Bad) else make(member)
        if made is not None and position > start:
            yield position, made


def _members(found: Iterator[Event], keys: Collection[str], heard: Heard | None) -> Iterator[Member | Bad | None]:
    """The members; None whenever a list begins that was asked for."""
    for depth, (prefix, event, value) in enumerate(found):
        if depth == 0 and event == "start_array" and TOP in keys:
            yield None
            yield from _list(found, TOP, "item")
        elif prefix and event == "start_array" and prefix in keys:
            yield None
            yield from _list(found, prefix, f"{prefix}.item")
        elif heard is not None and event not in _STARTS:
            heard(prefix, event, value)


def _list(events: Iterator[Event], key: str, prefix: str) -> Iterator[Member | Bad]:
    for place in count():
        _, event, value = next(events)
        if event == "end_array":
            return
        where = f"{key or 'item'}.{place}"
        found = _whole(events, prefix, event, value)
        yield Member(key, where, found) if isinstance(found, dict) else Bad(where, f"is {_kind(found)}, not an object")


def _whole(events: Iterator[Event], prefix: str, event: str, value: Any) -> Any:
    """The value that begins with this event; nothing behind it is read."""
    builder = ObjectBuilder()
    builder.event(event, value)
    if event in _STARTS:
        for inside, event, value in events:
            builder.event(event, value)
            if event in _ENDS and inside == prefix:
                break
    return builder.value


def _kind(value: Any) -> str:
    if value is None:
        return "null"
    kinds = {bool: "a truth value", str: "a text", list: "a list"}
    return kinds.get(type(value), "a number")


def _first_line(exc: Exception) -> str:
    return str(exc).strip().splitlines()[0][:200] if str(exc).strip() else type(exc).__name__
