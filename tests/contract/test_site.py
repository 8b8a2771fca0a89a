"""The documentation site: it builds without a warning, every link leads somewhere, and nothing of it asks another host."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

pytest.importorskip("material", reason="the site is built by mkdocs-material, which is not installed")
ROOT = Path(__file__).parents[2]
LOADED = {"img": "src", "script": "src", "link": "href", "iframe": "src", "source": "src", "object": "data"}
"""What a browser fetches by itself."""


class Page(HTMLParser):
    """What is looked at of a page."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.ids: set[str] = set()
        self.headings: list[str] = []
        self.language = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.ids |= {given[name] for name in ("id", "name") if name in given}
        if tag == "html":
            self.language = given.get("lang", "")
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        if LOADED.get(tag) in given:
            self.loaded.append(given[LOADED[tag]])
        if re.fullmatch("h[1-6]", tag):
            self.headings.append(tag)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Both languages, built side by side and laid together as `scripts/docs` does."""
    folder = tmp_path_factory.mktemp("site")
    env = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "NO_MKDOCS_2_WARNING": "true"}
    command = [sys.executable, "-m", "mkdocs", "build", "--strict"]
    builds = [
        subprocess.Popen(
            [*command, "--config-file", config, "--site-dir", str(folder / name)],
            cwd=ROOT, env=env, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )
        for name, config in (("en", "mkdocs.yml"), ("zh", "mkdocs.zh.yml"))
    ]  # fmt: skip
    for build in builds:
        said, _ = build.communicate(timeout=300)
        assert build.returncode == 0 and "WARNING" not in said, said
    shutil.move(folder / "zh", folder / "en" / "zh")
    return folder / "en"


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, Page]:
    return {file: Page(file.read_text("utf-8")) for file in site.rglob("*.html") if file.name != "404.html"}


def test_every_link_and_anchor_leads_somewhere(site: Path, pages: dict[Path, Page]) -> None:
    missing: list[str] = []
    for file, page in pages.items():
        for link in {*page.links, *page.loaded}:
            url = urlsplit(link)
            if url.scheme or url.netloc:
                continue
            target = (file.parent / unquote(url.path)).resolve() if url.path else file
            target = target / "index.html" if target.is_dir() else target
            anchor = unquote(url.fragment)
            if not target.is_relative_to(site.resolve()) or not target.exists():
                missing.append(f"{file.relative_to(site)}: {link}")
            elif anchor and target in pages and anchor not in pages[target].ids:
                missing.append(f"{file.relative_to(site)}: {link} has no such anchor")
    assert missing == []


def test_nothing_is_fetched_from_another_host(site: Path, pages: dict[Path, Page]) -> None:
    fetched = [f"{file}: {url}" for file, page in pages.items() for url in page.loaded if urlsplit(url).netloc]
    for style in site.rglob("*.css"):
        fetched += [f"{style}: {url}" for url in re.findall(r"url\(\"?((?:https?:)?//[^)]+)", style.read_text("utf-8"))]
    assert fetched == []
    assert not any("mermaid" in page.ids for page in pages.values())  # the theme would fetch its script


def test_both_languages_have_the_same_pages(site: Path, pages: dict[Path, Page]) -> None:
    found = {file.relative_to(site).as_posix(): page for file, page in pages.items()}
    chinese = {name.removeprefix("zh/"): page for name, page in found.items() if name.startswith("zh/")}
    english = {name: page for name, page in found.items() if not name.startswith("zh/")}
    assert {name: page.headings for name, page in chinese.items()} == {n: page.headings for n, page in english.items()}
    assert {page.language for page in chinese.values()} == {"zh"} and {p.language for p in english.values()} == {"en"}
    for name in english:
        assert _target(site, name, "zh") == f"zh/{name}" and _target(site, f"zh/{name}", "en") == name


def _target(site: Path, name: str, language: str) -> str:
    """The page to which the choice of language leads."""
    (link,) = re.findall(rf'<a href="([^"]*)" hreflang="{language}"', (site / name).read_text("utf-8"))
    return ((site / name).parent / link / "index.html").resolve().relative_to(site.resolve()).as_posix()


def test_lists_are_lists_on_the_site_too(pages: dict[Path, Page]) -> None:
    """A forge needs no empty line before a list, the site does."""
    for file in pages:
        for paragraph in re.findall(r"<p>(.*?)</p>", file.read_text("utf-8"), re.S):
            assert not re.search(r"^(?:[-*] |\d+\. |\| )", paragraph, re.M), f"{file}: {paragraph}"


@pytest.mark.parametrize(
    ("language", "word", "page"), [(".", "purge", "forgetting/"), ("zh", "彻底清除", "forgetting/")]
)
def test_search_knows_every_page_and_whole_words(site: Path, language: str, word: str, page: str) -> None:
    index = json.loads((site / language / "search" / "search_index.json").read_text("utf-8"))
    parts = re.compile(index["config"]["separator"])
    words: dict[str, set[str]] = {}
    for entry in index["docs"]:
        said = f"{entry['title']} {re.sub('<[^>]*>', ' ', entry['text'])}"
        words.setdefault(entry["location"].partition("#")[0], set()).update(parts.split(said))
    assert page in words
    wanted = {"彻底", "清除"} if word == "彻底清除" else {word}
    assert wanted <= words[page]
    built = {file.parent.relative_to(site / language).as_posix() for file in (site / language).rglob("index.html")}
    named = {location.rstrip("/") or "." for location in words}
    assert {name for name in built if not name.startswith(("zh", "examples/"))} == named


def test_the_pictures_of_both_languages_are_alike() -> None:
    for english in sorted(ROOT.glob("docs/pictures/*.svg")):
        chinese = ROOT / "docs" / "zh" / "pictures" / english.name
        assert _shapes(english) == _shapes(chinese)


def _shapes(picture: Path) -> list[str]:
    return re.findall(r"<(?:rect|path)[^>]*>", picture.read_text("utf-8"))
