"""Synthetic chats of any size, the same for everybody."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import accumulate
from typing import Any

from amemorix.lazy_regex import lazy_regex

from .vocabulary import NAMES, PATTERNS, QUESTIONS, WORDS

__all__ = [
    "CALL_TURNS", "CHAT_TURNS", "TOGETHER", "Call", "Question", "calls", "chat_name", "fresh_texts", "questions",
    "span_of",
]  # fmt: skip

CHAT_TURNS = 1_000
CALL_TURNS = 250
TOGETHER = 8
"""Chats whose turns arrive in turn."""
_SESSION_TURNS = 22
_EPOCH = 1_672_531_200.0
_DAY = 86_400.0
_PARTS = lazy_regex(r"\{(\w+)\}")
_MEAN_CHARS, _SPREAD = 90.0, 0.6
"""Of the length that a turn is filled up to; sentences end beyond it, so texts come to about 140 characters."""


@dataclass(frozen=True, slots=True)
class Call:
    """The turns of one `ingest_messages` call."""

    chat_id: str
    messages: list[dict[str, Any]]

    def args(self) -> dict[str, Any]:
        """As `invoke` takes them."""
        return {"chat_id": self.chat_id, "messages": self.messages}


@dataclass(frozen=True, slots=True)
class Question:
    """Something to search for, and a chat in which it may be asked."""

    text: str
    chat_id: str


def chat_name(number: int) -> str:
    """The id of the chat with this number."""
    return f"chat-{number:05d}"


def span_of(rows: int) -> tuple[float, float]:
    """The epoch seconds between which the turns of a corpus of `rows` turns were said."""
    sessions = -(-min(rows, CHAT_TURNS) // _SESSION_TURNS)
    return _EPOCH, _EPOCH + (sessions + 1) * 2 * _DAY


def calls(rows: int) -> Iterator[Call]:
    """`rows` turns of English small talk as calls of `CALL_TURNS`; chats of `CHAT_TURNS` arrive eight at a time."""
    chats = [min(CHAT_TURNS, rows - first) for first in range(0, rows, CHAT_TURNS)]
    for group in range(0, len(chats), TOGETHER):
        members = range(group, min(group + TOGETHER, len(chats)))
        voices = {number: _Voice(number) for number in members}
        for first in range(0, CHAT_TURNS, CALL_TURNS):
            for number in members:
                turns = range(first, min(first + CALL_TURNS, chats[number]))
                if turns:
                    yield Call(chat_name(number), [voices[number].turn(place) for place in turns])


def fresh_texts(count: int, seed: str) -> list[str]:
    """Turns that no corpus holds."""
    writer = _Writer(random.Random(f"fresh:{seed}"))
    return [writer.turn() for _ in range(count)]


def questions(count: int, rows: int, seed: str) -> list[Question]:
    """Questions in the corpus's own words; each differs from every other of the same seed."""
    rng = random.Random(f"questions:{seed}")
    writer = _Writer(rng)
    chats = max(1, rows // CHAT_TURNS)
    found: dict[str, Question] = {}
    while len(found) < count:
        chat = rng.randrange(chats)
        text = writer.sentence(rng.choice(QUESTIONS), name=rng.choice(_speakers(chat)))
        found.setdefault(text, Question(text, chat_name(chat)))
    return list(found.values())


def _speakers(chat: int) -> list[str]:
    return random.Random(f"speakers:{chat}").sample(NAMES, 2)


class _Voice:
    """One chat: two people who talk in sessions some days apart."""

    def __init__(self, number: int) -> None:
        self._rng = random.Random(f"chat:{number}")
        self._writer = _Writer(self._rng)
        self._speakers = _speakers(number)
        self._at = _EPOCH + self._rng.random() * _DAY
        self._left = 0

    def turn(self, place: int) -> dict[str, Any]:
        """The next turn, as a message of `ingest_messages`."""
        if self._left == 0:
            self._left = self._rng.randint(_SESSION_TURNS - 8, _SESSION_TURNS + 8)
            self._at += _DAY * (1 + self._rng.random())
        self._left -= 1
        self._at += self._rng.uniform(10, 120)
        return {
            "external_id": f"t{place}",
            "speaker": self._speakers[place % 2],
            "text": self._writer.turn(),
            "time": round(self._at, 3),
        }


class _Writer:
    """Fills patterns with words drawn by Zipf's law."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng

    def turn(self) -> str:
        """One to several sentences, about 140 characters on average."""
        wanted = self._rng.lognormvariate(0, _SPREAD) * _MEAN_CHARS
        text = self.sentence(self._rng.choice(PATTERNS))
        while len(text) < wanted:
            text = f"{text} {self.sentence(self._rng.choice(PATTERNS))}"
        return text

    def sentence(self, pattern: str, name: str = "") -> str:
        """The pattern with its slots filled, its first letter a capital."""
        parts = _PARTS.split(pattern)
        parts[1::2] = [name if slot == "name" else self._word(slot) for slot in parts[1::2]]
        text = "".join(parts)
        return text[:1].upper() + text[1:]

    def _word(self, slot: str) -> str:
        if slot == "place":
            return self._place()
        if slot == "number":
            return str(self._rng.randint(2, 400))
        words, weights = _zipf(slot)
        return self._rng.choices(words, cum_weights=weights)[0]

    def _place(self) -> str:
        """A name out of two words: there are tens of thousands, most of them rare."""
        return (self._word("thing") + self._word("thing")).capitalize()


@cache
def _zipf(slot: str) -> tuple[tuple[str, ...], list[float]]:
    """The words of a slot and their cumulative weights: the word of rank r weighs 1 / (r + 10)."""
    words = WORDS[slot]
    return words, list(accumulate(1 / (rank + 10) for rank in range(1, len(words) + 1)))
