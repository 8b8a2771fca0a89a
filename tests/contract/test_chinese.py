"""Chinese all the way: the catalogue holds every sentence, and each door speaks the language that it is asked for."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from typer.testing import CliRunner

from amemorix import AMemorixHostService, Memory, MemoryFault
from amemorix.config import default_toml, load, parse, patched, settings
from amemorix.errors import InvalidConfig
from amemorix.frontends.cli.main import app
from amemorix.frontends.http.app import create_app
from amemorix.frontends.http.json_response import BASE_PATH
from amemorix.generated import sentences, untranslated
from amemorix.locale import accepted, language_of, localised, speaking, told
from amemorix.locale.catalogue import Key, catalogue, holes, po_entries, po_text
from amemorix.testing import memory_host
from entrance import one_token

HAN = re.compile("[\u4e00-\u9fff]")
AS_IT_IS = re.compile(r"`[^`]*`|\{\w*\}|“[^”]*”|\"[^\"]*\"|'[^']*'|2025年3月1日|text=内容,speaker=昵称,time=时间")
WORDS_ALONE: dict[str, Any] = {"embedding.provider": "none"}
BROWSER = {"Accept-Language": "zh-CN,zh;q=0.9,en;q=0.5"}


def entries() -> Iterator[tuple[str, str]]:
    """Every template with its translation, but for words that stand alone."""
    yield from ((text, new) for (context, text), new in catalogue("zh").entries.items() if not context)


def test_nothing_is_missing() -> None:
    assert untranslated() == []
    assert set(catalogue("zh").entries) == set(sentences())


def test_no_place_for_a_value_is_lost() -> None:
    """But for that of the ending of an English plural."""
    given = {text: sorted(holes(text.replace("{expected_plural}", ""))) for text, _ in entries()}
    assert [(text, new) for text, new in entries() if given[text] != sorted(holes(new))] == []


def test_every_template_recognises_its_own_sentence() -> None:
    wrong: list[tuple[str, str]] = []
    for text, new in entries():
        said, expected = text, new
        for place, hole in enumerate(holes(text)):
            value = str(place + 3) if re.fullmatch(r"\{n\d\}", hole) else f"v{place}x"
            said, expected = said.replace(hole, value, 1), expected.replace(hole, value)
        if told(said, "zh").strip(" 。\n") != expected.strip(" 。\n"):
            wrong.append((said, told(said, "zh")))
    assert wrong == []


def test_translations_are_set_as_chinese_is() -> None:
    """Stops are of full width, a space parts Chinese from Latin, and a sentence ends where the English one does."""
    wrong: list[str] = []
    for text, new in entries():
        plain = AS_IT_IS.sub("", new)
        half_width = re.search(r"[\u4e00-\u9fff]([,;!?:(]|\.(\s|$))|\)[\u4e00-\u9fff]", plain)
        crowded = re.search(r"[\u4e00-\u9fff][A-Za-z0-9]|[A-Za-z0-9][\u4e00-\u9fff]", plain)
        if half_width or crowded or text.endswith(".") != new.endswith("。"):
            wrong.append(new)
    assert wrong == []


def test_a_catalogue_is_read_as_it_was_written() -> None:
    some: dict[Key, str] = {("", 'a "quoted"\nline\tand \\n'): "一\n二", ("word", "rows"): "行数", ("", "new {0}"): ""}
    assert po_entries(po_text("zh", {key: ["a.py"] for key in some}, some)) == some


@pytest.mark.parametrize(
    ("said", "chinese"),
    [
        (
            "c/a.toml, line 115: retrieval.candidtes is not a setting; did you mean retrieval.candidates.",
            "c/a.toml 第 115 行：没有 retrieval.candidtes 这个设置；是不是想写 retrieval.candidates。",
        ),
        (
            'a.toml, line 9: retrieval.candidates is the string "x"; allowed: an integer from 10 to 2000 (write it without quotes).',
            'a.toml 第 9 行：retrieval.candidates 的值是字符串 "x"；应为：10 到 2000 的整数（请去掉引号）。',
        ),
        (
            "search_memory: limit: Input should be greater than or equal to 1 (and 2 more)",
            "search_memory：limit：应大于或等于 1（另有 2 处）",
        ),
        (
            "There is no component 'serach'. Did you mean 'search_memory'?",
            "没有组件 'serach'。是不是想写 'search_memory'？",
        ),
        (
            "The daemon refused: The token is wrong. Set its token in the environment variable AMEMORIX_TOKEN.",
            "守护进程拒绝了请求：令牌错误。请在环境变量 AMEMORIX_TOKEN 中设置它的令牌。",
        ),
        ("operation_id: d5 was restored already.", "operation_id：d5 已经恢复。"),
        (
            "a.toml has 2 problems:\n  line 3: a is not a setting; known here: b\n  line 4: c is true; allowed: a string.",
            "a.toml 有 2 处问题：\n  第 3 行：没有 a 这个设置；此处可用：b\n  第 4 行：c 的值是 true；应为：字符串。",
        ),
    ],
)
def test_what_is_put_together_is_translated_part_by_part(said: str, chinese: str) -> None:
    assert told(said, "zh") == chinese


@pytest.mark.parametrize(
    "text",
    [
        "I live in Leeds, and have two cats.",
        "Note: buy milk. It is late.",
        "see line 5: nothing",
        "我搬到北京了。",
        "from 9 to 5",
        "{0}",
        "",
    ],
)
def test_what_is_no_sentence_of_ours_stays_as_it_is(text: str) -> None:
    assert told(text, "zh") == text


def test_english_is_left_alone() -> None:
    assert told("Nothing found.") == told("Nothing found.", "en") == "Nothing found."
    with speaking("zh"):
        assert told("Nothing found.") == "没有找到。"
        with speaking(None):
            assert told("Nothing found.") == "没有找到。"
    assert told("Nothing found.") == "Nothing found."


@pytest.mark.parametrize(
    ("environ", "language"),
    [
        ({"LANG": "zh_CN.UTF-8"}, "zh"),
        ({"LANG": "zh_TW.UTF-8", "LC_ALL": ""}, "zh"),
        ({"LANG": "zh_CN.UTF-8", "LC_ALL": "C"}, "en"),
        ({"LANG": "zh_CN.UTF-8", "LC_MESSAGES": "en_GB.UTF-8"}, "en"),
        ({"LANG": "en_US.UTF-8", "LANGUAGE": "zh_CN:en"}, "zh"),
        ({"LANG": "C.UTF-8", "LANGUAGE": "zh_CN"}, "en"),
        ({}, "en"),
    ],
)
def test_the_locale_says_what_a_terminal_speaks(environ: dict[str, str], language: str) -> None:
    assert language_of(environ) == language


@pytest.mark.parametrize(
    ("header", "language"),
    [
        ("zh-CN,zh;q=0.9,en;q=0.5", "zh"),
        ("en-GB,en;q=0.9,zh;q=0.5", "en"),
        ("fr, zh-Hant;q=0.4, en; q=0.3", "zh"),
        ("zh;q=0", None),
        ("fr;q=x, *", None),
        ("", None),
    ],
)
def test_a_request_says_what_it_accepts(header: str, language: str | None) -> None:
    assert accepted(header) == language


def test_only_the_sentences_of_an_answer_are_translated() -> None:
    answer: dict[str, Any] = {
        "success": False, "error": "Nothing found.", "error_code": "not_found", "warnings": ["Nothing found.", "mine"],
        "details": {"problem": "Nothing found."}, "hits": [{"content": "Nothing found.", "error": "Nothing found."}],
        "report": {"message": "All is well.", "findings": [{"name": "disk", "detail": "no answer in time", "mend": ""}]},
    }  # fmt: skip
    new = localised(answer, "zh")
    assert new == {
        **answer, "error": "没有找到。", "warnings": ["没有找到。", "mine"],
        "report": {"message": "一切正常。", "findings": [{"name": "disk", "detail": "没有及时应答", "mend": ""}]},
    }  # fmt: skip
    assert answer["error"] == "Nothing found."


# the settings


def test_a_chinese_configuration_is_chinese_and_means_the_same() -> None:
    text = default_toml("zh")
    comments = [line for line in text.splitlines() if line.startswith("# ") and not line.startswith("#   ")]
    assert [line for line in comments if not HAN.search(line) and re.search("[a-z]{2} [a-z]", line)] == []
    assert parse(text) == parse(default_toml())
    assert [one.bounds for one in settings() if not HAN.search(told(one.bounds, "zh"))] == []


def test_a_change_keeps_chinese_comments_and_the_promised_end() -> None:
    text = default_toml("zh")
    changed = patched(text, {"retrieval.candidates": 50, "general.language": "zh"})
    assert changed == text.replace("candidates = 80", "candidates = 50").replace('language = "auto"', 'language = "zh"')
    with pytest.raises(InvalidConfig, match="cut off"):
        parse(text.removesuffix("# 设置到此结束。\n"))
    assert patched(text, {"advanced": None}).endswith("# 设置到此结束。\n")


def test_the_first_text_is_in_the_language_of_the_locale(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LC_ALL", "zh_CN.UTF-8")
    load(tmp_path / "a.toml", create=True)
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    load(tmp_path / "b.toml", create=True)
    assert (tmp_path / "a.toml").read_text("utf-8") == default_toml("zh")
    assert (tmp_path / "b.toml").read_text("utf-8") == default_toml("en")


# the doors


@pytest.fixture
async def host(tmp_path: Path) -> AsyncIterator[AMemorixHostService]:
    async with memory_host(tmp_path, **WORDS_ALONE) as host:
        yield host


async def test_http_speaks_what_a_request_accepts(host: AMemorixHostService) -> None:
    transport = httpx.ASGITransport(app=create_app(host, tokens=one_token("secret")))
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as web:
        search, token = f"{BASE_PATH}/search_memory", {"Authorization": "Bearer secret"}
        refused = await web.post(search, json={}, headers=BROWSER | {"Authorization": "Bearer wrong"})
        assert (refused.status_code, refused.json()["error"]) == (401, "令牌错误。")
        assert (refused.headers["Content-Language"], refused.headers["Vary"]) == ("zh-CN", "Accept-Language")
        scope = (await web.post(search, json={"query": "x"}, headers=BROWSER | token)).json()
        assert scope["error"].startswith("search_memory：chat_id 必填") and scope["error_code"] == "invalid_request"
        warned = await web.post(search, json={"query": "x", "chat_id": "c", "limitt": 3}, headers=BROWSER | token)
        assert warned.json()["warnings"] == ["已忽略未知参数 'limitt'。是不是想写 'limit'？"]
        nowhere = await web.get("/nothing", headers=BROWSER | token)
        assert nowhere.json()["error"].startswith("/nothing 处没有内容")
        with speaking("zh"):  # as a daemon that was started in a Chinese terminal
            english = await web.post(search, json={}, headers=token)
        assert english.json()["error"].startswith("search_memory: ") and "Content-Language" not in english.headers

        await host.update_config({"general.language": "zh"})
        assert "必填" in (await web.post(search, json={"query": "x"}, headers=token)).json()["error"]
        preferring = token | {"Accept-Language": "en-GB, zh;q=0.5"}
        assert "is required" in (await web.post(search, json={"query": "x"}, headers=preferring)).json()["error"]


async def test_the_page_of_operations_is_in_the_language_that_is_accepted(host: AMemorixHostService) -> None:
    transport = httpx.ASGITransport(app=create_app(host))
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as web:
        english, chinese = (await web.get("/docs")).text, (await web.get("/docs", headers=BROWSER)).text
        described = (await web.get("/openapi.json", headers=BROWSER)).json()["paths"]
        plain = (await web.get("/openapi.json")).json()["paths"]
    assert '<html lang="en">' in english and "Arguments as JSON" in english and not HAN.search(english)
    assert '<html lang="zh">' in chinese and "JSON 格式的参数" in chinese and "{{" not in english + chinese
    shown = {path: one["summary"] for path, methods in described.items() for one in methods.values()}
    assert shown.keys() == plain.keys() and all(HAN.search(summary) for summary in shown.values())
    assert not any(HAN.search(one["summary"]) for methods in plain.values() for one in methods.values())


async def test_a_host_speaks_english_unless_its_settings_say_otherwise(host: AMemorixHostService) -> None:
    assert (await host.invoke("search_memry"))[
        "error"
    ] == "There is no component 'search_memry'. Did you mean 'search_memory'?"
    await host.update_config({"general.language": "zh"})
    assert (await host.invoke("search_memry"))["error"] == "没有组件 'search_memry'。是不是想写 'search_memory'？"


def test_a_memory_begins_and_speaks_in_the_language_of_its_settings(tmp_path: Path) -> None:
    with Memory(tmp_path, settings={**WORDS_ALONE, "general": {"language": "zh"}}, install_model=False) as memory:
        with pytest.raises(MemoryFault, match="没有删除记录 d9"):
            memory.restore("d9")
        text = (tmp_path / "a_memorix.toml").read_text("utf-8")
        assert "# 监听端口。" in text and 'language = "zh"' in text


def in_chinese(*command: str) -> str:
    with speaking("zh"):
        done = CliRunner().invoke(app, command)
    return done.stdout + done.stderr


def test_the_shell_speaks_chinese(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AMEMORIX_CONFIG", str(tmp_path / "config" / "a.toml"))
    monkeypatch.setenv("COLUMNS", "200")
    assert "已修改：embedding.provider" in in_chinese("config", "set", "embedding.provider", "none")
    assert "没有 retrieval.candidtes 这个设置" in in_chinese("config", "set", "retrieval.candidtes", "5")
    file = tmp_path / "turns.jsonl"
    file.write_text(
        '{"speaker": "Mia", "text": "Nothing found."}\n{"speaker": "林澈", "text": "我对花生过敏"}\n', "utf-8"
    )
    assert "已存入 2" in in_chinese("ingest", str(file), "--chat", "c")
    export = tmp_path / "群.txt"
    export.write_text("消息记录（文本）\n\n2026-03-01 20:15:33 林澈(10001)\n[图片]\n", "utf-8")
    assert "无文本 1" in in_chinese("import", str(export), "--chat", "e")
    assert "含: 过敏" in in_chinese("search", "过敏", "--chat", "c")
    assert "不记得这件事" in in_chinese("search", "zebra", "--chat", "d")
    assert "没有找到。" in in_chinese("search", "zebra", "--chat", "d", "--unlikely")
    assert "Mia: Nothing found." in in_chinese("log", "c"), "what is stored is never translated"
    checked = in_chinese("check")
    assert "一切正常。" in checked and "每个有效段落都有词" in checked
    assert "time_start：无法把 'blah' 理解为时间" in in_chinese("search", "x", "--chat", "c", "--since", "blah")
    assert "已删除 1 条文本" in in_chinese("forget", "p1", "--yes")
    assert "'--limit' 的值无效：0 不在 1<=x<=200 的范围内。" in in_chinese("search", "x", "--limit", "0")


def test_a_project_is_begun_in_chinese(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    assert "接下来：" in in_chinese("init")
    assert "已经存在，保持原样" in in_chinese("init")
    text = (tmp_path / "config" / "a_memorix.toml").read_text("utf-8")
    assert "# 监听端口。" in text and "# 这里只列出最先要看的" in text and "candidates" not in text
    looked = in_chinese("doctor", "--no-probe")
    assert "尚无内容" in looked and "there" not in looked


def test_the_settings_decide_over_the_terminal(tmp_path: Path) -> None:
    path = tmp_path / "a.toml"
    path.write_text('[general]\nlanguage = "zh"\n[embedding]\nprovider = "none"\n', "utf-8")
    english = CliRunner().invoke(app, ["search", "x", "--chat", "c", "-c", str(path)])
    assert english.stdout == "不记得这件事；加上 --unlikely 会列出不太可能作答的内容。\n"
    refused = CliRunner().invoke(app, ["search", "x", "--since", "blah", "-c", str(path)])
    assert "无法把 'blah' 理解为时间" in refused.stderr
    path.write_text(path.read_text("utf-8").replace('"zh"', '"en"'), "utf-8")
    assert "Nothing is known of that" in in_chinese("search", "x", "--chat", "c", "-c", str(path))


SHELL = """
import sys
from amemorix.frontends.cli.main import main
try: main()
except SystemExit: pass
print("loaded", "amemorix.locale.catalogue" in sys.modules)
"""


@pytest.mark.parametrize(
    ("locale", "shown"), [("zh_CN.UTF-8", "搜索记忆，并说明每条结果为何被找到"), ("C", "Search the memory, and say")]
)
def test_help_is_in_the_language_of_the_locale(tmp_path: Path, locale: str, shown: str) -> None:
    environ = {key: value for key, value in os.environ.items() if not key.startswith("LC_") and key != "LANGUAGE"}
    done = subprocess.run(
        [sys.executable, "-c", SHELL, "search", "--help"], cwd=tmp_path, capture_output=True, timeout=120, check=True,
        env={**environ, "LANG": locale, "COLUMNS": "120", "PYTHONIOENCODING": "utf-8"},
    )  # fmt: skip
    text = done.stdout.decode()
    assert shown in text and f"loaded {locale != 'C'}" in text
    assert ("用法：" in text and "选项" in text) == (locale != "C")
