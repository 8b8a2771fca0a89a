"""A recorded group chat in the memory, and its test cases: does the answer hold the words that it should?"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from amemorix.host.service import AMemorixHostService

from .conditions import Conditions, describe
from .fixture_file import CHINA, Case, Fixture, read_fixture
from .workspace import answered, open_memory, working_folder

__all__ = ["CaseResult", "FixtureReport", "Group", "groups", "run"]

LIMIT = 5


@dataclass(frozen=True, slots=True)
class CaseResult:
    """What one case found; `recall` is the share of its keywords in the hits, `first` whether the first has enough.

    Not `worded`: a case that has no keywords, and has to find nothing.
    """

    group: str
    query: str
    worded: bool
    passed: bool
    recall: float
    first: bool
    missing: tuple[str, ...]
    wrong_day: int
    hits: tuple[str, ...]
    milliseconds: float
    evidenced: bool = True
    """A profile gives the evidence that it stands on."""


@dataclass(frozen=True, slots=True)
class Group:
    """The figures of the cases of one kind, and those that the fixture requires."""

    name: str
    cases: int
    worded: bool
    passed: int
    recall: float
    first: int
    required: Mapping[str, float]
    evidence_rate: float = 1.0
    """Share of the cases whose answer gives evidence."""


@dataclass(frozen=True, slots=True)
class FixtureReport:
    """Every case with what it found."""

    file: str
    conditions: Conditions
    results: tuple[CaseResult, ...]
    required: Mapping[str, Mapping[str, float]]

    def to_json(self) -> str:
        """The report with its raw results."""
        record = {**asdict(self), "summary": [asdict(group) for group in groups(self)]}
        return json.dumps(record, ensure_ascii=False, indent=1)


async def run(file: Path, *, config: Mapping[str, Any] | None = None) -> FixtureReport:
    """Store what a host would have stored in a fresh memory, and run every case. Raises InvalidRequest."""
    fixture = read_fixture(file)
    with working_folder() as folder:
        async with open_memory(folder, config, zone=CHINA) as host:
            await _fill(host, fixture)
            results = [await _result(host, case) for case in fixture.cases]
            return FixtureReport(str(file), await describe(host, folder), tuple(results), fixture.required)


def groups(report: FixtureReport) -> list[Group]:
    """The figures by kind of case, in the order of the cases."""
    names = dict.fromkeys(result.group for result in report.results)
    return [_group(name, [r for r in report.results if r.group == name], report.required) for name in names]


async def _fill(host: AMemorixHostService, fixture: Fixture) -> None:
    for component, args in fixture.writes:
        await answered(host, component, args)
    await host.settle()


async def _result(host: AMemorixHostService, case: Case) -> CaseResult:
    if case.component == "get_person_profile":
        return await _profile(host, case)
    started = time.perf_counter()
    hits = (await answered(host, case.component, {**case.args, "limit": LIMIT}))["hits"]
    milliseconds = (time.perf_counter() - started) * 1000
    texts = [f"{hit['title']} {hit['content']}".strip() for hit in hits]
    wrong_day = sum(case.day != "" and _day(hit) != case.day for hit in hits)
    return _judged(case, str(case.args["query"]), texts, milliseconds, wrong_day=wrong_day)


async def _profile(host: AMemorixHostService, case: Case) -> CaseResult:
    """The words may stand in the profile's text, its traits or its evidence; the text comes first."""
    started = time.perf_counter()
    profile = await answered(host, case.component, {**case.args, "limit": LIMIT})
    milliseconds = (time.perf_counter() - started) * 1000
    evidence = [one["content"] for one in profile["evidence"]]
    texts = [profile["summary"], *profile["traits"], *evidence]
    return _judged(case, str(case.args["person_id"]), texts, milliseconds, evidenced=bool(evidence))


def _judged(
    case: Case, query: str, texts: Sequence[str], milliseconds: float, *, wrong_day: int = 0, evidenced: bool = True
) -> CaseResult:
    missing = [word for word in case.keywords if not any(word in text for text in texts)]
    recall = _share(case.keywords, texts)
    return CaseResult(
        group=case.group,
        query=query,
        worded=bool(case.keywords),
        passed=recall >= case.enough and not wrong_day if case.keywords else not texts,
        recall=recall,
        first=bool(case.keywords) and _share(case.keywords, texts[:1]) >= case.enough,
        missing=tuple(missing),
        wrong_day=wrong_day,
        hits=tuple(texts),
        milliseconds=round(milliseconds, 3),
        evidenced=evidenced,
    )


def _share(words: Sequence[str], texts: Sequence[str]) -> float:
    return sum(any(word in text for text in texts) for word in words) / len(words) if words else 0.0


def _day(hit: Mapping[str, Any]) -> str:
    start = hit["time"]["start"]
    return "" if start is None else datetime.fromtimestamp(start, CHINA).strftime("%Y/%m/%d")


def _group(name: str, results: Sequence[CaseResult], required: Mapping[str, Mapping[str, float]]) -> Group:
    return Group(
        name=name,
        cases=len(results),
        worded=any(r.worded for r in results),
        passed=sum(r.passed for r in results),
        recall=sum(r.recall for r in results) / len(results),
        first=sum(r.first for r in results),
        required=required.get(name, {}),
        evidence_rate=sum(r.evidenced for r in results) / len(results),
    )
