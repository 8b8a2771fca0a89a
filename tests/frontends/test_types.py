"""What editors and type checkers see: every answer typed, and an error in each line that is marked `# error`."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import amemorix
from amemorix import operation_types
from amemorix.frontends.http.openapi import shapes
from amemorix.host.operations import OPERATIONS

ROOT = Path(__file__).parents[2]
PROGRAMS = ROOT / "tests" / "typed_programs"


def marked() -> dict[str, list[int]]:
    """The lines of each program in which there is to be an error."""
    return {
        path.name: [n for n, line in enumerate(path.read_text("utf-8").splitlines(), 1) if line.endswith("# error")]
        for path in sorted(PROGRAMS.glob("*.py"))
    }


def reported(places: Sequence[tuple[str, int]]) -> dict[str, list[int]]:
    """The lines of each program in which a checker found an error; what it found elsewhere goes by its own name."""
    lines: dict[str, set[int]] = {name: set() for name in marked()}
    for file, line in places:
        lines.setdefault(Path(file).name, set()).add(line)
    return {name: sorted(found) for name, found in lines.items()}


def run(*command: str) -> str:
    done = subprocess.run([sys.executable, "-m", *command], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.stdout, done.stderr
    return done.stdout


def test_the_programs_are_ten_and_each_holds_what_is_wrong() -> None:
    assert len(marked()) == 10
    assert all(marked().values())


def test_pyright_finds_what_is_misspelt_and_nothing_else() -> None:
    if subprocess.run([sys.executable, "-m", "pyright", "--version"], capture_output=True, check=False).returncode:
        pytest.skip("pyright cannot run here")
    found = json.loads(run("pyright", "--outputjson", str(PROGRAMS)))["generalDiagnostics"]
    assert reported([(one["file"], one["range"]["start"]["line"] + 1) for one in found]) == marked()


def test_mypy_finds_what_is_misspelt_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MYPYPATH", str(ROOT / "src"))
    settings = ("--strict", "--follow-imports=silent", "--output=json", f"--cache-dir={tmp_path}", "--config-file=")
    found: list[dict[str, Any]] = [json.loads(line) for line in run("mypy", *settings, str(PROGRAMS)).splitlines()]
    assert reported([(one["file"], one["line"]) for one in found if one["severity"] == "error"]) == marked()


def test_an_answer_has_the_keys_of_its_type() -> None:
    names = shapes(OPERATIONS, "").responses
    for op in OPERATIONS:
        typed = getattr(operation_types, names[op.name])
        assert op.response().model_dump(mode="json").keys() == typed.__annotations__.keys(), op.name


def test_what_there_is_is_listed() -> None:
    assert {"Memory", "AsyncMemory", "Client", "AsyncClient", "__version__"} <= {*dir(amemorix)}
    assert "call" in dir(amemorix.Memory)
    assert "memory_episode_admin" in str(amemorix.Memory.call.__doc__)
