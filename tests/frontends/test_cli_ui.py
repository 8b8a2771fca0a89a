"""`amemorix ui`: opens the console at a daemon, or runs one."""

from __future__ import annotations

import re
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from typer.testing import CliRunner

from amemorix.frontends.cli.main import app
from amemorix.testing import scratch_config
from daemon_process import COMMAND, daemon, environment

NO_WINDOWS = {"BROWSER": "", "DISPLAY": "", "WAYLAND_DISPLAY": ""}


@pytest.fixture
def config(tmp_path: Path) -> Path:
    return scratch_config(
        tmp_path, {"embedding.provider": "none", "http.token_env": "TOKEN_OF_THE_TEST", "http.port": 0}
    )


@pytest.fixture
def browser(tmp_path: Path) -> Path:
    """A browser that writes down where it was sent."""
    path = tmp_path / "browser"
    path.write_text(f'#!/bin/sh\necho "$1" >> {tmp_path / "opened"}\n', "utf-8")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def opened(browser: Path) -> str:
    return browser.with_name("opened").read_text("utf-8").strip()


@pytest.mark.skipif(sys.platform == "win32", reason="the browser of the test is a shell script")
def test_it_opens_the_browser_at_the_daemon_that_runs(config: Path, browser: Path) -> None:
    with daemon(config) as running:
        command = [*COMMAND, "ui", "-c", str(config)]
        done = subprocess.run(
            command, env=environment({"BROWSER": str(browser)}), capture_output=True, text=True, timeout=120, check=True
        )
        assert opened(browser) == running.url
        assert running.url in done.stdout
        assert "token" not in done.stdout


def test_without_a_browser_it_says_the_address_and_that_a_token_is_asked_for(config: Path) -> None:
    env = {"TOKEN_OF_THE_TEST": "a-token-of-the-test-with-letters"}
    with daemon(config, env=env) as running:
        done = CliRunner().invoke(app, ["ui", "-c", str(config)], env={**NO_WINDOWS, **env})
        assert done.exit_code == 0, done.output
        assert f"{running.url}/" in done.output
        assert "Open this address" in done.output
        assert "TOKEN_OF_THE_TEST" in done.output
        assert env["TOKEN_OF_THE_TEST"] not in done.output


@pytest.mark.skipif(sys.platform == "win32", reason="SIGTERM ends a process there at once")
def test_where_no_daemon_runs_it_runs_one(config: Path) -> None:
    with told_page([*COMMAND, "ui", "-c", str(config), "--no-browser"], config.parent, NO_WINDOWS) as page:
        assert (page.status_code, "A-Memorix" in page.text) == (200, True)


@pytest.mark.skipif(sys.platform == "win32", reason="SIGTERM ends a process there at once")
def test_the_demo_opens_the_console_on_what_it_stored(tmp_path: Path) -> None:
    env = {**NO_WINDOWS, "AMEMORIX_CACHE": str(tmp_path / "cache"), "AMEMORIX_TOKEN": ""}
    with told_page([*COMMAND, "demo", "--ui"], tmp_path, env, "ui/people?q=") as page:
        assert page.status_code == 200
        assert [name for name in ("林晓雨", "Hannah Weiss") if name not in page.text] == []
    assert (tmp_path / "a-memorix-demo").is_dir()


@contextmanager
def told_page(command: list[str], folder: Path, env: dict[str, str], path: str = "") -> Iterator[httpx.Response]:
    """A page at the address that a command says before it serves; the command ends well when it is told to."""
    process = subprocess.Popen(command, cwd=folder, env=environment(env), stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        lines = list[str]()
        for line in process.stdout:
            lines.append(line)
            if "Ctrl+C" in line:
                break
        found = re.search(r"http://\S+", "".join(lines))
        assert found, lines
        yield httpx.get(found[0] + path, trust_env=False)
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=120) == 0
    finally:
        process.kill()
        process.communicate(timeout=120)
