"""`/api/changes`: what becomes of documents, as server-sent events."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncGenerator, Callable, Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from ...audit_context import Grant, entered_by
from ...errors import InvalidRequest, MemoryFault
from ...host.service import AMemorixHostService
from .auth import GRANT, STANDS, fault_answer

__all__ = ["EVENTS_PATH", "PARAMETERS", "ChangeEvents"]

EVENTS_PATH = "/api/changes"
WAIT_SECONDS, PAUSE_SECONDS = 1.0, 0.1
ALIVE_SECONDS = 15.0
"""After so long without an event a comment is sent, for proxies that close what is silent."""
PARAMETERS = ("since", "kinds", "chat_id", "scope")


class ChangeEvents:
    """Follows the changes of documents for each connection, with the rights of its token."""

    def __init__(self, host: AMemorixHostService, is_ending: Callable[[], bool]) -> None:
        """`is_ending`: whether the daemon wants to end, for which it would wait for every connection."""
        self._host = host
        self._is_ending = is_ending

    async def stream(self, request: Request) -> Response:
        """The events as they come, after those since `Last-Event-ID` or `since`."""
        grant: Grant = request.scope[GRANT]
        try:
            args = _arguments(request, grant)
            first = await self._changes(grant, args)
        except MemoryFault as exc:
            return fault_answer(exc)
        headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
        events = self._events(grant, args, first, request.scope.get(STANDS, lambda: True))
        return StreamingResponse(events, media_type="text/event-stream", headers=headers)

    async def _changes(self, grant: Grant, args: Mapping[str, Any]) -> dict[str, Any]:
        with entered_by("http", grant):
            answer = await self._host.call("memory_runtime_admin", {"action": "changes", **args})
        return answer.model_dump(mode="json")

    async def _events(
        self, grant: Grant, args: dict[str, Any], answer: dict[str, Any], stands: Callable[[], bool]
    ) -> AsyncGenerator[str]:
        sent_at = time.monotonic()
        while stands():
            if answer["reset"]:
                yield _event(answer["next"], "reset", {})
            for item in answer["items"]:
                yield _event(item["number"], item["kind"], item)
            if answer["reset"] or answer["items"]:
                sent_at = time.monotonic()
            elif time.monotonic() - sent_at >= ALIVE_SECONDS:
                sent_at = time.monotonic()
                yield ":\n\n"
            if self._is_ending():
                return
            if not answer["items"]:
                await asyncio.sleep(PAUSE_SECONDS)  # the memory may be changing its settings, and nobody waits then
            args |= {"since": answer["next"], "wait_seconds": WAIT_SECONDS}
            try:
                answer = await self._changes(grant, args)
            except MemoryFault:
                return  # it is closed, or the call is not allowed any more; whoever connects again is told


def _event(number: int, kind: str, data: dict[str, Any]) -> str:
    fields = {"id": number, "event": kind, "data": json.dumps(data, ensure_ascii=False)}
    return "".join(f"{name}: {value}\n" for name, value in fields.items()) + "\n"


def _arguments(request: Request, grant: Grant) -> dict[str, Any]:
    """The call's; without a number what comes from now on. Raises InvalidRequest."""
    for name in request.query_params:
        if name not in PARAMETERS:
            raise InvalidRequest(f"{name}: the address takes {', '.join(PARAMETERS)} only.", field=name)
    args: dict[str, Any] = {name: value for name, value in request.query_params.items() if value}
    args["since"] = request.headers.get("last-event-id") or args.get("since")
    if "kinds" in args:
        args["kinds"] = args["kinds"].split(",")
    if "chat_id" not in args and len(grant.chats) == 1:
        args["chat_id"] = grant.chats[0]
    return args
