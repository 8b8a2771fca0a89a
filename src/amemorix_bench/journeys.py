"""The files that a call passes: the four journeys that `docs/architecture.md` describes."""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
import threading
from pathlib import Path
from types import FrameType
from typing import Any

import amemorix
from amemorix import AMemorixHostService
from amemorix.testing import HashEmbedder, memory_host, pause_background, resume_background

__all__ = ["followed"]

SOURCE = Path(amemorix.__file__).parent
SAID = [("Ada", "I moved to Utrecht last spring."), ("Bob", "My sister Mia is allergic to peanuts.")]


async def followed(folder: Path) -> dict[str, list[str]]:
    """Journey -> the files of the package whose functions it enters, on any thread, in the order of their first entry.

    Each call is made twice and the second is followed, so that what is loaded on first use does not count. The background
    rests meanwhile.
    """
    passed: dict[str, dict[str, None]] = {}
    now = ""

    def note(frame: FrameType, event: str, _argument: object) -> None:
        file = frame.f_code.co_filename
        if now and event == "call" and frame.f_code.co_name != "<module>" and file.startswith(f"{SOURCE}{os.sep}"):
            passed.setdefault(now, {})[str(Path(file).relative_to(SOURCE))] = None

    async def ask(host: AMemorixHostService, journey: str, component: str, **args: Any) -> dict[str, Any]:
        nonlocal now
        now = journey
        try:
            answer = await host.invoke(component, args)
        finally:
            now = ""
        assert answer["success"], answer
        return answer

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        async with memory_host(folder, embed=HashEmbedder()) as host:
            await pause_background(host)
            for journey in ("", "message -> row"):
                turns = [
                    {"external_id": f"{journey}{i}", "speaker": who, "person_id": who, "text": text}
                    for i, (who, text) in enumerate(SAID)
                ]
                await ask(host, journey, "ingest_messages", chat_id="c", messages=turns)
            resume_background(host)
            await host.settle(120)
            await pause_background(host)
            for journey in ("", "question -> hits"):
                await ask(host, journey, "search_memory", query="Who is allergic to nuts?", chat_id="c")
            for journey in ("", "line -> what is known"):
                late = {
                    "external_id": f"late{journey}",
                    "speaker": "Ada",
                    "person_id": "Ada",
                    "text": "I live in Porto.",
                }
                await ask(host, "", "ingest_messages", chat_id="c", messages=[late])
                await ask(host, journey, "memory_fact_admin", action="process_pending")
            for chat, journey in (("other", ""), ("c", "purge")):
                await ask(host, "", "ingest_messages", chat_id="other", messages=[{**late, "external_id": chat}])
                await ask(
                    host, journey, "memory_delete_admin", action="execute", mode="chat", selector=chat, purge=True
                )
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return {journey: list(files) for journey, files in passed.items()}


def main() -> None:
    """`python -m amemorix_bench.journeys`: print each journey, its files in order."""
    with tempfile.TemporaryDirectory() as folder:
        for journey, files in asyncio.run(followed(Path(folder))).items():
            print(f"{journey}: {len(files)} files\n  " + "\n  ".join(files))


if __name__ == "__main__":
    main()
