"""LoCoMo: how much of the evidence for a question about a long conversation the memory finds."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import time
from collections.abc import AsyncGenerator, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ..errors import InvalidRequest
from ..host_service import AMemorixHostService
from .floor import BM25Floor
from .locomo_file import Conversation, Question, Session, read_conversations
from .metrics import Score, distinct, score_ranking
from .workspace import answered, open_memory, read_setting, working_folder

__all__ = ["LocomoBench", "LocomoReport", "QuestionResult", "loaded", "main", "run"]

DEPTH = 20
"""Hits asked for, and so the deepest cut-off that can be scored."""


@dataclass(frozen=True, slots=True)
class QuestionResult:
    """What one question found: turn ids best first, from the memory and from plain BM25."""

    conversation: str
    question: str
    category: int
    evidence: tuple[str, ...]
    found: tuple[str, ...]
    score: Score
    floor_found: tuple[str, ...]
    floor: Score
    milliseconds: float


@dataclass(frozen=True, slots=True)
class LocomoReport:
    """Every question that has evidence, with what it found."""

    file: str
    conversations: tuple[str, ...]
    turns: int
    model: str
    load_seconds: float
    results: tuple[QuestionResult, ...]
    without_evidence: int
    unusable: tuple[str, ...]

    def to_json(self) -> str:
        """The report with its raw results."""
        return json.dumps(asdict(self), ensure_ascii=False, indent=1)


class LocomoBench:
    """A memory that holds the conversations, to be asked as often as wanted."""

    def __init__(self, host: AMemorixHostService, file: Path, conversations: Sequence[Conversation]) -> None:
        self.host = host
        self._file = file
        self._conversations = conversations
        self._floors = {c.id: _floor(c) for c in conversations}
        self._load_seconds = 0.0

    async def load(self) -> None:
        """Store every session, and wait until all of it has its vectors."""
        started = time.perf_counter()
        for conversation in self._conversations:
            for session in conversation.sessions:
                await answered(self.host, "ingest_messages", _messages(conversation.id, session))
        await self.host.settle()
        self._load_seconds = time.perf_counter() - started

    async def ask(
        self,
        *,
        limit: int | None = None,
        config: Mapping[str, Any] | None = None,
        categories: Collection[int] | None = None,
    ) -> LocomoReport:
        """Ask at most `limit` questions, evenly spread; `config` is a patch that is applied before and stays."""
        if config:
            await self.host.update_config(dict(config))
            await self.host.settle()
        asked = [(c, q) for c in self._conversations for q in c.questions if not categories or q.category in categories]
        usable = [(c, q) for c, q in asked if q.evidence]
        results = [await self._result(c, q) for c, q in _spread(usable, limit)]
        stats = await answered(self.host, "memory_stats", {})
        return LocomoReport(
            file=str(self._file),
            conversations=tuple(c.id for c in self._conversations),
            turns=sum(len(s.turns) for c in self._conversations for s in c.sessions),
            model=stats["embedding"]["model"] or "no model",
            load_seconds=round(self._load_seconds, 3),
            results=tuple(results),
            without_evidence=len(asked) - len(usable),
            unusable=tuple(f"{c.id}: {entry}" for c, q in asked for entry in q.unusable),
        )

    async def _result(self, conversation: Conversation, question: Question) -> QuestionResult:
        args = {"query": question.text, "chat_id": conversation.id, "limit": DEPTH}
        started = time.perf_counter()
        answer = await answered(self.host, "search_memory", args)
        milliseconds = (time.perf_counter() - started) * 1000
        found = distinct(hit["external_id"] for hit in answer["hits"])
        plain = self._floors[conversation.id].search(question.text, DEPTH)
        return QuestionResult(
            conversation=conversation.id,
            question=question.text,
            category=question.category,
            evidence=question.evidence,
            found=tuple(found),
            score=_score(conversation, question, found),
            floor_found=tuple(plain),
            floor=_score(conversation, question, plain),
            milliseconds=round(milliseconds, 3),
        )


@contextlib.asynccontextmanager
async def loaded(
    file: Path, *, conversations: Collection[str] | None = None, config: Mapping[str, Any] | None = None
) -> AsyncGenerator[LocomoBench, None]:
    """A memory in a temporary folder that holds the file's conversations, or those named. Raises InvalidRequest."""
    chosen = _chosen(read_conversations(file), conversations)
    with working_folder() as folder:
        async with open_memory(folder, config) as host:
            bench = LocomoBench(host, file, chosen)
            await bench.load()
            yield bench


async def run(
    file: Path,
    *,
    conversations: Collection[str] | None = None,
    limit: int | None = None,
    config: Mapping[str, Any] | None = None,
) -> LocomoReport:
    """Store the conversations in a fresh memory and ask every question, or `limit` of them. Raises InvalidRequest."""
    async with loaded(file, conversations=conversations, config=config) as bench:
        return await bench.ask(limit=limit)


def _chosen(every: list[Conversation], names: Collection[str] | None) -> list[Conversation]:
    known = [c.id for c in every]
    if unknown := sorted(set(names or ()) - set(known)):
        raise InvalidRequest(f"The file has no conversation {unknown[0]!r}.", field="conversations", allowed=known)
    return [c for c in every if not names or c.id in names]


def _messages(chat_id: str, session: Session) -> dict[str, Any]:
    """Arguments of `ingest_messages` for a session."""
    turns = [
        {"external_id": turn.id, "speaker": turn.speaker, "text": turn.text, "time": session.time or None}
        for turn in session.turns
    ]
    return {"chat_id": chat_id, "source": f"{chat_id}:{session.name}", "messages": turns}


def _floor(conversation: Conversation) -> BM25Floor:
    return BM25Floor([(t.id, f"{t.speaker}: {t.text}") for s in conversation.sessions for t in s.turns])


def _spread(asked: Sequence[Any], limit: int | None) -> Sequence[Any]:
    """At most `limit` items, evenly spaced."""
    if limit is None or limit >= len(asked):
        return asked
    return [asked[i * len(asked) // limit] for i in range(limit)]


def _score(conversation: Conversation, question: Question, ranked: Sequence[str]) -> Score:
    session = conversation.session_of()
    sessions = distinct(session[turn] for turn in ranked if turn in session)
    return score_ranking(ranked, question.evidence, sessions, {session[turn] for turn in question.evidence})


def main(argv: Sequence[str] | None = None) -> None:
    """`python -m amemorix.bench.locomo FILE`: run and print."""
    from .locomo_report import print_report

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--json", type=Path, help="write the raw results here")
    parser.add_argument("--conversations", default="", help="only these, separated by commas")
    parser.add_argument("--limit-questions", type=int, help="ask so many, evenly spread")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="a setting, its value as JSON")
    options = parser.parse_args(argv)
    names = [name for name in options.conversations.split(",") if name]
    patch = dict(map(read_setting, options.set))
    report = asyncio.run(run(options.file, conversations=names, limit=options.limit_questions, config=patch))
    if options.json:
        options.json.write_text(report.to_json(), "utf-8")
    print_report(report)


if __name__ == "__main__":
    main()
