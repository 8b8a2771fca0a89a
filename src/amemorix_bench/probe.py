"""Probes: a small chat each, with questions as people ask them, some of which nothing stored answers."""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from amemorix.errors import InvalidRequest
from amemorix.host.service import AMemorixHostService

from .recall.bench import AskingClock
from .recall.chinese import ASKED_AFTER, Language, read_chinese
from .recall.dataset import Corpus
from .workspace import answered, open_memory, working_folder

__all__ = [
    "Asked", "ProbeReport", "UNANSWERABLE", "as_probe", "as_query", "print_report", "read_probe", "run", "shipped", "stored",
]  # fmt: skip

LIMIT = 10
DIALOGUES: dict[str, Language] = {"dialogues_en": "en", "dialogues_zh": "zh"}
"""The last messages of talks with a bot, about the chats of the Chinese benchmark or their translations."""
UNANSWERABLE = "unanswerable"
WHO = {"u": "user", "b": "assistant"}


@dataclass(frozen=True, slots=True)
class Asked:
    """A question with what it found: the rank of the first line that answers it, from 1, 0 if none did.

    `hits` are ids of messages, best first, with `scores` beside them; `flagged`: the answer calls its best hit weak.
    """

    probe: str
    kind: str
    text: str
    evidence: tuple[str, ...]
    hits: tuple[str, ...]
    scores: tuple[float, ...]
    rank: int
    flagged: bool

    @property
    def misled(self) -> bool:
        """Nothing stored answers it, and a hit was shown without a word of doubt."""
        return self.kind == UNANSWERABLE and bool(self.hits) and not self.flagged


@dataclass(frozen=True, slots=True)
class ProbeReport:
    """Every question of every probe."""

    asked: tuple[Asked, ...]

    def to_json(self) -> str:
        """One record a question."""
        return json.dumps([asdict(one) for one in self.asked], ensure_ascii=False, indent=1)


def shipped() -> list[str]:
    """The names of the probes that come with the program."""
    return [*DIALOGUES, *sorted(one.name.removesuffix(".json") for one in _folder().iterdir() if one.is_file())]


async def run(names: Sequence[str], config: Mapping[str, Any] | None = None) -> ProbeReport:
    """Store each probe's chat in a fresh memory and ask its questions; a name is a shipped probe or a file.

    Raises InvalidRequest for what is neither, or not in the format.
    """
    return ProbeReport(
        tuple([one for name in names for probe in read_probe(name) for one in await _run(probe, config)])
    )


def print_report(report: ProbeReport, console: Console | None = None) -> None:
    """A line for each kind of question of each probe."""
    table = Table("probe", "kind", "n", "first", "≤ 3", "≤ 5", "≤ 10", "no hit", "unflagged hit", title="search_memory")
    groups = dict.fromkeys((one.probe, one.kind) for one in report.asked)
    for probe, kind in groups:
        those = [one for one in report.asked if (one.probe, one.kind) == (probe, kind)]
        shares = [sum(0 < one.rank <= depth for one in those) / len(those) for depth in (1, 3, 5, 10)]
        ranks = ["" if kind == UNANSWERABLE else f"{share:.3f}" for share in shares]
        misled = f"{sum(one.misled for one in those) / len(those):.3f}" if kind == UNANSWERABLE else ""
        table.add_row(probe, kind, str(len(those)), *ranks, str(sum(not one.hits for one in those)), misled)
    (console or Console(highlight=False)).print(table)


@contextlib.asynccontextmanager
async def stored(probe: Mapping[str, Any], config: Mapping[str, Any] | None) -> AsyncGenerator[AMemorixHostService]:
    """A memory that holds the probe's chat, at the moment when its questions are asked."""
    clock = AskingClock()
    with working_folder() as folder:
        async with open_memory(folder, config, clock=clock) as host:
            for session in probe["sessions"]:
                at = datetime.fromisoformat(session["start"]).timestamp()
                messages = [
                    {"external_id": id_, "speaker": speaker, "text": text, "time": at}
                    for id_, speaker, text in session["messages"]
                ]
                args = {"chat_id": probe["id"], "source": f"{probe['id']}/{session['id']}", "messages": messages}
                await answered(host, "ingest_messages", args)
            await host.settle()
            with clock.standing_at(datetime.fromisoformat(probe["asked"]).timestamp()):
                yield host


def as_query(question: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments of `search_memory`."""
    if "text" in question:
        return {"query": question["text"]}
    return {"messages": [{"role": WHO[who], "content": said} for who, said in question["messages"]]}


async def _run(probe: Mapping[str, Any], config: Mapping[str, Any] | None) -> list[Asked]:
    async with stored(probe, config) as host:
        return [await _ask(host, probe, question) for question in probe["questions"]]


async def _ask(host: AMemorixHostService, probe: Mapping[str, Any], question: Mapping[str, Any]) -> Asked:
    query = as_query(question)
    answer = await answered(host, "search_memory", {"chat_id": probe["id"], "limit": LIMIT, **query})
    hits = [hit["external_id"] for hit in answer["hits"]]
    rank = next((rank for rank, id_ in enumerate(hits, 1) if id_ in question["evidence"]), 0)
    return Asked(
        probe=probe["id"], kind=question["kind"], text=question.get("text") or question["messages"][-1][1], evidence=tuple(question["evidence"]),
        hits=tuple(hits), scores=tuple(hit["confidence"] for hit in answer["hits"]), rank=rank, flagged=answer["weak"],
    )  # fmt: skip


def _folder() -> Any:
    return files("amemorix_bench").joinpath("data", "probes")


def read_probe(name: str) -> Iterable[Mapping[str, Any]]:
    """Probes of the format: sessions of [id, speaker, text], questions with their evidence."""
    if name in DIALOGUES:
        return _dialogues(DIALOGUES[name])
    file = Path(name) if name.endswith(".json") else _folder().joinpath(f"{name}.json")
    try:
        return [json.loads(file.read_text("utf-8"))]
    except FileNotFoundError as exc:
        raise InvalidRequest(f"There is no probe {name!r}.", field="probes", allowed=shipped()) from exc
    except (OSError, ValueError) as exc:
        raise InvalidRequest(f"{name} is not a file of a probe: {exc}", field="probes") from exc


def as_probe(corpus: Corpus, name: str, questions: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """A chat of the benchmarks with these questions about it, which are asked thirty days after its last session begins."""

    def written(time: float | None) -> str:
        return datetime.fromtimestamp(time or 0.0, UTC).isoformat()

    return {
        "id": name,
        "asked": written(max(session.time or 0.0 for session in corpus.sessions) + ASKED_AFTER),
        "sessions": [
            {
                "id": session.id,
                "start": written(session.time),
                "messages": [[turn.id, turn.speaker, turn.text] for turn in session.turns],
            }
            for session in corpus.sessions
        ],
        "questions": questions,
    }


def _dialogues(language: Language) -> Iterable[Mapping[str, Any]]:
    asked = json.loads(files("amemorix_bench").joinpath("data", "dialogues.json").read_text("utf-8"))
    for corpus in read_chinese(chat=language).corpora:
        about = [one for one in asked["dialogues"] if one["chat"] == corpus.id]
        nothing = [one for one in asked["unanswerable"] if one["chat"] == corpus.id]
        questions = [
            *({"kind": "dialogue", "messages": one[language], "evidence": one["evidence"]} for one in about),
            *({"kind": UNANSWERABLE, "text": one[language], "evidence": []} for one in nothing),
        ]
        yield as_probe(corpus, f"{corpus.id}_{language}", questions)
