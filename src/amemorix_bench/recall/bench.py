"""How much of the evidence for questions about long conversations the memory finds."""

from __future__ import annotations

import contextlib
import time
from collections.abc import AsyncGenerator, Collection, Generator, Mapping, Sequence
from pathlib import Path
from typing import Any

from amemorix.clock import SystemClock
from amemorix.host.service import AMemorixHostService

from ..conditions import describe, footprint
from ..metrics import Score, distinct, score_ranking
from ..workspace import answered, open_memory, working_folder
from .dataset import Corpus, Dataset, Question, spread
from .fill import Filling, OnStage, fill
from .floor import Floors
from .result import ContextResult, Costs, QuestionResult, RecallReport, Subject

__all__ = ["DEPTH", "AskingClock", "RecallBench", "loaded"]

DEPTH = 20
"""Hits asked for, and so the deepest cut-off that can be scored."""
BUDGET = 800
"""Tokens of a context."""


class AskingClock(SystemClock):
    """The machine's clock, which can be made to stand at another time."""

    def __init__(self) -> None:
        self._at: float | None = None

    def now(self) -> float:
        """Seconds since 1970-01-01T00:00:00Z."""
        return super().now() if self._at is None else self._at

    @contextlib.contextmanager
    def standing_at(self, moment: float | None) -> Generator[None, None, None]:
        """Stand at this time while the block runs; None goes on as ever."""
        self._at = moment
        try:
            yield
        finally:
            self._at = None


class RecallBench:
    """A memory that holds the corpora of a data set, to be asked as often as wanted.

    Merged, no question says which chat it is about.
    """

    def __init__(
        self, host: AMemorixHostService, dataset: Dataset, *, folder: Path, clock: AskingClock, filling: Filling,
        merged: bool,
    ) -> None:  # fmt: skip
        self.host = host
        self.dataset = dataset
        self.merged = merged
        self.clock = clock
        self._folder = folder
        self._filling = filling
        self._floors = Floors(dataset, merged=merged)
        self._session_of = {
            corpus.key(turn.id): corpus.key(session.id)
            for corpus in dataset.corpora
            for session in corpus.sessions
            for turn in session.turns
        }

    async def ask(
        self,
        *,
        limit: int | None = None,
        config: Mapping[str, Any] | None = None,
        categories: Collection[str] | None = None,
        context: bool = False,
        on_stage: OnStage | None = None,
    ) -> RecallReport:
        """Ask at most `limit` questions, evenly spread; `config` is a patch that is applied before and stays.

        With `context` those of the headline's categories are put to `get_context` too.
        """
        if config:
            await self.configure(config)
        judged = [(c, q) for c, q in self.dataset.judged() if not categories or q.category in categories]
        asked = spread(judged, limit)
        (on_stage or _silent)(f"asking {len(asked):,} questions")
        started = time.perf_counter()
        results = [await self._result(corpus, question, context=context) for corpus, question in asked]
        return await self._report(results, time.perf_counter() - started, categories)

    async def ask_again(self, results: Sequence[QuestionResult]) -> list[QuestionResult]:
        """Ask the questions of these results, in their order."""
        known = {(corpus.id, question.id): (corpus, question) for corpus, question in self.dataset.questions()}
        return [await self._result(*known[result.corpus, result.id]) for result in results]

    async def _report(
        self, results: Sequence[QuestionResult], seconds: float, categories: Collection[str] | None
    ) -> RecallReport:
        every = [(c, q) for c, q in self.dataset.questions() if not categories or q.category in categories]
        unanswerable = self.dataset.unanswerable
        return RecallReport(
            subject=Subject.of(self.dataset, merged=self.merged),
            conditions=await describe(self.host, self._folder),
            costs=Costs(self._filling, footprint(self._folder), round(seconds, 3)),
            results=tuple(r for r in results if r.category != unanswerable),
            unanswerable=tuple(r for r in results if r.category == unanswerable),
            without_evidence=sum(not q.evidence and q.category != unanswerable for _, q in every),
            unusable=tuple(f"{corpus.id}: {entry}" for corpus, q in every for entry in q.unusable),
        )

    async def configure(self, patch: Mapping[str, Any]) -> None:
        """Change settings, and wait until the memory has caught up with them. Raises InvalidConfig."""
        await self.host.update_config(dict(patch))
        await self.host.settle()

    async def _result(self, corpus: Corpus, question: Question, *, context: bool = False) -> QuestionResult:
        scope = {} if self.merged else {"chat_id": corpus.id}
        with self.clock.standing_at(question.asked_at):
            started = time.perf_counter()
            answer = await answered(self.host, "search_memory", {"query": question.text, "limit": DEPTH, **scope})
            milliseconds = (time.perf_counter() - started) * 1000
            wanted = context and question.category in self.dataset.headline
            block = await self._context(corpus, question, scope) if wanted else None
        best = {hit["external_id"]: hit["score"] for hit in reversed(answer["hits"])}
        found = distinct(hit["external_id"] for hit in answer["hits"])
        plain = self._floors.search(corpus, question, DEPTH)
        return QuestionResult(
            corpus=corpus.id, id=question.id, question=question.text, category=question.category,
            evidence=tuple(map(corpus.key, question.evidence)), sessions=tuple(map(corpus.key, question.sessions)),
            found=tuple(found), scores=tuple(best[turn] for turn in found),
            score=self._score(corpus, question, found), floor_found=tuple(plain),
            floor=self._score(corpus, question, plain), milliseconds=round(milliseconds, 3),
            degraded=tuple(answer["degraded"]), confidences=tuple(hit["confidence"] for hit in answer["hits"]),
            weak=answer["weak"] or not answer["hits"], context=block,
        )  # fmt: skip

    async def _context(self, corpus: Corpus, question: Question, scope: Mapping[str, str]) -> ContextResult:
        block = await answered(self.host, "get_context", {"query": question.text, "budget": BUDGET, **scope})
        texts = {turn.id: " ".join(turn.text.split()) for turn in corpus.turns}
        held = [texts[turn] in block["text"] for turn in question.evidence]
        return ContextResult(sum(held) / len(held), block["tokens"])

    def _score(self, corpus: Corpus, question: Question, ranked: Sequence[str]) -> Score:
        """Sessions are ranked by their best turn."""
        sessions = distinct(self._session_of[turn] for turn in ranked if turn in self._session_of)
        evidence = [corpus.key(turn) for turn in question.evidence]
        return score_ranking(ranked, evidence, sessions, [corpus.key(session) for session in question.sessions])


@contextlib.asynccontextmanager
async def loaded(
    dataset: Dataset, *, config: Mapping[str, Any] | None = None, merged: bool = False, on_stage: OnStage | None = None
) -> AsyncGenerator[RecallBench, None]:
    """A memory in a temporary folder that holds the corpora."""
    clock = AskingClock()
    with working_folder() as folder:
        filling = await fill(folder, dataset, config, on_stage or _silent)
        async with open_memory(folder, config, clock=clock) as host:
            yield RecallBench(host, dataset, folder=folder, clock=clock, filling=filling, merged=merged)


def _silent(_: str) -> None:
    """Tell nobody."""
