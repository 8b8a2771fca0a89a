"""The checked-in files that are made from the models."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from . import config
from .config.schema import sections
from .frontends.console import view as console
from .frontends.http.docs_page import page_sentences
from .frontends.http.openapi import openapi_document
from .frontends.reference import reference_page
from .frontends.type_stubs import call_overloads, operation_types
from .host.operations import OPERATIONS
from .locale.catalogue import Key, catalogue, po_text
from .locale.extraction import WORD, templates

__all__ = ["generated_files", "main", "sentences", "stale_files", "untranslated", "write_generated"]

CATALOGUE = "src/amemorix/locale/zh.po"


@cache
def generated_files() -> dict[str, str]:
    """Path from the project's root, and the text that the file must have."""
    schemas = {
        f"schemas/components/{component}.json": _json(OPERATIONS.json_schema(component))
        for component in OPERATIONS.components()
    }
    return {
        "config/a_memorix.toml": config.default_toml(),
        "schemas/config_schema.json": _json(config.config_schema()),
        **schemas,
        "schemas/openapi.json": _json(openapi_document()),
        "schemas/reference.md": reference_page(),
        CATALOGUE: po_text("zh", sentences(), catalogue("zh").entries),
        "src/amemorix/frontends/python/typed_calls.pyi": call_overloads(),
        "src/amemorix/operation_types.py": operation_types(),
    }


@cache
def sentences() -> dict[Key, list[str]]:
    """(context, template) of all that a catalogue has to hold, with the files that say it."""
    labels = {(WORD, text): ["frontends/console"] for text in console.page_sentences()}
    return labels | templates(_meanings())


def untranslated() -> list[str]:
    """The templates that the catalogue has no translation of."""
    return [text for (context, text) in sentences() if not catalogue("zh").entries.get((context, text))]


def _meanings() -> Iterator[str]:
    """What a configuration tells of its tables, the help of a command of an operation, and the page that offers them."""
    yield from sections().values()
    yield from page_sentences()
    for op in OPERATIONS:
        yield op.summary
        for node in op.request.model_json_schema().get("properties", {}).values():
            if told := node.get("description"):
                yield told
    for methods in openapi_document()["paths"].values():
        yield from (one["summary"] for one in methods.values())


def stale_files(root: Path) -> list[str]:
    """The files below the project's root that are missing, differ, or describe a component that is gone."""
    wanted = generated_files()
    differing = [name for name, text in wanted.items() if _read(root / name) != text]
    components = (root / "schemas" / "components").glob("*.json")
    present = [path.relative_to(root).as_posix() for path in components]
    return sorted([*differing, *(name for name in present if name not in wanted)])


def write_generated(root: Path) -> list[str]:
    """Bring the files below the project's root up to date; returns the names of those that changed."""
    wanted, changed = generated_files(), stale_files(root)
    for name in changed:
        path = root / name
        if name in wanted:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(wanted[name], encoding="utf-8", newline="\n")
        else:
            path.unlink()
    return changed


def _read(path: Path) -> str | None:
    return path.read_text("utf-8") if path.is_file() else None


def _json(value: Any) -> str:
    return f"{json.dumps(value, indent=2, ensure_ascii=False)}\n"


def main(argv: Sequence[str] | None = None) -> None:
    """`python -m amemorix.generated [ROOT]`: write the files and name those that changed."""
    root = Path((sys.argv[1:] if argv is None else list(argv) or ["."])[0])
    for name in write_generated(root):
        print(name)
    for text in untranslated():
        print(f"{CATALOGUE} has no translation of {text!r}")


if __name__ == "__main__":
    main()
