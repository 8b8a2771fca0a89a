"""The shell scripts: what they are made of, and how they choose and prepare a Python."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

from amemorix.extras import EXTRAS

ROOT = Path(__file__).parents[2]
SCRIPTS = [ROOT / "scripts" / name for name in ("serve", "test", "check", "generate", "release", "docs")] + [
    ROOT / ".ci" / "run"
]
PIN = re.compile(r"[A-Za-z0-9._-]+==[0-9][A-Za-z0-9.+!]*")


def sh(code: str, folder: Path, **env: str) -> subprocess.CompletedProcess[str]:
    """Run shell code after `_env`, in a folder that has its own `scripts/`."""
    return subprocess.run(
        ["/bin/sh", "-euc", f". scripts/_env\n{code}"],
        cwd=folder, capture_output=True, text=True, timeout=120, env={**os.environ, **env},
    )  # fmt: skip


def fake(path: Path, body: str) -> Path:
    """An executable shell script."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{body}\n", "utf-8")
    path.chmod(0o755)
    return path


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder with the scripts and pins, and an environment whose Python notes what it is asked."""
    (tmp_path / "scripts").mkdir()
    for name in ("_env", "constraints.txt"):
        shutil.copy(ROOT / "scripts" / name, tmp_path / "scripts" / name)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    (tmp_path / "src" / "amemorix").mkdir(parents=True)
    shutil.copy(ROOT / "src" / "amemorix" / "version.py", tmp_path / "src" / "amemorix")
    fake(tmp_path / ".venv" / "bin" / "python", 'echo "$*" >>asked')
    return tmp_path


def asked(project: Path) -> list[str]:
    lines = (project / "asked").read_text("utf-8").splitlines()
    return [line for line in lines if line.startswith("-m pip install")]


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_scripts_are_executable_strict_and_valid(script: Path) -> None:
    assert os.access(script, os.X_OK)
    assert "\nset -eu\n" in script.read_text("utf-8")
    subprocess.run(["/bin/sh", "-n", str(script)], check=True, timeout=120)


def test_everything_is_pinned() -> None:
    lines = (ROOT / "scripts" / "constraints.txt").read_text("utf-8").splitlines()
    pins = [line for line in lines if not line.startswith("#")]
    assert [line for line in pins if not PIN.fullmatch(line)] == []
    pinned = {_name(line) for line in pins}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    wanted = [
        *project["project"]["dependencies"],
        *(one for extra in EXTRAS for one in project["project"]["optional-dependencies"][extra]),
        *project["dependency-groups"]["dev"],
        "pip",
        "hatchling",
        "editables",
    ]
    assert {_name(line) for line in wanted} - pinned == set()


def _name(requirement: str) -> str:
    return re.split(r"[\[<>=!~; ]", requirement)[0].lower().replace("_", "-")


def test_the_newest_python_that_works_is_taken(project: Path, tmp_path: Path) -> None:
    bin_ = tmp_path / "bin"
    fake(bin_ / "python3.13", "exit 127")
    fake(bin_ / "python3.12", "exit 0")
    fake(bin_ / "python3", "exit 0")
    assert sh("find_python", project, PATH=str(bin_)).stdout == "python3.12\n"


def test_no_python_is_said(project: Path, tmp_path: Path) -> None:
    fake(tmp_path / "bin" / "python3", "exit 1")
    result = sh("find_python", project, PATH=str(tmp_path / "bin"))
    assert result.returncode != 0
    assert result.stderr == "Python 3.11 or newer is needed, and none was found.\n"


def test_a_python_without_ensurepip_is_said(project: Path, tmp_path: Path) -> None:
    shutil.rmtree(project / ".venv")
    bin_ = tmp_path / "bin"
    fake(bin_ / "python3.11", '[ "$2" != "import ensurepip" ]')
    fake(bin_ / "id", "echo 1000")
    result = sh("prepare run", project, PATH=str(bin_))
    assert result.returncode != 0
    assert "install the package python3.11-venv" in result.stderr


def test_packages_are_installed_once(project: Path) -> None:
    assert sh("prepare run", project).returncode == 0
    first = asked(project)
    assert first[-1].endswith("--editable .[server,convert]")
    assert all("--constraint scripts/constraints.txt" in line for line in first)
    again = sh("prepare run", project)
    assert asked(project) == first
    assert again.stderr == ""


def test_what_is_ready_for_tests_is_ready_to_run_but_not_the_other_way(project: Path) -> None:
    sh("prepare dev", project)
    count = len(asked(project))
    sh("prepare run", project)
    assert len(asked(project)) == count
    (project / ".venv" / ".ready-dev").unlink()
    sh("prepare run; prepare dev", project)
    assert len(asked(project)) == 3 * count


def test_changed_pins_install_again(project: Path) -> None:
    sh("prepare run", project)
    count = len(asked(project))
    with (project / "scripts" / "constraints.txt").open("a", encoding="utf-8") as file:
        file.write("more==1\n")
    sh("prepare run", project)
    assert len(asked(project)) == 2 * count


def test_a_failed_installation_is_tried_again(project: Path) -> None:
    fake(project / ".venv" / "bin" / "python", 'echo "$*" >>asked; [ "$3" != install ]')
    assert sh("prepare run", project).returncode != 0
    assert not (project / ".venv" / ".ready-run").exists()


def test_a_missing_model_is_only_a_warning(project: Path) -> None:
    fake(project / ".venv" / "bin" / "amemorix", "exit 1")
    result = sh("prepare_model; echo on", project)
    assert (result.returncode, result.stdout) == (0, "on\n")
    assert "without the local model" in result.stderr
