"""Tuning: a search for better retrieval settings, its rounds as a plot and a table, and what became of it."""

from __future__ import annotations

from typing import Any

from starlette.responses import PlainTextResponse, Response

from ....errors import InvalidRequest
from ..view import HEADERS, Page, View

__all__ = ["PAGES"]

ADMIN = "memory_tuning_admin"
OPEN = ("queued", "running")
OBJECTIVES = ("balanced", "precision_priority", "recall_priority")
INTENSITIES = ("quick", "standard", "deep")


async def tuning(view: View) -> Response:
    """The tasks, what is at work, and a form for a new task."""
    listed = await view.ask(ADMIN, "list_tasks", limit=20, offset=(offset := view.number("offset", 0)))
    is_open = any(one["status"] in OPEN for one in listed["items"])
    if view.partial:
        return view.show("_tunings.html", listed=listed, offset=offset, is_open=is_open)
    known, profile = await view.ask(ADMIN, "settings"), await view.ask(ADMIN, "get_profile")
    return view.show(
        "tunings.html", listed=listed, offset=offset, is_open=is_open, known=known, profile=profile,
        objectives=OBJECTIVES, intensities=INTENSITIES,
    )  # fmt: skip


async def change(view: View) -> Response:
    """Begin a task, or take back the settings that were applied last."""
    form = await view.form()
    if "undo" in form or form.get("do") == "rollback":
        await view.ask(ADMIN, "rollback_profile")
        view.say("The settings are as they were before.")
        return view.go("/ui/tuning")
    asked: dict[str, Any] = {name: given for name in ("objective", "intensity") if (given := form.get(name))}
    for name in ("sample_size", "seed"):
        if given := str(form.get(name, "")).strip():
            if not given.isdecimal():
                raise InvalidRequest(f"{name}: {given!r} is no whole number.", field=name)
            asked[name] = int(given)
    begun = await view.ask(ADMIN, "create_task", **asked)
    view.say("The search is begun; it goes on in the background.")
    return view.go(f"/ui/tuning/{begun['task']['task_id']}")


async def task(view: View) -> Response:
    found = await view.ask(ADMIN, "get_task", task_id=view.request.path_params["task"], include_rounds=True)
    rounds: list[dict[str, Any]] = found["rounds"]
    best = [max(one["score"] for one in rounds[: n + 1]) for n in range(len(rounds))]
    drawn = [[one["round"] for one in rounds], [one["score"] for one in rounds], best]
    is_open = found["task"]["status"] in OPEN
    shown: dict[str, Any] = {
        "task": found["task"],
        "questions": found["questions"],
        "rounds": rounds,
        "best": best,
        "drawn": drawn,
    }
    return view.show("_tuning.html" if view.partial else "tuning.html", **shown, is_open=is_open)


async def cancel(view: View) -> Response:
    await view.form()
    await view.ask(ADMIN, "cancel", task_id=view.request.path_params["task"])
    view.say("The search ends; no setting is changed.")
    return view.go(f"/ui/tuning/{view.request.path_params['task']}")


async def report(view: View) -> Response:
    """The report as text, to be kept."""
    found = await view.ask(ADMIN, "get_report", task_id=view.request.path_params["task"], plots=False)
    return PlainTextResponse(found["content"], headers=HEADERS)


async def look(view: View) -> Response:
    """What applying a task would change, and what speaks for and against it."""
    found = (await view.ask(ADMIN, "get_task", task_id=view.request.path_params["task"]))["task"]
    profile = (await view.ask(ADMIN, "get_profile"))["profile"]
    changes = [(name, profile.get(name), value) for name, value in found["result"].get("changes", {}).items()]
    return view.show("tuning_apply.html", task=found, changes=changes)


async def apply(view: View) -> Response:
    form = await view.form()
    done = await view.ask(ADMIN, "apply_best", task_id=view.request.path_params["task"], strict="anyway" not in form)
    if done["changed"]:
        view.say("The settings are applied; searches use them from now on.", undo=str(done["history_id"]))
    else:
        view.say("Everything was set so already.")
    return view.go("/ui/tuning")


PAGES = (
    Page("/ui/tuning", "tuning", tuning),
    Page("/ui/tuning", "tuning", change, ("POST",)),
    Page("/ui/tuning/{task}", "tuning", task),
    Page("/ui/tuning/{task}", "tuning", cancel, ("POST",)),
    Page("/ui/tuning/{task}/report", "tuning", report),
    Page("/ui/tuning/{task}/apply", "tuning", look),
    Page("/ui/tuning/{task}/apply", "tuning", apply, ("POST",)),
)
