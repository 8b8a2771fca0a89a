"""A configuration out of a TOML text."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from ..errors import InvalidConfig
from .document import Lines, Problem, dotted, read_tables, read_text
from .model import Config
from .write import write_text

__all__ = ["load", "parse"]


def load(path: Path, *, create: bool = False) -> Config:
    """The configuration in a file; with `create`, a missing file is first written with the commented defaults.

    Raises InvalidConfig if the file is missing, cannot be read, or is not a valid configuration.
    """
    if create and not path.exists():
        from .render import default_toml

        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, default_toml(), backups=0)
    return parse(read_text(path), str(path))


def parse(text: str, where: str = "the configuration") -> Config:
    """The configuration that a TOML text describes; `where` names the text in messages.

    Raises InvalidConfig with all problems at once: `details["problems"]` is a list of objects with `path`, `problem`
    and, where known, `line`, `column` and `value`; `details["file"]` is `where`.
    """
    tables = read_tables(text, where)
    with suppress(ValidationError, ValueError, TypeError, RecursionError):
        return Config.model_validate_json(json.dumps(tables), strict=True)
    from .check import find_problems  # jsonschema, which only finds the words for what is wrong

    try:
        if problems := find_problems(tables):
            raise _invalid(text, where, problems)
        return Config.model_validate(tables)
    except RecursionError as exc:
        raise _invalid(text, where, [Problem((), "the values are nested too deep")]) from exc
    except ValidationError as exc:
        raise _invalid(text, where, [Problem(error["loc"], error["msg"]) for error in exc.errors()]) from exc


def _invalid(text: str, where: str, problems: list[Problem]) -> InvalidConfig:
    places = Lines(text)
    reports = sorted((_report(places, problem) for problem in problems), key=lambda report: report.get("line", 0))
    lines = [
        f"line {report['line']}: {report['problem']}" if "line" in report else report["problem"] for report in reports
    ]
    if len(lines) == 1:
        return InvalidConfig(f"{where}, {lines[0]}.", problems=reports, file=where)
    listing = "".join(f"\n  {line}" for line in lines)
    return InvalidConfig(f"{where} has {len(lines)} problems:{listing}", problems=reports, file=where)


def _report(places: Lines, problem: Problem) -> dict[str, Any]:
    known = {"line": places.of(problem.path), "value": problem.value}
    report = {"path": dotted(problem.path), "problem": problem.text}
    return report | {name: value for name, value in known.items() if value is not None}
