"""The reference: every operation and every setting, as one page of the repository and as pages of the documentation site."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from itertools import groupby
from typing import Any

from ..config import settings
from ..config.schema import Setting, sections
from ..host.operations import OPERATIONS
from ..locale import Language, told
from ..locale.catalogue import catalogue
from ..ops import Operation
from .http.json_response import BASE_PATH
from .http.openapi import Shapes, shapes

__all__ = ["bounds", "default", "reference_page", "reference_pages"]

PREFIX = "#/$defs/"
EFFECTS = {"read": "Reads.", "write": "Writes.", "destructive": "Deletes."}
_MADE = "Made from the table of operations and the settings; edit those, then run `scripts/generate`."
_CALLED = f"""\
Every operation is called as `await host.invoke(component, arguments)`, as `POST {BASE_PATH}/component` (or
`{BASE_PATH}/component/action`), and as
`amemorix call component [action] --argument value` (or `amemorix invoke component --json '{{…}}'`). An action goes into the arguments as
`action`. Every answer has `success`; one that failed has `error`, `error_code` and `details`. An argument that is null
has its default; one that is not known is reported in `warnings`.
"""
_SETTINGS = """\
In `config/a_memorix.toml`. A change of a `live` setting applies to the next call; of a `rebuild` setting, a new model or index is built \
beside the old one, then they switch; of a `restart` setting, the store is opened anew, or the process has to be started again.
"""
_CHINESE = {
    _CALLED: f"""\
每个操作都可以这样调用：`await host.invoke(component, arguments)`；`POST {BASE_PATH}/component`（或 `{BASE_PATH}/component/action`）；`amemorix call component [action] --argument value`（或 `amemorix invoke component --json '{{…}}'`）。动作以 `action` 放进参数里。每个返回值都有 `success`；失败时有 `error`、`error_code` 和 `details`。参数为 null 时取默认值；不认识的参数会列在 `warnings` 里。返回值和记录的字段说明是英文。
""",
    _SETTINGS: """\
写在 `config/a_memorix.toml` 里。修改 `live` 的设置，下一次调用就生效；修改 `rebuild` 的设置，会在旧模型或旧索引旁边建好新的再切换；修改 `restart` 的设置，要重新打开存储，或重新启动进程。
""",
    "Reference": "参考", "Operations": "操作", "Records": "记录", "Settings": "设置", "Reads.": "读取。", "Writes.": "写入。",
    "Deletes.": "删除。", "operation": "操作", "effect": "类别", "what it does": "作用", "argument": "参数", "type": "类型",
    "default": "默认值", "meaning": "含义", "field": "字段", "setting": "设置", "allowed": "允许的值", "change": "修改",
    "read": "读取", "write": "写入", "destructive": "删除", "required": "必填", "No arguments.": "没有参数。", "Answer:": "返回值：",
    " Older names of the action: {}.": "动作的旧名：{}。", " Older names of the component: {}.": "组件的旧名：{}。",
    "list of {}": "{} 的列表", " or ": " 或 ", "anything": "任意",
}  # fmt: skip


def reference_page() -> str:
    """All of it, in English."""
    page = _Page("en")
    every = sorted(OPERATIONS, key=lambda op: op.component)
    lines = ["# Reference\n", f"{_MADE}\n", _CALLED, "## Operations\n", *page.summaries(every)]
    for op in every:
        lines += page.operation(op)
    lines += ["## Records\n", *page.records(), "## Settings\n", _SETTINGS, *page.settings()]
    return "\n".join(lines).rstrip() + "\n"


@cache
def reference_pages(language: Language) -> dict[str, str]:
    """File name and text of a page for each component, one for the records, one for the settings, and `index.md`.

    In Chinese as far as the catalogue goes: the fields of answers are explained in English.
    """
    page = _Page(language, records="records.md")
    pages: dict[str, str] = {}
    lines = [f"# {page.word('Reference')}\n", page.word(_CALLED)]
    for component in OPERATIONS.components():
        own = [op for op in OPERATIONS if op.component == component]
        pages[f"{component}.md"] = "\n".join([f"# {component}\n", *(line for op in own for line in page.operation(op))])
        lines += [f"## {component}\n", *page.summaries(own, f"{component}.md")]
    pages["index.md"] = "\n".join(lines)
    pages["records.md"] = "\n".join([f"# {page.word('Records')}\n", *page.records()])
    pages["settings.md"] = "\n".join([f"# {page.word('Settings')}\n", page.word(_SETTINGS), *page.settings_by_table()])
    return pages


@cache
def _shapes() -> Shapes:
    return shapes(OPERATIONS, PREFIX)


class _Page:
    """What is said in a language, with the page on which the records are."""

    def __init__(self, language: Language, records: str = "") -> None:
        self._language: Language = language
        self._chinese = language == "zh"
        self._records = records

    def word(self, text: str) -> str:
        return _CHINESE.get(text, text) if self._chinese else text

    def told(self, text: str) -> str:
        """A description in the language, if the catalogue has it."""
        return (catalogue("zh").entries.get(("", text)) or text) if self._chinese else text

    def summaries(self, operations: list[Operation], page: str = "") -> Iterator[str]:
        rows = [
            (f"[`{_title(op)}`]({page}#{op.name})", self.word(op.effect), self.told(op.summary)) for op in operations
        ]
        return self.table(("operation", "effect", "what it does"), rows)

    def operation(self, op: Operation) -> Iterator[str]:
        yield f'### <a id="{op.name}"></a>`{_title(op)}`\n'
        listed = self.word(" Older names of the action: {}.")
        older = listed.format(", ".join(f"`{name}`" for name in op.aliases)) if op.aliases else ""
        others = [f"`{name}`" for name, component in OPERATIONS.older_names.items() if component == op.component]
        older += self.word(" Older names of the component: {}.").format(", ".join(others)) if others else ""
        gap = "" if self._chinese else " "
        yield f"{self.told(op.summary)}{gap}{self.word(EFFECTS[op.effect])}{older}\n"
        found = _shapes()
        request = found.definitions[found.requests[op.name]]
        required = request.get("required", [])
        arguments: list[tuple[str, ...]] = []
        for name, node in request.get("properties", {}).items():
            given = self.word("required") if name in required else default(node.get("default"))
            arguments.append((f"`{name}`", self._type(node), given, self.told(node.get("description", ""))))
        if arguments:
            yield from self.table(("argument", "type", "default", "meaning"), arguments)
        else:
            yield f"{self.word('No arguments.')}\n"
        yield f"{self.word('Answer:')}\n"
        yield from self._fields(found.definitions[found.responses[op.name]])

    def records(self) -> Iterator[str]:
        found = _shapes()
        top = {*found.requests.values(), *found.responses.values()}
        referred = set(re.findall(re.escape(PREFIX) + r"(\w+)", json.dumps(found.definitions)))
        for name, schema in found.definitions.items():
            if name not in top or name in referred:
                yield f'### <a id="{name.lower()}"></a>{name}\n'
                yield f"{schema.get('description', '')}\n"
                yield from self._fields(schema)

    def settings(self) -> Iterator[str]:
        rows = [(f"`{one.path}`", *self._setting(one)) for one in settings()]
        return self.table(("setting", "default", "allowed", "change", "meaning"), rows)

    def settings_by_table(self) -> Iterator[str]:
        """The same, under a heading for each table of the file."""
        for name, group in groupby(settings(), lambda one: one.table):
            if name:
                yield f"## `[{name}]`\n"
                yield f"{self.told(sections()[name])}\n"
            rows = [(f"`{one.path.removeprefix(f'{name}.')}`", *self._setting(one)) for one in group]
            yield from self.table(("setting", "default", "allowed", "change", "meaning"), rows)

    def _setting(self, one: Setting) -> tuple[str, ...]:
        return default(one.default), told(one.bounds, self._language), one.reload, self.told(one.description)

    def table(self, head: tuple[str, ...], rows: list[tuple[str, ...]]) -> Iterator[str]:
        yield f"| {' | '.join(self.word(one) for one in head)} |"
        yield f"|{'---|' * len(head)}"
        for row in rows:
            yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |"
        yield ""

    def _fields(self, schema: dict[str, Any]) -> Iterator[str]:
        rows = [
            (f"`{name}`", self._type(node), self.told(node.get("description", "")))
            for name, node in schema.get("properties", {}).items()
        ]
        return self.table(("field", "type", "meaning"), rows)

    def _type(self, node: dict[str, Any]) -> str:
        if "$ref" in node:
            name = node["$ref"].removeprefix(PREFIX)
            return f"[{name}]({self._records}#{name.lower()})"
        if "enum" in node or "const" in node:
            return self.word(" or ").join(f'`"{value}"`' for value in node.get("enum", [node.get("const")]))
        if "anyOf" in node:
            return self.word(" or ").join(
                self._type(choice) for choice in node["anyOf"] if choice.get("type") != "null"
            )
        if node.get("type") == "array":
            return self.word("list of {}").format(self._type(node.get("items", {}))) + self._bounds(node)
        return f"{node.get('type') or self.word('anything')}{self._bounds(node)}"

    def _bounds(self, node: dict[str, Any]) -> str:
        found = bounds(node)
        return f"，{told(found[2:], self._language)}" if found and self._chinese else found


def _title(op: Operation) -> str:
    return op.component if op.action is None else f"{op.component} {op.action}"


def bounds(node: dict[str, Any]) -> str:
    """Such as `, 1 to 200`; empty without bounds."""
    least = node.get("minimum", node.get("minLength", node.get("minItems")))
    most = node.get("maximum", node.get("maxLength", node.get("maxItems")))
    unit = " characters" if "maxLength" in node or "minLength" in node else ""
    unit = " entries" if "maxItems" in node or "minItems" in node else unit
    if least is None and most is None:
        return ""
    if least is None or most is None:
        return f", at least {least}{unit}" if most is None else f", at most {most}{unit}"
    return f", {least} to {most}{unit}"


def default(value: Any) -> str:
    """A default as code; empty for none."""
    return "" if value is None else f"`{json.dumps(value, ensure_ascii=False)}`"
