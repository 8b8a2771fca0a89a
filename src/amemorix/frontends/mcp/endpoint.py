"""`/mcp` of the daemon: the tools over streamable HTTP."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from importlib import import_module
from typing import Any

from starlette.requests import Request
from starlette.types import Receive, Scope, Send

from ...audit_context import Grant
from ...errors import InvalidRequest, MemoryFault, NotReady
from ...extras import require
from ...host.service import AMemorixHostService
from ..http.auth import GRANT, bound_scope, fault_answer
from ..http.metrics import Metrics
from ..python.calls import CallsOf
from ..transport import LocalMemory

__all__ = ["McpEndpoint"]


class McpEndpoint:
    """An ASGI app without sessions: each request has a server of its own, with the rights of its token."""

    def __init__(self, host: AMemorixHostService, figures: Metrics, largest_body: Callable[[], int]) -> None:
        self._host = host
        self._figures = figures
        self._largest_body = largest_body

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request, grant = Request(scope), scope[GRANT]
        try:
            chat, user = _default_scope(request, grant)
        except MemoryFault as exc:
            await fault_answer(exc)(scope, receive, send)
            return
        try:
            require("mcp", "The MCP endpoint")
        except NotReady as exc:
            await fault_answer(exc, status=501)(scope, receive, send)
            return
        await asyncio.to_thread(import_module, ".server", __package__)  # takes a second, once
        from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

        from .server import DefaultScope, server_of

        memory = CallsOf(_CountedMemory(self._host, grant, self._figures))
        server = server_of(memory, DefaultScope(chat=chat, user=user))
        manager = StreamableHTTPSessionManager(
            server, stateless=True, json_response=True, max_request_body_size=self._largest_body()
        )
        async with manager.run():
            await manager.handle_request(scope, receive, send)


class _CountedMemory(LocalMemory):
    def __init__(self, host: AMemorixHostService, grant: Grant, figures: Metrics) -> None:
        super().__init__(host, "mcp", grant)
        self._figures = figures

    async def invoke(self, component_name: str, args: dict[str, Any] | None = None) -> dict[str, Any]:
        started = time.perf_counter()
        answer = await super().invoke(component_name, args)
        outcome = "ok" if answer["success"] else answer.get("error_code") or "unsuccessful"
        self._figures.count_operation(
            component_name, (args or {}).get("action", ""), outcome, time.perf_counter() - started
        )
        return answer


def _default_scope(request: Request, grant: Grant) -> tuple[str, str]:
    """(chat, user) that the address names, else the one chat that the token is bound to. Raises InvalidRequest."""
    for name in request.query_params:
        if name not in ("chat", "user"):
            raise InvalidRequest(f"{name}: the address takes chat and user only.", field=name)
    chat, user = request.query_params.get("chat", ""), request.query_params.get("user", "")
    return (chat, user) if chat or user else bound_scope(grant)
