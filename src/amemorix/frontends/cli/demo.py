"""The command that shows the memory at work on a conversation that ships with it."""

from __future__ import annotations

import asyncio
import json
import tempfile
import time
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from pydantic import TypeAdapter
from rich.padding import Padding

from ...host.environment import Surroundings
from ...host.service import AMemorixHostService
from .hit_table import hit_table
from .memory_client import LocalMemory, answered
from .terminal import out, say

__all__ = ["Demo", "DemoMessage", "DemoPerson", "DemoQuestion", "DemoSession", "demo", "load"]


def demo(
    data_dir: Annotated[
        Path | None, typer.Option(help="Keep the memory below this folder; without one it is temporary.")
    ] = None,
    hits: Annotated[int, typer.Option(min=1, max=20, help="Most hits shown of each answer.")] = 5,
) -> None:
    """Store a conversation of five friends, half Chinese, half English, and ask it ten questions in five modes."""
    with tempfile.TemporaryDirectory(prefix="amemorix-demo-") as temporary:
        asyncio.run(_demonstrate(load(), data_dir or Path(temporary), hits))


async def _demonstrate(demo: Demo, folder: Path, shown: int) -> None:
    """Store every session of the conversation, in its own time zone, and ask its questions; a second run adds nothing."""
    offset = demo.sessions[0].start.utcoffset()
    assert offset is not None, "the demo's times are aware"
    around = replace(Surroundings.default(), zone=timezone(offset))
    async with AMemorixHostService(folder / "config" / "a_memorix.toml", surroundings=around, watch=False) as host:
        memory, stored, started = LocalMemory(host), 0, time.perf_counter()
        for session in demo.sessions:
            args: dict[str, Any] = {"chat_id": demo.chat_id, "group_id": demo.group_id, "source": session.source}
            args["messages"] = [
                {
                    "external_id": one.id, "speaker": one.speaker, "person_id": one.person_id, "text": one.text,
                    "time": one.time.isoformat(),
                }
                for one in session.messages
            ]  # fmt: skip
            stored += len((await answered(memory, "ingest_messages", args))["stored_ids"])
        await memory.settle()
        seconds, stats = time.perf_counter() - started, await memory.invoke("memory_stats")
        people = ", ".join(person.name for person in demo.people)
        say(f"A chat of {people}: {len(demo.messages)} lines in {len(demo.sessions)} sittings.", "bold")
        say(f"{stored} stored and indexed in {seconds:.1f} s; {stats['episodes']} episodes. ✓ marks an expected line.")
        if stats["notice"]:
            say(str(stats["notice"]), "yellow")
        complete = 0
        for question in demo.questions:
            args = {**question.args, "mode": question.mode, "chat_id": demo.chat_id}
            hits: list[dict[str, Any]] = (await answered(memory, "search_memory", args))["hits"]
            complete += _show(demo, question, hits, shown)
        say(f"{complete} of {len(demo.questions)} questions got an expected line.", "bold")


def _show(demo: Demo, question: DemoQuestion, hits: list[dict[str, Any]], shown: int) -> bool:
    """Show the first hits; True if one is, or holds, a line that was expected."""
    expected = [
        (session.source, one) for session in demo.sessions for one in session.messages if one.id in question.expect
    ]
    held: list[set[str]] = []
    for hit in hits:
        if hit["type"] == "paragraph":
            held.append({hit["external_id"]} & set(question.expect))
        else:  # a stretch of talk
            start, end = hit["time"]["start"], hit["time"]["end"]
            inside = (one for source, one in expected if source == hit["source"])
            held.append({one.id for one in inside if start <= one.time.timestamp() <= end})
    found, left = len(set[str]().union(*held)), len(hits) - shown
    say()
    say(f"[{question.mode}] {question.question}", "bold cyan")
    say(f"  {json.dumps(question.args, ensure_ascii=False)}", "dim")
    if hits:
        out().print(Padding(hit_table(hits[:shown], marked=[*map(bool, held)]), (0, 0, 0, 2)))
    else:
        say("  Nothing found.", "dim")
    more = f" {left} more hits are not shown." if left > 0 else ""
    told = f"  {found} of {len(question.expect)} expected lines came back.{more} {question.note}"
    say(told, "green" if found else "red")
    return found > 0


# the conversation


@dataclass(frozen=True, slots=True)
class DemoPerson:
    """Someone who speaks."""

    person_id: str
    name: str
    aliases: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DemoMessage:
    """One turn; `id` is `s<session>:<turn>`, both from 1, and `time` is aware."""

    id: str
    speaker: str
    person_id: str
    text: str
    time: datetime


@dataclass(frozen=True, slots=True)
class DemoSession:
    """Turns without a long pause, in their order; `start` is the time of the first."""

    source: str
    start: datetime
    messages: tuple[DemoMessage, ...]


@dataclass(frozen=True, slots=True)
class DemoQuestion:
    """A search to try, and the messages that answer it."""

    mode: Literal["search", "time", "hybrid", "episode", "aggregate"]
    question: str
    """As a person would ask."""
    args: dict[str, Any]
    """Arguments of `search_memory` besides `mode` and `chat_id`."""
    expect: tuple[str, ...]
    """Ids of messages."""
    note: str


@dataclass(frozen=True, slots=True)
class Demo:
    """The whole conversation, of one group chat."""

    chat_id: str
    group_id: str
    people: tuple[DemoPerson, ...]
    sessions: tuple[DemoSession, ...]
    questions: tuple[DemoQuestion, ...]

    @property
    def messages(self) -> tuple[DemoMessage, ...]:
        """The turns of all sessions, in order of time."""
        return tuple(message for session in self.sessions for message in session.messages)


def load() -> Demo:
    """Read the conversation that is shipped with the package."""
    return TypeAdapter(Demo).validate_json(
        files("amemorix.frontends.cli").joinpath("demo_conversation.json").read_bytes()
    )
