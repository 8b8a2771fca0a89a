"""Settings: every table with its meaning, a change shown with its cost before it is made, and the text of the file."""

from __future__ import annotations

import json
import re
from typing import Any
from urllib.parse import quote

from starlette.datastructures import FormData
from starlette.responses import Response

from ....config import Setting, settings
from ....config.schema import sections
from ....errors import InvalidConfig, InvalidRequest, NotFound
from ....locale import told
from ..view import Page, View

__all__ = ["PAGES"]

ADMIN = "memory_runtime_admin"
OUTSIDE = "all"
"""What the address calls the settings that stand in no table."""


async def index(view: View) -> Response:
    """The tables with what is not as shipped, settings by a word, and what was changed last."""
    at_work = (await view.ask(ADMIN, "get_config"))["config"]
    reloads, audit = (
        await view.ask(ADMIN, "reload_status"),
        await view.ask(ADMIN, "audit", of_component="config", limit=10),
    )
    known = [one for one in settings() if "[]" not in one.path]
    wanted = view.query.get("q", "").strip().lower()
    found = None
    if wanted:
        found = [one for one in known if wanted in f"{one.path} {one.description} {told(one.description)}".lower()]
    tables = [(name, meaning, [one for one in known if _table(one) == name]) for name, meaning in _tables().items()]
    return view.show(
        "settings.html", tables=tables, value=lambda one: _value(at_work, one.path), reloads=reloads,
        audit=audit["items"], found=found, table_of=_table,
    )  # fmt: skip


async def table(view: View, given: FormData | None = None, refusal: InvalidConfig | None = None) -> Response:
    """One table as a form; `given` is what was refused, to be mended."""
    name = view.request.path_params["table"]
    if name not in _tables():
        raise NotFound(f"There is no table {name!r} of settings.", table=name)
    at_work, text = await view.ask(ADMIN, "get_config"), await view.ask(ADMIN, "get_config_text")
    group = [one for one in settings() if "[]" not in one.path and _table(one) == name]
    problems, elsewhere = dict[str, str](), list[str]()
    for problem in refusal.details.get("problems", ()) if refusal else ():
        path = re.match(r"[\w.]*", problem["path"])
        if path and any(path[0] == one.path for one in group):
            problems[path[0]] = problem["problem"]
        else:
            elsewhere.append(problem["problem"])

    def text_of(one: Setting) -> str:
        """What was given, but for a key that was pasted where the name of a variable belongs."""
        if one.path in problems and one.path.endswith("_env"):
            return ""
        said = given.get(f"set:{one.path}") if given else None
        return said if isinstance(said, str) else _shown(one, _value(at_work["config"], one.path))

    rows = [(one, text_of(one)) for one in group]
    return view.show(
        "settings_table.html", status=422 if refusal else 200, name=name, meaning=_tables()[name], rows=rows,
        choices=_choices, problems=problems, elsewhere=elsewhere, in_file_only=text["in_file_only"],
        file=text["config_file"],
    )  # fmt: skip


async def change_table(view: View) -> Response:
    """Show what a change of a table would come to, or take the last one back."""
    form, name = await view.form(), view.request.path_params["table"]
    if undo := form.get("undo"):
        return await _taken_back(view, str(undo))
    at_work = (await view.ask(ADMIN, "get_config"))["config"]
    patch = {
        one.path: value
        for one in settings()
        if isinstance(text := form.get(f"set:{one.path}"), str)
        and text.replace("\r\n", "\n") != _shown(one, before := _value(at_work, one.path))
        and (value := _read(one, text)) != before
    }
    back = f"/ui/settings/table/{quote(name)}"
    try:
        found = await view.ask(ADMIN, "preview_config", settings=patch) if patch else {"changes": [], "level": "none"}
    except InvalidConfig as exc:
        return await table(view, form, exc)
    return view.show("settings_look.html", found=found, patch=json.dumps(patch), toml="", base="", back=back)


async def raw(view: View) -> Response:
    text = await view.ask(ADMIN, "get_config_text")
    return view.show("settings_raw.html", text=text["toml"], base=text["base"], file=text["config_file"], problems=[])


async def change_raw(view: View) -> Response:
    """Show what another text of the file would come to."""
    form = await view.form()
    if undo := form.get("undo"):
        return await _taken_back(view, str(undo))
    toml, base = str(form.get("toml", "")).replace("\r\n", "\n"), str(form.get("base", ""))
    try:
        found = await view.ask(ADMIN, "preview_config", toml=toml, base=base)
    except InvalidConfig as exc:
        problems = [one["problem"] for one in exc.details.get("problems", ())] or [str(exc)]
        text = await view.ask(ADMIN, "get_config_text")
        return view.show(
            "settings_raw.html", status=422, text=toml, base=base, file=text["config_file"], problems=problems
        )
    return view.show("settings_look.html", found=found, patch="", toml=toml, base=base, back="/ui/settings/raw")


async def save(view: View) -> Response:
    """Make the change that was looked at."""
    form = await view.form()
    toml, back = str(form.get("toml", "")).replace("\r\n", "\n"), str(form.get("back", ""))
    change = {"toml": toml, "base": str(form.get("base", ""))} if toml else {"settings": _patch(form.get("patch"))}
    done = await view.ask(ADMIN, "update_config", **change)
    view.say("The settings are changed.", undo=json.dumps({one["name"]: one["before"] for one in done["changes"]}))
    if done["needs_restart"]:
        view.say("Some of it waits until the daemon is started again.")
    return view.go(back if back.startswith("/ui/settings") else "/ui/settings")


async def _taken_back(view: View, undo: str) -> Response:
    await view.ask(ADMIN, "update_config", settings=_patch(undo))
    view.say("The settings are as they were before.")
    return view.go(view.request.url.path)


def _patch(given: object) -> dict[str, Any]:
    try:
        found = json.loads(given) if isinstance(given, str) else None
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise InvalidRequest("patch: it is no change of settings.", field="patch")
    return found


def _tables() -> dict[str, str]:
    return {OUTSIDE: "Settings that stand in no table.", **sections()}


def _table(one: Setting) -> str:
    return one.table or OUTSIDE


def _value(tree: Any, path: str) -> Any:
    for part in path.split("."):
        tree = tree[part]
    return tree


def _choices(one: Setting) -> list[str]:
    return ["true", "false"] if one.type == "boolean" else re.findall(r'"([^"]*)"', one.bounds)


def _shown(one: Setting, value: Any) -> str:
    """A value as its field holds it: a list of texts has one a line."""
    if one.type == "array of string":
        return "\n".join(value)
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _read(one: Setting, text: str) -> Any:
    """What a field says; a text where it cannot be read, which is then refused with what is allowed."""
    if one.type == "array of string":
        return [line.strip() for line in text.splitlines() if line.strip()]
    if one.type == "string":
        return text.strip()
    try:
        return json.loads(text)
    except ValueError:
        return text.strip()


PAGES = (
    Page("/ui/settings", "settings", index),
    Page("/ui/settings/raw", "settings", raw),
    Page("/ui/settings/raw", "settings", change_raw, ("POST",)),
    Page("/ui/settings/save", "settings", save, ("POST",)),
    Page("/ui/settings/table/{table}", "settings", table),
    Page("/ui/settings/table/{table}", "settings", change_table, ("POST",)),
)
