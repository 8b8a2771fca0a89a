"""Health: what waits to be done in the background, what failed, and checks with their repair."""

from __future__ import annotations

from typing import Any

from starlette.responses import Response

from ....errors import InvalidRequest
from ..view import Page, View

__all__ = ["PAGES"]

ADMIN = "memory_runtime_admin"


async def health(view: View, report: dict[str, Any] | None = None, done: list[str] | None = None) -> Response:
    stats = await view.ask("memory_stats")
    work: dict[str, Any] = {
        "stats": stats,
        "episodes": await view.ask("memory_episode_admin", "status"),
        "feedback": await view.ask("memory_feedback_admin", "status"),
        "unlearned": (await view.ask("memory_feedback_admin", "list", status=["failed"], limit=20))["items"],
        "imports": (await view.ask("memory_import_admin", "list", limit=20))["items"],
        "copies": await view.ask(ADMIN, "backup_status"),
        "tunings": (await view.ask("memory_tuning_admin", "list_tasks", status=["queued", "running"]))["items"],
    }
    if view.partial:
        return view.show("_health.html", **work)
    return view.show("health.html", **work, report=report, done=done)


async def change(view: View) -> Response:
    """Check, repair, or try again what failed."""
    form = await view.form()
    match form.get("do"):
        case "check":
            found = await view.ask(ADMIN, "check", deep="deep" in form, probe="probe" in form)
            return await health(view, found["report"])
        case "repair":
            found = await view.ask(ADMIN, "repair")
            return await health(view, found["report"], found["done"])
        case "embedding":
            await view.ask(ADMIN, "recover_embedding")
            view.say("The model is asked again now.")
        case "episodes":
            await view.ask("memory_episode_admin", "process_pending")
            view.say("The episodes that waited or failed were tried again.")
        case other:
            raise InvalidRequest(f"do: {other!r} is nothing that can be done here.", field="do")
    return view.go("/ui/health")


PAGES = (Page("/ui/health", "health", health), Page("/ui/health", "health", change, ("POST",)))
