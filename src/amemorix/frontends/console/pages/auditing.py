"""The audit: who changed what, and how it is undone."""

from __future__ import annotations

from urllib.parse import urlencode

from starlette.responses import Response

from ....host.operations import OPERATIONS
from ..view import Page, View

__all__ = ["PAGES"]

FIELDS = {"component": "of_component", "action": "of_action", "who": "requested_by", "since": "since", "until": "until", "before": "before"}  # fmt: skip


async def audit(view: View) -> Response:
    given = {name: value for name in FIELDS if (value := view.query.get(name, "").strip())}
    listed = await view.ask(
        "memory_runtime_admin", "audit", limit=50, **{FIELDS[name]: value for name, value in given.items()}
    )
    further = urlencode({**given, "before": listed["next"]}) if listed["next"] else ""
    components = ("config", "background", *OPERATIONS.components())
    return view.show("audit.html", listed=listed, further=further, components=components, given=given)


PAGES = (Page("/ui/audit", "audit", audit),)
