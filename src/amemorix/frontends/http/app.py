"""The HTTP front door: the table of operations as routes."""

from __future__ import annotations

import logging
import time
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from ...audit_context import entered_by
from ...config import Config
from ...errors import Forbidden, InvalidRequest, MemoryFault, NotFound, NotReady, TooLarge, UnknownComponent
from ...host.operations import OPERATIONS
from ...host.service import AMemorixHostService
from ...version import __version__, commit
from ..cli.answers import JsonAnswer, fault_answer
from .auth import GRANT, Guard
from .json_response import BASE_PATH, UPLOAD_PATH, read_object
from .metrics import UPLOAD, Metrics
from .openapi import openapi_document
from .tokens import Tokens
from .uploads import received

__all__ = ["create_app"]

log = logging.getLogger(__name__)
CLOSED_BY_CALLER = 499
"""Nobody reads this answer; the number is what proxies write to their logs."""


def create_app(host: AMemorixHostService, *, token: str = "", tokens: Tokens | None = None) -> Starlette:
    """An ASGI application over a host that somebody else starts and stops.

    With tokens (`token` is one that may do everything), all but `/healthz` and `/readyz` needs one, and may do what it
    allows; without, only calls addressed to this machine are answered.
    """
    door = _Door(host)
    routes = [
        Route(f"{BASE_PATH}{UPLOAD_PATH}", door.upload, methods=["POST"]),
        Route(f"{BASE_PATH}/{{component}}", door.call, methods=["POST"]),
        Route(f"{BASE_PATH}/{{component}}/{{action}}", door.call, methods=["POST"]),
        Route("/openapi.json", door.openapi),
        Route("/healthz", door.health),
        Route("/readyz", door.ready),
        Route("/metrics", door.metrics),
    ]
    app = Starlette(
        routes=routes,
        middleware=[Middleware(Guard, tokens=tokens or Tokens.single(token), count=door.refused)],
        exception_handlers={HTTPException: _no_route},
    )
    app.router.redirect_slashes = False
    return app


class _Door:
    """The handlers."""

    def __init__(self, host: AMemorixHostService) -> None:
        self._host = host
        self._metrics = Metrics()
        self._openapi: dict[str, Any] | None = None

    async def call(self, request: Request) -> Response:
        component, action = request.path_params["component"], request.path_params.get("action", "")
        started, outcome = time.perf_counter(), "internal_error"
        try:
            timeout = _timeout(request)
            args = _with_action(component, action, read_object(await _body(request, self._most_bytes())))
            action = args.get("action", "") if OPERATIONS.actions(component) else ""
            with entered_by("http", request.scope[GRANT]):
                response = await self._host.call(component, args, timeout)
            outcome = "ok" if response.success else "unsuccessful"
            return JsonAnswer(response.model_dump(mode="json"))
        except MemoryFault as exc:
            outcome = exc.code
            headers = {"Connection": "close"} if isinstance(exc, TooLarge) else None
            return fault_answer(exc, headers=headers)
        except ClientDisconnect:
            outcome = "disconnected"
            return Response(status_code=CLOSED_BY_CALLER)
        except Exception:
            log.exception("%s failed", component)
            return fault_answer(MemoryFault(f"{component} failed inside; the log has the details."))
        finally:
            self._metrics.count(component, action, outcome, time.perf_counter() - started)

    async def upload(self, request: Request) -> Response:
        """Stage files for `memory_import_admin create_upload`."""
        started, outcome = time.perf_counter(), "internal_error"
        try:
            _timeout(request)
            if request.scope[GRANT].role != "admin":
                raise Forbidden("An upload needs the role admin.", role="admin")
            kernel = self._host.kernel
            kernel.imports.refuse_if_off()
            limits = kernel.config.imports
            staged = await received(
                request, kernel.imports.staging, most_files=limits.max_files_per_task,
                most_bytes=limits.max_file_size_mb * 1_000_000,
            )  # fmt: skip
            outcome = "ok"
            files = [{"staged": one.id, "name": one.name, "size": one.size} for one in staged]
            return JsonAnswer({"success": True, "files": files})
        except MemoryFault as exc:
            outcome = exc.code
            return fault_answer(exc, headers={"Connection": "close"})
        except ClientDisconnect:
            outcome = "disconnected"
            return Response(status_code=CLOSED_BY_CALLER)
        except Exception:
            log.exception("an upload failed")
            return fault_answer(MemoryFault("The upload failed inside; the log has the details."))
        finally:
            self._metrics.count(*UPLOAD, outcome, time.perf_counter() - started)

    async def openapi(self, request: Request) -> Response:  # noqa: ARG002
        if self._openapi is None:
            self._openapi = openapi_document()
        return JsonAnswer(self._openapi)

    async def health(self, request: Request) -> Response:  # noqa: ARG002
        """Say that the process lives, and which program it is."""
        return JsonAnswer({"success": True, "status": "alive", "version": __version__, "commit": commit()})

    async def ready(self, request: Request) -> Response:
        """Say whether calls are answered; to who has no token, yes or no and nothing else."""
        state = self._host.state
        if request.scope.get(GRANT) is None:
            ready = state == "ready"
            return JsonAnswer({"success": ready, "ready": ready}, status_code=200 if ready else NotReady.status)
        if state != "ready":
            return fault_answer(NotReady(f"The memory is {state}.", state=state))
        return JsonAnswer({"success": True, "status": state})

    async def metrics(self, request: Request) -> Response:
        """Figures for Prometheus: of the whole memory, so none for a token that is bound to chats."""
        if request.scope[GRANT].chats:
            return fault_answer(Forbidden("This token is bound to chats; the figures are of all."))
        try:
            kernel = self._host.kernel
            text = self._metrics.render(await kernel.statistics(), kernel.status, await kernel.health_metrics.read())
        except MemoryFault:
            text = self._metrics.render(None, None)
        return Response(text, media_type="text/plain; version=0.0.4; charset=utf-8")

    def refused(self, reason: str) -> None:
        """Count a call that the guard did not let in."""
        self._metrics.refused(reason)

    def _most_bytes(self) -> int:
        try:
            return self._host.kernel.config.http.max_body_bytes
        except NotReady:
            return Config().http.max_body_bytes


async def _body(request: Request, most: int) -> bytes:
    """The body, read no further than `most` bytes whatever its declared length. Raises TooLarge."""
    declared = request.headers.get("content-length", "")
    if declared.isdecimal() and int(declared) > most:
        raise _too_large(most)
    parts, held = list[bytes](), 0
    async for part in request.stream():
        held += len(part)
        if held > most:
            raise _too_large(most)
        parts.append(part)
    return b"".join(parts)


def _too_large(most: int) -> TooLarge:
    return TooLarge(f"The body is over {most} bytes (http.max_body_bytes).", limit=most)


def _with_action(component: str, action: str, args: dict[str, Any]) -> dict[str, Any]:
    if not action:
        return args
    if component in OPERATIONS.components() and not OPERATIONS.actions(component):
        raise UnknownComponent(f"{component} has no actions: post to {BASE_PATH}/{component}.", component=component)
    if args.get("action") not in (None, action):
        raise InvalidRequest(f"The path says {action!r}, the body says {args['action']!r}.", field="action")
    return {**args, "action": action}


def _timeout(request: Request) -> int | None:
    """The one thing that an address may say. Raises InvalidRequest for anything else, which would be passed over."""
    for name in request.query_params:
        if name != "timeout_ms":
            raise InvalidRequest(
                f"{name}: the address takes timeout_ms only; arguments go into the body, as JSON.", field=name
            )
    given = request.query_params.get("timeout_ms")
    if given is None:
        return None
    if not given.isdecimal() or len(given) > 12:
        raise InvalidRequest("timeout_ms must be a whole number of milliseconds above 0.", field="timeout_ms")
    return int(given)


async def _no_route(request: Request, exc: Exception) -> Response:
    status, headers = (exc.status_code, exc.headers) if isinstance(exc, HTTPException) else (500, None)
    if status == 404:
        return fault_answer(
            NotFound(f"There is nothing at {request.url.path}; components are at {BASE_PATH}/COMPONENT.")
        )
    allowed = (headers or {}).get("Allow", "")
    sentence = f"{request.url.path} does not answer {request.method}, only {allowed}." if allowed else str(exc)
    body = MemoryFault(sentence, allowed=allowed).to_dict()
    return JsonAnswer({**body, "error_code": "method_not_allowed"}, status_code=status, headers=headers)
