"""Settings in the console: shown with their meaning, changed after a look at the cost, and taken back."""

from __future__ import annotations

import json
from html import unescape
from pathlib import Path

import pytest

from amemorix import AMemorixHostService
from amemorix.config import settings
from amemorix.config.model import Http
from amemorix.config.schema import sections
from amemorix.frontends.http.json_response import BASE_PATH
from amemorix.frontends.http.tokens import Tokens
from amemorix.locale import told
from console_entrance import browser, field, logged_in, sent, undo_of
from entrance import call, refused

TABLE = "/ui/settings/table/retrieval"


async def at_work(host: AMemorixHostService, name: str) -> object:
    value: object = (await call(host, "memory_runtime_admin", "get_config"))["config"]
    for part in name.split("."):
        assert isinstance(value, dict)
        value = value[part]
    return value


@pytest.mark.parametrize("language", ["en", "zh"])
async def test_every_setting_stands_in_a_table_with_its_meaning(host: AMemorixHostService, language: str) -> None:
    known = [one for one in settings() if "[]" not in one.path]
    meanings = {one.path: told(one.description, "zh" if language == "zh" else "en") for one in known}
    headers = {"Accept-Language": language}
    async with browser(host) as web:
        index = await web.get("/ui/settings", headers=headers)
        for table in sections():
            assert f"/ui/settings/table/{table}" in index.text, table
        for table in ("all", *sections()):
            page = await web.get(f"/ui/settings/table/{table}", headers=headers)
            assert page.status_code == 200, table
            shown = unescape(page.text)
            for one in known:
                if one.table == ("" if table == "all" else table):
                    assert f'name="set:{one.path}"' in page.text, one.path
                    assert meanings[one.path] in shown, one.path
        found = await web.get("/ui/settings", params={"q": "candidates"}, headers=headers)
        assert "retrieval.candidates" in found.text
        assert "lifecycle.batch" not in found.text
        assert (await web.get("/ui/settings/table/nothing")).status_code == 404


async def test_a_change_is_shown_with_its_cost_then_made_then_taken_back(host: AMemorixHostService) -> None:
    before = await at_work(host, "retrieval.candidates")
    async with browser(host) as web:
        page = await web.get(TABLE)
        shown = await sent(web, page, **{"set:retrieval.candidates": "77"})
        assert await at_work(host, "retrieval.candidates") == before
        for part in ("retrieval.candidates", str(before), "77", "live"):
            assert part in shown.text
        done = await sent(web, shown, "/ui/settings/save", patch=field(shown, "patch"), back=field(shown, "back"))
        assert await at_work(host, "retrieval.candidates") == 77
        assert done.url.path == TABLE
        assert "retrieval.candidates" in (await web.get("/ui/settings")).text
        await sent(web, done, undo=undo_of(done))
        assert await at_work(host, "retrieval.candidates") == before


@pytest.mark.parametrize(
    ("table", "name", "value", "cost"),
    [("embedding", "embedding.quantization_type", "float32", "rebuild"), ("storage", "storage.readers", "3", "restart"),
     ("filter", "filter.chats", "qq:1\r\nqq:2", "live"), ("lifecycle", "lifecycle.enabled", "false", "live"),
     ("general", "general.chat_timezones", '[{"chat": "qq:1", "timezone": "Europe/Berlin"}]', "live")],
)  # fmt: skip
async def test_each_kind_of_value_can_be_given(
    host: AMemorixHostService, table: str, name: str, value: str, cost: str
) -> None:
    async with browser(host) as web:
        page = await web.get(f"/ui/settings/table/{table}")
        shown = await sent(web, page, **{f"set:{name}": value})
        assert shown.status_code == 200
        assert f'class="cost {cost}"' in shown.text
        await sent(web, shown, "/ui/settings/save", patch=field(shown, "patch"), back=field(shown, "back"))
    wanted = {"filter.chats": ["qq:1", "qq:2"], "lifecycle.enabled": False, "storage.readers": 3}
    now = await at_work(host, name)
    assert now == wanted.get(name, json.loads(value) if value.startswith("[") else value)


@pytest.mark.parametrize(
    ("table", "name", "value"),
    [("retrieval", "retrieval.candidates", "5"), ("retrieval", "retrieval.candidates", "many"),
     ("general", "general.timezone", "Mars/Olympus"), ("chat", "chat.api_key_env", "sk-abcdefghijklmnop123456"),
     ("general", "general.chat_timezones", "not a list")],
)  # fmt: skip
async def test_what_is_not_allowed_is_said_at_its_field(
    host: AMemorixHostService, table: str, name: str, value: str
) -> None:
    before = await at_work(host, name)
    async with browser(host) as web:
        page = await web.get(f"/ui/settings/table/{table}")
        shown = await sent(web, page, **{f"set:{name}": value})
        assert shown.status_code == 422
        assert f'aria-describedby="problem-{name}"' in shown.text
        assert f'id="problem-{name}"' in shown.text
        assert ("sk-abc" in value) or (value in shown.text)
        assert "sk-abcdefgh" not in shown.text
        assert await at_work(host, name) == before


async def test_nothing_changed_is_said(host: AMemorixHostService) -> None:
    async with browser(host) as web:
        page = await web.get(TABLE)
        candidates = field(page, "set:retrieval.candidates")
        shown = await sent(web, page, **{"set:retrieval.candidates": candidates})
        assert "Nothing would change" in shown.text


async def test_the_text_of_the_file_is_changed_after_a_look(host: AMemorixHostService) -> None:
    async with browser(host) as web:
        page = await web.get("/ui/settings/raw")
        old = host.config_path.read_text("utf-8")
        assert "[embedding]" in page.text
        new = old + "\n[retrieval]\n# mine\ncandidates = 66\n"
        bad = await sent(web, page, toml=new.replace("66", '"x"'), base=field(page, "base"))
        assert bad.status_code == 422
        assert "retrieval.candidates" in bad.text
        broken = await sent(web, page, toml=new + "\n[[[", base=field(page, "base"))
        assert broken.status_code == 422
        assert host.config_path.read_text("utf-8") == old
        shown = await sent(web, page, toml=new, base=field(page, "base"))
        assert "retrieval.candidates" in shown.text
        assert host.config_path.read_text("utf-8") == old
        text = shown.text[shown.text.index("<textarea") :]
        assert "# mine" in text[: text.index("</textarea>")]
        await sent(web, shown, "/ui/settings/save", toml=new, base=field(shown, "base"), back="/ui/settings/raw")
        assert host.config_path.read_text("utf-8").strip() == new.strip()
        assert await at_work(host, "retrieval.candidates") == 66
        stale = await sent(web, shown, "/ui/settings/save", toml=old, base=field(shown, "base"), back="/")
        assert stale.status_code == 409
        assert await at_work(host, "retrieval.candidates") == 66


async def test_folders_doors_and_tokens_are_changed_in_the_file_alone(
    host: AMemorixHostService, tmp_path: Path
) -> None:
    async with browser(host) as web:
        page = await web.get("/ui/settings/table/imports")
        shown = await sent(web, page, **{"set:imports.roots": "/"})
        assert shown.status_code == 403
        headers = {"Content-Type": "application/json"}
        for name, value in (("imports.roots", ["/"]), ("http.tokens_file", "x"), ("storage.data_dir", str(tmp_path))):
            for action in ("preview_config", "update_config"):
                answer = await web.post(
                    f"{BASE_PATH}/memory_runtime_admin/{action}", json={"settings": {name: value}}, headers=headers
                )
                assert answer.status_code == 403, answer.text
        before = host.config_path.read_text("utf-8")
        raw = await web.get("/ui/settings/raw")
        toml = before + '\n[imports]\nroots = ["/"]\n'
        assert (await sent(web, raw, toml=toml, base=field(raw, "base"))).status_code == 403
        assert host.config_path.read_text("utf-8") == before


async def test_the_operations_behind_it(host: AMemorixHostService) -> None:
    told = await call(host, "memory_runtime_admin", "get_config_text")
    assert told["toml"] == host.config_path.read_text("utf-8")
    change = {"settings": {"retrieval.candidates": 50, "embedding": {"batch_size": 8}}}
    preview = await call(host, "memory_runtime_admin", "preview_config", **change)
    assert [(one["name"], one["after"], one["cost"]) for one in preview["changes"]] == [
        ("embedding.batch_size", 8, "live"), ("retrieval.candidates", 50, "live"),
    ]  # fmt: skip
    assert await at_work(host, "retrieval.candidates") != 50
    done = await call(host, "memory_runtime_admin", "update_config", **change)
    assert [one["name"] for one in done["changes"]] == ["embedding.batch_size", "retrieval.candidates"]
    assert await at_work(host, "retrieval.candidates") == 50
    gone = await call(host, "memory_runtime_admin", "update_config", settings={"retrieval.candidates": None})
    assert gone["changes"][0]["before"] == 50
    assert (await call(host, "memory_runtime_admin", "update_config", settings={"retrieval.candidates": None}))["changes"] == []  # fmt: skip
    asked = {"action": "update_config", "settings": {"retrieval.candidates": 1}}
    await refused(host, "memory_runtime_admin", asked, code="invalid_config")
    await refused(host, "memory_runtime_admin", {"action": "update_config"}, "settings")
    both = {"action": "preview_config", "settings": {"a": 1}, "toml": "a = 1"}
    await refused(host, "memory_runtime_admin", both, "settings")


async def test_a_reader_sees_no_settings(host: AMemorixHostService, tmp_path: Path) -> None:
    given = [{"token": "reader", "role": "read", "name": "r"}, {"token": "boss", "role": "admin", "name": "b"}]
    tokens = Tokens.read(Http(), {"AMEMORIX_TOKENS": json.dumps(given)}, tmp_path)
    async with browser(host, tokens) as web:
        page = await logged_in(web, "reader")
        assert "/ui/settings" not in page.text
        for path in ("/ui/settings", TABLE, "/ui/settings/raw"):
            assert (await web.get(path)).status_code == 403, path
        for path in (TABLE, "/ui/settings/raw", "/ui/settings/save"):
            data = {"set:retrieval.candidates": "77", "patch": '{"retrieval.candidates": 77}', "toml": "a = 1"}
            assert (await sent(web, page, path, **data)).status_code == 403, path
        assert await at_work(host, "retrieval.candidates") != 77
