"""Backups: made, looked through, put back after a look, and deleted."""

from __future__ import annotations

from typing import Any

from starlette.responses import Response

from ....errors import NotFound
from ..view import Page, View

__all__ = ["PAGES"]

ADMIN = "memory_runtime_admin"


async def backups(view: View, verdict: dict[str, Any] | None = None) -> Response:
    return view.show("backups.html", listed=await view.ask(ADMIN, "list_backups"), verdict=verdict)


async def change(view: View) -> Response:
    """Make a backup, look through one, or put back what a restore has set aside."""
    form = await view.form()
    if aside := str(form.get("undo", "")):
        await view.ask(ADMIN, "restore_backup", backup=aside)
        view.say("What was there before the restore is back.")
    elif form.get("do") == "verify":
        return await backups(view, await view.ask(ADMIN, "verify_backup", backup=str(form.get("backup", ""))))
    else:
        await view.ask(ADMIN, "backup")
        view.say("The backup is made.")
    return view.go("/ui/backups")


async def look_at_restore(view: View) -> Response:
    """What a restore would put in the place of what is stored."""
    found = await _backup(view)
    verdict = await view.ask(ADMIN, "verify_backup", backup=found["id"])
    stats = await view.ask("memory_stats")
    return view.show("backup_restore.html", backup=found, verdict=verdict, stats=stats)


async def restore(view: View) -> Response:
    await view.form()
    done = await view.ask(ADMIN, "restore_backup", backup=(await _backup(view))["id"])
    aside = done["set_aside"]
    view.say("The backup is in its place; what was stored before is set aside.", undo=aside["id"] if aside else "")
    if done["erased"]:
        view.say("What was purged since the backup was made has not come back.")
    return view.go("/ui/backups")


async def look_at_deletion(view: View) -> Response:
    return view.show("backup_delete.html", backup=await _backup(view))


async def delete(view: View) -> Response:
    await view.form()
    await view.ask(ADMIN, "delete_backup", backup=(await _backup(view))["id"])
    view.say("The backup is gone for good.")
    return view.go("/ui/backups")


async def _backup(view: View) -> dict[str, Any]:
    id_ = view.request.path_params["backup"]
    listed = (await view.ask(ADMIN, "list_backups"))["backups"]
    found = next((one for one in listed if one["id"] == id_), None)
    if found is None:
        raise NotFound(f"There is no backup {id_!r}.", backup=id_)
    return found


PAGES = (
    Page("/ui/backups", "backups", backups),
    Page("/ui/backups", "backups", change, ("POST",)),
    Page("/ui/backups/{backup}/restore", "backups", look_at_restore),
    Page("/ui/backups/{backup}/restore", "backups", restore, ("POST",)),
    Page("/ui/backups/{backup}/delete", "backups", look_at_deletion),
    Page("/ui/backups/{backup}/delete", "backups", delete, ("POST",)),
)
