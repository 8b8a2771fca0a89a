"""A key that was pasted where the name of an environment variable belongs is refused, and repeated nowhere."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from amemorix import AMemorixHostService
from amemorix.config import backups_of, parse, patched, settings, write_text
from amemorix.errors import InvalidConfig
from amemorix.testing import scratch_config
from command_line import run

SETTINGS = ["embedding.api_key_env", "chat.api_key_env", "http.token_env"]
KEYS = [
    "sk-proj-9fQ2xY7aLm3Tz8Kd5Rv1",
    "sk-ant-api03-AbC_dEf-123456",
    "gsk_9fQ2xY7aLm3Tz8Kd5Rv1Wb6Nc4Hj",
    "hf_AbCdEfGhIjKlMnOpQrStUvWx",
    "AIzaSyA9fQ2xY7aLm3Tz8Kd5Rv1",
    "0a1b2c3d4e5f60718293a4b5c6d7e8f9",
    "f0a1b2c3d4e5f60718293a4b5c6d7e8f",
    "id1234.secretPart5678",
    "Bearer abcdef123456",
    "my secret",
    "MY-TOKEN",
    "9LIVES",
    "clé",
]
NAMES = [
    "OPENAI_API_KEY",
    "_x",
    "key",
    "deepseek_key",
    "AMEMORIX_TOKEN",
    "HF_TOKEN",
    "MY_VERY_LONG_NAME_OF_A_KEY_2",
    "",
]


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("key", KEYS)
def test_a_key_is_refused_and_not_repeated(setting: str, key: str) -> None:
    with pytest.raises(InvalidConfig, match="name of an environment variable") as caught:
        parse(patched("", {setting: key}))
    assert caught.value.details["problems"][0]["path"] == setting
    assert key not in json.dumps(caught.value.to_dict(), ensure_ascii=False)
    assert key not in repr(caught.value.__cause__)


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("value", [123456789, ["sk-1234"], True])
def test_what_is_no_text_is_not_repeated_either(setting: str, value: Any) -> None:
    with pytest.raises(InvalidConfig) as caught:
        parse(patched("", {setting: value}))
    assert "1234" not in json.dumps(caught.value.to_dict())


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("name", NAMES)
def test_a_name_is_taken(setting: str, name: str) -> None:
    parse(patched("", {setting: name}))


async def test_a_key_reaches_no_log_no_audit_and_no_copy(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG")
    key = KEYS[0]
    path = scratch_config(tmp_path, {"embedding": {"provider": "none"}})
    good = path.read_text("utf-8")
    async with AMemorixHostService(path, watch=False) as host:
        with pytest.raises(InvalidConfig):
            await host.update_config({"chat.api_key_env": key})
        path.write_text(patched(good, {"chat.api_key_env": key}), "utf-8")  # by hand
        with pytest.raises(InvalidConfig):
            await host.reload()
        status = await host.invoke("memory_runtime_admin", {"action": "reload_status"})
        assert key not in json.dumps(status)
        await host.update_config({"chat.api_key_env": "DEEPSEEK_KEY", "chat.api_key": None})
        assert (await host.get_config())["chat"]["api_key_env"] == "DEEPSEEK_KEY"
    assert key not in caplog.text
    for file in tmp_path.rglob("*"):
        assert not file.is_file() or key.encode() not in file.read_bytes(), file


@pytest.mark.parametrize(
    ("line", "kept"),
    [
        ('api_key = "sk-1234567890"', 'api_key = ""'),
        ('api_key_env="f0a1b2c3d4e5f60718293a4b5c6d7e8f"', 'api_key_env=""'),
        ("chat = { api_key_env = 'sk-1234' }", 'chat = { api_key_env = "" }'),
        ('"token" = "abc\\"def"', '"token" = ""'),
        ('api_key_env = "OPENAI_API_KEY"', 'api_key_env = "OPENAI_API_KEY"'),
        ('token_env = ""', 'token_env = ""'),
        ("max_output_tokens = 4096", "max_output_tokens = 4096"),
        ('http.tokens_file = "config/tokens"', 'http.tokens_file = "config/tokens"'),
        ('tokens_env = "sk-1234567890"', 'tokens_env = ""'),
        ('my-Token-env = "sk-1234567890"', 'my-Token-env = ""'),
    ],
)
def test_a_copy_of_the_file_keeps_no_key(tmp_path: Path, line: str, kept: str) -> None:
    path = tmp_path / "a.toml"
    path.write_text(f"# mine\n{line}\n", "utf-8")
    write_text(path, "[http]\nport = 1\n", backups=1)
    assert backups_of(path)[0].read_text("utf-8") == f"# mine\n{kept}\n"


def test_a_copy_of_the_file_keeps_every_setting(tmp_path: Path) -> None:
    path = tmp_path / "a.toml"
    texts = [setting.path.replace("[]", "") for setting in settings() if setting.type == "string"]
    kept = "".join(f'{name} = "some_words"\n' for name in texts)
    assert "http.tokens_file" in kept
    path.write_text(kept, "utf-8")
    write_text(path, "[http]\nport = 1\n", backups=1)
    assert backups_of(path)[0].read_text("utf-8") == kept


def test_the_command_refuses_a_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = scratch_config(tmp_path, {"embedding": {"provider": "none"}})
    monkeypatch.setenv("AMEMORIX_CONFIG", str(path))
    before = path.read_text("utf-8")
    result = run("config", "set", "chat.api_key_env", KEYS[0])
    assert result.exit_code == 1
    assert "name of an environment variable" in " ".join(result.output.split())
    assert KEYS[0] not in result.output
    assert path.read_text("utf-8") == before
