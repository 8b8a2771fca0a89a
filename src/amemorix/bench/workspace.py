"""A memory of its own for each measurement."""

from __future__ import annotations

import contextlib
import dataclasses
import tempfile
from collections.abc import AsyncGenerator, Generator, Mapping
from datetime import UTC
from pathlib import Path
from typing import Any

from .. import config as configuration
from ..host_service import AMemorixHostService
from ..kernel import Surroundings
from ..models.host_callable import EmbedFunction

__all__ = ["answered", "open_memory", "working_folder", "write_config"]


@contextlib.contextmanager
def working_folder(folder: Path | None = None) -> Generator[Path, None, None]:
    """`folder`, made if it is missing and kept; without one, a temporary folder that is removed afterwards."""
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        yield folder
        return
    with tempfile.TemporaryDirectory(prefix="amemorix-bench-") as made:
        yield Path(made)


def write_config(folder: Path, patch: Mapping[str, Any] | None = None) -> Path:
    """Write the default settings with `patch` merged in; the data go below the same folder."""
    path = folder / "config" / "a_memorix.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    text = configuration.patched(configuration.default_toml(), patch or {})
    configuration.parse(text, str(path))
    path.write_text(text, "utf-8")
    return path


@contextlib.asynccontextmanager
async def open_memory(
    folder: Path, patch: Mapping[str, Any] | None = None, *, embed: EmbedFunction | None = None
) -> AsyncGenerator[AMemorixHostService, None]:
    """A started host over `folder`, whose days begin at midnight UTC wherever it runs."""
    surroundings = dataclasses.replace(Surroundings.default(embed), zone=UTC)
    async with AMemorixHostService(write_config(folder, patch), surroundings=surroundings, watch=False) as host:
        yield host


async def answered(host: AMemorixHostService, component: str, args: dict[str, Any]) -> dict[str, Any]:
    """`invoke`, for callers that cannot go on without an answer. Raises RuntimeError with the error's sentence."""
    answer = await host.invoke(component, args)
    if not answer["success"]:
        raise RuntimeError(f"{component}: {answer['error']}")
    return answer
