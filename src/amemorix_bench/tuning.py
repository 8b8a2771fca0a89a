"""Whether tuning mends settings that are bad, and leaves alone those that are good."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from amemorix.tuning.search_space import CURRENT, changed, decode, first_params, shipped_profile

from .metrics import Interval, Score, bootstrap
from .recall.bench import RecallBench, loaded
from .recall.dataset import Dataset
from .recall.fill import OnStage
from .recall.result import QuestionResult
from .workspace import answered

__all__ = ["SOURCES", "Source", "Start", "TuningReport", "TuningRun", "bad_starts", "run"]

Source = Literal["own", "labelled"]
SOURCES: tuple[Source, ...] = ("own", "labelled")
GIVEN = 0.5
"""Share of the questions whose conversations may be given away; the others judge."""
POLL_SECONDS = 0.5
STAGES = ("retrieval.weights.", "retrieval.rerank.weights.")
OFF = ("paragraph", "window", "session", "coverage", "dense", "topic", "tokens", "token_window")


@dataclass(frozen=True, slots=True)
class Start:
    """Settings that tuning begins with."""

    name: str
    profile: Mapping[str, Any]
    try_shipped: bool = True
    """Whether the task may begin from the shipped settings."""


@dataclass(frozen=True, slots=True)
class TuningRun:
    """One task; every score is that of questions that the task never saw, in 0..1."""

    start: str
    source: Source
    seed: int
    questions: int
    recommended: bool
    reasons: tuple[str, ...]
    best_round: int
    validation: Mapping[str, Any]
    held_out: Mapping[str, Any]
    before: float
    best: float
    """With the best settings, recommended or not."""
    shipped: float
    difference: Interval
    """Of the best settings to those at the start."""
    judged: int
    seconds: float

    @property
    def recovered(self) -> float:
        """What was applied, as a share of what the shipped settings reach."""
        return (self.best if self.recommended else self.before) / self.shipped if self.shipped else 0.0


@dataclass(frozen=True, slots=True)
class TuningReport:
    """All tasks of a run."""

    rounds: int
    runs: tuple[TuningRun, ...]

    def to_json(self) -> str:
        """The raw results."""
        runs = [asdict(one) | {"recovered": one.recovered} for one in self.runs]
        return json.dumps({"rounds": self.rounds, "runs": runs}, ensure_ascii=False, indent=1)


def bad_starts() -> list[Start]:
    """Settings that nobody should have: what matters switched off, large and small exchanged, hardly any look, and groups
    of weights out of proportion, to be mended without a look at the shipped settings."""
    shipped = shipped_profile()
    shallow = {
        "retrieval.candidates": 10, "retrieval.rerank.depth": 1, "retrieval.rerank.enabled": False,
        "retrieval.weights.dense": 0.0, "retrieval.weights.question": 2.0,
    }  # fmt: skip
    params = first_params(CURRENT) | {"meaning": 1 / 3, "tokens": 3.0, "talk": 1 / 3, "words": 1 / 3, "time": 3.0}
    skewed = changed(decode(params, shipped), shipped)
    return [
        Start("off", {n: 0.0 for n in shipped if n.startswith(STAGES) and n.rpartition(".")[2] in OFF}),
        Start("inverted", dict(_inverted(shipped))),
        Start("shallow", shallow),
        Start("skewed", skewed, try_shipped=False),
    ]


def _inverted(shipped: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    for stage in STAGES:
        weights = {name: value for name, value in shipped.items() if name.startswith(stage)}
        most = max(weights.values())
        yield from ((name, round(most - value, 4)) for name, value in weights.items())


async def run(
    dataset: Dataset,
    *,
    starts: Sequence[Start],
    sources: Sequence[Source],
    seeds: Sequence[int] = (0,),
    rounds: int = 20,
    sample_size: int = 200,
    limit: int | None = None,
    config: Mapping[str, Any] | None = None,
    on_stage: OnStage | None = None,
) -> TuningReport:
    """Tune from every start with questions of both sources, and judge by at most `limit` questions that were not given."""
    patch = {"tuning.poll_interval_seconds": 0.1, "tuning.idle_share": 0.0, **(config or {})}
    async with loaded(dataset, config=patch, on_stage=on_stage) as bench:
        runs: list[TuningRun] = []
        for start in starts:
            for source in sources:
                for seed in seeds:
                    if on_stage:
                        on_stage(f"tuning from `{start.name}` with {source} questions, seed {seed}")
                    task = {"rounds": rounds, "sample_size": sample_size, "seed": seed}
                    runs.append(await _Tuned(bench, start, source, limit).run(task))
                    if on_stage:
                        on_stage(f"  {runs[-1].recovered:.1%} of what the shipped settings reach")
        return TuningReport(rounds, tuple(runs))


class _Tuned:
    """One task from its start to the scores after it."""

    def __init__(self, bench: RecallBench, start: Start, source: Source, limit: int | None) -> None:
        self._bench = bench
        self._start = start
        self._source: Source = source
        self._limit = limit
        self._given, self._judging = _halves(bench.dataset) if source == "labelled" else (set[str](), None)

    async def run(self, task: dict[str, Any]) -> TuningRun:
        shipped = shipped_profile()
        await self._bench.configure(shipped | dict(self._start.profile))
        before = await self._scores()
        done = await self._task(task)
        result = done["result"]
        await self._bench.configure(shipped | dict(self._start.profile) | result["changes"])
        best = await self._scores() if result["changes"] else before
        await self._bench.configure(shipped)
        plain = await self._scores() if self._start.profile else before
        return TuningRun(
            start=self._start.name, source=self._source, seed=task["seed"], questions=done["asked"],
            recommended=result["recommended"], reasons=tuple(result["reasons"]), best_round=result["best_round"],
            validation=result["validation"], held_out=result["held_out"], before=_mean(before), best=_mean(best),
            shipped=_mean(plain), difference=bootstrap([b - a for a, b in zip(before, best, strict=True)]),
            judged=len(before), seconds=done["seconds"],
        )  # fmt: skip

    async def _task(self, task: dict[str, Any]) -> dict[str, Any]:
        """The ended task, with how many questions it asked and what its rounds took. Raises RuntimeError if it failed."""
        host = self._bench.host
        args = {
            "action": "create_task",
            "try_shipped": self._start.try_shipped,
            **task,
            **({"queries": self._labelled()} if self._given else {}),
        }
        made = await answered(host, "memory_tuning_admin", args)
        which = {"action": "get_task", "task_id": made["task"]["task_id"], "include_rounds": True}
        while True:
            found = await answered(host, "memory_tuning_admin", which)
            if found["task"]["status"] not in ("queued", "running"):
                break
            await asyncio.sleep(POLL_SECONDS)
        if found["task"]["status"] != "completed":
            raise RuntimeError(f"the tuning task {found['task']['status']}: {found['task']['error']}")
        asked = sum(one["count"] for one in found["questions"])
        return found["task"] | {"asked": asked, "seconds": sum(one["seconds"] for one in found["rounds"])}

    def _labelled(self) -> list[dict[str, Any]]:
        headline = self._bench.dataset.headline
        every = [
            {"query": q.text, "chat_id": c.id, "expected": [c.key(turn) for turn in q.evidence][:20]}
            for c, q in self._bench.dataset.judged()
            if c.id in self._given and q.category in headline and q.evidence
        ]
        step = max(1, -(-len(every) // 300))
        return every[::step]

    async def _scores(self) -> list[float]:
        report = await self._bench.ask(limit=self._limit, categories=self._bench.dataset.headline)
        return [_worth(one.score) for one in report.results if self._judges(one)]

    def _judges(self, one: QuestionResult) -> bool:
        return self._judging is None or one.corpus in self._judging


def _halves(dataset: Dataset) -> tuple[set[str], set[str]]:
    """(conversations whose questions are given, those whose questions judge)."""
    counts = {corpus.id: len(corpus.questions) for corpus in dataset.corpora}
    given: set[str] = set()
    for name in counts:
        if sum(counts[one] for one in given) < GIVEN * sum(counts.values()):
            given.add(name)
    return given, set(counts) - given


def _worth(score: Score) -> float:
    """As the objective `balanced` counts."""
    return 0.3 * score.mrr + 0.3 * score.ndcg_10 + 0.4 * score.recall_10


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0
