"""Uploads over HTTP, and the command line in front of a memory of its own or of a daemon."""

from __future__ import annotations

import json
import shlex
from contextlib import closing
from pathlib import Path

import httpx
import pytest

from amemorix import AMemorixHostService
from amemorix.frontends.http.openapi import BASE_PATH, UPLOAD_PATH, openapi_document
from amemorix.frontends.transport import DaemonMemory, Refused
from amemorix.testing import scratch_config
from command_line import run
from conftest import Open
from database_file import content, open_database
from doors import web_client
from entrance import contents, data_of
from import_entrance import COMPONENT, ended, jsonl, turn
from pace import until

URL = f"{BASE_PATH}{UPLOAD_PATH}"


def staged(host: AMemorixHostService) -> list[Path]:
    folder = data_of(host) / "imports" / "staging"
    return sorted(path for path in folder.rglob("*") if path.is_file()) if folder.exists() else []


async def test_files_are_staged_and_imported(web: httpx.AsyncClient, host: AMemorixHostService) -> None:
    talk = "".join(json.dumps(turn(n, chat_id="c")) + "\n" for n in range(3000)).encode()
    forms = [
        ("file", ("talk.jsonl", talk)),
        ("file", ("茶.md", "# 茶\n\n绿茶".encode())),
        ("note", (None, b"passed over")),
    ]
    answer = (await web.post(URL, files=forms)).json()
    assert [(file["name"], file["size"]) for file in answer["files"]] == [("talk.jsonl", len(talk)), ("茶.md", 13)]
    assert [content(path) for path in staged(host) if path.name == "talk.jsonl"] == [talk]

    body = {"files": [{"staged": file["staged"]} for file in answer["files"]], "chat_id": "d"}
    task = (await web.post(f"{BASE_PATH}/{COMPONENT}/create_upload", json=body)).json()["task"]["task_id"]
    done = await ended(host, task)
    assert (done["counts"], [file["name"] for file in done["files"]]) == ({"stored": 3001}, ["talk.jsonl", "茶.md"])
    assert await contents(host, "绿茶", chat_id="d") == ["# 茶\n\n绿茶"]
    await until(lambda: not staged(host), "the files are still staged")


@pytest.mark.parametrize(
    ("content_type", "body"),
    [
        ("application/json", b"{}"),
        ("multipart/form-data", b""),
        ("multipart/form-data; boundary=x", b""),
        ("multipart/form-data; boundary=x", b"--x\r\nContent-Disposition: form-data; name=a\r\n\r\nb\r\n--x--\r\n"),
        ("multipart/form-data; boundary=x", b'--x\r\nContent-Disposition: form-data; name=a; filename="a"\r\n\r\nhalf'),
        ("multipart/form-data; boundary=x", b"no form at all"),
    ],
)
async def test_what_is_no_form_with_files_is_refused(
    web: httpx.AsyncClient, host: AMemorixHostService, content_type: str, body: bytes
) -> None:
    answer = await web.post(URL, content=body, headers={"Content-Type": content_type})
    assert (answer.status_code, answer.json()["error_code"]) == (400, "invalid_request"), answer.text
    assert staged(host) == []


async def test_uploads_have_their_limits(opened: Open) -> None:
    host = await opened(imports={"max_file_size_mb": 0.01, "max_files_per_task": 2})
    async with web_client(host) as web:
        large = await web.post(URL, files=[("file", ("a", b"x")), ("file", ("b", b"x" * 20_000))])
        many = await web.post(URL, files=[("file", (f"{n}", b"x")) for n in range(3)])
    assert [(one.status_code, one.json()["error_code"]) for one in (large, many)] == [(413, "too_large")] * 2
    assert staged(host) == []


async def test_uploads_are_guarded_and_may_be_switched_off(opened: Open) -> None:
    host = await opened(imports={"enabled": False})
    async with web_client(host, token="t") as web:
        assert (await web.post(URL, files={"file": ("a", b"x")})).status_code == 401
        answer = await web.post(URL, files={"file": ("a", b"x")}, headers={"Authorization": "Bearer t"})
    assert answer.status_code == 409


async def test_names_of_uploads_lead_nowhere(web: httpx.AsyncClient, host: AMemorixHostService) -> None:
    await web.post(URL, files={"file": ("../../../memory.db", b"x")})
    [path] = staged(host)
    assert path.name == "memory.db"
    assert path.parent.parent == data_of(host) / "imports" / "staging"


async def test_a_daemon_takes_the_files_of_a_command(host: AMemorixHostService, tmp_path: Path) -> None:
    file = jsonl(tmp_path / "talk.jsonl", turn(1, chat_id="c"))
    async with web_client(host) as web:
        memory = DaemonMemory(web)
        given = await memory.stage(file)
        answer = await memory.invoke(COMPONENT, {"action": "create_upload", "files": [given]})
        assert (await ended(host, answer["task"]["task_id"]))["counts"] == {"stored": 1}
        await host.update_config({"imports.enabled": False})
        with pytest.raises(Refused, match="switched off"):
            await memory.stage(file)


def test_the_upload_is_described() -> None:
    assert "multipart/form-data" in openapi_document()["paths"][URL]["post"]["requestBody"]["content"]


# the command line


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = scratch_config(tmp_path, {"embedding.provider": "none", "imports.roots": [str(tmp_path / "exports")]})
    monkeypatch.setenv("AMEMORIX_CONFIG", str(path))
    monkeypatch.setenv("COLUMNS", "200")
    return path


@pytest.mark.usefixtures("config")
def test_the_command_imports_files_once(tmp_path: Path) -> None:
    talk = str(jsonl(tmp_path / "talk.jsonl", turn(1), turn(2)))
    (tmp_path / "茶.md").write_text("# 茶\n\n绿茶", "utf-8")
    done = run("import", talk, str(tmp_path / "茶.md"), "--chat", "c")
    assert (done.exit_code, done.stdout) == (0, "i1 completed: 3 stored\n"), done.output
    again = run("import", talk, "--chat", "c")
    assert "imported before, as i1" in again.output
    assert run("import", talk, "--chat", "c", "--force").stdout == "i3 completed: 2 existing\n"
    assert run("ingest", talk, "--chat", "c").stdout == "2 existing\n", "both commands know a line by the same id"


@pytest.mark.usefixtures("config")
def test_the_command_shows_what_could_not_be_stored(tmp_path: Path) -> None:
    file = str(jsonl(tmp_path / "talk.jsonl", turn(1), "{bad"))
    done = run("import", file, "--chat", "c")
    assert done.exit_code == 1
    assert "line 2: not valid JSON" in done.output
    [command] = [line.split("`")[1] for line in done.output.splitlines() if "retry_failed" in line]
    again = run(*shlex.split(command)[1:])
    assert again.exit_code == 0, again.output
    assert run("call", COMPONENT, "get", "--task-id", "i2").stdout.count('"skip_bad": true') == 1
    tried = run("import", file, "--chat", "c", "--dry-run")
    assert (tried.exit_code, "retry_failed" in tried.output) == (1, False)
    assert run("import", file, "--chat", "c", "--skip-bad").stdout == "i4 completed_with_errors: 1 existing, 1 failed\n"


@pytest.mark.usefixtures("config")
def test_the_command_says_as_what_a_file_is_read(tmp_path: Path) -> None:
    (tmp_path / "群.txt").write_text("消息记录（文本）\n\n2026-03-01 20:15:33 林澈(10001)\n早上七点\n", "utf-8")
    done = run("import", str(tmp_path / "群.txt"), "--chat", "c", "--dry-run")
    assert "群.txt: read as chat_log, 1 readable" in done.output


@pytest.mark.usefixtures("config")
def test_the_command_reads_a_folder_where_it_is(tmp_path: Path) -> None:
    (tmp_path / "exports").mkdir()
    jsonl(tmp_path / "exports" / "a.jsonl", turn(1, chat_id="c"))
    assert run("import", str(tmp_path / "exports")).stdout == "i1 completed: 1 stored\n"
    outside = run("import", str(tmp_path / "config"))
    assert (outside.exit_code, "lies below none of the folders" in outside.output) == (1, True)
    [command] = outside.output.split("`")[3:-1]
    assert run(*shlex.split(command)[1:]).exit_code == 0
    assert "i2 failed" in run("import", str(tmp_path / "config")).output, "it is read now, and holds no memory"
    assert run("import", str(tmp_path / "exports"), "--force").stdout == "i3 completed: 1 existing\n"


@pytest.mark.usefixtures("config")
def test_the_command_needs_files_that_exist(tmp_path: Path) -> None:
    done = run("import", str(tmp_path / "none.txt"))
    assert (done.exit_code, "There is no file" in done.output) == (1, True)
    log = run("import", str(jsonl(tmp_path / "log.txt", "Ada: hello")), "--chat-log")
    assert (log.exit_code, "--chat-log needs --chat" in log.output) == (1, True)
    odd = run("import", str(jsonl(tmp_path / "a.jsonl", turn(1))), "--format", "docx")
    assert (odd.exit_code, "there is no 'docx'" in odd.output) == (1, True)


@pytest.mark.usefixtures("config")
def test_a_dry_run_stores_nothing(tmp_path: Path) -> None:
    file = str(jsonl(tmp_path / "a.jsonl", turn(1)))
    assert run("import", file, "--chat", "c", "--dry-run").stdout == "i1 completed: 1 readable\n"
    assert run("search", "kite", "--unlikely").stdout == "Nothing found.\n"


def test_the_bench_finds_every_record_once_after_kills(tmp_path: Path) -> None:
    quiet = ("--set", 'embedding.provider="none"', "--json", str(tmp_path / "r.json"))
    done = run("bench", "import", "--rows", "2000", "--kills", "1", *quiet)
    assert done.exit_code == 0, done.output
    report = json.loads((tmp_path / "r.json").read_text())
    assert (report["rows"], report["kills"], report["stored"], report["problems"]) == (2000, 1, 2000, [])
    assert report["one_chat"]["count"] > 0 and report["everything"]["count"] > 0
    assert report["rate"] > 0


@pytest.mark.usefixtures("config")
def test_the_command_says_what_is_in_which_column(tmp_path: Path) -> None:
    file = tmp_path / "群.csv"
    file.write_text("谁,几点,说了什么,号\n林澈,2026-03-01 20:15,明天去爬山,7\n", "utf-8")
    refused = run("import", str(file), "--chat", "c")
    assert refused.exit_code == 1
    assert "no column holds the text" in refused.output
    done = run("import", str(file), "--chat", "c", "--columns", "text=说了什么， speaker=谁,time=几点,external_id=号")
    assert (done.exit_code, done.stdout) == (0, "i2 completed: 1 stored\n"), done.output
    assert "林澈" in run("search", "爬山", "--chat", "c").output
    without = run("import", str(file), "--chat", "c", "--columns", "text=说了什么,time=几点", "--dry-run")
    assert "1 rows are stored as texts of nobody" in without.output
    assert "--columns speaker=HEADING" in without.output
    for wrong, why in (("text", "MEANING=HEADING"), ("words=号", "no 'words'"), ("text=没有", "no column '没有'")):
        bad = run("import", str(file), "--chat", "c", "--columns", wrong)
        assert (bad.exit_code, why in bad.output) == (1, True), bad.output


@pytest.mark.usefixtures("config")
def test_the_command_counts_files_and_fails_if_one_did(tmp_path: Path) -> None:
    folder = tmp_path / "exports" / "mixed"
    folder.mkdir(parents=True)
    jsonl(folder / "good.jsonl", turn(1), turn(2))
    jsonl(folder / "part.jsonl", turn(3), "{bad")
    (folder / "photo.png").write_bytes(b"\x89PNG\0\0")
    done = run("import", str(folder), "--chat", "c")
    assert done.exit_code == 1
    assert done.stdout == "i1 completed_with_errors: 2 failed, 2 stored\n"
    assert "Not everything was imported: 3 files: 1 stored, 2 failed." in done.output
    (folder / "photo.png").unlink()
    jsonl(folder / "part.jsonl", turn(3))
    done = run("import", str(folder), "--chat", "c")
    assert done.exit_code == 0, done.output
    assert "2 files: 1 stored, 1 existing" in done.output


@pytest.mark.usefixtures("config")
def test_the_command_says_that_there_are_more_problems(tmp_path: Path) -> None:
    done = run("import", str(jsonl(tmp_path / "a.jsonl", *["{bad"] * 12)), "--chat", "c")
    [command] = [line.split("`")[1] for line in done.output.splitlines() if "and more" in line]
    assert done.output.count("not valid JSON") == 10
    assert "line 12" in run(*command.split()[1:]).output


def test_the_command_offers_another_try_where_the_file_is_not_at_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = {"embedding.provider": "none", "imports.max_attempts": 1}
    monkeypatch.setenv("AMEMORIX_CONFIG", str(scratch_config(tmp_path, settings)))
    run("stats")
    with closing(open_database(tmp_path / "data" / "a-memorix" / "memory.db")) as db:
        db.execute("create trigger no_room before insert on paragraphs begin select raise(abort, 'no room'); end")
    done = run("import", str(jsonl(tmp_path / "talk.jsonl", turn(1))), "--chat", "c")
    assert (done.exit_code, "no room" in done.output) == (1, True)
    with closing(open_database(tmp_path / "data" / "a-memorix" / "memory.db")) as db:
        db.execute("drop trigger no_room")
    [command] = [line.split("`")[1] for line in done.output.splitlines() if "retry_failed" in line]
    assert run(*shlex.split(command)[1:]).exit_code == 0
    assert run("import", str(tmp_path / "talk.jsonl"), "--chat", "c", "--force").stdout == "i3 completed: 1 existing\n"


@pytest.mark.usefixtures("config")
def test_the_command_does_not_wait_if_it_is_told(tmp_path: Path) -> None:
    told = run("import", str(jsonl(tmp_path / "a.jsonl", turn(1))), "--chat", "c", "--format", "jsonl", "--no-wait")
    assert told.exit_code == 0
    assert told.output in ("i1 queued\n", "i1 preparing\n", "i1 running\n"), "it may have begun"


def test_the_command_says_what_waits_for_vectors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nobody = {"provider": "openai", "base_url": "http://127.0.0.1:9/v1", "model_name": "m", "dimension": 8}
    settings = {f"embedding.{name}": value for name, value in nobody.items()}
    monkeypatch.setenv("AMEMORIX_CONFIG", str(scratch_config(tmp_path, settings)))
    talk = str(jsonl(tmp_path / "talk.jsonl", turn(1), turn(2)))
    assert "2 paragraphs have no vector yet" in run("import", talk, "--chat", "c").output
