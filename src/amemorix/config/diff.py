"""What differs between two configurations, and what the change costs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import cast, get_args

from .model import Config, ReloadLevel, Section

__all__ = ["changes", "strongest"]


def changes(old: Config, new: Config) -> dict[str, ReloadLevel]:
    """Dotted name of each setting that differs, with its reload level, in the order of the model."""
    return dict(_changes(old, new, ""))


def strongest(changed: Mapping[str, ReloadLevel]) -> ReloadLevel | None:
    """The costliest level among the changes (`restart` over `rebuild` over `live`); None if nothing changed."""
    return max(changed.values(), key=get_args(ReloadLevel).index, default=None)


def _changes(old: Section, new: Section, prefix: str) -> Iterator[tuple[str, ReloadLevel]]:
    for name, field in type(old).model_fields.items():
        before, after = getattr(old, name), getattr(new, name)
        if isinstance(before, Section):
            yield from _changes(before, after, f"{prefix}{name}.")
        elif before != after:
            extra = cast("dict[str, ReloadLevel]", field.json_schema_extra)
            yield f"{prefix}{name}", extra["x-reload"]
