"""What a chat model is asked about a stretch of talk, and what of its answer holds: episodes, statements and relations."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import tzinfo
from functools import cache
from importlib import resources
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from ..ids import fact_key
from ..language.normalise import fold, is_mostly_cjk, normalise_name
from ..language.stopwords import is_name
from ..language.times import format_day, local_moment, read_time
from ..lazy_regex import lazy_regex
from .grouping import TITLE_CHARS
from .rows import Material

__all__ = [
    "KINDS",
    "LONGEST_LINE",
    "SCHEMA",
    "Known",
    "Part",
    "Prompt",
    "Related",
    "Statement",
    "Window",
    "WindowReading",
    "prompt_for",
]

KINDS = (
    "identity", "home", "work", "relation", "possession", "health", "preference", "skill", "habit", "plan", "event",
    "opinion",
)  # fmt: skip
LONGEST_LINE = 800
"""Characters of a paragraph that the model is shown."""
SUMMARY_CHARS, MOST_PARTICIPANTS, MOST_KEYWORDS, WORD_CHARS = 2_000, 16, 20, 60
LONGEST_SENTENCE, LONGEST_NAME, LONGEST_PREDICATE = 300, 60, 40
FAR = 10 * 366 * 86_400.0
"""How long after a line something may begin or be planned."""
DAY = 86_400.0
MOST_STATED = 100
"""Statements, and relations, that are taken of an answer: they are stored in one transaction."""
_DATE = lazy_regex(r"[0-9]{4}(?:-[0-9]{2}(?:-[0-9]{2}(?:[T ][0-9:]{5,8})?)?)?")
_FIRST_PERSON = lazy_regex(r"(?:i|i['’]\w+|my|we|our|you|your)\b|[我你咱]", re.I)
_NUMBER = lazy_regex(r"[0-9]{5,}")
Language = Literal["zh", "en"]


class _Lenient(BaseModel, defer_build=True):
    """Fits whatever can be checked piece by piece: one bad piece does not cost the others."""

    model_config = ConfigDict(extra="ignore")


class _Part(_Lenient):
    lines: list[int] = Field(default_factory=list)
    title: str = ""
    summary: str = ""
    participants: list[str] = Field(default_factory=list)
    keywords: list[str] = Field(default_factory=list)


class _Statement(_Lenient):
    action: str = Field(default="add", description="add, update or close")
    person: str = ""
    sentence: str = ""
    kind: str = Field(default="", description=", ".join(KINDS))
    evidence: list[int] = Field(default_factory=list, description="Numbers of lines.")
    valid_from: str | None = Field(default=None, description="YYYY-MM-DD, YYYY-MM, YYYY or null")
    valid_to: str | None = Field(default=None, description="YYYY-MM-DD, YYYY-MM, YYYY or null")
    known: str | None = Field(default=None, description="The id of a known statement, such as f12, or null.")


class _Related(_Lenient):
    subject: str = ""
    predicate: str = ""
    object: str = ""
    evidence: list[int] = Field(default_factory=list, description="Numbers of lines.")
    subject_kind: str = Field(default="", description="person, place, organisation, product, work, or empty")
    object_kind: str = ""


class _Answer(_Lenient):
    episodes: list[_Part] = Field(default_factory=list)
    statements: list[_Statement] = Field(default_factory=list)
    relations: list[_Related] = Field(default_factory=list)


SCHEMA: Mapping[str, Any] = _Answer.model_json_schema()


@dataclass(frozen=True, slots=True)
class Prompt:
    """The words in which the model is asked, and their version."""

    language: str
    version: int
    people: str
    known: str
    noted: str
    since: str
    lines: str
    system: str

    @property
    def name(self) -> str:
        """What is kept with an episode that was read by it."""
        return f"{self.language}-{self.version}"


@cache
def _prompt(language: Language) -> Prompt:
    text = resources.files("amemorix.episodes").joinpath("prompts", f"{language}.toml").read_text("utf-8")
    return Prompt(language, **tomllib.loads(text))


def prompt_for(segment: Sequence[Material]) -> Prompt:
    """The prompt in the language of most of the lines."""
    chinese = sum(is_mostly_cjk(line.content) for line in segment)
    return _prompt("zh" if 2 * chinese > len(segment) else "en")


@dataclass(frozen=True, slots=True)
class Known:
    """A statement that is held of a person; `since` is when it was last told, `own` whether the person said it."""

    fact: int
    person: int
    text: str
    since: float
    own: bool
    changeable: bool = True


@dataclass(frozen=True, slots=True)
class Part:
    """An episode in the model's words."""

    lines: tuple[Material, ...]
    title: str
    summary: str
    participants: tuple[int, ...]
    keywords: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Statement:
    """What a person's lines come to; `replaces` is a known fact, which `closes` only puts an end to."""

    person: int
    sentence: str
    kind: str
    evidence: tuple[Material, ...]
    valid_from: float | None = None
    valid_to: float | None = None
    replaces: int | None = None
    closes: bool = False

    @property
    def at(self) -> float:
        """When it was said."""
        return max(line.at for line in self.evidence)


@dataclass(frozen=True, slots=True)
class Related:
    """A relation between two named things; a kind is empty if it is not known."""

    subject: str
    predicate: str
    object: str
    evidence: tuple[Material, ...]
    kinds: tuple[str, str] = ("", "")


@dataclass(frozen=True, slots=True)
class WindowReading:
    """What holds of an answer."""

    parts: tuple[Part, ...] = ()
    statements: tuple[Statement, ...] = ()
    relations: tuple[Related, ...] = ()


@dataclass(frozen=True, slots=True)
class Window:
    """Lines that the model is shown at once, with the people that may be meant (name -> row) and what is known of them."""

    lines: Sequence[Material]
    speakers: Mapping[int, str]
    """Paragraph -> the name of who said it."""
    people: Mapping[str, int]
    zone: tzinfo
    known: Sequence[Known] = ()
    noted: Sequence[Statement] = ()
    """What the model has said of the lines before, not stored yet."""
    silent: frozenset[int] = field(default=frozenset())
    """Paragraphs that state nothing: verse and quotations."""

    def question(self, prompt: Prompt) -> str:
        """The window in words; every line of it begins with its number, whatever it holds."""
        names = {row: name for name, row in self.people.items()}
        told = [f"{prompt.people}: {'; '.join(self.people) or '-'}", f"{prompt.known}:"]
        told += [
            f"{fact_key(one.fact)} | {names.get(one.person, '')} | {_one_line(one.text)} | {prompt.since} {format_day(one.since, self.zone)}"
            for one in self.known
        ]
        told += [f"- | {names.get(one.person, '')} | {one.sentence} | {prompt.noted}" for one in self.noted]
        told.append(f"{prompt.lines}:")
        for n, line in enumerate(self.lines, 1):
            speaker = _one_line(self.speakers.get(line.id, ""))
            time = local_moment(line.at, self.zone).strftime("%Y-%m-%d %H:%M %a")
            told.append(f"{n}. [{time}] {f'{speaker}: ' if speaker else ''}{_one_line(line.content)[:LONGEST_LINE]}")
        return "\n".join(told)

    def reading(self, answer: Mapping[str, Any]) -> WindowReading:
        """What of the answer holds; what fails a check is left out, the rest is kept."""
        said = _Answer.model_validate(answer)
        return WindowReading(
            tuple(self._parts(said.episodes)),
            tuple(one for raw in said.statements[:MOST_STATED] if (one := self._statement(raw)) is not None),
            tuple(one for raw in said.relations[:MOST_STATED] if (one := self._related(raw)) is not None),
        )

    # episodes

    def _parts(self, given: Iterable[_Part]) -> Iterator[Part]:
        """Episodes that hold each line once: one that is given twice stays in the first, one left out goes with the line before."""
        owner: dict[int, int] = {}
        described = [part for part in given if part.title.strip() and part.summary.strip()]
        for i, part in enumerate(described):
            for n in part.lines:
                if 1 <= n <= len(self.lines):
                    owner.setdefault(n, i)
        if not owner:
            return
        last = owner[min(owner)]
        held: dict[int, list[Material]] = {}
        for n, line in enumerate(self.lines, 1):
            last = owner.get(n, last)
            held.setdefault(last, []).append(line)
        for i, lines in held.items():
            part = described[i]
            named = [row for name in part.participants if (row := self._person(name)) is not None]
            keywords = dict.fromkeys(word.strip()[:WORD_CHARS] for word in part.keywords if word.strip())
            yield Part(
                tuple(lines), _one_line(part.title)[:TITLE_CHARS], part.summary.strip()[:SUMMARY_CHARS],
                tuple(named[:MOST_PARTICIPANTS]), tuple(keywords)[:MOST_KEYWORDS],
            )  # fmt: skip

    def _person(self, name: str) -> int | None:
        of = {normalise_name(one): row for one, row in self.people.items()}
        return of.get(normalise_name(name))

    # statements

    def _statement(self, raw: _Statement) -> Statement | None:
        person, evidence = self._person(raw.person), self._evidence(raw.evidence)
        sentence, action = _one_line(raw.sentence), raw.action.strip().lower()
        if person is None or not evidence or not sentence or len(sentence) > LONGEST_SENTENCE:
            return None
        if _FIRST_PERSON.match(sentence) or not self._holds_numbers(sentence):
            return None
        said = max(line.at for line in evidence)
        since, until = self._date(raw.valid_from, "start"), self._date(raw.valid_to, "end")
        if any(at is not None and at > said + FAR for at in (since, until)) or (since and until and until < since):
            return None
        kind = raw.kind.strip().lower()
        one = Statement(person, sentence, kind if kind in KINDS else "", evidence, since, until)
        if action not in ("update", "close"):
            return one
        known = next((k for k in self.known if fact_key(k.fact) == (raw.known or "").strip().lower()), None)
        # what begins later puts an end to nothing yet
        if known is not None and self._may_end(known, one) and (since is None or since <= said + DAY):
            return Statement(person, sentence, one.kind, evidence, since, until, known.fact, action == "close")
        return one if action == "update" else None

    def _may_end(self, known: Known, by: Statement) -> bool:
        """Whether a statement may put an end to what is known: told later, and of what somebody said by that very person."""
        told_by = {line.speaker for line in by.evidence}
        heard = not known.own or known.person in told_by or told_by == {0}
        return known.person == by.person and known.changeable and by.at >= known.since and heard

    def _holds_numbers(self, sentence: str) -> bool:
        """Whether the long numbers of a sentence stand in the lines or in what is known."""
        numbers = _NUMBER.findall(sentence)
        given = [line.content for line in self.lines] + [one.text for one in self.known] if numbers else []
        return all(any(number in text for text in given) for number in numbers)

    def _date(self, text: str | None, edge: Literal["start", "end"]) -> float | None:
        """None for what is no date."""
        if not text or not _DATE.fullmatch(text.strip()):
            return None
        try:
            return read_time(text.strip(), now=self.lines[-1].at, zone=self.zone, edge=edge)
        except ValueError:
            return None

    # relations

    def _related(self, raw: _Related) -> Related | None:
        evidence, predicate = self._evidence(raw.evidence), _one_line(raw.predicate)
        ends = tuple(_one_line(end) for end in (raw.subject, raw.object))
        if not evidence or not predicate or len(predicate) > LONGEST_PREDICATE:
            return None
        if normalise_name(ends[0]) == normalise_name(ends[1]):
            return None
        people = {normalise_name(name) for name in self.people}
        said = " \n ".join(fold(line.content) for line in evidence)
        for end in ends:
            if not is_name(end) or len(end) > LONGEST_NAME:
                return None
            if normalise_name(end) not in people and not _stands_in(fold(end), said):
                return None
        kinds = tuple(kind.strip().lower()[:40] for kind in (raw.subject_kind, raw.object_kind))
        return Related(ends[0], predicate, ends[1], evidence, (kinds[0], kinds[1]))

    def _evidence(self, numbers: Iterable[int]) -> tuple[Material, ...]:
        """The lines of these numbers that there are and that state something, in order."""
        lines = [self.lines[n - 1] for n in sorted(set(numbers)) if 1 <= n <= len(self.lines)]
        return tuple(line for line in lines if line.id not in self.silent)


def _stands_in(name: str, text: str) -> bool:
    """Whether a name stands in a text as one."""
    if not name.isascii():
        return name in text
    return re.search(rf"(?<![a-z0-9]){re.escape(name)}(?![a-z0-9])", text) is not None


def _one_line(text: str) -> str:
    return " ".join(text.split())
