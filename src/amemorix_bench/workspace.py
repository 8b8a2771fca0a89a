"""A memory of its own for each measurement."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import tempfile
from collections.abc import AsyncGenerator, Generator, Mapping
from datetime import UTC, tzinfo
from pathlib import Path
from typing import Any

from amemorix.clock import Clock, SystemClock
from amemorix.host.environment import Surroundings
from amemorix.host.service import AMemorixHostService
from amemorix.models.host.embedder import EmbedFunction
from amemorix.testing import scratch_config

__all__ = ["answered", "open_memory", "read_setting", "working_folder"]


@contextlib.contextmanager
def working_folder(folder: Path | None = None) -> Generator[Path, None, None]:
    """`folder`, made if it is missing and kept; without one, a temporary folder that is removed afterwards."""
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        yield folder
        return
    with tempfile.TemporaryDirectory(prefix="amemorix-bench-") as made:
        yield Path(made)


@contextlib.asynccontextmanager
async def open_memory(
    folder: Path,
    patch: Mapping[str, Any] | None = None,
    *,
    embed: EmbedFunction | None = None,
    clock: Clock | None = None,
    zone: tzinfo = UTC,
) -> AsyncGenerator[AMemorixHostService, None]:
    """A started host over `folder`, with the machine's clock unless another is given; its days begin in `zone`."""
    surroundings = dataclasses.replace(Surroundings.default(embed), clock=clock or SystemClock(), zone=zone)
    async with AMemorixHostService(scratch_config(folder, patch or {}), surroundings=surroundings, watch=False) as host:
        yield host


async def answered(host: AMemorixHostService, component: str, args: dict[str, Any]) -> dict[str, Any]:
    """`invoke`, for callers that cannot go on without an answer. Raises RuntimeError with the error's sentence."""
    answer = await host.invoke(component, args)
    if not answer["success"]:
        raise RuntimeError(f"{component}: {answer['error']}")
    return answer


def read_setting(entry: str) -> tuple[str, Any]:
    """`retrieval.candidates=50` as a name and a value; a value that is not JSON is a text."""
    name, _, value = entry.partition("=")
    with contextlib.suppress(ValueError):
        return name, json.loads(value)
    return name, value
