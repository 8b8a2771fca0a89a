"""JSON files read piece by piece: their events, and the members of the lists in them."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import IO, Any

import ijson
from ijson.common import ObjectBuilder

from ...errors import InvalidRequest
from ..records import Bad, Reader, Record

__all__ = ["JsonReader", "Member", "TooDeep", "events", "listed"]

DEEPEST = 200
"""Lists and objects within each other; what stands in them is named by all of them, which no file may make expensive."""
TOP = ""
"""Stands for a file that is one list."""
_STARTS, _ENDS = ("start_map", "start_array"), ("end_map", "end_array")
_KINDS = {bool: "a truth value", str: "a text", list: "a list", type(None): "null"}
_BOM = b"\xef\xbb\xbf"

Event = tuple[str, str, Any]
"""(the names of what it stands in, what it is, its value)."""


class TooDeep(ijson.JSONError):
    """Nested too deep."""

    def __init__(self) -> None:
        super().__init__(f"nested too deep: more than {DEEPEST} lists and objects within each other")


@dataclass(frozen=True, slots=True)
class Member:
    """A JSON object, with the list it stands in and its place there."""

    key: str
    place: str
    value: dict[str, Any]


def events(file: IO[bytes]) -> Iterator[Event]:
    """The events of a file from its start, without a byte order mark. Raises ijson.JSONError."""
    if file.read(len(_BOM)) != _BOM:
        file.seek(0)

    def shallow() -> Iterator[tuple[str, Any]]:
        depth = 0
        for event, value in ijson.basic_parse(file, use_float=True):
            if event in _STARTS:
                depth += 1
                if depth > DEEPEST:
                    raise TooDeep
            elif event in _ENDS:
                depth -= 1
            yield event, value

    return ijson.parse(shallow())


class JsonReader(Reader):
    """A document in which each object of some lists makes one record; positions are ordinals over all of them."""

    expected = ""
    """What such a file is, for the error of another one."""
    lists: Collection[str] = (TOP,)
    """The keys of the lists, in the file's order; `""` stands for a file that is a list itself, `data.messages` for a key
    within another, `chats.item.messages` for one within the objects of a list."""

    def records(self, path: Path) -> Iterator[tuple[int, Record | Bad]]:
        for position, member in enumerate(self.members(path), start=1):
            made = member if isinstance(member, Bad) else self.record(member)
            if made is not None:
                yield position, made

    def record(self, member: Member) -> Record | Bad | None:
        """What an object becomes; None if it is passed over."""
        raise NotImplementedError

    def hear(self, prefix: str, event: str, value: Any) -> None:
        """What stands outside of the lists."""

    def members(self, path: Path, begun: float = 0.0, part: float = 1.0) -> Iterator[Member | Bad]:
        """The objects of the lists; `share` goes from `begun` on by `part`.

        What is no object is a Bad, and so is the place from where on the file is no JSON any more. Raises InvalidRequest
        if there is none of the lists.
        """
        met = False
        try:
            with path.open("rb") as file:
                size = max(os.fstat(file.fileno()).st_size, 1)
                for one in listed(events(file), self.lists, self.hear):
                    if one is None:
                        met = True
                        continue
                    self.share = begun + part * file.tell() / size
                    key, number, value = one
                    place = f"{key or 'item'}.{number}"
                    if isinstance(value, dict):
                        yield Member(key, place, value)
                    else:
                        yield Bad(place, f"is {_KINDS.get(type(value), 'a number')}, not an object")
        except (ijson.JSONError, UnicodeDecodeError) as exc:
            if not met:
                why = f"is {exc}" if isinstance(exc, TooDeep) else "is no JSON in UTF-8"
                raise InvalidRequest(f"{path.name} {why}; expected {self.expected}.", field="path") from exc
            first = str(exc).strip().splitlines()[0][:200] if str(exc).strip() else type(exc).__name__
            yield Bad("the end", f"the file breaks off or is no JSON from here on ({first})")
        except IsADirectoryError as exc:
            raise InvalidRequest(f"{path.name} is a directory; expected {self.expected}.", field="path") from exc
        except FileNotFoundError as exc:
            raise InvalidRequest(f"{path.name} is not there; expected {self.expected}.", field="path") from exc
        if not met:
            raise InvalidRequest(f"{path.name} holds something else; expected {self.expected}.", field="path")


def listed(
    found: Iterator[Event], lists: Collection[str], hear: Callable[[str, str, Any], None]
) -> Iterator[tuple[str, int, Any] | None]:
    """(list, number from 0, value) of each item of the lists, and None whenever one of them begins; `hear` is told the rest."""
    for depth, (prefix, event, value) in enumerate(found):
        if event != "start_array" or prefix not in lists or (depth and not prefix):
            if event not in _STARTS:
                hear(prefix, event, value)
            continue
        yield None
        item = f"{prefix}.item" if prefix else "item"
        for number in count():
            _, event, value = next(found)
            if event == "end_array":
                break
            builder = ObjectBuilder()
            builder.event(event, value)
            if event in _STARTS:
                for inside, event, value in found:
                    builder.event(event, value)
                    if event in _ENDS and inside == item:
                        break
            yield prefix, number, builder.value
