"""`amemorix config set` and `amemorix check` beside a running daemon: what it does not take is said, with the reason."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from rich.table import Table

from amemorix.frontends.cli.terminal import out
from amemorix.testing import scratch_config
from command_line import run, words
from daemon_process import daemon


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A memory without a model, and no model installed."""
    path = scratch_config(tmp_path, {"embedding": {"provider": "none"}})
    monkeypatch.setenv("AMEMORIX_CONFIG", str(path))
    monkeypatch.setenv("COLUMNS", "500")
    monkeypatch.setenv("AMEMORIX_CACHE", str(tmp_path / "cache"))
    return path


@pytest.fixture
def served(config: Path) -> Iterator[Path]:
    with daemon(config):
        yield config


def test_a_change_that_the_daemon_refuses_is_not_made(served: Path) -> None:
    before = served.read_text("utf-8")
    refused = run("config", "set", "embedding.provider", "local")
    assert refused.exit_code == 1
    assert "multilingual-e5-small is not installed" in words(refused)
    assert "Changed" not in refused.output
    assert served.read_text("utf-8") == before

    taken = run("config", "set", "retrieval.candidates", "77")
    assert (taken.exit_code, words(taken)) == (0, "Changed: retrieval.candidates (live).")
    assert '"candidates": 77' in run("call", "memory_runtime_admin", "get_config").output

    waits = run("config", "set", "http.port", "7555")
    assert waits.exit_code == 0
    assert "http.port waits for a restart" in words(waits)


def test_brackets_are_shown_to_the_letter(capsys: pytest.CaptureFixture[str]) -> None:
    table = Table()
    table.add_column("what to do")
    table.add_row("run `pip install 'amemorix[local]'`")
    out().print(table)
    assert "amemorix[local]" in capsys.readouterr().out


def test_commands_stay_with_the_daemon_whose_file_names_another_folder(served: Path, tmp_path: Path) -> None:
    other = tmp_path / "data" / "new"
    assert "storage.data_dir waits for a restart" in words(run("config", "set", "storage.data_dir", "data/new"))
    line = tmp_path / "line.jsonl"
    line.write_text('{"speaker": "Mia", "text": "The kite is red."}\n', "utf-8")
    stored = run("ingest", str(line), "--chat", "c")
    assert stored.exit_code == 0, stored.output
    assert "The kite is red." in run("search", "kite", "--chat", "c").output
    assert "storage.data_dir, http.port wait" in words(run("config", "set", "http.port", "7555"))
    assert run("backup").exit_code == 0
    assert not other.exists()


def test_a_token_that_cannot_be_sent_leaves_the_file_as_it_was(served: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = served.read_text("utf-8")
    monkeypatch.setenv("AMEMORIX_TOKEN", "schlüssel")
    assert run("config", "set", "retrieval.candidates", "77").exit_code == 1
    assert served.read_text("utf-8") == before


def test_check_tells_why_a_file_was_refused(served: Path) -> None:
    served.write_text('[embedding]\nprovider = "local"\n', "utf-8")
    assert run("call", "memory_runtime_admin", "reload").exit_code == 1
    result = run("check")
    assert result.exit_code == 1
    assert "multilingual-e5-small is not installed" in words(result)
    assert "a restart would be refused as well" in words(result)
    assert "Save it again, or restart" not in words(result)


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"provider": "auto", "model_name": "no-such-model"}, "no-such-model"),
        (
            {"provider": "openai", "base_url": "http://127.0.0.1:9/v1", "model_name": "m", "max_attempts": 1},
            "cannot be reached",
        ),
    ],
)
def test_check_finds_a_model_that_is_not_there(config: Path, settings: dict[str, object], says: str) -> None:
    scratch_config(config.parent.parent, {"embedding": settings})
    result = run("check")
    assert result.exit_code == 1, result.output
    assert says in words(result)
    assert "All is well" not in result.output


def test_check_says_that_no_model_is_installed(config: Path) -> None:
    scratch_config(config.parent.parent, {"embedding": {"provider": "auto"}})
    result = run("check")
    assert (result.exit_code, "No embedding model is installed" in words(result)) == (0, True), result.output
