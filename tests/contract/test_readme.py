"""No link of the pages is dead, and the Chinese pages say what the English ones do."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import unquote

import pytest

ROOT = Path(__file__).parents[2]
PAIRS = {
    "README.md": "README.zh-CN.md",
    **{f"docs/{page.name}": f"docs/zh/{page.name}" for page in sorted(ROOT.glob("docs/*.md"))},
}


def test_no_link_and_no_anchor_of_the_pages_is_dead() -> None:
    pages = [
        *ROOT.glob("*.md"),
        *(page for top in ("docs", "examples", "integrations") for page in (ROOT / top).rglob("*.md")),
    ]
    dead: list[str] = []
    for page in pages:
        for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text("utf-8")):
            target, _, anchor = unquote(link).partition("#")
            file = (page.parent / target).resolve() if target else page
            if "://" in link or (file.exists() and (not anchor or anchor in _anchors(file))):
                continue
            dead.append(f"{page.relative_to(ROOT)}: {link}")
    assert dead == []


@pytest.mark.parametrize("page", ["docs/contracts.md", "docs/zh/contracts.md"])
def test_every_test_that_a_page_names_is_there(page: str) -> None:
    named = re.findall(r"`(\w+)::(\w+)`", _text(page))
    missing = [
        f"{module}::{name}"
        for module, name in named
        if not re.search(
            rf"(?:def|class) {name}\(",
            _text(f"tests/facades/{'' if module == 'suite' else 'test_'}{module}.py"),
        )
    ]
    assert named and missing == []


@pytest.mark.parametrize(("english", "chinese"), PAIRS.items())
def test_every_page_has_its_chinese_twin(english: str, chinese: str) -> None:
    assert _headings(chinese) == _headings(english)
    assert _code(chinese) == _code(english)
    for page, other in ((english, chinese), (chinese, english)):
        links = re.findall(r"\]\(([^)#\s]+)", _text(page).partition("\n## ")[0])
        assert (ROOT / other) in [(ROOT / page).parent.joinpath(link).resolve() for link in links]


def _anchors(page: Path) -> set[str]:
    """Those that a forge gives the headings of a page."""
    prose = re.sub(r"```.*?```", "", page.read_text("utf-8"), flags=re.S)
    titles = re.findall(r"^#+ (.+)", prose, re.M)
    return {re.sub(r"[^\w -]", "", title.strip().lower()).replace(" ", "-") for title in titles}


def _text(page: str) -> str:
    return (ROOT / page).read_text("utf-8")


def _headings(page: str) -> list[int]:
    """The levels of the headings, in order."""
    prose = re.sub(r"```.*?```", "", _text(page), flags=re.S)
    return [len(marks) for marks in re.findall(r"^(#+) ", prose, re.M)]


def _code(page: str) -> list[tuple[str, str]]:
    """(language, code without comments) of each block; of one without a language, which shows output, only that it is there."""
    blocks = re.findall(r"^```(\w*)\n(.*?)^```", _text(page), re.M | re.S)
    return [(language, re.sub(r"\s+# .*$", "", code, flags=re.M) if language else "") for language, code in blocks]
