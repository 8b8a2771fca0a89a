"""Imports: files, pasted texts and folders of this machine, how far they are, and what failed."""

from __future__ import annotations

import asyncio
from typing import Any

from starlette.responses import Response

from ....errors import InvalidRequest, MemoryFault
from ..view import Page, View

__all__ = ["PAGES"]

ADMIN = "memory_import_admin"
OPEN = ("queued", "preparing", "running", "cancel_requested")
FOLDERS = ("raw_scan", "lpmm_openie", "lpmm_convert", "maibot_migration")
"""Kinds that read what is on this machine."""


async def imports(view: View) -> Response:
    listed = await view.ask(ADMIN, "list", limit=20, offset=(offset := view.number("offset", 0)))
    shown: dict[str, Any] = {
        "listed": listed,
        "offset": offset,
        "is_open": any(one["status"] in OPEN for one in listed["items"]),
    }
    if view.partial:
        return view.show("_imports.html", **shown)
    known, places = await view.ask(ADMIN, "settings"), await view.ask(ADMIN, "path_aliases")
    return view.show("imports.html", **shown, known=known, places=places, folders=FOLDERS)


async def create(view: View) -> Response:
    """Import a pasted text, what is on this machine, or the dates of what has none."""
    form = {name: value for name, value in (await view.form()).items() if isinstance(value, str)}
    kind, path, asked = form.get("kind", ""), form.get("path", "").strip(), _common(form)
    match kind:
        case "paste":
            asked |= {"content": form.get("content", ""), "name": form.get("name", "").strip() or "paste.txt"}
        case "temporal_backfill":
            asked = {"dry_run": "dry_run" in form}
        case "maibot_migration":
            asked.pop("format")
            asked |= {"source_db": path}
        case "raw_scan" | "lpmm_openie" | "lpmm_convert":
            if kind != "raw_scan":
                asked.pop("format")
            asked |= {"path" if path.startswith(("/", "~")) else "relative_path": path}
        case _:
            raise InvalidRequest(f"kind: there is no import of the kind {kind!r}.", field="kind")
    return _begun(view, await view.ask(ADMIN, f"create_{kind}", **asked))


async def upload(view: View) -> Response:
    staged, form = await view.upload()
    files = [{"staged": one.id, "name": one.name} for one in staged]
    try:
        return _begun(view, await view.ask(ADMIN, "create_upload", files=files, **_common(form)))
    except MemoryFault:
        await asyncio.to_thread(view.unstage, staged)
        raise


async def one_import(view: View) -> Response:
    """A task with its files, and the chunks of them that failed."""
    id_ = view.request.path_params["task"]
    task = (await view.ask(ADMIN, "get", task_id=id_))["task"]
    failed: dict[str, Any] = {}
    for file in task["files"]:
        if file["chunks"].get("failed"):
            first = view.number("from", 0) if view.query.get("file") == file["file_id"] else 0
            failed[file["file_id"]] = await view.ask(
                ADMIN, "chunks", task_id=id_, file_id=file["file_id"], status="failed", limit=20, offset=first
            ) | {"first": first}
    is_open = task["status"] in OPEN
    return view.show("_import.html" if view.partial else "import.html", task=task, failed=failed, is_open=is_open)


async def change(view: View) -> Response:
    """Cancel an import, or read again what failed."""
    form, id_ = await view.form(), view.request.path_params["task"]
    if form.get("do") == "retry":
        overrides = {"skip_bad": True} if "skip_bad" in form else {}
        return _begun(view, await view.ask(ADMIN, "retry_failed", task_id=id_, overrides=overrides))
    await view.ask(ADMIN, "cancel", task_id=id_)
    view.say("The import ends; what it has stored stays.")
    return view.go(f"/ui/import/{id_}")


def _begun(view: View, answer: dict[str, Any]) -> Response:
    view.say("The import is begun.")
    return view.go(f"/ui/import/{answer['task']['task_id']}")


def _common(form: dict[str, str]) -> dict[str, Any]:
    switches = {name: True for name in ("dry_run", "skip_bad", "chat_log") if name in form}
    return {"chat_id": form.get("chat_id", "").strip(), "format": form.get("format") or "auto", **switches}


PAGES = (
    Page("/ui/import", "import", imports),
    Page("/ui/import", "import", create, ("POST",)),
    Page("/ui/import/upload", "import", upload, ("POST",)),
    Page("/ui/import/{task}", "import", one_import),
    Page("/ui/import/{task}", "import", change, ("POST",)),
)
