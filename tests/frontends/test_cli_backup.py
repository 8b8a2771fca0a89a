"""The commands on the memory as a whole, with the memory closed, damaged, missing, or open in a daemon."""

from __future__ import annotations

import json
import shutil
from contextlib import closing
from pathlib import Path

import pytest

from amemorix.store.lock import DirectoryLock
from amemorix.testing import scratch_config
from command_line import run
from database_file import open_database
from test_cli_serve import daemon

TURNS = [
    {"speaker": "周宁", "text": "我把折叠伞放在值班柜第二层。"},
    {"speaker": "Hannah", "text": "I am allergic to peanuts."},
]


@pytest.fixture(autouse=True)
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Commands find this configuration without being told."""
    path = scratch_config(tmp_path, {"embedding.provider": "none", "http.port": 0})
    monkeypatch.setenv("AMEMORIX_CONFIG", str(path))
    monkeypatch.setenv("COLUMNS", "900")
    monkeypatch.chdir(tmp_path)
    return path


def good(*args: str) -> str:
    result = run(*args)
    assert result.exit_code == 0, (result.stdout, result.stderr)
    return result.stdout


def bad(*args: str) -> str:
    result = run(*args)
    assert result.exit_code == 1 and result.stdout == "", (result.stdout, result.stderr)
    return result.stderr


def tell(*turns: dict[str, str]) -> None:
    path = Path("talk.jsonl")
    path.write_text("".join(json.dumps(turn, ensure_ascii=False) + "\n" for turn in turns), "utf-8")
    good("ingest", str(path), "--chat", "c")


def paragraphs() -> int:
    return json.loads(good("invoke", "memory_stats"))["paragraphs"]


def test_a_backup_is_made_listed_and_restored() -> None:
    assert good("backups") == "There is no backup yet.\n"
    tell(TURNS[0])
    made = good("backup", "--verify")
    id_ = made.split(":")[0]
    assert "It is sound." in made
    tell(TURNS[1])
    assert id_ in good("backups")

    asked = run("restore", id_, given="n\n")
    assert asked.exit_code == 1 and "Put the backup in the place of all that is stored?" in asked.output
    assert "Nobody answers the question: `--yes`" in run("restore", id_).stderr
    assert paragraphs() == 2

    restored = good("restore", "--yes", id_)

    assert f"Restored {id_}." in restored and "before is the backup" in restored
    assert paragraphs() == 1
    assert "折叠伞" in good("search", "折叠伞", "--chat", "c")
    assert "All is well" in good("check")
    audit = json.loads(
        good("invoke", "memory_runtime_admin", "--json", '{"action": "audit", "of_action": "restore_backup"}')
    )
    assert [(one["door"], id_ in one["target"]) for one in audit["items"]] == [("cli", True)]
    assert "damaged" not in good("backups")


@pytest.mark.parametrize("damage", ["pages", "cut", "text", "empty", "newer", "other tables", "missing"])
def test_the_backups_of_a_lost_database_are_listed_and_restored(tmp_path: Path, damage: str) -> None:
    tell(*TURNS)
    old, new = (good("backup").split(":")[0] for _ in range(2))
    home = tmp_path / "data" / "a-memorix"
    database = home / "memory.db"
    before = good("backups")
    if damage == "missing":
        database.unlink()
    else:
        spoil(database, damage)
    bad("search", "peanuts")
    left = database.read_bytes() if database.exists() else None

    listed = good("backups")

    assert listed == before and listed.index(new) < listed.index(old)
    assert (database.read_bytes() if database.exists() else None) == left, "nothing is touched"
    good("restore", "--yes", new)
    assert paragraphs() == 2
    assert "peanuts" in good("search", "allergic", "--chat", "c")
    aside = [path.name for path in (home / "backups").iterdir() if path.name not in (old, new)]
    assert len(aside) == (0 if damage == "missing" else 1)
    if damage in ("cut", "text"):
        assert "cannot be restored" in bad("restore", "--yes", aside[0])


def looked(*args: str) -> str:
    """The table of a check that finds something."""
    result = run("check", *args)
    assert result.exit_code == 1 and result.stderr == "", result.stderr
    return result.stdout


def spoil(database: Path, damage: str) -> None:
    raw = database.read_bytes()
    if damage == "newer":
        with closing(open_database(database)) as db:
            db.execute("pragma user_version = 99")
    elif damage == "other tables":
        database.unlink()
        with closing(open_database(database)) as db:
            db.execute("create table diary (entry text)")
    else:
        spoilt = {
            "pages": raw[:100] + b"\xff" * 200_000 + raw[200_100:],
            "cut": raw[:5000],
            "text": b"diary" * 999,
            "empty": b"",
        }
        database.write_bytes(spoilt[damage])


@pytest.mark.parametrize(
    ("damage", "kind"),
    [("pages", "damaged: "), ("cut", "damaged: "), ("text", "damaged: "), ("empty", "damaged: "), ("newer", "newer: "),
     ("other tables", "other tables: ")],
)  # fmt: skip
def test_a_check_of_a_database_that_cannot_be_opened_tells_what_to_restore(
    tmp_path: Path, damage: str, kind: str
) -> None:
    tell(*TURNS)
    old, new = (good("backup").split(":")[0] for _ in range(2))
    home = tmp_path / "data" / "a-memorix"
    with (home / "backups" / new / "memory.db").open("rb+") as file:
        file.seek(-1, 2)
        file.write(b"x")
    spoil(home / "memory.db", damage)
    before = (home / "memory.db").read_bytes()

    table = looked()

    assert kind in table and "The memory cannot be opened." in table
    assert f"`amemorix restore {old}` puts back" in table and "2 paragraphs" in table
    assert f"restore {new}" not in table and "not what was written" in table
    assert looked("--repair").replace(" ", "") == table.replace(" ", "")
    assert (home / "memory.db").read_bytes() == before
    assert ("`amemorix check`" in bad("stats")) == (kind == "damaged: ")
    good("restore", "--yes", old)
    checked = run("check")
    assert "All is well" in checked.stdout and "WARNING" not in checked.output
    assert "set aside by a restore" in good("backups")


def test_a_check_prefers_backups_that_were_made_on_purpose(tmp_path: Path) -> None:
    tell(*TURNS)
    made = good("backup").split(":")[0]
    aside = good("restore", "--yes", made).split()[-1].removesuffix(".")
    spoil(tmp_path / "data" / "a-memorix" / "memory.db", "text")
    table = looked()
    assert f"`amemorix restore {made}` puts back" in table
    assert f"{aside}: " in table and "set aside when another took its place" in table
    shutil.rmtree(tmp_path / "data" / "a-memorix" / "backups" / made)
    assert f"`amemorix restore {aside}` puts back" in looked()
    shutil.rmtree(tmp_path / "data" / "a-memorix" / "backups" / aside)
    assert "There is no sound backup" in looked()


@pytest.mark.parametrize("left", ["indexes", "backups"])
def test_a_database_that_was_emptied_is_no_new_memory(tmp_path: Path, left: str) -> None:
    tell(*TURNS)
    good("backup")
    home = tmp_path / "data" / "a-memorix"
    shutil.rmtree(home / {"indexes": "backups", "backups": "indexes"}[left])
    spoil(home / "memory.db", "empty")
    assert f"{left} of a memory stand beside it" in " ".join(looked().split())


@pytest.mark.parametrize("left", ["backups", "indexes"])
def test_no_memory_begins_in_the_place_of_one_whose_database_is_gone(tmp_path: Path, left: str) -> None:
    tell(*TURNS)
    id_ = good("backup").split(":")[0]
    good("call", "memory_runtime_admin", "save")
    folder = tmp_path / "data" / "a-memorix"
    (folder / "memory.db").unlink()
    shutil.rmtree(folder / ({"backups", "indexes"} - {left}).pop())

    assert f"{left} of a memory stand beside it" in bad("search", "peanuts")
    assert "is not there" in bad("ingest", "talk.jsonl", "--chat", "c")
    assert not (folder / "memory.db").exists()
    assert (f"`amemorix restore {id_}`" in looked()) == (left == "backups")


def test_a_backup_is_restored_into_another_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tell(*TURNS)
    id_ = good("backup").split(":")[0]
    other = scratch_config(tmp_path / "other", {"embedding.provider": "none"})
    monkeypatch.setenv("AMEMORIX_CONFIG", str(other))
    good("restore", "--yes", str(tmp_path / "data" / "a-memorix" / "backups" / id_))
    assert paragraphs() == 2


def test_unknown_and_damaged_backups_are_refused_and_nothing_changes(tmp_path: Path) -> None:
    tell(*TURNS)
    id_ = good("backup").split(":")[0]
    assert "there is no backup" in bad("restore", "--yes", "nothing")
    (tmp_path / "empty").mkdir()
    assert "there is no backup" in bad("restore", "--yes", str(tmp_path / "empty"))
    copy = tmp_path / "data" / "a-memorix" / "backups" / id_ / "memory.db"
    whole = copy.read_bytes()
    copy.write_bytes(whole[:-1] + b"x")
    assert "not what was written" in bad("restore", "--yes", id_)
    assert paragraphs() == 2
    copy.write_bytes(whole + b"x")
    assert "damaged" in good("backups")


def test_an_export_makes_another_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tell(*TURNS)
    written = good("export", "all.jsonl")
    lines = len(Path("all.jsonl").read_bytes().splitlines())
    assert f"Wrote {lines:,} lines to all.jsonl" in written and f"{lines - 2:,} rows" in written
    assert "there already" in bad("export", "all.jsonl")
    assert "There is no folder" in bad("export", "none/all.jsonl")
    assert "There is no file nothere.jsonl." in bad("import-export", "nothere.jsonl")
    assert "not empty" in bad("import-export", "all.jsonl")
    assert list((tmp_path / "data" / "a-memorix" / "exports").iterdir()) == []
    other = scratch_config(tmp_path / "other", {"embedding.provider": "none"})
    monkeypatch.setenv("AMEMORIX_CONFIG", str(other))

    assert "Took" in good("import-export", "all.jsonl")

    assert paragraphs() == 2
    assert "折叠伞" in good("search", "折叠伞", "--chat", "c")
    taken_in = [line for line in good("audit").splitlines() if "import_export" in line]
    assert [('file="all.jsonl"' in line, " cli " in line) for line in taken_in] == [(True, True)]
    assert "no export" in bad("import-export", "talk.jsonl")


def test_nothing_is_restored_where_another_process_is_at_work_that_is_no_daemon(tmp_path: Path) -> None:
    tell(*TURNS)
    id_ = good("backup").split(":")[0]
    lock = DirectoryLock(tmp_path / "data" / "a-memorix")
    assert "in use by process" in bad("restore", "--yes", id_)
    lock.release()


def test_nothing_is_restored_over_a_purge_that_was_cut_short(tmp_path: Path) -> None:
    tell(*TURNS)
    id_ = good("backup").split(":")[0]
    good("invoke", "memory_delete_admin", "--json", '{"action": "execute", "mode": "chat", "selector": "c"}')
    with closing(open_database(tmp_path / "data" / "a-memorix" / "memory.db")) as db:
        db.execute("update delete_operations set status = 'purging'")  # as kill -9 leaves it
        db.commit()
    assert "A purge is not finished" in bad("restore", "--yes", id_)
    good("invoke", "memory_delete_admin", "--json", '{"action": "purge", "operation_id": "d1"}')
    good("restore", "--yes", id_)
    assert paragraphs() == 0


def test_a_daemon_does_it_while_it_runs(config: Path) -> None:
    with daemon(config):
        tell(TURNS[0])
        id_ = good("backup", "--verify").split(":")[0]
        tell(TURNS[1])
        good("export", "all.jsonl", "--vectors")
        assert f"Restored {id_}." in good("restore", "--yes", id_)
        assert paragraphs() == 1
        tell(TURNS[1])
        assert paragraphs() == 2
