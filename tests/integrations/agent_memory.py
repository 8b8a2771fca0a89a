"""What the tests of the adapters share: a memory that finds by words, and the example of a module."""

from __future__ import annotations

import asyncio
import inspect
import textwrap
from pathlib import Path
from types import ModuleType
from typing import Any

from amemorix import Memory
from amemorix.testing import scratch_config

__all__ = ["WORDS_ALONE", "run_example", "words_memory"]

WORDS_ALONE = {"embedding.provider": "none"}


def words_memory(folder: Path) -> Memory:
    return Memory(folder, settings=WORDS_ALONE)


def run_example(module: ModuleType, folder: Path, **given: Any) -> None:
    """Run the example in a module's docstring, in this folder; the names given stand for the models in its place of one."""
    scratch_config(folder / "memory", WORDS_ALONE)
    doc = inspect.getdoc(module) or ""
    source = textwrap.dedent("\n".join(line for line in doc.splitlines() if not line or line.startswith("    ")))
    for name in ('"openai:gpt-5"', '"gpt-5"'):
        source = source.replace(name, "model")
    scope = dict(given)
    exec(compile(source, module.__name__, "exec"), scope)
    if "main" in scope:
        asyncio.run(scope["main"]())
