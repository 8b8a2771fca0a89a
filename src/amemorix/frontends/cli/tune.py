"""The command that searches for better retrieval settings."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from ...errors import InvalidRequest, MemoryFault
from ...locale import told, word
from .memory_client import Memory, answered, opened
from .terminal import DEFAULT_CONFIG, MemoryPath, progress_bars, remark, say

ADMIN = "memory_tuning_admin"
LOOK_SECONDS = 0.3


def tune(
    objective: Annotated[
        Literal["precision_priority", "balanced", "recall_priority"] | None, typer.Option(help="What counts.")
    ] = None,
    intensity: Annotated[Literal["quick", "standard", "deep"] | None, typer.Option(help="8, 20 or 32 rounds.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="The same seed and data make the same questions.")] = 0,
    queries: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help='Questions of your own with what answers them, as JSON or a line each: {"query": "…", "expected": ["p12"], "chat_id": "c"}.',
        ),
    ] = None,
    apply: Annotated[bool, typer.Option("--apply", help="Apply what is found, if it is recommended.")] = False,
    plot: Annotated[Path | None, typer.Option(help="Draw the rounds into this SVG file.")] = None,
    config: MemoryPath = DEFAULT_CONFIG,
) -> None:
    """Search for retrieval settings that suit what is stored; a search that is cut short goes on when the memory is opened again."""
    wish = {"objective": objective, "intensity": intensity, "seed": seed, "queries": queries and _read(queries)}
    asyncio.run(_tune(config, {name: value for name, value in wish.items() if value is not None}, apply, plot))


def _read(path: Path) -> list[Any]:
    """The questions of a file. Raises InvalidRequest."""
    wrong, found = f"{path} is not JSON", list[Any]()
    try:
        text = path.read_text("utf-8-sig").strip()
        if text.startswith("["):
            found = json.loads(text)
        else:
            for number, line in enumerate(text.splitlines(), 1):
                wrong = f"{path}, line {number}: not valid JSON"
                found += [json.loads(line)] if line.strip() else []
    except OSError as exc:
        raise InvalidRequest(f"{path} cannot be read: {exc.strerror or exc}.", field="queries") from exc
    except ValueError as exc:
        raise InvalidRequest(f"{wrong}: {exc}.", field="queries") from exc
    if not found:
        raise InvalidRequest(f"{path} holds no question.", field="queries")
    return found


async def _tune(config: Path, wish: dict[str, Any], apply: bool, plot: Path | None) -> None:
    async with opened(config) as memory:
        made = await answered(memory, ADMIN, {"action": "create_task", **wish})
        which = {"task_id": made["task"]["task_id"]}
        task = await _ended(memory, which)
        if task["status"] != "completed":
            raise MemoryFault(f"The tuning task {task['status']}. {task['error']}".strip())
        report = await answered(memory, ADMIN, {"action": "get_report", **which})
        say(report["content"].rstrip())
        if plot is not None:
            await asyncio.to_thread(plot.write_text, report["plots"]["rounds"], "utf-8")
            remark(f"The rounds are drawn in {plot}.")
        if apply and task["recommended"]:
            applied = await answered(memory, ADMIN, {"action": "apply_best", **which})
            remark(f"{len(applied['profile'])} settings were changed; `rollback_profile` takes them back.")


async def _ended(memory: Memory, which: dict[str, Any]) -> dict[str, Any]:
    """The task once it has ended; its rounds, rate and time left are shown meanwhile."""
    with progress_bars() as shown:
        bar = shown.add_task(word("tuning"), total=1.0, rate="")
        while True:
            task = (await answered(memory, ADMIN, {"action": "get_task", **which}))["task"]
            rate = task["status"]
            if task["rate"]:
                left = "" if task["seconds_left"] is None else f", {task['seconds_left']:.0f} s left"
                rate = f"{task['rounds_done']} of {task['rounds']} rounds, {task['rate']:.2f} a second{left}"
            shown.update(
                bar, completed=task["progress"], description=f"{word('tuning')}: {task['stage']}", rate=told(rate)
            )
            if task["status"] not in ("queued", "running"):
                return task
            await asyncio.sleep(LOOK_SECONDS)
