"""The command line over a memory of its own."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import get_args

import pytest

from amemorix import __version__
from amemorix.frontends.cli.demo import conversation
from amemorix.frontends.cli.imports import FORMATS
from amemorix.frontends.cli.memory import Mode
from amemorix.importing.readers import formats as importing
from amemorix.search.operations import MODES
from amemorix.store.lock import DirectoryLock
from amemorix.testing import scratch_config
from command_line import run

TURNS = [
    {"speaker": "周宁", "text": "我把折叠伞放在值班柜第二层。", "time": "2025-03-01T09:00:00Z"},
    {"speaker": "Hannah", "text": "I am allergic to peanuts.", "time": "2025-03-02T09:00:00Z", "external_id": "own"},
]


@pytest.fixture(autouse=True)
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Commands find this configuration without being told."""
    path = scratch_config(tmp_path, {"embedding.provider": "none"})
    monkeypatch.setenv("AMEMORIX_CONFIG", str(path))
    monkeypatch.setenv("AMEMORIX_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.chdir(tmp_path)
    return path


def jsonl(path: Path, *turns: object) -> Path:
    path.write_text("".join(json.dumps(turn, ensure_ascii=False) + "\n" for turn in turns), "utf-8")
    return path


def test_the_version() -> None:
    assert re.fullmatch(rf"amemorix {re.escape(__version__)} \((unknown|[0-9a-f]{{7,}})\)\n", run("--version").stdout)


def test_help_lists_the_commands() -> None:
    text = run("--help").stdout
    for name in ("serve", "invoke", "search", "ingest", "stats", "check", "demo", "tune", "config", "models", "bench"):
        assert f" {name} " in text


def test_modes_and_formats_are_those_of_search_and_imports() -> None:
    assert (get_args(Mode), FORMATS) == (MODES, tuple(importing.FORMATS))


def test_turns_are_stored_once_and_found(tmp_path: Path) -> None:
    file = jsonl(tmp_path / "talk.jsonl", *TURNS)
    assert run("ingest", str(file), "--chat", "c").stdout == "2 stored\n"
    assert run("ingest", str(file), "--chat", "c").stdout == "2 existing\n"
    found = run("search", "折叠伞", "--chat", "c")
    assert found.exit_code == 0
    assert all(one in found.stdout for one in ("周宁", "2025-03-01 09:00", "words #1", "has: 折叠"))


def test_search_by_time_and_person(tmp_path: Path) -> None:
    run("ingest", str(jsonl(tmp_path / "talk.jsonl", *TURNS)), "--chat", "c")
    args = ("--chat", "c", "--mode", "time", "--since", "2025-03-01", "--until", "2025-03-02", "--person", "Hannah")
    found = run("search", *args).stdout
    assert "allergic" in found
    assert "折叠伞" not in found
    assert run("search", "quantum").stdout == "Nothing is known of that; --unlikely lists what hardly answers.\n"
    assert run("search", "quantum", "--unlikely").stdout == "Nothing found.\n"


def test_a_text_is_stored_and_a_changed_one_replaces_it(tmp_path: Path) -> None:
    file = tmp_path / "note.txt"
    file.write_text("The shop opens at nine.", "utf-8")
    assert run("ingest", "note.txt", "--chat", "c").stdout == "1 stored\n"
    assert run("ingest", "note.txt", "--chat", "c").stdout == "1 existing\n"
    file.write_text("The shop opens at ten.", "utf-8")
    run("ingest", "note.txt", "--chat", "c")
    stats = json.loads(run("invoke", "memory_stats").stdout)
    assert (stats["paragraphs"], stats["superseded"]) == (1, 1)


def test_standard_input_is_stored(tmp_path: Path) -> None:
    assert run("ingest", "-", "--chat", "c", given="From a pipe.").stdout == "1 stored\n"
    assert run("ingest", "-", "--chat", "c", "--format", "jsonl", given=json.dumps(TURNS[1])).stdout == "1 stored\n"
    assert run("ingest", str(jsonl(tmp_path / "empty.jsonl")), "--chat", "c").stdout == "Nothing to store.\n"


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ('{"text": ', "line 2: it is not valid JSON"),
        ("[]", "line 2: it must be a JSON object"),
        ('{"speaker": "a"}', "line 2: there is no `text`"),
        ('{"text": "a", "spaeker": "b"}', 'line 2: unknown "spaeker"'),
        ('{"text": "a", "time": "no time"}', "time"),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, line: str, says: str) -> None:
    (tmp_path / "bad.jsonl").write_text(f"{json.dumps(TURNS[0])}\n{line}\n", "utf-8")
    result = run("ingest", "bad.jsonl", "--chat", "c")
    assert result.exit_code == 1
    assert says in result.stderr


def test_a_file_that_is_missing_or_no_text_is_said_before_anything_is_stored(tmp_path: Path) -> None:
    file = jsonl(tmp_path / "talk.jsonl", *TURNS)
    result = run("ingest", str(file), "nowhere.txt", "--chat", "c")
    assert (result.exit_code, result.stderr) == (1, "There is no file nowhere.txt.\n")
    assert json.loads(run("invoke", "memory_stats").stdout)["paragraphs"] == 0
    (tmp_path / "image.txt").write_bytes(b"\x89PNG\xff")
    result = run("ingest", "image.txt", "--chat", "c")
    assert result.exit_code == 1
    assert "is not UTF-8 text" in result.stderr


def test_invoke_takes_json_a_file_or_standard_input(tmp_path: Path) -> None:
    request = '{"query": "x"}'
    (tmp_path / "request.json").write_text(request, "utf-8")
    answers = [
        run("invoke", "search_memory", "--json", request),
        run("invoke", "search_memory", "--json", "@request.json"),
        run("invoke", "search_memory", "--json", "-", given=request),
    ]
    assert [answer.exit_code for answer in answers] == [0, 0, 0]
    assert [json.loads(answer.stdout)["mode"] for answer in answers] == ["search"] * 3
    failed = run("invoke", "search_memory", "--json", '{"limit": -5}')
    assert (failed.exit_code, json.loads(failed.stdout)["error_code"]) == (1, "invalid_request")


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (("invoke", "memory_stats", "--json", "{"), "The body is not valid JSON"),
        (("invoke", "memory_stats", "--json", "@nowhere.json"), "nowhere.json cannot be read"),
        (("search", "x", "--mode", "time"), "time_start"),
        (("config", "get", "retrieval.nothing"), "There is no setting 'retrieval.nothing'"),
        (("config", "set", "retrieval.candidates", "3"), "candidates"),
        (("config", "set", "retrieval.candidate", "50"), "candidates"),
        (("config", "validate", "-c", "nowhere.toml"), "nowhere.toml"),
        (("models", "install", "--from", "nowhere"), "nowhere is not a folder"),
        (("models", "verify", "nothing"), "no local model 'nothing'"),
        (("bench", "locomo", "nowhere.json"), "nowhere.json"),
        (("serve", "--host", "0.0.0.0"), "a token is needed"),
        (("serve", "--host", "no such host"), "not an address"),
    ],
)
def test_errors_are_a_line_and_no_traceback(args: tuple[str, ...], says: str) -> None:
    result = run(*args)
    assert result.exit_code == 1
    assert says in result.stderr
    assert "Traceback" not in result.output
    assert isinstance(result.exception, SystemExit)


def test_a_directory_in_use_by_another_program_is_said(tmp_path: Path) -> None:
    lock = DirectoryLock(tmp_path / "data" / "a-memorix")
    try:
        result = run("stats")
    finally:
        lock.release()
    assert result.exit_code == 1
    assert "is in use by process" in result.stderr


def test_a_command_that_begins_a_memory_says_which_configuration_it_writes(tmp_path: Path) -> None:
    note = tmp_path / "note.txt"
    note.write_text("The shop opens at nine.", "utf-8")
    begun = run("ingest", str(note), "--chat", "c", "-c", "new/config/a_memorix.toml")
    assert begun.exit_code == 0
    assert "There is no new/config/a_memorix.toml yet" in begun.stderr
    assert run("call", "ingest_text", "--text", "x", "--chat-id", "c", "-c", "called").exit_code == 0
    assert (tmp_path / "new/config/a_memorix.toml").exists() and (tmp_path / "called/data").is_dir()


@pytest.mark.parametrize(
    "command",
    [
        "chats", "people", "log c", "show p1", "profile ann", "facts ann", "context hello", "forget ann --yes", "search x",
        "stats", "check", "audit", "backup", "backups", "export e.jsonl", "tune", "config show", "config get http",
        "config unset http.port", "key status", "key enable --new-file key", "invoke memory_stats", "call search_memory",
        "call memory_delete_admin execute --mode chat --selector c",
    ],
)  # fmt: skip
def test_a_command_on_a_memory_that_is_not_there_says_so_and_begins_none(tmp_path: Path, command: str) -> None:
    before = sorted(tmp_path.rglob("*"))
    for place, begins in {
        "memroy": "in memroy: `amemorix init memroy` or `amemorix serve -c memroy` begins one",
        "config/b.toml": "in .: `amemorix serve -c config/b.toml` begins one",
    }.items():
        result = run(*command.split(), "-c", place)
        assert (result.exit_code, result.stdout) == (1, ""), result.output
        assert (
            f"There is no memory {begins}; `-c PATH` names another.".replace("in .:", f"in {tmp_path}:")
            in result.stderr
        )
    assert sorted(tmp_path.rglob("*")) == before


def test_the_memory_of_the_user_is_named_where_there_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")
    monkeypatch.delenv("AMEMORIX_CONFIG")
    monkeypatch.setenv("AMEMORIX_HOME", str(tmp_path / "own"))
    scratch_config(tmp_path / "own", {}).rename(tmp_path / "own" / "a_memorix.toml")
    told = run("search", "x").stderr
    assert f"no memory in {Path.cwd()}: `amemorix init` or `amemorix serve` begins one" in told
    assert f"`-c {tmp_path / 'own' / 'a_memorix.toml'}` names another" in told
    assert not [*Path.cwd().iterdir()]


def test_the_memory_that_a_program_keeps_in_a_folder_is_that_of_the_folder(
    tmp_path: Path, config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("AMEMORIX_CONFIG")
    (tmp_path / "kept").mkdir()
    config.rename(tmp_path / "kept" / "a_memorix.toml")
    monkeypatch.chdir(tmp_path / "kept")
    assert run("config", "get", "embedding.provider").stdout == '"none"\n'
    assert run("ingest", "-", "--chat", "c", given="The door code is 4711.").stdout == "1 stored\n"
    assert "4711" in run("search", "door", "--chat", "c").stdout
    assert not Path("config").exists()


def test_stats_and_check() -> None:
    stats = run("stats").stdout
    assert "paragraphs" in stats
    assert "embedding.state" in stats
    checked = run("check")
    assert checked.exit_code == 0
    assert "All is well." in checked.stdout


def test_a_setting_is_shown_and_changed_with_its_comments_kept(config: Path) -> None:
    config.write_text("# mine\n[retrieval]\ncandidates = 60 # few\n", "utf-8")
    assert run("config", "get", "retrieval.candidates").stdout == "60\n"
    assert run("config", "set", "retrieval.candidates", "80").stdout == "Changed: retrieval.candidates (live).\n"
    assert config.read_text("utf-8") == "# mine\n[retrieval]\ncandidates = 80 # few\n"
    assert run("config", "set", "retrieval.candidates", "80").stdout == "retrieval.candidates was so already.\n"
    assert run("config", "set", "http.host", "localhost").exit_code == 0
    assert json.loads(run("config", "get", "http").stdout)["host"] == "localhost"


@pytest.mark.parametrize(
    ("text", "value"), [("# mine\n[retrieval]\ncandidates = 60\n", "many"), ("[retrieval\n", "80")]
)
def test_a_value_that_does_not_fit_or_a_file_that_is_no_toml_changes_nothing(
    config: Path, text: str, value: str
) -> None:
    config.write_text(text, "utf-8")
    assert run("config", "set", "retrieval.candidates", value).exit_code == 1
    assert config.read_text("utf-8") == text


def test_an_invalid_file_is_mended(config: Path) -> None:
    config.write_text("# mine\n[retrieval]\ncandidates = 3 # few\nlane = 1\n", "utf-8")
    refused = run("config", "set", "retrieval.candidates", "80")
    assert refused.exit_code == 1
    assert "lane" in refused.stderr, "it would not be valid yet"
    assert "candidates = 3" in config.read_text("utf-8")

    config.write_text("# mine\n[retrieval]\ncandidates = 3 # few\n", "utf-8")
    assert run("config", "set", "retrieval.candidates", "80").stdout == f"{config} is valid again.\n"
    assert config.read_text("utf-8") == "# mine\n[retrieval]\ncandidates = 80 # few\n"

    config.write_text("[retrieval]\ncandidates = 80\nlane = 1\n", "utf-8")
    assert run("config", "unset", "retrieval.lane").stdout == f"{config} is valid again.\n"
    assert config.read_text("utf-8") == "[retrieval]\ncandidates = 80\n"


def test_a_setting_is_taken_out(config: Path) -> None:
    config.write_text("# mine\n[retrieval]\ncandidates = 60\n[http]\nport = 7401\n", "utf-8")
    assert run("config", "unset", "retrieval.candidates").stdout == "Changed: retrieval.candidates (live).\n"
    assert run("config", "unset", "retrieval.candidates").stdout == "retrieval.candidates had its default already.\n"
    assert run("config", "get", "retrieval.candidates").stdout == "80\n"
    assert "candidates" not in config.read_text("utf-8")


def test_the_configuration_commands(config: Path) -> None:
    assert run("config", "path").stdout == f"{config}\n"
    assert "valid" in run("config", "validate").stdout
    assert json.loads(run("config", "schema").stdout)["$id"] == "urn:amemorix:config"
    shown = run("config", "show").stdout
    assert "embedding.provider" in shown and "rebuild" in shown


def test_the_model_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AMEMORIX_CACHE", str(tmp_path / "cache"))
    assert "not installed" in run("models", "list").stdout
    result = run("models", "verify")
    assert result.exit_code == 1
    assert "is not installed" in result.stderr


def test_the_demo_answers(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("AMEMORIX_CACHE", str(tmp_path / "cache"))
    result = run("demo", "--data-dir", str(tmp_path / "demo"))
    assert result.exit_code == 0, result.output
    assert result.stdout.count("expected lines came back") == 10
    for mode in MODES:
        assert f"[{mode}] " in result.stdout
    assert "✓" in result.stdout
    assert "10 questions got an expected line." in result.stdout


def test_the_demo_leaves_its_memory_and_says_how_to_remove_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("AMEMORIX_CACHE", str(tmp_path / "cache"))
    first = run("demo").stdout
    (line,) = [one for one in first.splitlines() if "a-memorix-demo" in one]
    chats = run("chats", "-c", "a-memorix-demo").stdout
    assert conversation()["chat_id"] in chats
    assert "0 stored and indexed" in run("demo").stdout
    assert run("chats", "-c", "a-memorix-demo").stdout == chats
    removal = line.split("`")[3]
    assert subprocess.run(removal, shell=True, check=False).returncode == 0
    assert not Path("a-memorix-demo").exists()
