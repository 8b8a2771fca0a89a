"""What the documentation site adds to the pages of docs/, which a forge shows as they are.

The reference and the examples as pages, pictures in the colours of the page, and links that lead out of docs/.
"""

from __future__ import annotations

import json
import re
from pathlib import Path, PurePosixPath
from posixpath import relpath
from typing import Any

import material.plugins.search.plugin as search_plugin
import rjieba
from mkdocs.structure.files import File

from amemorix.frontends.reference import reference_pages

search_plugin.jieba = None  # words are marked below, in the same way wherever the site is built
ROOT = Path(__file__).parents[1]
EXAMPLES = {
    "en": "# Examples\n\nOne file each; the tests run them. They are in `examples/` of the repository.\n",
    "zh": "# 示例\n\n每个示例一个文件，测试都会运行。它们在仓库的 `examples/` 里。\n",
}
REFERENCE = {"en": "Reference", "zh": "参考"}
_FENCE = re.compile(r"(^```.*?^```$)", re.M | re.S)
_CHINESE = re.compile(r"[\u4e00-\u9fff]+")
_LINK = re.compile(r"\]\(((?:\.\./)+[^)#\s]*)(#[^)\s]*)?\)")
_OTHER_LANGUAGE = re.compile(r"^\[(?:中文|English)\]\([^)]*\)\n", re.M)
_ALTERNATE = re.compile(r'<link rel="alternate" href="/@[^>]*>\s*')
_PICTURE = re.compile(r'<p><img alt="[^"]*" src="[^"]*?pictures/([\w-]+\.svg)" */?></p>')


def on_config(config: Any) -> Any:
    """Put the pages of the reference into the menu."""
    names = list(reference_pages(_language(config)))
    first = ["index.md", "settings.md", "records.md"]
    pages = [*first, *(name for name in names if name not in first)]
    config["nav"].append({REFERENCE[_language(config)]: [f"reference/{name}" for name in pages]})
    return config


def on_files(files: Any, config: Any) -> Any:
    """Add the pages that are made, `reference/` and `examples/`, and the style."""
    made = {f"reference/{name}": text for name, text in reference_pages(_language(config)).items()}
    listed = [EXAMPLES[_language(config)]]
    for path in sorted((ROOT / "examples").glob("*.py")):
        code = path.read_text("utf-8")
        about = code.split('"""')[1].strip()
        made[f"examples/{path.stem}.md"] = (
            f"---\nsearch: {{exclude: true}}\n---\n\n# {path.name}\n\n```python\n{code}```\n"
        )
        listed.append(f"- [{path.name}]({path.stem}.md): {about.splitlines()[0]}")
    made["examples/index.md"] = "\n".join(listed) + "\n"
    made["site.css"] = (ROOT / "scripts" / "site.css").read_text("utf-8")
    for name, text in made.items():
        files.append(File.generated(config, name, content=text))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, **_: Any) -> str:
    """Let links into the repository lead to the pages that are made of it; the header already leads to the other language."""
    here = page.file.src_uri
    pieces = _FENCE.split(_OTHER_LANGUAGE.sub("", markdown, count=1))
    pieces[::2] = [_LINK.sub(lambda found: _within(found, here, config), piece) for piece in pieces[::2]]
    return "".join(pieces)


def _within(found: re.Match[str], here: str, config: Any) -> str:
    docs = Path(config["docs_dir"])
    target = (docs / here).parent.joinpath(found[1]).resolve()
    if target.is_relative_to(docs) or not target.is_relative_to(ROOT):
        return found[0]
    inside = target.relative_to(ROOT)
    if inside == Path("schemas/reference.md"):
        page = "reference/index.md"
    elif inside.parts[0] == "examples":
        page = f"examples/{inside.stem}.md" if inside.suffix else "examples/index.md"
    else:
        return found[0]  # which the strict build names
    return f"]({relpath(page, PurePosixPath(here).parent)}{found[2] or ''})"


def on_page_content(html: str, config: Any, **_: Any) -> str:
    """Put pictures into the page itself, where they take its colours and its font."""
    pictures = Path(config["docs_dir"]) / "pictures"
    return _PICTURE.sub(lambda found: f"<figure>{(pictures / found[1]).read_text('utf-8')}</figure>", html)


def on_post_page(output: str, page: Any, config: Any) -> str:
    """Lead to the same page of the other language, wherever the site lies."""
    output = _ALTERNATE.sub("", output)  # the theme would look for a map of the site there
    up = relpath("." if _language(config) == "en" else "..", page.url or ".")
    return output.replace("/@en/", f"{up}/{page.url}").replace("/@zh/", f"{up}/zh/{page.url}")


def on_post_template(output_content: str, **_: Any) -> str:
    """The page of what is not found may lie anywhere, so it leads to the beginnings."""
    return output_content.replace("/@en/", "/").replace("/@zh/", "/zh/")


def on_post_build(config: Any) -> None:
    """Mark the words of Chinese text in the search index: it finds whole words alone."""
    index = Path(config["site_dir"]) / "search" / "search_index.json"
    found = json.loads(index.read_text("utf-8"))
    for entry in found["docs"]:
        for field in ("title", "text"):
            entry[field] = _CHINESE.sub(lambda run: "\u200b".join(rjieba.cut(run[0])), entry[field])
    index.write_text(json.dumps(found, ensure_ascii=False, separators=(",", ":")), "utf-8")


def _language(config: Any) -> Any:
    return config["theme"]["language"]
