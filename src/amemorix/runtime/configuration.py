"""`memory_runtime_admin`: the configuration file as text, and a change of it, looked at before it is made."""

from __future__ import annotations

import asyncio
import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BaseModel, Field, StringConstraints, model_validator

from .. import config as configuration
from ..audit_context import IN_PROCESS, front_door
from ..config.model import Config
from ..errors import Conflict, Forbidden
from ..ops import NoArguments, Operations, Request, Response

if TYPE_CHECKING:
    from ..host.kernel import SDKMemoryKernel

__all__ = ["IN_FILE_ONLY"]

ops: Operations[SDKMemoryKernel] = Operations()
IN_FILE_ONLY = (
    "storage.data_dir", "imports.roots", "backup.roots", "http.host", "http.port", "http.token_env", "http.tokens_env",
    "http.tokens_file",
)  # fmt: skip
"""What lets others in, and which folders may be read: for whoever may write the file or runs in the process."""
MOST_LETTERS = 2_000_000


class ConfigText(Response):
    """The configuration file."""

    toml: str = ""
    base: str = Field(default="", description="Checksum of the text, for a change that was made of this one.")
    config_file: str = ""
    in_file_only: list[str] = Field(
        default_factory=lambda: list(IN_FILE_ONLY),
        description="Settings that are changed in the file, or by who runs in the process, and by no other door.",
    )


class ChangeConfig(Request):
    """A change of the configuration."""

    settings: dict[str, Any] = Field(
        default_factory=dict,
        description="Nested or dotted settings; null takes one out of the file, so that its default holds.",
    )
    toml: Annotated[str, StringConstraints(strip_whitespace=False, max_length=MOST_LETTERS)] = Field(
        "", description="Instead: the whole text of the file."
    )
    base: str = Field(
        "", description="`base` of the text that the change was made of; refused if the file differs by now."
    )

    @model_validator(mode="after")
    def _one_of_both(self) -> ChangeConfig:
        if bool(self.settings) == bool(self.toml.strip()):
            raise ValueError("settings is required, or toml, and not both")
        return self


class ConfigChange(BaseModel):
    """A setting that differs."""

    name: str
    before: Any = None
    after: Any = None
    cost: str = Field(
        description="`live`: it holds for the next call. `rebuild`: a model or an index is built beside the old one first. "
        "`restart`: the store is opened anew, or the process has to be started again."
    )


class ConfigPreview(Response):
    """What a change would come to; the costliest of the settings is its `level`."""

    changes: list[ConfigChange] = Field(default_factory=list)
    level: str = "none"


class ConfigChanged(ConfigPreview):
    """What was changed."""

    needs_restart: list[str] = Field(default_factory=list, description="Settings that wait for the process to restart.")


@ops.operation("memory_runtime_admin", "get_config_text")
async def get_config_text(kernel: SDKMemoryKernel, request: NoArguments) -> ConfigText:  # noqa: ARG001
    """Show the text of the configuration file."""
    text = await asyncio.to_thread(configuration.read_text, _file(kernel))
    return ConfigText(toml=text, base=_checksum(text), config_file=str(_file(kernel)))


@ops.operation("memory_runtime_admin", "preview_config")
async def preview_config(kernel: SDKMemoryKernel, request: ChangeConfig) -> ConfigPreview:
    """Say what a change of the configuration would change, and what that costs; nothing is changed."""
    return await asyncio.to_thread(_looked_at, kernel, request)


@ops.operation("memory_runtime_admin", "update_config", effect="write")
async def update_config(kernel: SDKMemoryKernel, request: ChangeConfig) -> ConfigChanged:
    """Change settings in the configuration file, or replace its text, and apply it at once."""
    preview = await asyncio.to_thread(_looked_at, kernel, request)
    if kernel.status.configure is None or kernel.status.configure_text is None:
        raise Conflict("This memory has no configuration file that could be changed.")
    if request.toml:
        await kernel.status.configure_text(request.toml)
    else:
        await kernel.status.configure(request.settings)
    return ConfigChanged(**preview.model_dump(), needs_restart=list(kernel.status.needs_restart))


def _looked_at(kernel: SDKMemoryKernel, request: ChangeConfig) -> ConfigPreview:
    """What a change comes to. Raises InvalidConfig, Forbidden for what this door may not change, Conflict."""
    file = _file(kernel)
    old = configuration.read_text(file)
    if request.base and request.base != _checksum(old):
        raise Conflict("The configuration file was changed meanwhile: load it again, and change that.", field="base")
    text = request.toml or configuration.patched(old, request.settings)
    new = configuration.parse(text, str(file))
    found = configuration.changes(kernel.config, new)
    if front_door() not in IN_PROCESS and (kept := [name for name in IN_FILE_ONLY if name in found]):
        raise Forbidden(
            f"{', '.join(kept)} can only be changed in the file, or with `amemorix config set`: it says who is let in, "
            "or which folders may be read.",
            settings=kept,
        )
    changes = [
        ConfigChange(name=name, before=_value(kernel.config, name), after=_value(new, name), cost=cost)
        for name, cost in found.items()
    ]
    return ConfigPreview(changes=changes, level=configuration.strongest(found) or "none")


def _value(config: Config, name: str) -> Any:
    value: Any = config.model_dump(mode="json")
    for part in name.split("."):
        value = value[part]
    return value


def _file(kernel: SDKMemoryKernel) -> Path:
    if not kernel.status.config_file:
        raise Conflict("This memory has no configuration file.")
    return Path(kernel.status.config_file)


def _checksum(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
