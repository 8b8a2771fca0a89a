"""Chinese text as words with vectors."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from amemorix.errors import ModelUnavailable
from amemorix.frontends.cli.main import app
from amemorix.models.glosses.build import install_glosses
from amemorix.models.glosses.table import GlossTable, installed_glosses
from test_gloss_build import embed, lexicon

WORDS = {
    "的": ("'s", 3.0),
    "我": ("I", 4.5),
    "她": ("she", 5.5),
    "什么": ("what", 7.0),
    "什么时候": ("when", 9.0),
    "时候": ("time", 8.0),
    "没有": ("not have", 6.0),
    "结婚": ("marry", 10.0),
    "北京": ("Beijing", 8.0),
    "大学": ("university", 8.5),
    "北京大学": ("Peking University", 11.0),
    "大学生": ("university student", 10.5),
    "生": ("born", 8.0),
    "活": ("live", 9.0),
    "生活": ("life", 9.5),
    "猫": ("cat", 12.0),
}


@pytest.fixture
def table() -> GlossTable:
    vectors = np.random.default_rng(1).normal(size=(len(WORDS), 8))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    english, surprisals = zip(*WORDS.values(), strict=True)
    return GlossTable(list(WORDS), english, np.round(vectors * 127).astype(np.int8), surprisals, fingerprint="f")


def cut(table: GlossTable, text: str) -> list[str]:
    words = list(WORDS)
    return [words[row] for row in table.segment(text)]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", []),
        ("no Chinese, 100 %", []),
        ("北京大学生活", ["北京大学", "生活"]),
        ("北京，大学生", ["北京", "大学生"]),
        ("她什麼時候結婚？", ["她", "什么时候", "结婚"]),
        ("我的龘猫", ["我", "的", "猫"]),
        ("龘", []),
        ("我love猫cat", ["我", "猫"]),
    ],
)
def test_text_is_cut_into_its_likeliest_words(table: GlossTable, text: str, words: list[str]) -> None:
    assert cut(table, text) == words


@pytest.mark.parametrize(
    ("text", "english"),
    [
        ("她什么时候结婚？", "she when marry ?"),
        ("我没有猫。", "I not cat ."),
        ("我的iPhone 15和猫、大学", "I iphone 15 cat , university"),
        ("我爱 Python", "I python"),
        ("Naïve  CAFÉ, it's “10 %”!\n", "Naïve  CAFÉ, it's “10 %”!\n"),
        ("的！", "的！"),
        ("龘", "龘"),
        ("", ""),
    ],
)
def test_english_for_an_english_embedder(table: GlossTable, text: str, english: str) -> None:
    assert table.english(text) == english


def test_a_long_text_is_cut_in_linear_time(table: GlossTable) -> None:
    assert len(table.segment("我的猫" * 20_000)) == 60_000


def test_what_was_built_is_loaded(tmp_path: Path) -> None:
    table = GlossTable.load(install_glosses(embed, tmp_path, lexicon=lexicon))

    assert table.vectors.shape == (15, table.dimension)
    assert table.vectors.dtype == np.int8
    assert np.abs(np.linalg.norm(table.vectors.astype(float), axis=1) - 127).max() < 2
    assert table.english("她的宠物在哪里") == "she house pet where"


def test_nothing_installed_cannot_be_loaded(tmp_path: Path) -> None:
    assert installed_glosses(tmp_path) is None
    with pytest.raises(ModelUnavailable, match="holds no table of Chinese glosses"):
        GlossTable.load(tmp_path)


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("words.txt", "猫".encode(), "is not of one piece"),
        ("words.txt", b"\xff", "cannot be read"),
        ("vectors.npy", b"", "cannot be read"),
        ("surprisals.npy", None, "cannot be read"),
    ],
)
def test_a_damaged_table_cannot_be_loaded(tmp_path: Path, name: str, content: bytes | None, says: str) -> None:
    path = install_glosses(embed, tmp_path, lexicon=lexicon) / name
    if content is None:
        path.unlink()
    else:
        path.write_bytes(content)

    with pytest.raises(ModelUnavailable, match=says):
        GlossTable.load(path.parent)


def test_the_commands_know_the_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AMEMORIX_CACHE", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "250")
    missing = CliRunner().invoke(app, ("models", "verify", "chinese-glosses"))
    folder = install_glosses(embed, tmp_path, lexicon=lexicon)

    assert missing.exit_code == 1
    assert "chinese-glosses is not installed" in missing.stderr
    assert "is intact" in CliRunner().invoke(app, ("models", "verify", "chinese-glosses")).stdout
    row = next(line for line in CliRunner().invoke(app, ("models", "list")).stdout.splitlines() if "glosses" in line)
    assert row.split()[1:4] == ["32", "zh", "CC"]
    assert str(folder) in row
