"""What runs it elsewhere: the image, compose and the systemd unit name what there is, and their command starts."""

from __future__ import annotations

import configparser
import fnmatch
import getpass
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
import yaml

from amemorix.extras import EXTRAS
from amemorix.frontends.http.serving import GRACE_SECONDS
from amemorix.location import TOKEN_ENV
from amemorix.models.local import catalog
from pace import PATIENCE

ROOT = Path(__file__).parents[2]
NOBODY = 65534
Steps = list[tuple[str, str]]


def stages() -> list[Steps]:
    """The instructions of each stage of the Dockerfile; those before the first are left out."""
    text = re.sub(r"(?m)^#.*\n", "", (ROOT / "Dockerfile").read_text("utf-8")).replace("\\\n", " ")
    found: list[Steps] = [[]]
    for line in filter(None, map(str.strip, text.splitlines())):
        name, _, rest = line.partition(" ")
        assert name.isupper()
        found += [[]] if name == "FROM" else []
        found[-1].append((name, " ".join(rest.split())))
    return found[1:]


BUILT, RUN = stages()
COMPOSE = yaml.safe_load((ROOT / "compose.yaml").read_text("utf-8"))["services"]["amemorix"]
UNIT = configparser.RawConfigParser(strict=False, interpolation=None)
UNIT.optionxform = str  # type: ignore[assignment,method-assign]
UNIT.read(ROOT / "deploy" / "amemorix.service")


def told(steps: Steps, name: str) -> list[str]:
    return [rest for step, rest in steps if step == name]


def environment() -> dict[str, str]:
    return dict(word.split("=", 1) for line in told(RUN, "ENV") for word in shlex.split(line))


def test_what_the_image_copies_is_there_and_reaches_it() -> None:
    ignored = (ROOT / ".dockerignore").read_text("utf-8").split()
    assert ignored[0] == "*"
    let_through = [line.removeprefix("!") for line in ignored if line.startswith("!")]
    for line in told(BUILT, "COPY"):
        for name in line.split()[:-1]:
            assert (ROOT / name).exists(), name
            assert any(fnmatch.fnmatch(name, one) for one in let_through), name


def test_the_image_builds_with_all_that_a_build_reads() -> None:
    copied = {name for line in told(BUILT, "COPY") for name in line.split()[:-1]}
    assert {
        "pyproject.toml",
        "hatch_build.py",
        "README.md",
        "LICENSE",
        "Dockerfile",
        "compose.yaml",
        "deploy",
        "src",
        "schemas",
        "scripts/constraints.txt",
    } == copied
    install = next(line for line in told(BUILT, "RUN") if "pip install" in line)
    named = {extra for extras in re.findall(r"extras=([a-z,]+)", install) for extra in extras.split(",")}
    assert named <= EXTRAS.keys() and "server" in named
    models = {line.partition("=")[2] for line in told(BUILT, "ARG") if line.startswith("MODEL=")}
    models |= {word for line in told(BUILT, "RUN") for word in re.findall(r"models install (\w+)", line)}
    assert models <= catalog.installable().keys() and len(models) == 2


def test_the_image_is_slim_and_runs_as_nobody_of_importance() -> None:
    assert all("-slim" in told(steps, "FROM")[0] for steps in (BUILT, RUN))
    assert told(RUN, "USER") == ["amemorix"]
    names = [name for name, _ in RUN]
    assert max(at for at, name in enumerate(names) if name in ("RUN", "COPY")) < names.index("USER")
    assert environment()["AMEMORIX_CACHE"] == next(
        line.partition("=")[2] for line in told(BUILT, "ENV") if line.startswith("AMEMORIX_CACHE")
    )


def deployed(*words: str, folder: Path) -> str:
    """What `amemorix deploy` prints in a folder."""
    env = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    command = [sys.executable, "-c", "from amemorix.frontends.cli.main import main; main()", "deploy", *words]
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=PATIENCE, check=True)
    assert "Save it as" in done.stderr
    return done.stdout


def test_a_unit_is_filled_in_for_the_memory_that_is_there(tmp_path: Path) -> None:
    project = tmp_path / "my bot"
    config = project / "config" / "a_memorix.toml"
    config.parent.mkdir(parents=True)
    config.write_text(f"[storage]\ndata_dir = '{tmp_path / 'rows'}'\n", "utf-8")
    unit = configparser.RawConfigParser(strict=False, interpolation=None)
    unit.optionxform = str  # type: ignore[assignment,method-assign]
    text = deployed("systemd", "-c", str(config), folder=tmp_path)
    unit.read_string(text)
    service = unit["Service"]
    program, verb = shlex.split(service["ExecStart"])
    assert (Path(program).is_file(), verb) == (True, "serve")
    assert f'Environment="AMEMORIX_CONFIG={config}"' in text.splitlines()
    assert service["User"] == getpass.getuser() and "StateDirectory" not in service
    assert (service["DynamicUser"], service["WorkingDirectory"]) == ("no", str(project))
    assert set(shlex.split(service["ReadWritePaths"])) == {str(project), str(config.parent), str(tmp_path / "rows")}
    told = {line for line in text.splitlines() if line.startswith(("NoNew", "Protect", "Restrict", "System"))}
    shipped = {
        f"{key}={value}" for key, value in UNIT["Service"].items() if key.startswith(("NoNew", "Restrict", "System"))
    }
    assert shipped <= told


def test_a_unit_without_a_memory_keeps_its_rows_with_the_system(tmp_path: Path) -> None:
    text = deployed("systemd", folder=tmp_path)
    assert "StateDirectory=amemorix" in text and "Environment=AMEMORIX_CONFIG=/var/lib/amemorix/a_memorix.toml" in text


def test_compose_has_the_port_and_the_model_of_the_settings(tmp_path: Path) -> None:
    config = tmp_path / "bot.toml"
    config.write_text('[http]\nport = 7500\n[embedding]\nprovider = "none"\n', "utf-8")
    service = yaml.safe_load(deployed("compose", "-c", str(config), folder=tmp_path))["services"]["amemorix"]
    assert (service["ports"], service["build"]["args"]["MODEL"]) == (["127.0.0.1:7500:7400"], "${MODEL-}")
    assert yaml.safe_load(deployed("compose", folder=tmp_path))["services"]["amemorix"] == COMPOSE


def test_the_dockerfile_of_a_clone_is_its_own(tmp_path: Path) -> None:
    assert deployed("docker", folder=tmp_path) == (ROOT / "Dockerfile").read_text("utf-8")


def test_compose_asks_for_a_token_and_keeps_what_is_stored() -> None:
    assert set(COMPOSE["build"]["args"]) <= {line.split("=")[0] for line in told(BUILT, "ARG")}
    assert COMPOSE["environment"][TOKEN_ENV].startswith(f"${{{TOKEN_ENV}:?")
    assert [volume.partition(":")[2] for volume in COMPOSE["volumes"]] == told(RUN, "VOLUME")
    assert Path(environment()["AMEMORIX_CONFIG"]).parent == Path(told(RUN, "VOLUME")[0])
    host, _, port = COMPOSE["ports"][0].rpartition(":")
    assert (host, [port]) == ("127.0.0.1:7400", told(RUN, "EXPOSE"))
    assert int(COMPOSE["stop_grace_period"].removesuffix("s")) > GRACE_SECONDS
    assert COMPOSE["read_only"] and COMPOSE["cap_drop"] == ["ALL"]


def test_systemd_takes_the_unit(tmp_path: Path) -> None:
    service = dict(UNIT["Service"])
    command, folder = shlex.split(service["ExecStart"]), Path("/var/lib") / service["StateDirectory"]
    assert command[1:] == ["serve"] and service["WorkingDirectory"] == str(folder)
    assert f"AMEMORIX_CONFIG={folder}/a_memorix.toml" in (ROOT / "deploy" / "amemorix.service").read_text("utf-8")
    assert service["DynamicUser"] == "yes" and int(service["TimeoutStopSec"]) > GRACE_SECONDS
    if not shutil.which("systemd-analyze"):
        pytest.skip("there is no systemd here")
    unit = tmp_path / "amemorix.service"
    unit.write_text(
        (ROOT / "deploy" / "amemorix.service").read_text("utf-8").replace(command[0], sys.executable), "utf-8"
    )
    done = subprocess.run(["systemd-analyze", "verify", str(unit)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


# the command that both start


PACKAGES = os.pathsep.join([str(ROOT / "src"), sysconfig.get_path("purelib")])


def unprivileged() -> tuple[str, dict[str, Any]]:
    """A Python that finds our packages, and what makes a process of it somebody who owns nothing."""
    if os.name == "nt" or os.geteuid() != 0:
        return sys.executable, {}
    who: dict[str, Any] = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
    for python in (sys.executable, f"/usr/bin/python3.{sys.version_info.minor}"):
        with suppress(OSError, subprocess.CalledProcessError):
            asked = [python, "-c", "import ctypes, numpy, amemorix"]
            subprocess.run(asked, check=True, capture_output=True, cwd="/", env={"PYTHONPATH": PACKAGES}, **who)
            return python, who
    pytest.skip("nobody but root can run a Python with these packages here")


@pytest.fixture
def place() -> Iterator[Path]:
    """Folders of somebody unprivileged: `data` to write in, `cache` to read."""
    with tempfile.TemporaryDirectory() as made:
        place, who = Path(made), unprivileged()[1]
        place.chmod(0o755)
        (place / "cache").mkdir(mode=0o555)
        (place / "data").mkdir()
        if who:
            os.chown(place / "data", NOBODY, NOBODY)
        yield place


@contextmanager
def started(words: list[str], place: Path, env: Mapping[str, str]) -> Iterator[subprocess.Popen[str]]:
    python, who = unprivileged()
    code = "from amemorix.frontends.cli.main import main; main()"
    base = {"PATH": os.environ["PATH"], "PYTHONPATH": PACKAGES, "AMEMORIX_CACHE": str(place / "cache"),
            "AMEMORIX_CONFIG": str(place / "data" / "a_memorix.toml"), "HOME": str(place / "data")}  # fmt: skip
    process = subprocess.Popen(
        [python, "-c", code, *words], cwd=place / "data", env={**base, **env}, text=True, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, **who,
    )  # fmt: skip
    try:
        yield process
    finally:
        process.kill()
        process.communicate(timeout=PATIENCE)


def test_the_command_of_the_image_starts_for_a_user_who_owns_but_the_data(place: Path) -> None:
    entry, words = (json.loads(told(RUN, name)[0]) for name in ("ENTRYPOINT", "CMD"))
    assert entry == ["amemorix"] and words[-2:] == ["--port", *told(RUN, "EXPOSE")]
    env = {name: value for name, value in environment().items() if name.startswith("PYTHON")}
    with started([*words[:-1], "0"], place, {**env, TOKEN_ENV: "secret"}) as process:
        assert process.stdout is not None
        url, lines = "", []
        for line in process.stdout:
            lines.append(line)
            url = url or "".join(re.findall(r"answers on http://[\d.:]+", line)).rpartition(" ")[2]
            if "Ctrl+C" in line:
                break
        assert url, lines
        with pytest.raises(urllib.error.HTTPError, match="401"):
            urllib.request.urlopen(f"{url}/openapi.json")
        health = json.loads(told(RUN, "HEALTHCHECK")[0].partition("CMD ")[2])
        probe = [sys.executable, *health[1:-1], health[-1].replace("http://127.0.0.1:7400", url)]
        assert health[0] == "python" and url in probe[-1]
        assert subprocess.run(probe, check=False).returncode == 0
        files = [file for file in (place / "data" / "data").rglob("*") if file.is_file()]
        assert files and not [file for file in files if file.stat().st_mode & 0o077]
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=PATIENCE) == 0
    assert subprocess.run(probe, check=False, capture_output=True).returncode != 0


def test_a_doctor_who_may_not_enter_says_so(place: Path) -> None:
    folder = place / "data" / "data" / "a-memorix"
    folder.mkdir(parents=True)
    (folder / "memory.db").touch()
    config = place / "data" / "a_memorix.toml"
    config.write_text("[http]\nport = 0\n", "utf-8")
    config.chmod(0o644)
    folder.parent.chmod(0o755)
    folder.chmod(0o700 if os.name != "nt" and os.geteuid() == 0 else 0)
    with started(["doctor", "--json"], place, {}) as process:
        told = {one["name"]: one for one in json.loads(process.communicate(timeout=PATIENCE)[0])["findings"]}
    folder.chmod(0o700)
    assert process.returncode == 1
    assert str(folder) in told["folder"]["detail"] and not told["folder"]["ok"]
    assert "database" not in told and "memory" not in told


def test_the_command_of_the_image_wants_a_token(place: Path) -> None:
    words = json.loads(told(RUN, "CMD")[0])
    with started(words, place, {}) as process:
        said = process.communicate(timeout=PATIENCE)[0]
    assert process.returncode == 1 and f"set the environment variable {TOKEN_ENV}" in " ".join(said.split())
