"""Checks of what the memory stands on: disk, configuration, models."""

from __future__ import annotations

import asyncio
import os
import shutil
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from ..config import load
from ..config.model import Config
from ..errors import ChatUnavailable, InvalidConfig, ModelUnavailable
from ..models.cache import cache_dir
from ..ports import ChatModel, Embedder
from ..runtime_status import RuntimeStatus
from ..store.metadata_store import MetadataStore
from .checks import Check, FindingItem

__all__ = ["ChatCheck", "ConfigCheck", "DiskCheck", "ModelCheck", "disk_findings"]

LOW_DISK_BYTES = 500_000_000
MEND_MODEL = "Mend the model or its endpoint; the memory asks again by itself."
ANSWER = {
    "type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"], "additionalProperties": False,
}  # fmt: skip


@dataclass
class DiskCheck(Check):
    """Room for the database to be rewritten once, as a purge and a backup do, and leave to write."""

    store: MetadataStore

    async def look(self, *, deep: bool, probe: bool) -> list[FindingItem]:  # noqa: ARG002
        return disk_findings(self.store.folder, self.store.files)


def disk_findings(folder: Path, files: Iterable[Path]) -> list[FindingItem]:
    """Of a folder that is there, and the files of the database in it."""
    held = sum(path.stat().st_size for path in files if path.exists())
    free = shutil.disk_usage(folder).free
    need = LOW_DISK_BYTES + held
    detail = f"{free / 1e9:.1f} GB free, the database takes {held / 1e9:.2f} GB"
    mend = "" if free > need else f"Make room: {need / 1e9:.1f} GB are wanted."
    found = [FindingItem("disk", free > need, detail, mend)]
    if not os.access(folder, os.W_OK):
        mend = "Give this user leave to write there."
        found.append(FindingItem("folder", False, f"{folder} cannot be written", mend))
    return found


@dataclass
class ConfigCheck(Check):
    """The file on disk is valid and at work, and the keys that it names are set."""

    config: Config
    status: RuntimeStatus
    environ: Mapping[str, str]

    async def look(self, *, deep: bool, probe: bool) -> list[FindingItem]:  # noqa: ARG002
        notice = self.config.retrieval.sparse.notice
        asked = {"embedding": self.config.embedding, "chat": self.config.chat}
        missing = [
            f"{section}.api_key_env names {settings.api_key_env}, which is not set"
            for section, settings in asked.items()
            if settings.provider == "openai" and settings.api_key_env and not self.environ.get(settings.api_key_env)
        ]
        keys = [FindingItem("key", False, text, "Set the variable and restart the process.") for text in missing]
        return [await self._file(), *([FindingItem("setting", True, notice)] if notice else []), *keys]

    async def _file(self) -> FindingItem:
        file = self.status.config_file
        try:
            config = await asyncio.to_thread(load, Path(file)) if file else self.config
        except InvalidConfig as exc:
            return FindingItem("config", False, str(exc), f"Mend {file}; the settings of before are at work.")
        refused = self.status.last_error
        if config != self.config and refused is not None:
            mend = f"Mend {file}; the settings of before are at work, and a restart would be refused as well."
            return FindingItem("config", False, f"the file was refused: {refused.error}", mend)
        if config != self.config:
            return FindingItem("config", False, "the file differs from what is at work", "Save it again, or restart.")
        if self.status.needs_restart:
            return FindingItem("config", True, f"waits for a restart: {', '.join(self.status.needs_restart)}")
        return FindingItem("config", True, f"{file or 'the defaults'} is at work")


class Models(Protocol):
    """What is known of the embedding models at work."""

    notice: str

    @property
    def configured(self) -> Embedder | None:
        """The model that the settings ask for."""
        ...

    @property
    def waits(self) -> bool:
        """Whether it did not answer so far."""
        ...

    def embedder(self) -> Embedder | None:
        """The model whose vectors answer now."""
        ...


@dataclass
class ModelCheck(Check):
    """The configured embedding model is there, and answers a short text with a vector of its dimension."""

    config: Config
    models: Models
    environ: Mapping[str, str]

    async def look(self, *, deep: bool, probe: bool) -> list[FindingItem]:  # noqa: ARG002
        model, serving = self.models.configured, self.models.embedder()
        if model is None:
            from ..models.local.install import find_installed

            name = self.config.embedding.model_name
            wanted = bool(name) or find_installed(cache_dir=cache_dir(self.environ)) is not None
            mend = f"Set embedding.model_name {name!r} right." if name else ""
            # that none is installed is well where none was asked for by name
            none = FindingItem("model", not wanted, self.models.notice, mend)
            return [] if self.config.embedding.provider == "none" else [none]
        if not probe and self.models.waits:
            return [FindingItem("model", False, self.models.notice, MEND_MODEL)]
        if not probe and model.info.provider != "local":
            return []
        meanwhile = (
            "" if serving is None or serving is model else f"; the vectors of {serving.info.model} answer so far"
        )
        started = time.perf_counter()
        try:
            async with asyncio.timeout(self.config.embedding.timeout_seconds):
                made = await asyncio.to_thread(model.embed, ["check"])
        except (ModelUnavailable, TimeoutError) as exc:
            return [FindingItem("model", False, (str(exc) or "no answer in time") + meanwhile, MEND_MODEL)]
        took = (time.perf_counter() - started) * 1000
        fits = made.shape[1] == model.info.dimension
        return [FindingItem("model", fits, f"{model.info.model} in {took:.0f} ms{meanwhile}")]


@dataclass
class ChatCheck(Check):
    """The chat model answers a question in the shape that is asked for."""

    chat: ChatModel | None
    notice: str

    async def look(self, *, deep: bool, probe: bool) -> list[FindingItem]:  # noqa: ARG002
        if self.chat is None and self.notice:
            return [FindingItem("chat", False, self.notice, "Mend the section [chat]; rules work meanwhile.")]
        if self.chat is None or not probe:
            return []
        started = time.perf_counter()
        try:
            await self.chat.answer("check", "Answer with JSON.", 'Say {"ok": true}.', schema=ANSWER)
        except ChatUnavailable as exc:
            return [FindingItem("chat", False, str(exc), "Mend the endpoint or its budget; rules work meanwhile.")]
        return [FindingItem("chat", True, f"{self.chat.info.model} in {(time.perf_counter() - started) * 1000:.0f} ms")]
