"""The command that shows the memory at work on a conversation that ships with it."""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import subprocess
import time
from dataclasses import replace
from datetime import datetime, timezone
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.padding import Padding

from ...extras import require
from ...host.environment import Surroundings
from ...host.service import AMemorixHostService
from ...locale import told
from ..transport import LocalMemory
from .memory import hit_table
from .memory_client import answered
from .terminal import DEFAULT_CONFIG, out, print_stored, say
from .ui import console

FOLDER = Path("a-memorix-demo")


def demo(
    data_dir: Annotated[Path, typer.Option(help="Folder of the memory, which stays there.")] = FOLDER,
    hits: Annotated[int, typer.Option(min=1, max=20, help="Most hits shown of each answer.")] = 5,
    ui: Annotated[bool, typer.Option("--ui", help="Open the console on it then, until Ctrl+C.")] = False,
) -> None:
    """Store a conversation of five friends, half Chinese, half English, and ask it ten questions in five modes."""
    if ui:
        require("server", "The console")
    config = data_dir / DEFAULT_CONFIG
    asyncio.run(_demonstrate(conversation(), config, hits))
    folder = subprocess.list2cmdline([str(data_dir)]) if os.name == "nt" else shlex.quote(str(data_dir))
    removal = f"rmdir /s /q {folder}" if os.name == "nt" else f"rm -r {folder}"
    say(f"The memory stays: `amemorix chats -c {folder}` looks at it, and `{removal}` removes it.")
    if ui:
        console(config, browser=True, port=0)


def conversation() -> dict[str, Any]:
    """The conversation of one group chat: its people, its sessions with their messages, and questions.

    The `id` of a message is `s<session>:<turn>`, both from 1; `expect` of a question are the ids that answer it.
    """
    return json.loads(files("amemorix.frontends.cli").joinpath("demo_conversation.json").read_bytes())


async def _demonstrate(demo: dict[str, Any], config: Path, shown: int) -> None:
    """Store every session of the conversation, in its own time zone, and ask its questions; a second run adds nothing."""
    sessions, questions, chat = demo["sessions"], demo["questions"], {"chat_id": demo["chat_id"]}
    offset = datetime.fromisoformat(sessions[0]["start"]).utcoffset()
    assert offset is not None, "the demo's times are aware"
    around = replace(Surroundings.default(), zone=timezone(offset))
    async with AMemorixHostService(config, surroundings=around, watch=False) as host:
        memory, stored, started = LocalMemory(host, "cli"), 0, time.perf_counter()
        for session in sessions:
            messages = [
                {"external_id" if key == "id" else key: value for key, value in one.items()}
                for one in session["messages"]
            ]
            args = {**chat, "group_id": demo["group_id"], "source": session["source"], "messages": messages}
            stored += len((await answered(memory, "ingest_messages", args))["stored_ids"])
        await memory.settle()
        seconds, stats = time.perf_counter() - started, await memory.invoke("memory_stats")
        people, lines = (
            ", ".join(person["name"] for person in demo["people"]),
            sum(len(one["messages"]) for one in sessions),
        )
        say(f"A chat of {people}: {lines} lines in {len(sessions)} sittings.", "bold")
        say(f"{stored} stored and indexed in {seconds:.1f} s; {stats['episodes']} episodes. ✓ marks an expected line.")
        if stats["notice"]:
            say(str(stats["notice"]), "yellow")
        complete = 0
        for question in questions:
            args = {**question["args"], "mode": question["mode"], **chat}
            hits = (await answered(memory, "search_memory", args))["hits"]
            complete += _show(sessions, question, hits, shown)
        say(f"{complete} of {len(questions)} questions got an expected line.", "bold")


def _show(sessions: list[dict[str, Any]], question: dict[str, Any], hits: list[dict[str, Any]], shown: int) -> bool:
    """Show the first hits; True if one is, or holds, a line that was expected."""
    expected = [
        (session["source"], one)
        for session in sessions
        for one in session["messages"]
        if one["id"] in question["expect"]
    ]
    held: list[set[str]] = []
    for hit in hits:
        if hit["type"] == "paragraph":
            held.append({hit["external_id"]} & set(question["expect"]))
        else:  # a stretch of talk
            start, end = hit["time"]["start"], hit["time"]["end"]
            inside = (one for source, one in expected if source == hit["source"])
            held.append(
                {one["id"] for one in inside if start <= datetime.fromisoformat(one["time"]).timestamp() <= end}
            )
    found, left = len(set[str]().union(*held)), len(hits) - shown
    say()
    print_stored(f"[{question['mode']}] {question['question']}", "bold cyan")
    print_stored(f"  {json.dumps(question['args'], ensure_ascii=False)}", "dim")
    if hits:
        out().print(Padding(hit_table(hits[:shown], marked=[*map(bool, held)]), (0, 0, 0, 2)))
    else:
        say("  Nothing found.", "dim")
    more = told(f" {left} more hits are not shown.") if left > 0 else ""
    came = told(f"  {found} of {len(question['expect'])} expected lines came back.")
    print_stored(f"{came}{more} {question['note']}", "green" if found else "red")
    return found > 0
