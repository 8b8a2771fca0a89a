"""The chat model's reading: each finished episode is shown to it once, in windows, and what holds of its answer is stored."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass

import numpy as np

from ..clock import Clock
from ..config.model import Config
from ..errors import ChatUnavailable, ModelUnavailable
from ..graph import extraction_rows
from ..language.normalise import normalise_name, tokens
from ..ports import ChatModel, Embedder
from ..store.access import TimeZones
from ..store.metadata_store import MetadataStore
from ..store.ports import Connection
from ..store.queries import array
from ..store.records import SPEAKER, Entity, Relation
from . import rows as episode_rows
from .grouping import times_of, words_of
from .rows import EpisodeDraft, Material, Regrouping
from .statements import StatementWriter, known_of
from .window import LONGEST_LINE, SCHEMA, Known, Part, Prompt, Related, Statement, Window, prompt_for

__all__ = ["TASK", "EpisodeModelService"]

log = logging.getLogger(__name__)
TASK = "episodes"
MOST_KNOWN = 40
"""Statements that the model is shown of what is known."""
CONFIDENCE = 0.7
"""Of a relation that the model has read."""


@dataclass(frozen=True, slots=True)
class ModelClaim:
    """An episode that the chat model is being asked about."""

    id: int
    source: int
    stretch: int
    revision: int
    attempts: int


@dataclass(frozen=True, slots=True)
class _Asked:
    """An episode with all that its windows are made of."""

    segment: Sequence[Material]
    window: Window
    """Of all lines, and all that is known."""
    persons: Mapping[int, str]
    """Person row -> id."""
    bound: Mapping[int, Sequence[int]]
    """Paragraph -> persons."""


@dataclass(frozen=True, slots=True)
class _Read:
    """What the model has said of an episode."""

    prompt: Prompt
    parts: Sequence[Part]
    statements: Sequence[Statement]
    relations: Sequence[Related]


class EpisodeModelService:
    """Asks the model about one finished episode after the other; the rules' episode stands until it has answered.

    An episode is claimed in a short transaction, and its tries are counted there: a process that dies while the model
    thinks asks again later, a bounded number of times. What it said is stored in one transaction, and only if the
    episode is still as it was.
    """

    def __init__(
        self, store: MetadataStore, *, config: Config, clock: Clock, zones: TimeZones, chat: ChatModel | None,
        embedder: Callable[[], Embedder | None], background: Executor, exclusive: asyncio.Lock,
    ) -> None:  # fmt: skip
        self._store = store
        self._config = config
        self._settings = config.episode
        self._clock = clock
        self._zones = zones
        self._chat = chat
        self._embedder = embedder
        self._background = background
        self._exclusive = exclusive
        self._writer = StatementWriter()
        self._quiet_until = float("-inf")

    @property
    def available(self) -> bool:
        """Whether there is a model, and it may be asked."""
        return self._chat is not None and self._settings.model_enabled

    async def step(self) -> bool:
        """Ask about the next episode that is due; False if there is none, or the model is away."""
        now = self._clock.now()
        if self._chat is None or not self.available or now < self._quiet_until:
            return False
        if not (await self._store.read(lambda db: episode_rows.waiting_for_model(db, now)))[1]:
            return False
        until = now + self._settings.lease_seconds
        row = await self._store.write(lambda db: db.run("episode_model_claim", now=now, until=until).fetchone())
        return row is not None and await self._ask_about(ModelClaim(*row), self._chat)

    async def _ask_about(self, claim: ModelClaim, chat: ChatModel) -> bool:
        asked = await self._store.read(lambda db: self._material(db, claim))
        if asked is None:
            await self._put_off(claim, final=True)
            return True
        try:
            read = await self._read(asked, chat)
        except ChatUnavailable as exc:
            if exc.details.get("misfit"):
                log.warning("the chat model's answer about episode %d is of no use: %s", claim.id, exc)
                await self._put_off(claim)
                return True
            log.warning("the chat model gave no answer about episode %d: %s", claim.id, exc)
            self._quiet_until = await self._put_off(claim, budget_in=exc.details.get("retry_after"))
            return False
        if not (read.parts or read.statements or read.relations):
            log.warning("nothing of the chat model's answer about episode %d fits its lines", claim.id)
            await self._put_off(claim)
            return True
        async with self._exclusive:
            await self._store.write(lambda db: self._keep(db, claim, read))
        return True

    async def _read(self, asked: _Asked, chat: ChatModel) -> _Read:
        """Show one window after the other; a later one knows what was noted of those before. Raises ChatUnavailable."""
        loop, prompt = asyncio.get_running_loop(), prompt_for(asked.segment)
        read = _Read(prompt, [], [], [])
        for lines in self._windows(asked.segment):
            known = await loop.run_in_executor(self._background, self._near, lines, asked.window.known)
            window = Window(
                lines, asked.window.speakers, asked.window.people, asked.window.zone, known, read.statements,
                asked.window.silent,
            )  # fmt: skip
            answer = await chat.answer(TASK, prompt.system, window.question(prompt), schema=SCHEMA)
            found = window.reading(answer)
            read = _Read(
                prompt, [*read.parts, *found.parts], [*read.statements, *found.statements],
                [*read.relations, *found.relations],
            )  # fmt: skip
        return read

    def _windows(self, segment: Sequence[Material]) -> Iterator[Sequence[Material]]:
        start, chars = 0, 0
        for i, paragraph in enumerate(segment):
            size = min(len(paragraph.content), LONGEST_LINE)
            if i > start and (
                i - start >= self._settings.model_paragraphs or chars + size > self._settings.model_chars
            ):
                yield segment[start:i]
                start, chars = i, 0
            chars += size
        yield segment[start:]

    def _material(self, db: Connection, claim: ModelClaim) -> _Asked | None:
        """The paragraphs with who may be meant; None if one of them is gone: the episode is about to be made again."""
        now = self._clock.now()
        segment = [Material(*row) for row in db.run("episode_material_of", episode=claim.id, now=now)]
        members = episode_rows.members(db, [claim.id]).get(claim.id, [])
        if not members or len(segment) != len(members):
            return None
        speakers, people, bound = dict[int, str](), dict[str, int](), dict[int, list[int]]()
        whose = dict[str, int]()  # a name as the model's answer is compared with it
        for paragraph, person, name, role in db.run("window_persons", ids=array(members)):
            bound.setdefault(paragraph, []).append(person)
            called = name
            while whose.setdefault(normalise_name(called), person) != person:  # another one of this name
                called += "*"
            people[called] = person
            if role == SPEAKER:
                speakers.setdefault(paragraph, called)
        said = " \n ".join(normalise_name(line.content) for line in segment)
        scope = segment[0].scope
        there = set(people.values())
        for person, name in db.run("chat_person_names", chat=scope):
            norm = normalise_name(name)
            if person not in there and len(name) > 1 and norm in said and whose.setdefault(norm, person) == person:
                people[name] = person
        persons = dict[int, str](db.run("window_person_ids", ids=array(people.values())).fetchall())
        silent = {row[0] for row in db.run("window_recorded", ids=array(members)) if row[2]}
        known = known_of(db, persons, scope, now) if self._config.facts.enabled else []
        zone = self._zones.of(db.run("window_chat", source=claim.source).fetchone()[0])
        window = Window(segment, speakers, people, zone, known, silent=frozenset(silent))
        return _Asked(segment, window, persons, bound)

    def _near(self, lines: Sequence[Material], known: Sequence[Known]) -> Sequence[Known]:
        """What is known and near in meaning to one of the lines: by vectors where a model makes them, else by words."""
        known = [one for one in known if one.since <= lines[-1].at]
        if len(known) <= MOST_KNOWN:
            return known
        texts, shown = [one.text for one in known], [line.content[:LONGEST_LINE] for line in lines]
        words = [set(tokens(text)) for text in texts]
        said = set(tokens(" ".join(shown)))
        near = np.array([len(mine & said) / max(1.0, len(mine)) for mine in words])
        embedder = self._embedder()
        if embedder is not None and all(embedder.reads(text) for text in (*texts, *shown)):
            try:
                vectors = embedder.embed([*texts, *shown])
                near = (vectors[: len(texts)] @ vectors[len(texts) :].T).max(axis=1)
            except ModelUnavailable as exc:
                log.info("what is known was chosen by words: %s", exc)
        best = np.argsort(-near, kind="stable")[:MOST_KNOWN]
        return [known[i] for i in sorted(best.tolist())]

    # storing

    def _keep(self, db: Connection, claim: ModelClaim, read: _Read) -> None:
        """The part that begins it goes on as the episode that there was; nothing if it has been made anew meanwhile."""
        same = db.run("episode_is_at", id=claim.id, revision=claim.revision).fetchone() is not None
        asked = self._material(db, claim) if same else None
        if asked is None:
            return
        now, scope = self._clock.now(), asked.segment[0].scope
        order = {paragraph.id: i for i, paragraph in enumerate(asked.segment)}
        drafts = sorted(
            (self._draft(part, claim, asked, read.prompt) for part in read.parts),
            key=lambda draft: order[draft.paragraphs[0]],
        )
        if sum(len(draft.paragraphs) for draft in drafts) == len(asked.segment):
            work = Regrouping(((claim.id, drafts[0]),), tuple(drafts[1:]))
            episode_rows.store(db, claim.source, work, now)
        else:  # the rules' words stand
            db.run("episode_model_read", id=claim.id, prompt=read.prompt.name)
        if self._config.facts.enabled:
            self._writer.write(db, scope, read.statements, now)
        extraction = self._config.extraction
        source_type = db.run("source_type_of", source=claim.source).fetchone()[0]
        if extraction.enabled and extraction.model and source_type not in extraction.disabled_source_types:
            told: dict[int, list[Relation]] = {}
            for one in read.relations:
                for line in one.evidence:
                    told.setdefault(line.id, []).append(_relation(one))
            readings = [
                extraction_rows.Reading(line, (), tuple(relations[: extraction.max_relations]))
                for line, relations in told.items()
            ]
            extraction_rows.keep(db, self._store.names, readings, "model", now)

    def _draft(self, part: Part, claim: ModelClaim, asked: _Asked, prompt: Prompt) -> EpisodeDraft:
        start, end = times_of(part.lines)
        # who is bound to the part, then those of the stretch whom the model names
        persons = dict.fromkeys([*(p for line in part.lines for p in asked.bound.get(line.id, ())), *part.participants])
        return EpisodeDraft(
            part.lines[0].scope, claim.stretch, part.title, part.summary, start, end,
            participants=tuple(asked.persons[person] for person in persons),
            keywords=part.keywords,
            paragraphs=tuple(line.id for line in part.lines),
            segmented_by="model",
            terms=words_of((part.title, part.summary, *part.keywords)),
            prompt=prompt.name,
        )  # fmt: skip

    async def _put_off(self, claim: ModelClaim, *, final: bool = False, budget_in: float | None = None) -> float:
        """Ask again later, as often as the settings allow; when that is. Waiting for the next day's budget is no try."""
        settings, now = self._settings, self._clock.now()
        pause, attempts = settings.model_retry_minutes * 60 * 2.0 ** (claim.attempts - 1), claim.attempts
        if budget_in is not None:
            pause, attempts = budget_in, attempts - 1
        due = now + pause
        later = None if final or attempts >= settings.model_max_attempts else due
        values = {"id": claim.id, "revision": claim.revision, "due": later, "attempts": attempts}
        await self._store.write(lambda db: db.run("episode_model_put_off", **values))
        return due


def _relation(one: Related) -> Relation:
    subject, object_ = (
        Entity(name, normalise_name(name), kind)
        for name, kind in zip((one.subject, one.object), one.kinds, strict=True)
    )
    return Relation(subject, one.predicate, object_, CONFIDENCE)
