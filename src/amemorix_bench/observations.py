"""What annotators wrote down of the speakers of conversations, and how much of it statements hold."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from amemorix.errors import InvalidRequest
from amemorix.language.normalise import tokens
from amemorix.language.stopwords import is_talk
from amemorix.ports import Embedder

from .recall.locomo import turn_ids

__all__ = ["MOST_WORDS", "NEAR", "Observation", "Recalled", "compared", "read_observations"]

MOST_WORDS, NEAR = 0.5, 0.55
"""The share of an observation's words of content, and the similarity by the local model, from which on a statement holds it:
the statements of somebody else reach either for one observation in forty."""
Kind = Literal["observation", "event"]


@dataclass(frozen=True, slots=True)
class Observation:
    """Something that is known of a speaker, and the turns that say it, where they are given."""

    kind: Kind
    speaker: str
    text: str
    turns: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Recalled:
    """How far the statements of its speaker hold an observation."""

    kind: Kind
    speaker: str
    text: str
    rests: bool | None
    """Whether one of them rests on a line that says it; None where no lines are given."""
    words: float
    """The largest share of its words of content that one of them has."""
    meaning: float | None
    """The highest similarity; None without the local model."""
    told: bool | None = None
    """Whether a judge found it told; None without one."""


def read_observations(file: Path) -> dict[str, list[Observation]]:
    """Conversation -> its observations and events, as LoCoMo has them; none of a conversation that has none.

    Raises InvalidRequest.
    """
    try:
        return {sample["sample_id"]: _read(sample) for sample in json.loads(file.read_text("utf-8"))}
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as exc:
        raise InvalidRequest(f"{file} holds no observations in LoCoMo's format: {exc!r}.", field="file") from exc


def _read(sample: Mapping[str, Any]) -> list[Observation]:
    found: list[Observation] = []
    for session in sample.get("observation", {}).values():
        for speaker, lines in session.items():
            for text, turns in lines:
                ids = [id_ for turn in ([turns] if isinstance(turns, str) else turns) for id_ in turn_ids(turn)]
                found.append(Observation("observation", speaker, text, tuple(ids)))
    for session in sample.get("event_summary", {}).values():
        named = {speaker: lines for speaker, lines in session.items() if speaker != "date"}
        found += [Observation("event", speaker, text) for speaker, lines in named.items() for text in lines]
    return found


def compared(
    wanted: Sequence[Observation], statements: Sequence[str], lines: set[str], embedder: Embedder | None
) -> list[Recalled]:
    """How far the statements of one speaker, which rest on these turns, hold what is wanted of that speaker."""
    bags = [_content(text) for text in statements]
    near: list[float | None] = [None] * len(wanted)
    if embedder is not None and wanted:
        near = [0.0] * len(wanted)
        if statements:
            vectors = embedder.embed([one.text for one in wanted]) @ embedder.embed(list(statements)).T
            near = [round(float(value), 3) for value in np.max(vectors, axis=1)]
    found: list[Recalled] = []
    for one, meaning in zip(wanted, near, strict=True):
        words = _content(one.text) - _content(one.speaker)
        share = max((len(words & bag) / max(1, len(words)) for bag in bags), default=0.0)
        rests = not lines.isdisjoint(one.turns) if one.turns else None
        found.append(Recalled(one.kind, one.speaker, one.text, rests, round(share, 3), meaning))
    return found


def _content(text: str) -> set[str]:
    return {word for word in tokens(text) if not is_talk(word)}
