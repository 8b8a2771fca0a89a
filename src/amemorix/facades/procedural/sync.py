"""The flows that a program or a folder defines, and those that the memory holds, made the same."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from .flows import Flow, registered
from .memory import ProceduralMemory

__all__ = ["SyncReport", "sync_folder", "sync_registry"]

_FIELDS = {one.name for one in fields(Flow)}
_LISTS = ("desired_effects", "examples")
_ITEM, _FIELD = re.compile(r"\s*-\s+(.*)"), re.compile(r"(\w+):\s*(.*)")


@dataclass(frozen=True)
class SyncReport:
    """What a synchronisation did: names of flows, and the files that could not be read with the reason."""

    created: tuple[str, ...] = ()
    updated: tuple[str, ...] = ()
    deleted: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()


async def sync_registry(
    memory: ProceduralMemory, agent_id: str, flows: Iterable[Flow] | None = None, *, allow_empty: bool = False
) -> SyncReport:
    """Make the agent's flows those given (by default all of `@flow`), known again by their names.

    One whose checksum is the same is left alone. All others are stored in one transaction; then those that are not given
    are deleted. Raises ValueError for two flows of one name, and for none at all unless `allow_empty`.
    """
    return await _synced(memory, agent_id, registered() if flows is None else list(flows), allow_empty)


async def sync_folder(
    memory: ProceduralMemory, path: str | Path, agent_id: str, *, keep_going: bool = False, allow_empty: bool = False
) -> SyncReport:
    """The same with the flows of a folder: `*.toml`, `*.json`, and `*.md` with the fields above the description.

    A file is a flow, called like the file if it does not say its `name`; its fields are those of `Flow`. If a file cannot
    be read, ValueError names it and nothing is changed; with `keep_going` the others are stored, and nothing is deleted.
    """
    folder = Path(path)
    if not folder.is_dir():
        raise ValueError(f"path: {folder} is no folder")
    flows, failed = list[Flow](), list[str]()
    for file in sorted(folder.iterdir()):
        if file.suffix in _READERS and file.is_file():
            try:
                flows.append(_flow(file))
            except (OSError, ValueError) as exc:
                failed.append(f"{file.name}: {exc}")
    if failed and not keep_going:
        raise ValueError(f"{len(failed)} of the files cannot be read: {'; '.join(failed)}")
    return await _synced(memory, agent_id, flows, allow_empty, failed)


async def _synced(
    memory: ProceduralMemory, agent_id: str, flows: list[Flow], allow_empty: bool, failed: Sequence[str] = ()
) -> SyncReport:
    names = [one.name for one in flows]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise ValueError(f"flows: there are two of the name {', '.join(twice)}")
    if not (flows or failed or allow_empty):
        raise ValueError("flows: there are none; allow_empty=True deletes all that are stored")
    held, gone = dict[str, dict[str, Any]](), list[dict[str, Any]]()
    for one in await memory.stored(agent_id):
        name = one["flow_name"]
        if name in names and name not in held:
            held[name] = one
        elif not failed:
            gone.append(one)
    changed = [one for one in flows if one.checksum() != held.get(one.name, {}).get("checksum")]
    items = [
        memory.item(
            one.embedding_text, one.flow_id or known.get("flow_id") or one.name, one.name, one.flow_type,
            one.description, one.condition, agent_id, one.desired_effects, one.checksum(), point_id=known.get("point_id", ""),
        )
        for one in changed
        for known in [held.get(one.name, {})]
    ]  # fmt: skip
    await memory.store(agent_id, items, [one["point_id"] for one in gone])
    stored = {one.name for one in changed}
    return SyncReport(
        created=tuple(one.name for one in changed if one.name not in held),
        updated=tuple(one.name for one in changed if one.name in held),
        deleted=tuple(one["flow_name"] for one in gone),
        skipped=tuple(name for name in names if name not in stored),
        failed=tuple(failed),
    )


def _flow(file: Path) -> Flow:
    told = _READERS[file.suffix](file.read_text("utf-8-sig"))
    if not isinstance(told, dict):
        raise ValueError("holds no object")
    if unknown := sorted(told.keys() - _FIELDS):
        raise ValueError(f"{unknown[0]}: unknown; there are {', '.join(sorted(_FIELDS))}")
    told = {"name": file.stem, "description": "", **told}
    return Flow(**told)


def _front_matter(text: str) -> dict[str, Any]:
    """Fields between two lines `---` (`key: value`, `key: [a, b]`, or a list in lines `- a`), and the description below."""
    lines = [line.rstrip() for line in text.split("\n")]
    if lines[0] != "---" or "---" not in lines[1:]:
        raise ValueError("does not begin with fields between two lines ---")
    end, told, key = lines.index("---", 1), dict[str, Any](), ""
    for number, line in enumerate(lines[1:end], 2):
        if not line or line.lstrip().startswith("#"):
            continue
        if (item := _ITEM.match(line)) and isinstance(told.get(key), list):
            told[key].append(_plain(item[1]))
        elif (field := _FIELD.match(line)) and field[2] not in (">", "|", ">-", "|-"):
            key, value = field[1], field[2]
            listed = value.startswith("[") and value.endswith("]")
            items = [_plain(one) for one in value[1:-1].split(",") if one.strip()] if listed else []
            told[key] = items if listed or (key in _LISTS and not value) else _plain(value)
        else:
            raise ValueError(f"line {number}: expected `key: value`, or `- item` of a list")
    told["description"] = "\n\n".join(filter(None, (told.get("description"), "\n".join(lines[end + 1 :]).strip())))
    return told


def _plain(text: str) -> str:
    text = text.strip()
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'" else text


_READERS: dict[str, Any] = {".toml": tomllib.loads, ".json": json.loads, ".md": _front_matter}
