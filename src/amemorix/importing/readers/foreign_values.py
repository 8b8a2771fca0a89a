"""Names, relations, times and other values of foreign data, brought into the shape in which they can be stored."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Mapping
from datetime import tzinfo
from typing import Any

from ...language.normalise import clean_text, normalise_name
from ...language.times import Edge, local_zone, read_time
from ...lazy_regex import lazy_regex
from ..records import LONGEST_NAME

__all__ = [
    "CutName", "Metadata", "digest", "entities", "id_of", "is_hash", "joined", "left", "metadata", "moment",
    "name", "relation", "text_of", "texts",
]  # fmt: skip

LARGEST_METADATA = 60_000
_HASH = lazy_regex(r"[0-9a-fA-F]+")
_HASH_LENGTHS = (32, 40, 64)
_STARTS_A_DATE = lazy_regex(r"\s*[0-9]")
_UNSPACED = lazy_regex(r"[⺀-鿿豈-﫿]")


def text_of(value: Any) -> str:
    return clean_text(value) if isinstance(value, str) else ""


def name(value: Any) -> str:
    """A name or an id that can be stored, cut where it is far too long; empty if there is none."""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    whole = text_of(value)
    return whole.strip() if len(whole) <= LONGEST_NAME else CutName(whole[:LONGEST_NAME].strip())


def texts(value: Any) -> list[str]:
    """The names in a list, each once; a single one counts as a list."""
    given = value if isinstance(value, list) else [value]
    return list(dict.fromkeys(found for one in given if (found := name(one))))


def entities(names: Iterable[Any], types: Mapping[str, str] | None = None) -> list[dict[str, Any]]:
    """Entities by their names, each once whatever its spelling, with their types where one is known."""
    found: dict[str, str] = {}
    for value in names:
        if known := normalise_name(one := name(value)):
            found.setdefault(known, one)
    kinds = types or {}
    return [{"name": one, "type": kind} if (kind := kinds.get(one)) else {"name": one} for one in found.values()]


def relation(subject: Any, predicate: Any, object_: Any, confidence: Any = None) -> dict[str, Any] | None:
    """A relation that can be stored, or None: its ends must be two different things, and something must join them."""
    ends = normalise_name(first := name(subject)), normalise_name(last := name(object_))
    joins = name(predicate)
    if not all(ends) or ends[0] == ends[1] or not joins:
        return None
    made: dict[str, Any] = {"subject": first, "predicate": joins, "object": last}
    if isinstance(confidence, int | float) and not isinstance(confidence, bool) and math.isfinite(confidence):
        made["confidence"] = min(max(float(confidence), 0.0), 1.0)
    return made


def joined(made: Mapping[str, Any]) -> str:
    """A relation as a sentence: Chinese without spaces."""
    parts = [str(made["subject"]), str(made["predicate"]), str(made["object"])]
    return ("" if all(_UNSPACED.search(part) for part in parts) else " ").join(parts)


def moment(value: Any, edge: Edge = "start", zone: tzinfo | None = None) -> float | None:
    """Epoch seconds of a number or a date; None for what is no time, and for relative words, which depend on a now."""
    if isinstance(value, str) and not _STARTS_A_DATE.match(value):
        return None
    try:
        return read_time(value, now=0.0, zone=zone or local_zone(), edge=edge)
    except (ValueError, OverflowError):
        return None


class CutName(str):
    __slots__ = ()


class Metadata(dict[str, Any]):
    """Metadata that can be stored; `left_out` says how many of its keys cannot."""

    left_out = 0


def metadata(value: Mapping[str, Any]) -> Metadata:
    """What is not empty of it, if it can be stored: so much as fits, the first keys first."""
    kept = Metadata()
    room = LARGEST_METADATA
    for key, one in value.items():
        if one in (None, "", [], {}):
            continue
        try:
            room -= len(json.dumps({key: one}, ensure_ascii=False, allow_nan=False).encode("utf-8", "replace"))
        except (TypeError, ValueError, RecursionError):
            kept.left_out += 1
            continue
        if room < 0:
            kept.left_out += 1
        else:
            kept[key] = one
    return kept


def left(relations: Iterable[Any]) -> dict[str, int]:
    """What is to be noted of relations of which some are None."""
    none = sum(one is None for one in relations)
    return {"relations": none} if none else {}


def is_hash(text: str) -> bool:
    """Whether a text is nothing but the digits of a hash: an id that stands where a text should."""
    return len(text) in _HASH_LENGTHS and _HASH.fullmatch(text) is not None


def id_of(kind: str, *parts: str) -> str:
    """An id that is made of these parts, or of their hash where they are too long for one."""
    whole = ":".join((kind, *parts))
    return whole if len(whole) <= LONGEST_NAME else f"{kind}:{digest(whole)}"


def digest(text: str, *more: str) -> str:
    """64 hex digits that are the same for the same texts; of one text its SHA-256."""
    whole = json.dumps([text, *more], ensure_ascii=False) if more else text
    return hashlib.sha256(whole.encode("utf-8", "replace")).hexdigest()
