"""What a setting is made of: a meaning, bounds, a default, and what changing it costs."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

__all__ = ["ReloadLevel", "Section", "live", "rebuild", "restart"]

ReloadLevel = Literal["live", "rebuild", "restart"]


class Section(BaseModel):
    """A table of settings: frozen, with unknown keys refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, defer_build=True)


def live(default: Any, meaning: str, **bounds: Any) -> Any:
    """A setting that applies to the next call."""
    return Field(default, description=meaning, json_schema_extra={"x-reload": "live"}, **bounds)


def rebuild(default: Any, meaning: str, **bounds: Any) -> Any:
    """A setting whose change builds a new model or index beside the old one, and then switches."""
    return Field(default, description=meaning, json_schema_extra={"x-reload": "rebuild"}, **bounds)


def restart(default: Any, meaning: str, **bounds: Any) -> Any:
    """A setting whose change opens a new store, or wants the process started again."""
    return Field(default, description=meaning, json_schema_extra={"x-reload": "restart"}, **bounds)
