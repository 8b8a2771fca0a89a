"""A release: made by one command, and its wheel in a fresh environment does what the README shows."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

from amemorix.version import __version__

ROOT = Path(__file__).parents[2]
NAMED = {f"GIT_{who}_{what}": "tester" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}


def run(command: list[str], folder: Path, **env: str) -> subprocess.CompletedProcess[str]:
    """A process that finds nothing of this checkout by its environment."""
    clean = {
        name: value for name, value in os.environ.items() if not name.startswith(("PYTHONPATH", "AMEMORIX", "GIT_"))
    }
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300, env={**clean, **env})


def build(source: Path, to: Path, *kind: str) -> Path:
    done = run([sys.executable, "-m", "hatchling", "build", *kind, "-d", str(to)], source)
    assert done.returncode == 0, done.stderr
    return next(to.iterdir())


# the wheel


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(ROOT, tmp_path_factory.mktemp("wheel"), "-t", "wheel")


@pytest.fixture(scope="module")
def fresh(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The commands of an environment that holds the wheel, and finds its dependencies where the tests have them."""
    place = tmp_path_factory.mktemp("fresh") / "venv"
    venv.create(place, symlinks=os.name != "nt")
    scripts = place / ("Scripts" if os.name == "nt" else "bin")
    site = Path(sysconfig.get_path("purelib", "nt_venv" if os.name == "nt" else "posix_prefix", {"base": str(place)}))
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n", "utf-8")
    pip = [sys.executable, "-m", "pip", "--python", str(scripts / "python")]
    done = run([*pip, "install", "--quiet", "--no-index", "--no-deps", str(wheel)], place)
    assert done.returncode == 0, done.stderr
    return scripts


def test_everything_in_the_package_is_in_the_wheel(wheel: Path) -> None:
    held = set(zipfile.ZipFile(wheel).namelist())
    files = [
        file for top in ("amemorix", "amemorix_bench") for file in (ROOT / "src" / top).rglob("*") if file.is_file()
    ]
    wanted = {file.relative_to(ROOT / "src").as_posix() for file in files if "__pycache__" not in file.parts}
    assert wanted - held == set()
    assert "amemorix/schemas/openapi.json" in held
    assert {f"amemorix/deploy/{name}" for name in ("Dockerfile", "compose.yaml", "amemorix.service")} <= held


def test_an_installed_wheel_prints_what_runs_it_elsewhere(fresh: Path, wheel: Path, tmp_path: Path) -> None:
    def deploy(kind: str) -> str:
        done = run([str(fresh / "amemorix"), "deploy", kind], tmp_path)
        assert done.returncode == 0, done.stderr
        return done.stdout

    image = deploy("docker")
    copied = [line.split()[1:-1] for line in image.splitlines() if line.startswith("COPY ") and "--from" not in line]
    assert copied == [[wheel.name]] and f'pip install "./{wheel.name}[$extras]"' in image
    assert "scripts/" not in image and "pyproject" not in image
    assert deploy("compose") == (ROOT / "compose.yaml").read_text("utf-8")
    assert f"ExecStart={fresh / 'amemorix'} serve" in deploy("systemd").splitlines()


def test_an_sdist_makes_the_same_wheel(wheel: Path, tmp_path: Path) -> None:
    sdist = build(ROOT, tmp_path / "sdist", "-t", "sdist")
    with tarfile.open(sdist) as inside:
        inside.extractall(tmp_path / "unpacked", filter="data")
    again = build(next((tmp_path / "unpacked").iterdir()), tmp_path / "again", "-t", "wheel")
    assert again.name == wheel.name
    assert sorted(zipfile.ZipFile(again).namelist()) == sorted(zipfile.ZipFile(wheel).namelist())


def test_the_installed_wheel_does_what_the_readme_shows(fresh: Path, tmp_path: Path) -> None:
    def amemorix(*words: str) -> str:
        done = run([str(fresh / "amemorix"), *words], tmp_path, COLUMNS="300")
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    assert amemorix("--version").startswith(f"amemorix {__version__} (")
    amemorix("init", "memory")
    config = "memory/config/a_memorix.toml"
    for name, value in (("embedding.provider", "none"), ("http.port", "0"), ("observability.slow_call_ms", "0")):
        amemorix("config", "set", name, value, "-c", config)
    lines = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text("utf-8"), re.S)[0]
    (tmp_path / "ten_lines.py").write_text(f"{lines}\nimport amemorix; print(amemorix.__file__)\n", "utf-8")
    said = run([str(fresh / "python"), "ten_lines.py"], tmp_path, PYTHONIOENCODING="utf-8")
    assert (said.returncode, said.stderr) == (0, "")
    assert "Leeds" in said.stdout and "花生" in said.stdout
    assert said.stdout.splitlines()[-1].startswith(str(fresh.parent))
    told = amemorix("doctor", "-c", config)
    assert "All is well." in told and "every live paragraph has its words" in told


# the command


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A repository of its own with the files as they are here."""
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("this is no checkout")
    place = tmp_path / "checkout"
    listed = run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], ROOT).stdout
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file():
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, place / name)
    changelog = place / "CHANGELOG.md"
    text = re.sub(
        r"(?s)## Unreleased\n.*?(?=\n## )", "## Unreleased\n\nIt is faster.\n", changelog.read_text("utf-8"), count=1
    )
    changelog.write_text(text, "utf-8")
    for words in (["init", "-q"], ["config", "user.name", "me"], ["config", "user.email", "me@example.com"],
                  ["add", "--all"], ["commit", "-qm", "Begin"]):  # fmt: skip
        assert run(["git", *words], place, **NAMED).returncode == 0
    return place


def release(place: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return run([sys.executable, "scripts/release.py", *words, "--tests", "none"], place)


def test_a_release_is_committed_tagged_and_built_and_a_dry_one_leaves_nothing(checkout: Path) -> None:
    def state() -> tuple[str, ...]:
        return tuple(
            run(["git", *words], checkout).stdout
            for words in (["log"], ["tag"], ["status", "--porcelain", "--ignored"])
        )

    before = state()
    dry = release(checkout, "9.1.0", "--dry-run")
    assert dry.returncode == 0 and "amemorix-9.1.0-py3-none-any.whl" in dry.stdout, dry.stderr
    assert state() == before

    done = release(checkout, "9.1.0")
    assert done.returncode == 0 and "twine upload" in done.stdout, done.stderr
    assert sorted(file.name for file in (checkout / "dist").iterdir()) == [
        "amemorix-9.1.0-py3-none-any.whl", "amemorix-9.1.0.tar.gz",
    ]  # fmt: skip
    log = run(["git", "log", "-1", "--format=%s %an%d"], checkout).stdout
    assert "Release 9.1.0 me" in log and "tag: v9.1.0" in log
    assert "It is faster." in run(["git", "tag", "-l", "--format=%(contents)", "v9.1.0"], checkout).stdout
    assert "## Unreleased\n\n## 9.1.0\n\nIt is faster." in (checkout / "CHANGELOG.md").read_text("utf-8")
    assert '"version": "9.1.0"' in (checkout / "schemas" / "openapi.json").read_text("utf-8")
    assert run(["git", "status", "--porcelain"], checkout).stdout == ""

    again = release(checkout, "9.2.0")
    assert again.returncode == 1 and "Unreleased" in again.stderr


@pytest.mark.parametrize(
    ("version", "why"),
    [("next", "no version"), (__version__, "does not come after"), (f"{__version__}rc1", "does not come after")],
)
def test_what_is_no_later_version_is_refused(checkout: Path, version: str, why: str) -> None:
    assert why in release(checkout, version).stderr


def test_a_tree_that_is_not_clean_is_refused(checkout: Path) -> None:
    (checkout / "left_over.txt").write_text("x", "utf-8")
    refused = release(checkout, "9.1.0")
    assert refused.returncode == 1 and "left_over.txt" in refused.stderr


@pytest.mark.skipif(os.name == "nt", reason="the engine of the test is a shell script")
@pytest.mark.parametrize(("answers", "told"), [(0, "image amemorix:9.1.0"), (1, "The image was NOT built")])
def test_a_release_builds_the_image_where_an_engine_answers(
    checkout: Path, tmp_path: Path, answers: int, told: str
) -> None:
    engine = tmp_path / "bin" / "docker"
    engine.parent.mkdir()
    engine.write_text(f'#!/bin/sh\necho "$@" >>{tmp_path}/asked\n[ "$1" != info ] || exit {answers}\n', "utf-8")
    engine.chmod(0o755)
    path = f"{engine.parent}{os.pathsep}{os.environ['PATH']}"
    command = [sys.executable, "scripts/release.py", "9.1.0", "--tests", "none", "--dry-run"]
    done = run(command, checkout, PATH=path)
    assert done.returncode == 0 and told in done.stdout, done.stderr
    asked = (tmp_path / "asked").read_text("utf-8").splitlines()
    assert any(line.startswith("build ") and "--tag amemorix:9.1.0" in line for line in asked) is (answers == 0)
    assert ("image rm amemorix:9.1.0" in asked) is (answers == 0)  # a dry one leaves nothing


def test_the_first_page_installs_what_can_be_installed() -> None:
    for page in ("README.md", "README.zh-CN.md"):
        text = (ROOT / page).read_text("utf-8")
        assert "$ pip install .\n" in text and "$ pip install amemorix\n" not in text
        assert "amemorix[server] @ git+https://" in text
