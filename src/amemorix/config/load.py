"""A configuration out of a TOML text."""

from __future__ import annotations

import json
import os
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from ..errors import InvalidConfig
from ..locale import language_of, spoken
from ..location import DATA_DIR, folder_note, refuse_within_data, remembered_folder
from .document import Lines, Problem, dotted, missing_end, read_tables, read_text
from .model import Config
from .write import write_text

__all__ = ["load", "parse", "refuse_lost_folder", "refuse_part", "remember_data_dir", "write_new"]


def load(path: Path, *, create: bool = False) -> Config:
    """The configuration in a file; with `create`, a missing file is first written with the commented defaults.

    Raises InvalidConfig if the file is missing, cannot be read, is not a valid configuration, or no longer names the
    data folder of the memory that was opened with it.
    """
    if create and not path.exists():
        write_new(path)
    config = parse(read_text(path), str(path))
    refuse_lost_folder(path, config, f"{path} no longer names storage.data_dir")
    return config


def write_new(path: Path, only: Collection[str] = ()) -> None:
    """Write a file that is not there: every setting with its default, or `only` some; comments are in the language that
    is spoken, or of the process's locale.

    Raises InvalidConfig if it is gone and named the data folder of a memory, or would stand within one.
    """
    from .schema import default_toml

    refuse_lost_folder(path, None, f"{path} is gone")
    refuse_within_data(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, default_toml(spoken() or language_of(os.environ), only=only), backups=0)


def remember_data_dir(path: Path, config: Config) -> None:
    """Note beside the file which folder its memory is in, unless it is the default one.

    `load` refuses a file that lost this setting, which would begin a new memory. Where the note cannot be written,
    nothing is remembered.
    """
    note, given = folder_note(path), config.storage.data_dir
    with suppress(OSError):
        if given == DATA_DIR:
            note.unlink(missing_ok=True)
        elif remembered_folder(path) != given:
            note.write_text(given + "\n", "utf-8")


def refuse_lost_folder(path: Path, config: Config | None, what: str) -> None:
    """Raise InvalidConfig, which begins with `what`, if a configuration does not name the folder of the memory opened with it."""
    named = config is not None and "data_dir" in config.storage.model_fields_set
    if not named and (folder := remembered_folder(path)):
        text = (
            f"{what}: the memory that was opened with it has storage.data_dir = {json.dumps(folder, ensure_ascii=False)}. "
            f'Write that into the file, or "{DATA_DIR}" to begin a new memory there'
        )
        problem = {"path": "storage.data_dir", "problem": text}
        raise InvalidConfig(f"{text}.", problems=[problem], file=str(path))


def parse(text: str, where: str = "the configuration") -> Config:
    """The configuration that a TOML text describes; `where` names the text in messages.

    Raises InvalidConfig with all problems at once: `details["problems"]` is a list of objects with `path`, `problem`
    and, where known, `line`, `column` and `value`; `details["file"]` is `where`.
    """
    tables = read_tables(text, where)
    part = _part(text, tables)
    if part is None:
        with suppress(ValidationError, ValueError, TypeError, RecursionError):
            return Config.model_validate_json(json.dumps(tables), strict=True)
    from .check import find_problems  # jsonschema, which only finds the words for what is wrong

    try:
        if problems := find_problems(tables) or ([part] if part else []):
            raise _invalid(text, where, problems)
        return Config.model_validate(tables)
    except RecursionError as exc:
        raise _invalid(text, where, [Problem((), "the values are nested too deep")]) from exc
    except ValidationError as exc:
        found = [(error["loc"], error["msg"].removeprefix("Value error, ")) for error in exc.errors()]
        raise _invalid(text, where, [Problem(path, f"{dotted(path)}: {told}") for path, told in found]) from exc


def refuse_part(text: str, where: str) -> None:
    """Raise InvalidConfig if a text is no TOML, holds no setting, or was cut off, as a file that is being saved in place."""
    if part := _part(text, read_tables(text, where)):
        raise _invalid(text, where, [part])


def _part(text: str, tables: dict[str, Any]) -> Problem | None:
    told = ""
    if not _holds_setting(tables):
        told = "the text holds no setting: put them back, or delete the file to have it written with the defaults"
    elif missing_end(text):
        told = (
            "the text was cut off: its head names the line it ends with, and that line is missing. "
            "Put back what is missing, or take that line out of the head as well"
        )
    return Problem((), told) if told else None


def _holds_setting(tables: dict[str, Any]) -> bool:
    return any(_holds_setting(value) if isinstance(value, dict) else True for value in tables.values())


def _invalid(text: str, where: str, problems: list[Problem]) -> InvalidConfig:
    places, reports = Lines(text), list[dict[str, Any]]()
    for problem in problems:
        report = {"path": dotted(problem.path), "problem": problem.text}
        known = {"line": places.of(problem.path), "value": problem.value}
        reports.append(report | {name: value for name, value in known.items() if value is not None})
    reports.sort(key=lambda report: report.get("line", 0))
    lines = [f"line {one['line']}: {one['problem']}" if "line" in one else one["problem"] for one in reports]
    if len(lines) == 1:
        return InvalidConfig(f"{where}, {lines[0]}.", problems=reports, file=where)
    listing = "".join(f"\n  {line}" for line in lines)
    return InvalidConfig(f"{where} has {len(lines)} problems:{listing}", problems=reports, file=where)
