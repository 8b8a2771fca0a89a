"""From the last turns of a chat to the lines that its next answer should know, within a budget of tokens."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import tzinfo

from ..clock import Clock
from ..config.model import Config
from ..errors import InvalidRequest
from ..facts import rows as fact_rows
from ..facts.language.slots import STATEMENT
from ..facts.query import FactItem, FactReader, Moment
from ..facts.rows import MAYBE_OUTDATED
from ..ids import paragraph_key, row_number
from ..language.normalise import fold, is_mostly_cjk
from ..language.times import asks_something, find_span, format_day, local_moment
from ..lazy_regex import lazy_regex
from ..profiles.items import HEADINGS, SECTIONS, ProfileItem, estimated_tokens, worded
from ..profiles.service import Asked, PersonProfileService, Profile
from ..profiles.statements import fact_section, worded_fact
from ..store.access import Access, Caller, TimeZones
from ..store.metadata_store import MetadataStore
from ..store.ports import Connection
from ..store.rows import persons as person_rows
from .context_operations import Context, ContextLine, ContextMessage, GetContext, Section
from .hits import confidences
from .language.dialogue import speaker_role
from .operations import Hit, KernelSearchRequest, RetrievalResult
from .service import SearchService

__all__ = ["ContextBuilder", "estimated_tokens"]

PERSONS, FACTS = 8, 10
"""Most persons that are told of, and most statements that count as asked for."""
TURNS, MOST_ASKED = 3, 1_000
"""Of the users' turns the last make the query, so many and so many characters."""
FIRST = frozenset(("allergies", "identity"))
FIRST_OF_EACH = 4
"""Statements of who a person is, and of allergies, that go before everything else."""
MEAL_FACTS = 12
"""Of each attribute, what is told of others where a meal for several is spoken of."""
MEAL_ATTRIBUTES = ("allergy", "avoids", "diet")
_MEAL = lazy_regex(
    r"点(?:菜|餐|外卖|奶茶)|订(?:餐|外卖|位|(?:个|家|一家)?(?:餐厅|饭店|饭馆|馆子|包间|蛋糕))|聚餐|请客|请.{0,4}吃|一起吃|吃(?:什么|啥|饭.{0,4}(?:注意|禁忌))"
    r"|做(?:什么|啥)菜|下馆子|忌口|饮食禁忌|(?:有人|谁|大家).{0,6}(?:过敏|不吃|不能吃|忌口)|\border(?:ing)?\b.{0,12}\b(?:food|dinner|lunch|pizza|take-?(?:out|away)|for (?:us|everyone|everybody|the group))\b"
    r"|\bbook\b.{0,12}\b(?:restaurant|table)\b|\brestaurant for\b|\bcook(?:ing)? for\b|\b(?:can|should|shall|do) we (?:all )?(?:eat|have|cook|order)\b|\b(?:group|team) (?:dinner|lunch)\b|\bpotluck\b"
    r"|\b(?:anyone|anybody|who)\b.{0,12}\b(?:allergic|vegan|vegetarian)\b|\bdietary\b"
)
UNASKED = 0.1
"""Where the last turns ask nothing, a line has to be as likely as this to matter; for a question the likeliest fill the
budget."""
RELEVANT = 0.3
"""A statement that matters this much for what is asked counts as asked for."""
LONGEST, EXCERPT = 600, 400
"""Characters of a line that is shown whole; of a longer one so many around the first matched word are shown."""
_TITLES: dict[Section, tuple[str, str]] = {
    "persons": ("## Who is here", "## 在场的人"),
    "facts": ("## True now", "## 目前的情况"),
    "memories": ("## Remembered", "## 相关记忆"),
    "plans": ("## Plans", "## 打算"),
}


NOTHING = ("Nothing is known of what was asked.", "所问的事，不记得了。")


@dataclass(frozen=True, slots=True)
class _Known:
    """What is known without a search: who is there."""

    profiles: tuple[Profile, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A line that may be told: the smallest `rank` is filled in first, `place` is where it stands in its section."""

    line: ContextLine
    core: str
    """The bare words, folded."""
    rank: tuple[float, ...]
    place: tuple[float, ...]


class ContextBuilder:
    """Puts a search, profiles and facts together into one text; asks no chat model, and the same call gives the same text."""

    def __init__(
        self, store: MetadataStore, *, config: Config, searches: SearchService, profiles: PersonProfileService,
        clock: Clock, zones: TimeZones,
    ) -> None:  # fmt: skip
        self._store = store
        self._searches = searches
        self._profiles = profiles
        self._clock = clock
        self._zones = zones
        self._access = Access(store.names, config)
        self._facts = FactReader(store, zones)

    async def context(self, request: GetContext) -> Context:
        """The context of the messages. Persons and facts are read while the search runs."""
        said_by_users = [message.text for message in request.messages if message.by != "bot" and message.text]
        asked = request.query or "\n".join(said_by_users[-TURNS:])[-MOST_ASKED:]
        caller = Caller.of(request)
        known, meals, found = await asyncio.gather(
            self._store.read(lambda db: self._known(db, request, caller)),
            self._store.read(lambda db: self._meals(db, asked, caller)),
            self._found(request, asked),
        )
        if known is None:
            return Context(filtered=True)
        said = " ".join([request.query, *(message.text for message in request.messages)])
        if not any(map(str.isalnum, said)):
            said = " ".join([*(item.statement for one in known.profiles for item in one.items), said])
        chinese = request.language == "zh" or (request.language == "auto" and is_mostly_cjk(said))
        zone = self._zones.of(request.chat_id, request.group_id, request.user_id)
        writer = _Writer(chinese, self._clock.now(), zone)
        question = bool(request.query) or any(map(asks_something, asked.splitlines()))
        least = request.min_confidence
        if least is None:
            least = 0.0 if question else UNASKED
        hits = [hit for hit in found.hits if hit.confidence >= least and not found.weak]
        answers = Asked(asked, confidences(hits))
        candidates = [
            *writer.persons(known.profiles, answers, {fact.id: fact.status for fact in found.facts}),
            *writer.facts(list({fact.id: fact for fact in (*found.facts, *meals)}.values()), known.profiles, answers),
            *writer.memories(hits),
        ]  # fmt: skip
        unknown = question and (found.weak or not found.hits)
        answer = _filled(_without_repeats(candidates, request.messages), request.budget, chinese, unknown)
        answer.weak, answer.degraded, answer.warnings = found.weak, found.degraded, list(known.warnings)
        return answer

    async def _found(self, request: GetContext, asked: str) -> RetrievalResult:
        if not any(map(str.isalnum, asked)):
            return RetrievalResult()
        scope = request.model_dump(include={"chat_id", "group_id", "user_id", "include_private", "respect_filter"})
        return await self._searches.search(
            KernelSearchRequest(query=request.query, messages=request.messages, limit=request.limit, **scope)
        )

    def _meals(self, db: Connection, asked: str, caller: Caller) -> list[FactItem]:
        """What anybody within sight may not eat, where a meal for several is spoken of."""
        if not _MEAL.search(fold(asked)) or not self._access.serves(db, caller):
            return []
        now, scopes = self._clock.now(), self._access.scopes(db, caller)
        given = {"persons": None, "entity": None, "kind": None, "statuses": ["active"], "text": None, "scopes": scopes}
        rows = [
            row for attribute in MEAL_ATTRIBUTES
            for row in fact_rows.listed(db, **given, attribute=attribute, now=now, limit=MEAL_FACTS, offset=0)
            if row.person is not None and row.polarity > 0
        ]  # fmt: skip
        return self._facts.items(db, rows, Moment(now), scopes)

    def _known(self, db: Connection, request: GetContext, caller: Caller) -> _Known | None:
        """None if the chat filter refuses the call."""
        if not self._access.serves(db, caller):
            return None
        scopes = self._access.scopes(db, caller)
        profiles: dict[str, Profile] = {}
        warnings: list[str] = []
        for keys in self._present(db, request, scopes):
            for key in keys:
                try:
                    profile = self._profiles.profile(db, key, caller)
                except InvalidRequest as exc:
                    warnings.append(str(exc))
                    continue
                if profile.is_known:
                    profiles.setdefault(profile.known.person_id, profile)
                    break
            if len(profiles) == PERSONS:
                break
        return _Known(tuple(profiles.values()), tuple(dict.fromkeys(warnings)))

    def _present(self, db: Connection, request: GetContext, scopes: Sequence[int] | None) -> list[tuple[str, ...]]:
        """Who is there, each by the keys to try in turn; of speakers whoever spoke last comes first."""
        if request.persons:
            return [(key,) for key in dict.fromkeys(request.persons)]
        alone = self._facts.oneself(db, request.user_id, scopes) if request.user_id else frozenset[int]()
        names = [one.person_id for row in alone if (one := person_rows.names(db, row)) is not None]
        user = (request.user_id, *names) if request.user_id else ()
        present: list[tuple[str, ...]] = []
        for message in reversed(request.messages):
            if message.by == "bot":
                continue
            is_user = not message.person_id and (not message.speaker or speaker_role(message.speaker) == "user")
            keys = (message.person_id, *(user if is_user else ()), message.speaker)
            present.append(tuple(key for key in keys if key))
        return [keys for keys in dict.fromkeys([*present, user]) if keys]


@dataclass(frozen=True, slots=True)
class _Writer:
    """Words what is known as lines."""

    chinese: bool
    now: float
    zone: tzinfo

    def persons(self, profiles: Sequence[Profile], asked: Asked, found: Mapping[str, str]) -> Iterator[_Candidate]:
        """Who these people are and what they plan, and what of it is asked for; `found` are facts that a search gave, with
        their statuses: what it doubts is told only with that doubt."""
        for person, profile in enumerate(profiles):
            name = profile.known.name or profile.known.person_id
            if profile.override is not None:
                for n, text in enumerate(filter(None, map(_one_line, profile.override.text.splitlines()))):
                    line = ContextLine(id="", section="persons", text=self._labelled(name, text), speaker=name)
                    yield _Candidate(line, _folded(text), (0, n, person), (person, n))
                continue
            items = [item for item in profile.items if item.mark or found.get(item.ref) != MAYBE_OUTDATED]
            relevance = asked.relevance(items)
            relevance |= {item: max(RELEVANT, relevance.get(item, 0.0)) for item in items if item.ref in found}
            wanted = sorted(
                (item for item in relevance if relevance[item] >= RELEVANT), key=lambda item: -relevance[item]
            )
            wanted = [item for item in wanted if item.section not in ("plans", "recent")][:FACTS]
            told = sorted(items, key=lambda item: (item.section not in FIRST, item.section != "allergies"))
            for n, item in enumerate(told):
                if item in wanted:
                    at = wanted.index(item)
                    rank = (0, at, person) if item.section in FIRST else (1, -relevance[item], at)
                    yield self._candidate("facts", name, item, rank, (person, at))
                elif item.section == "plans":
                    yield self._candidate("plans", name, item, (2, n, person), (item.at,))
                else:
                    rank = 0 if item.section in FIRST and n < FIRST_OF_EACH else 4 if item.section == "recent" else 3
                    place = (person, SECTIONS.index(item.section), n)
                    yield self._candidate("persons", name, item, (rank, n, person), place)

    def facts(self, facts: Sequence[FactItem], profiles: Sequence[Profile], asked: Asked) -> Iterator[_Candidate]:
        """What a search holds true of others than those who are here: after what was said unless it is to the point, or of
        safety."""
        here = {profile.known.person_id for profile in profiles}
        for n, fact in enumerate(facts):
            if fact.status != "active" or fact.person_id in here:
                continue
            year = local_moment(self.now, self.zone).year
            text = worded_fact(fact.attribute, fact.value, fact.denied, self.chinese, year)
            item = ProfileItem(
                fact_section(fact.attribute, "", fact.denied, fact.value), text, "fact",
                tuple(row for key in fact.evidence_ids if (row := row_number(key, "p"))), fact.confidence,
                fact.valid_from, fact.id, sentence=fact.value if fact.attribute == STATEMENT else "",
            )  # fmt: skip
            relevance = asked.relevance([item]).get(item, 0.0)
            rank = (0, n) if item.section in FIRST else (1, -relevance, n) if relevance >= RELEVANT else (3, n)
            section: Section = "plans" if item.section == "plans" else "facts"
            yield self._candidate(section, fact.person or fact.entity, item, rank, (len(profiles), n))

    def memories(self, hits: Sequence[Hit]) -> Iterator[_Candidate]:
        """What was said, in that order; the likeliest counts most."""
        for n, hit in enumerate(hits):
            words = _one_line(hit.content, hit.explain.get("matched_terms", ()))
            when = "" if hit.time.start is None else format_day(hit.time.start, self.zone)
            text = self._labelled(f"{when} {_one_line(hit.speaker)}".strip(), words)
            line = ContextLine(
                id=hit.id, section="memories", text=text, time=hit.time.start, speaker=hit.speaker,
                confidence=hit.confidence, evidence=[hit.id],
            )  # fmt: skip
            at = hit.time.recorded_at if hit.time.start is None else hit.time.start
            yield _Candidate(line, _folded(words), (1, -hit.confidence, n), (at, row_number(hit.id, "p") or n))

    def _candidate(
        self, section: Section, name: str, item: ProfileItem, rank: tuple[float, ...], place: tuple[float, ...]
    ) -> _Candidate:
        words, said = _one_line(worded(item, chinese=self.chinese)), format_day(item.at, self.zone)
        if item.basis in ("fact", "relation") and item.section in ("allergies", "likes", "dislikes"):
            words = self._labelled(HEADINGS[item.section][self.chinese], words)
        if item.basis == "fact" and section == "facts":
            said = f"{said} 起" if self.chinese else f"since {said}"
        elif section == "plans":
            spans = [span for _, span in find_span(item.statement, now=item.at, zone=self.zone)][:1]
            if spans:
                meant = "–".join(
                    dict.fromkeys(format_day(at, self.zone) for span in spans for at in (span.start, span.end))
                )
                said = f"{said} 说，指 {meant}" if self.chinese else f"said {said}, for {meant}"
        text = self._labelled(_one_line(name), f"{words}（{said}）" if self.chinese else f"{words} ({said})")
        evidence = [paragraph_key(row) for row in item.evidence]
        line = ContextLine(
            id=item.ref or next(iter(evidence), ""), section=section, text=text, time=item.at, speaker=name,
            confidence=item.confidence, evidence=evidence,
        )  # fmt: skip
        # the value of a fact alone says too little to be found again in other words
        core = _folded(item.sentence or (item.statement if item.basis in ("said", "told") else text))
        return _Candidate(line, core, rank, place)

    def _labelled(self, label: str, text: str) -> str:
        return f"{label}{'：' if self.chinese else ': '}{text}" if label else text


def _folded(text: str) -> str:
    return " ".join(fold(text).split()).strip(" .,!?;:。，！？；：～~…")


def _one_line(text: str, matched: Iterable[str] = ()) -> str:
    """The text in one line; of a long one what stands around the first word that matched."""
    text = " ".join(text.split())
    if len(text) <= LONGEST:
        return text
    lowered = text.lower()
    first = min((at for term in matched if (at := lowered.find(term)) >= 0), default=0)
    start = max(0, min(first - EXCERPT // 4, len(text) - EXCERPT))
    end = start + EXCERPT
    return f"{'…' if start else ''}{text[start:end]}{'…' if end < len(text) else ''}"


def _without_repeats(candidates: Iterable[_Candidate], messages: Sequence[ContextMessage]) -> list[_Candidate]:
    """The candidates, the most important first, without those whose words stand in the messages or in another one.

    A line counts as said again by one of the same speaker, or of the same evidence; that one takes over its rank.
    """
    said = [_folded(message.text) for message in messages]
    kept: list[_Candidate] = []
    # the longest first: what is kept already may hold what comes
    for one in sorted(candidates, key=lambda one: (-len(one.core), one.rank)):
        if not one.core or any(_repeats(one, text) for text in said):
            continue
        holder = next((n for n, other in enumerate(kept) if _is_said_by(one, other)), None)
        if holder is None:
            kept.append(one)
        elif one.rank < kept[holder].rank:
            kept[holder] = replace(kept[holder], rank=one.rank)
    return sorted(kept, key=lambda one: (one.rank, one.line.section, one.place))


def _repeats(one: _Candidate, message: str) -> bool:
    """Whether a message says it; of a statement from its first word on, for 不喜欢香菜 does not say 喜欢香菜."""
    at = message.find(one.core)
    return at >= 0 and (one.line.section == "memories" or at == 0 or not message[at - 1].isalnum())


def _is_said_by(one: _Candidate, other: _Candidate) -> bool:
    mine, theirs = one.line, other.line
    if one.core not in other.core:
        return False
    same = mine.section == theirs.section and mine.speaker == theirs.speaker
    return (same and _repeats(one, other.core)) or not set(mine.evidence).isdisjoint(theirs.evidence)


def _filled(candidates: Sequence[_Candidate], budget: int, chinese: bool, unknown: bool) -> Context:
    """As many of the candidates as fit, in the order of the sections; where what was asked is `unknown`, that it is."""
    said = NOTHING[chinese] if unknown and all(one.line.section in ("persons", "plans") for one in candidates) else ""
    room, taken = budget - estimated_tokens(said), dict[Section, list[_Candidate]]()
    for one in candidates:
        cost = estimated_tokens(f"- {one.line.text}")
        cost += 0 if one.line.section in taken else estimated_tokens(_TITLES[one.line.section][chinese])
        if cost <= room:
            taken.setdefault(one.line.section, []).append(one)
            room -= cost
    text: list[str] = []
    lines: list[ContextLine] = []
    for section, titles in _TITLES.items():
        if told := [one.line for one in sorted(taken.get(section, ()), key=lambda one: one.place)]:
            text += [titles[chinese], *(f"- {line.text}" for line in told)]
            lines += told
    text += [said] if said else []
    return Context(
        text="\n".join(text), tokens=budget - room, lines=lines, language="zh" if chinese else "en",
        truncated=len(lines) < len(candidates),
    )  # fmt: skip
