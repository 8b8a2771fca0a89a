"""What a memory makes of what it is told: durable statements, what came later, corrections, and profiles of speakers."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from importlib.resources import files
from pathlib import Path
from statistics import mean
from typing import Any

from rich.console import Console
from rich.table import Table

from amemorix.config import load
from amemorix.host.service import AMemorixHostService
from amemorix.models.local.embedder import LocalEmbedder
from amemorix.models.local.install import installed
from amemorix.models.registry import make_chat
from amemorix.ports import ChatModel, Embedder
from amemorix.testing import scratch_config

from .judge import are_told, verdicts
from .observations import MOST_WORDS, NEAR, Observation, Recalled, compared, read_observations
from .recall.bench import AskingClock
from .recall.dataset import Corpus
from .recall.locomo import read_locomo
from .workspace import answered, open_memory, working_folder

__all__ = ["Case", "KnowledgeReport", "print_report", "run"]

BEGUN = 1_772_323_200.0
"""2026-03-01, when what is said first was said; epoch seconds."""
DAY = 86_400.0
HELD = ("active", "conflicted", "maybe_outdated")
WITNESSES = 5
"""Other lines that the same person has said where one is corrected."""
SIZES = (500, 1_500)
"""Characters of a profile within which the evidence of questions is looked for."""
NAME = {"zh": "小雨", "en": "Robin"}
JUDGED = {
    "lines": ("held", "missed", "believed", "left"),
    "pairs": ("newest", "both", "outdated", "nothing"),
    "corrections": ("right", "garbled", "unsure", "wrong"),
}
"""What may become of a line (held or missed where it is durable, believed or left where it is not), of a pair (which of
the two is told first; outdated: the older one as true), and of a correction."""


@dataclass(frozen=True, slots=True)
class Case:
    """One case and what became of it; `told` is what the memory says, for whoever looks at the failures."""

    part: str
    language: str
    kind: str
    text: str
    became: str
    told: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class KnowledgeReport:
    """Every case; of each size of profile the share of questions (by speaker) whose evidence it holds; what annotators
    wrote down of the speakers; and what a judge makes of the statements of their profiles."""

    cases: tuple[Case, ...]
    coverage: Mapping[int, float] = field(default_factory=dict[int, float])
    recalled: tuple[Recalled, ...] = ()
    verdicts: Mapping[str, int] = field(default_factory=dict[str, int])

    def to_json(self) -> str:
        """The record of a run."""
        return json.dumps(asdict(self), ensure_ascii=False, indent=1)


async def run(
    file: Path | None = None, config: Mapping[str, Any] | None = None, *, observations: Path | None = None,
    judge: ChatModel | None = None,
) -> KnowledgeReport:  # fmt: skip
    """Tell a fresh memory the shipped lines, pairs and corrections; with a file in LoCoMo's format, also look at profiles.

    What annotators observed is read from `observations`, else from that file. The judge of it is the chat model of the
    configuration where none is given. Raises InvalidRequest for a file in another format, and ChatUnavailable.
    """
    corpora = read_locomo(file).corpora if file else ()
    observed = read_observations(observations or file) if file else {}
    told = json.loads(files("amemorix_bench").joinpath("data", "knowledge.json").read_text("utf-8"))
    clock = AskingClock()
    with working_folder() as folder, clock.standing_at(BEGUN + 60 * DAY):
        async with open_memory(folder, config, clock=clock) as host:
            cases = [
                *await _lines(host, told["lines"]),
                *await _pairs(host, told["pairs"]),
                *await _corrections(host, told["corrections"]),
            ]
        if judge is None:
            settings = load(scratch_config(folder, config or {})).chat
            judge, _ = make_chat(settings, environ=os.environ, given=None)
        try:
            found = await _profiles(corpora, observed, config, judge)
        finally:
            if judge is not None:
                await judge.close()
    coverage = {size: mean(hits) for size, hits in found.covered.items() if hits}
    return KnowledgeReport(tuple(cases), coverage, tuple(found.recalled), dict(found.verdicts))


def print_report(report: KnowledgeReport, console: Console | None = None) -> None:
    """A table for each part."""
    console = console or Console(highlight=False)
    for part, words in JUDGED.items():
        table = Table("", "n", *words, title=part)
        those = [case for case in report.cases if case.part == part]
        groups = [(language, [case for case in those if case.language == language]) for language in ("zh", "en")]
        for name, group in [*groups, ("all", those)]:
            counts = Counter(case.became for case in group)
            table.add_row(name, str(len(group)), *(str(counts[word]) for word in words))
        console.print(table)
    counts = Counter(case.became for case in report.cases)
    unmeant = [case for case in report.cases if case.kind == "unmeant"]
    console.print(f"durable lines held {_share(counts['held'], counts['missed'])}, of what is held durable "
                  f"{_share(counts['held'], counts['believed'])}, jokes, wishes and hearsay believed "
                  f"{mean(case.became == 'believed' for case in unmeant):.3f}")  # fmt: skip
    for size, share in report.coverage.items():
        console.print(
            f"questions whose evidence is in the first {size} characters of the speaker's profile: {share:.3f}"
        )
    if report.recalled:
        table = Table(
            "", "n", "line", f"words ≥ {MOST_WORDS}", f"similarity ≥ {NEAR}", "judge", title="observations held"
        )
        for kind in ("observation", "event"):
            those = [one for one in report.recalled if one.kind == kind]
            near = [None if one.meaning is None else one.meaning >= NEAR for one in those]
            columns = (
                [one.rests for one in those],
                [one.words >= MOST_WORDS for one in those],
                near,
                [one.told for one in those],
            )
            table.add_row(kind, str(len(those)), *map(_known_share, columns))
        console.print(table)
    for verdict, count in report.verdicts.items():
        console.print(f"statements of profiles that are {verdict}, by the judge: {count}")


def _known_share(found: Sequence[bool | None]) -> str:
    """The share of those of which it is known; a dash where it is known of none."""
    known = [one for one in found if one is not None]
    return f"{mean(known):.3f}" if known else "–"


def _share(some: int, others: int) -> str:
    return f"{some / max(1, some + others):.3f}"


# the three parts


async def _lines(host: AMemorixHostService, lines: Sequence[Sequence[str]]) -> list[Case]:
    for n, (language, _, text) in enumerate(lines):
        await _tell(host, f"line:{n}", [(f"{NAME[language]}{n}", text, BEGUN)])
    await host.settle()
    cases: list[Case] = []
    for n, (language, kind, text) in enumerate(lines):
        facts = await _facts(host, f"line:{n}")
        durable = kind not in ("", "unmeant")
        became = ("held" if facts else "missed") if durable else ("believed" if facts else "left")
        cases.append(Case("lines", language, kind, text, became, tuple(map(_worded, facts))))
    return cases


async def _pairs(host: AMemorixHostService, pairs: Sequence[Sequence[str]]) -> list[Case]:
    said: list[tuple[str, ...]] = []
    for n, (language, old, new, _) in enumerate(pairs):
        name = NAME[language]
        said.append(await _tell(host, f"pair:{n}", [(name, old, BEGUN), (name, new, BEGUN + 30 * DAY)]))
    await host.settle()
    cases: list[Case] = []
    for n, (language, old, new, question) in enumerate(pairs):
        query = f"{NAME[language]}，{question}" if language == "zh" else f"{NAME[language]}, {question}"
        asked = {"chat_id": f"pair:{n}", "query": query, "limit": 5}
        facts = (await answered(host, "search_memory", asked))["facts"]
        first, later = said[n]
        is_new = [later in fact["evidence_ids"] for fact in facts]
        stale = [first in fact["evidence_ids"] and fact["status"] == "active" and not new
                 for fact, new in zip(facts, is_new, strict=True)]  # fmt: skip
        became = (
            "outdated" if any(stale) else "newest" if is_new[:1] == [True] else "both" if any(is_new) else "nothing"
        )
        cases.append(Case("pairs", language, "", f"{old} → {new}", became, tuple(map(_worded, facts))))
    return cases


async def _corrections(host: AMemorixHostService, corrections: Sequence[Sequence[str]]) -> list[Case]:
    said: list[tuple[str, ...]] = []
    for n, (language, line, _, _) in enumerate(corrections):
        others = [old for other, old, _, _ in corrections if other == language and old != line]
        turns = [others[(n + 7 * i) % len(others)] for i in range(WITNESSES)]
        turns.insert(n % (WITNESSES + 1), line)
        told = await _tell(host, f"mend:{n}", [(NAME[language], text, BEGUN + i * DAY) for i, text in enumerate(turns)])
        said.append((told[turns.index(line)], *told))
    await host.settle()
    cases: list[Case] = []
    for n, (language, line, words, right) in enumerate(corrections):
        asked = {"action": "preview", "text": words, "chat_id": f"mend:{n}", "person_id": NAME[language]}
        plan = await host.invoke("memory_correction_admin", asked)
        replaced = plan.get("replacements", [])
        told = tuple(f"{one['content']} → {one['becomes'] or plan['note']}" for one in replaced) or (
            plan.get("error") or plan.get("note", ""),
        )
        if not replaced:
            became = "unsure"
        elif [one["id"] for one in replaced] != [said[n][0]]:
            became = "wrong"
        else:
            new = f"{replaced[0]['becomes']} {plan['note']}"
            became = "right" if right.lower() in new.lower() else "garbled"
        cases.append(Case("corrections", language, "", f"{line} / {words}", became, told))
    return cases


async def _tell(host: AMemorixHostService, chat: str, turns: Sequence[tuple[str, str, float]]) -> tuple[str, ...]:
    """Ids of the paragraphs of these (speaker, text, time)."""
    messages = [{"speaker": speaker, "text": text, "time": at} for speaker, text, at in turns]
    results = (await answered(host, "ingest_messages", {"chat_id": chat, "messages": messages}))["results"]
    return tuple(result["ids"][0] for result in results)


async def _facts(host: AMemorixHostService, chat: str) -> list[Mapping[str, Any]]:
    answer = await answered(host, "memory_fact_admin", {"action": "list", "chat_id": chat, "limit": 50})
    return [fact for fact in answer["items"] if fact["status"] in HELD]


def _worded(fact: Mapping[str, Any]) -> str:
    return f"{fact['attribute']}: {fact['value']} ({fact['status']})"


# profiles


@dataclass(slots=True)
class _Profiles:
    """What was found in the profiles of speakers."""

    covered: dict[int, list[bool]] = field(default_factory=lambda: {size: [] for size in SIZES})
    recalled: list[Recalled] = field(default_factory=list[Recalled])
    verdicts: Counter[str] = field(default_factory=Counter[str])


async def _profiles(
    corpora: Sequence[Corpus], observed: Mapping[str, Sequence[Observation]], config: Mapping[str, Any] | None,
    judge: ChatModel | None,
) -> _Profiles:  # fmt: skip
    """Store each conversation, and compare the profiles of its speakers with its questions and observations."""
    found, folder = _Profiles(), installed()
    embedder = LocalEmbedder(folder) if folder and observed else None
    for corpus in corpora:
        with working_folder() as place:
            async with open_memory(place, config) as host:
                turn_of = await _store(host, corpus)
                held = [
                    await _look(host, corpus.id, name, turn_of, observed.get(corpus.id, ()), embedder, judge, found)
                    for name in sorted({turn.speaker for turn in corpus.turns})
                ]
        for question in corpus.questions:
            if question.category != "adversarial" and question.evidence:
                for size in SIZES:
                    found.covered[size].append(any(not sized[size].isdisjoint(question.evidence) for sized in held))
    if embedder is not None:
        embedder.close()
    return found


async def _store(host: AMemorixHostService, corpus: Corpus) -> dict[str, str]:
    """Paragraph -> the turn that it is."""
    turn_of: dict[str, str] = {}
    for session in corpus.sessions:
        messages = [
            {"external_id": turn.id, "speaker": turn.speaker, "text": turn.text, "time": session.time}
            for turn in session.turns
        ]
        told = {"chat_id": corpus.id, "source": f"{corpus.id}/{session.id}", "messages": messages}
        stored = await answered(host, "ingest_messages", told)
        turn_of |= {result["ids"][0]: result["external_id"] for result in stored["results"]}
    await host.settle()
    return turn_of


async def _look(
    host: AMemorixHostService, chat: str, name: str, turn_of: Mapping[str, str], observed: Sequence[Observation],
    embedder: Embedder | None, judge: ChatModel | None, found: _Profiles,
) -> dict[int, set[str]]:  # fmt: skip
    """Size -> turns that the profile of a speaker rests on within its first so many characters."""
    profile = await answered(host, "get_person_profile", {"person_id": name, "chat_id": chat, "limit": 200})
    held: dict[int, set[str]] = {}
    for size in SIZES:
        held[size], room = set(), size
        for item in profile["items"]:
            room -= len(item["statement"]) + 2
            if room < 0:
                break
            held[size] |= {turn_of[line] for line in item["evidence"] if line in turn_of}
    wanted = [one for one in observed if one.speaker == name]
    asked = {"action": "list", "person_id": name, "chat_id": chat, "limit": 500}
    facts = [fact for fact in (await answered(host, "memory_fact_admin", asked))["items"] if fact["status"] in HELD]
    told = [fact["sentence"] or f"{name}: {fact['attribute']} {fact['value']}" for fact in facts]
    lines = {turn_of[line] for fact in facts for line in fact["evidence_ids"] if line in turn_of}
    recalled = compared(wanted, told, lines, embedder)
    if judge is not None:
        judged = await are_told(judge, name, told, [one.text for one in wanted])
        recalled = [replace(one, told=is_told) for one, is_told in zip(recalled, judged, strict=True)]
        found.verdicts.update(await verdicts(judge, name, [item["statement"] for item in profile["items"]]))
    found.recalled += recalled
    return held
