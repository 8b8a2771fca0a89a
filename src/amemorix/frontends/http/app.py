"""The HTTP front end: the table of operations as routes."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

from starlette.applications import Starlette
from starlette.convertors import PathConvertor, register_url_convertor
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from ...audit_context import entered_by
from ...config import Config
from ...errors import (
    Conflict,
    Forbidden,
    InvalidRequest,
    MemoryFault,
    NotFound,
    NotReady,
    TimedOut,
    TooLarge,
    UnknownComponent,
)
from ...host.operations import OPERATIONS
from ...host.service import AMemorixHostService
from ...importing.staging import Staged
from ...locale import Language, accepted, speaking, spoken
from ...version import __version__, commit
from ..console.console import Console
from ..dashboard.page_call import PageCall
from ..dashboard.routes import DASHBOARD_ROUTES, DashboardRoute
from ..mcp.endpoint import McpEndpoint
from .auth import GRANT, Guard, JsonAnswer, fault_answer, from_another_site
from .chat_proxy import ChatProxy
from .docs_page import DOCS_PATH, docs_page
from .events import EVENTS_PATH, ChangeEvents
from .json_response import BASE_PATH, UPLOAD_PATH, body_of, read_object
from .metrics import UPLOAD, Metrics
from .openapi import openapi_document
from .rooms import ROOMS_PATH, RoomCalls
from .tokens import Tokens
from .uploads import received

__all__ = ["create_app"]

log = logging.getLogger(__name__)
CLOSED_BY_CALLER = 499
"""Nobody reads this answer; the number is what proxies write to their logs."""


class _Lines(PathConvertor):
    """A path as `path` is, in which line breaks may stand: a room may have any name."""

    regex = r"[\s\S]*"


def create_app(
    host: AMemorixHostService, *, tokens: Tokens | None = None, is_ending: Callable[[], bool] = lambda: False
) -> Starlette:
    """An ASGI application over a host that somebody else starts and stops.

    With tokens, all but `/healthz`, `/readyz` and the page at `/docs`, which holds nothing of the memory, needs one, and may
    do what it allows; without, only calls addressed to this machine are answered. `is_ending`:
    whether the server wants to end, so that what streams has to.
    """
    register_url_convertor("lines", _Lines())
    handlers, known = _Handlers(host), tokens or Tokens({})
    proxy = ChatProxy(host, handlers.figures, handlers.largest_body, passes_keys=not known)
    routes = [
        Route(f"{BASE_PATH}{UPLOAD_PATH}", handlers.upload, methods=["POST"]),
        *(Route(f"{BASE_PATH}{one.path}", handlers.page_call(one), methods=[one.method]) for one in DASHBOARD_ROUTES),
        Route(f"{BASE_PATH}/{{component}}", handlers.call, methods=["POST"]),
        Route(f"{BASE_PATH}/{{component}}/{{action}}", handlers.call, methods=["POST"]),
        Route(f"{ROOMS_PATH}/{{rest:lines}}", handlers.rooms, methods=["GET", "POST", "DELETE"]),
        Route("/mcp", McpEndpoint(host, handlers.figures, handlers.largest_body), methods=["POST"]),
        Route("/v1/chat/completions", proxy.complete, methods=["POST"]),
        Route("/v1/{path:path}", proxy.forward, methods=["GET", "POST"]),
        *Console(host, known).routes(),
        Route(EVENTS_PATH, ChangeEvents(host, is_ending).stream, methods=["GET"]),
        Route("/openapi.json", handlers.openapi),
        Route(DOCS_PATH, handlers.docs),
        Route("/healthz", handlers.health),
        Route("/readyz", handlers.ready),
        Route("/metrics", handlers.metrics),
    ]
    middleware = [
        Middleware(Translated, host=host),
        Middleware(Guard, tokens=known, count=handlers.figures.refused),
    ]
    app = Starlette(
        routes=routes, middleware=middleware, exception_handlers={HTTPException: _no_route}, lifespan=proxy.open
    )
    app.router.redirect_slashes = False
    return app


class Translated:
    """Speaks the language that a request accepts; where it names none of ours, that of `general.language`, else English,
    whatever the terminal speaks in which the daemon was started."""

    def __init__(self, app: ASGIApp, *, host: AMemorixHostService) -> None:
        self._app = app
        self._host = host

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        chosen = accepted(Headers(scope=scope).get("accept-language", "")) if scope["type"] == "http" else None
        with speaking(chosen or self._host.language or "en"):
            await self._app(scope, receive, send)


class _Handlers:
    def __init__(self, host: AMemorixHostService) -> None:
        self._host = host
        self._rooms = RoomCalls(host)
        self.figures = Metrics()
        self._openapi: dict[Language, dict[str, Any]] = {}

    def largest_body(self) -> int:
        """Most bytes of a request's body; while the memory starts, those of the defaults."""
        try:
            return self._host.config.http.max_body_bytes
        except NotReady:
            return Config().http.max_body_bytes

    async def call(self, request: Request) -> Response:
        component, action = request.path_params["component"], request.path_params.get("action", "")
        asked: Any = action

        async def answer() -> dict[str, Any]:
            nonlocal asked
            timeout = _timeout(request)
            args = read_object(await body_of(request, self.largest_body()))
            if action:
                if component in OPERATIONS.components() and not OPERATIONS.actions(component):
                    told = f"{component} has no actions: post to {BASE_PATH}/{component}."
                    raise UnknownComponent(told, component=component)
                if args.get("action") not in (None, action):
                    raise InvalidRequest(f"The path says {action!r}, the body says {args['action']!r}.", field="action")
                args = {**args, "action": action}
            asked = args.get("action", "") if OPERATIONS.actions(component) else ""
            with entered_by("http", request.scope[GRANT]):
                return (await self._host.call(component, args, timeout)).model_dump(mode="json")

        def count(outcome: str, seconds: float) -> None:
            self.figures.count_operation(component, asked, outcome, seconds)

        return await self._answered(component, count, answer())

    async def rooms(self, request: Request) -> Response:
        async def answer() -> dict[str, Any]:
            timeout = _timeout(request)
            body = read_object(await body_of(request, self.largest_body()))
            try:
                async with asyncio.timeout(timeout and timeout / 1000):
                    return await self._rooms.answer(
                        request.method, request.scope["raw_path"], request.scope[GRANT], body
                    )
            except TimeoutError as exc:
                raise TimedOut(f"The call of a room took longer than {timeout} ms.") from exc

        return await self._answered(
            "A call of a room", partial(self.figures.count, "rooms", request.method.lower()), answer()
        )

    async def upload(self, request: Request) -> Response:
        async def answer() -> dict[str, Any]:
            _timeout(request)
            staged, _ = await self._received(request)
            return {
                "success": True,
                "files": [{"staged": one.id, "name": one.name, "size": one.size} for one in staged],
            }

        return await self._answered("The upload", partial(self.figures.count, *UPLOAD), answer(), closes=True)

    async def _received(self, request: Request) -> tuple[list[Staged], dict[str, str]]:
        """(files that were sent, staged for an import; the other fields). Raises Forbidden to who may not."""
        if request.scope[GRANT].role != "admin":
            raise Forbidden("An upload needs the role admin.", role="admin")
        staging, limits = self._host.staging()
        most_bytes = limits.max_file_size_mb * 1_000_000
        return await received(request, staging, most_files=limits.max_files_per_task, most_bytes=most_bytes)

    def page_call(self, route: DashboardRoute) -> Callable[[Request], Awaitable[Response]]:
        """What answers a call of a page of MaiBot's dashboard: what the memory cannot do is no error of HTTP there."""

        async def answer(request: Request) -> dict[str, Any]:
            if from_another_site(request.headers):  # the proxy before it adds the token to whatever comes
                raise Forbidden("Pages of another site may not call here.", origin=request.headers.get("origin"))
            staged: list[Staged] = []
            if route.takes_files:
                staged, fields = await self._received(request)
                sent = fields.get("payload_json", "").encode()
            else:
                sent = await body_of(request, self.largest_body())
            files = [{"staged": one.id, "name": one.name} for one in staged]
            try:
                given = {**request.query_params, **read_object(sent), **request.path_params}
                return await route.handle(PageCall(self._host, request.scope[GRANT], given, files))
            except MemoryFault as fault:
                for one in staged:
                    await asyncio.to_thread(self._host.staging()[0].remove, one.id)
                if isinstance(fault, Conflict):
                    return fault.to_dict()
                raise

        count = partial(self.figures.count, "dashboard", f"{route.method.lower()} {route.path}")

        async def answered(request: Request) -> Response:
            return await self._answered("A call of the dashboard", count, answer(request), closes=route.takes_files)

        return answered

    async def _answered(
        self,
        what: str,
        count: Callable[[str, float], None],
        answer: Awaitable[dict[str, Any]],
        *,
        closes: bool = False,
    ) -> Response:
        """The answer or its fault, counted with its outcome and seconds; after a fault the connection may close."""
        started, outcome = time.perf_counter(), "internal_error"
        try:
            body = await answer
            outcome = "ok" if body["success"] else "unsuccessful"
            return JsonAnswer(body)
        except MemoryFault as exc:
            outcome = exc.code
            headers = {"Connection": "close"} if closes or isinstance(exc, TooLarge) else None
            return fault_answer(exc, headers=headers)
        except ClientDisconnect:
            outcome = "disconnected"
            return Response(status_code=CLOSED_BY_CALLER)
        except Exception:
            log.exception("%s failed", what)
            return fault_answer(MemoryFault(f"{what} failed inside; the log has the details."))
        finally:
            count(outcome, time.perf_counter() - started)

    async def openapi(self, request: Request) -> Response:  # noqa: ARG002
        language = spoken() or "en"
        if language not in self._openapi:
            self._openapi[language] = await asyncio.to_thread(openapi_document, language)
        return JsonAnswer(self._openapi[language])

    async def docs(self, request: Request) -> Response:  # noqa: ARG002
        return docs_page()

    async def health(self, request: Request) -> Response:  # noqa: ARG002
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
        damage = self._host.damage_met if self._host.state == "ready" else 0
        try:
            text = self.figures.render(await self._host.health(), damage)
        except MemoryFault:
            text = self.figures.render(None, damage)
        return Response(text, media_type="text/plain; version=0.0.4; charset=utf-8")


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
    if status == 400:
        return fault_answer(InvalidRequest(f"body: {getattr(exc, 'detail', exc)}", field="body"))
    within = request.url.path.removeprefix(f"{BASE_PATH}/")
    names_none = within != request.url.path and within.split("/")[0] not in OPERATIONS.components()
    if status == 404 or (status == 405 and names_none):
        return fault_answer(
            NotFound(f"There is nothing at {request.url.path}; components are at {BASE_PATH}/COMPONENT.")
        )
    allowed = (headers or {}).get("Allow", "")
    sentence = f"{request.url.path} does not answer {request.method}, only {allowed}." if allowed else str(exc)
    body = MemoryFault(sentence, allowed=allowed).to_dict()
    return JsonAnswer({**body, "error_code": "method_not_allowed"}, status_code=status, headers=headers)
