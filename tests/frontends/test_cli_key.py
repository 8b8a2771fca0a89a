"""`amemorix key`: encryption switched on and off, another secret, another key, a recovery code, with and without a daemon."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from amemorix.frontends.cli.main import app
from amemorix.store.keys import KEYS_FILE, Keyring, Secret, is_plain
from amemorix.testing import scratch_config
from test_cli_backup import bad, good, tell
from test_cli_serve import daemon

TURNS = [{"speaker": "Hannah", "text": "I am allergic to peanuts."}, {"speaker": "Mia", "text": "The kettle is blue."}]
HOME = Path("data/a-memorix")
SECRET = "correct horse battery staple"


@pytest.fixture(autouse=True)
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    settings = {
        "embedding.provider": "none", "http.port": 0, "storage.encryption.enabled": False, "storage.encryption.key_file": "",
    }  # fmt: skip
    path = scratch_config(tmp_path, settings)
    monkeypatch.setenv("AMEMORIX_CONFIG", str(path))
    monkeypatch.setenv("AMEMORIX_KEY", SECRET)
    monkeypatch.setenv("COLUMNS", "900")
    monkeypatch.chdir(tmp_path)
    return path


def held() -> int:
    return json.loads(good("invoke", "memory_stats"))["paragraphs"]


def in_the_clear(what: bytes = b"peanuts") -> list[Path]:
    return [path for path in HOME.rglob("*") if path.is_file() and what in path.read_bytes()]


def test_a_memory_is_encrypted_from_the_start() -> None:
    good("key", "init")
    tell(*TURNS)
    assert held() == 2
    assert in_the_clear() == []
    assert not is_plain(HOME / "memory.db")
    assert "is there already" in bad("key", "init")


def test_encryption_is_switched_on_and_off_and_loses_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    tell(*TURNS)
    good("backup")
    (HOME / "imports/staging/u00000000000000000000000000000000").mkdir(parents=True)
    (HOME / "imports/staging/u00000000000000000000000000000000/talk.txt").write_text("peanuts everywhere")
    assert in_the_clear()
    said = good("key", "enable")
    backup = next(HOME.glob("backups/*/memory.db"))
    assert str(backup.parent.name) in said, "what is in the clear still is named"
    assert in_the_clear() == [backup]
    assert held() == 2
    assert "encrypted already" in good("key", "enable")
    assert "k1" in good("key", "status")
    assert "Everything can be read" in good("key", "verify")

    monkeypatch.setenv("AMEMORIX_KEY", "another passphrase")
    assert "does not fit" in bad("stats")
    monkeypatch.setenv("AMEMORIX_KEY", SECRET)

    assert "in the clear" in good("key", "disable")
    assert held() == 2
    assert is_plain(HOME / "memory.db")
    assert (HOME / "imports/staging/u00000000000000000000000000000000/talk.txt").read_text() == "peanuts everywhere"
    good("key", "enable")
    assert held() == 2


def backups() -> list[Path]:
    return sorted(HOME.glob("backups/*/memory.db"))


def restored(backup: Path) -> int:
    good(
        "invoke",
        "memory_runtime_admin",
        "--json",
        json.dumps({"action": "restore_backup", "backup": backup.parent.name}),
    )
    return held()


def test_backups_are_encrypted_along_and_decrypted_again() -> None:
    tell(*TURNS[:1])
    good("backup")
    (first,) = backups()
    tell(*TURNS[1:])
    good("backup")
    (second,) = set(backups()) - {first}
    ids = [path.parent.name for path in backups()]
    assert "2 backups are encrypted too" in good("key", "enable", "--backups")
    assert in_the_clear() == []
    assert ([path.parent.name for path in backups()], [is_plain(path) for path in backups()]) == (ids, [False] * 2)
    assert "Everything can be read" in good("key", "verify")
    assert sorted(path.name for path in backups()[0].parent.iterdir()) == [
        "manifest.json", "memory.db", "memory.keys", "memory.toml",
    ]  # fmt: skip
    assert b"AMXSEAL1" in (backups()[0].parent / "memory.toml").read_bytes()
    assert (restored(first), restored(second)) == (1, 2)

    said = good("key", "disable")
    assert all(f"backups/{path.parent.name}/memory.db" in said for path in backups()), "what stays encrypted is named"
    assert held() == 2
    count = len(backups())
    assert f"{count} backups are in the clear too" in good("key", "disable", "--backups")
    assert [is_plain(path) for path in backups()] == [True] * count
    assert "[http]" in (first.parent / "memory.toml").read_text()
    assert restored(first) == 1


def test_backups_are_encrypted_whole_or_nothing_is_done() -> None:
    tell(*TURNS)
    good("backup")
    good("backup")
    first = backups()[0]
    raw = first.read_bytes()
    first.write_bytes(raw[:5000])
    before = {path: path.read_bytes() for path in HOME.rglob("*") if path.is_file() and path.name != ".lock"}
    said = bad("key", "enable", "--backups")
    assert first.parent.name in said and "cannot be taken along" in said
    before[HOME / KEYS_FILE] = (HOME / KEYS_FILE).read_bytes()
    assert {path: path.read_bytes() for path in HOME.rglob("*") if path.is_file() and path.name != ".lock"} == before
    assert held() == 2, "the memory is in the clear as before"
    first.write_bytes(raw)
    good("key", "enable", "--backups")
    assert in_the_clear() == []


def test_a_new_key_file_is_private_and_named_by_the_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AMEMORIX_KEY")
    tell(*TURNS)
    file = tmp_path / "secret"
    good("key", "enable", "--new-file", str(file))
    assert file.stat().st_mode & 0o077 == 0
    assert held() == 2


def test_another_secret_and_another_key(monkeypatch: pytest.MonkeyPatch) -> None:
    good("key", "init")
    tell(*TURNS)
    assert "k2" in good("key", "rotate")
    monkeypatch.setenv("NEW", "a new passphrase for it")
    good("key", "change", "--env", "NEW")
    assert "does not fit" not in good("stats"), "the version before is kept until the new secret was used"
    monkeypatch.setenv("AMEMORIX_KEY", "a new passphrase for it")
    assert held() == 2
    monkeypatch.setenv("AMEMORIX_KEY", SECRET)
    assert "does not fit" in bad("stats")
    assert "--env NAME or --file FILE" in bad("key", "change")


def test_a_recovery_code_opens_a_memory_whose_secret_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    good("key", "init")
    tell(*TURNS)
    assert "on a terminal only" in bad("key", "recovery")
    code = Keyring.read(HOME / KEYS_FILE, Secret(SECRET.encode())).current.recovery_code
    (HOME / KEYS_FILE).unlink()
    monkeypatch.setenv("AMEMORIX_KEY", "quite another secret")
    for wrong in (code[:-3] + "AAA", "nonsense"):
        assert CliRunner().invoke(app, ["key", "init", "--from-recovery"], input=f"{wrong}\n").exit_code == 1
    assert CliRunner().invoke(app, ["key", "init", "--from-recovery"], input=f"{code}\n").exit_code == 0
    assert held() == 2


def test_a_daemon_is_asked_and_switching_waits_for_its_end(config: Path) -> None:
    good("key", "init")
    tell(*TURNS)
    with daemon(config):
        assert "k2" in good("key", "rotate")
        assert "k2" in good("key", "status")
        assert "stop it first" in bad("key", "disable")
        assert held() == 2
