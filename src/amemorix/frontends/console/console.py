"""The routes of the console: who may see a page, the way in and out, and what the browser loads besides."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from importlib.resources import files
from urllib.parse import quote, urlsplit

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from ...audit_context import Grant
from ...errors import Forbidden, MemoryFault, NotFound, NotReady
from ...host.service import AMemorixHostService
from ...locale import accepted, speaking, spoken
from ..http.auth import GRANT, STANDS, fault_answer
from ..http.tokens import Tokens
from .sessions import COOKIE, Session, Sessions
from .view import HEADERS, View, form_of

__all__ = ["Console"]

Page = Callable[[View], Awaitable[Response]]
LANGUAGE, THEME = "amemorix_language", "amemorix_theme"
LONGEST_NAME = 100
"""Characters of the name of a file that is not there, in the answer."""
TYPES = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}


class Console:
    """Pages for whoever shows a token, or without any for whoever is at this machine."""

    def __init__(self, host: AMemorixHostService, tokens: Tokens) -> None:
        self._host = host
        self._tokens = tokens
        self._sessions = Sessions()

    def routes(self) -> list[BaseRoute]:
        from .pages import PAGES

        pages = [Route(one.path, self._page(one.name, one.make), methods=one.methods) for one in PAGES]
        return [
            *pages,
            Route("/ui/login", self.login, methods=["GET", "POST"]),
            Route("/ui/logout", self.logout, methods=["POST"]),
            Route("/ui/look", self.look, methods=["POST"]),
            Route("/ui/static/{name}", self.static),
        ]

    def _page(self, name: str, make: Page) -> Callable[[Request], Awaitable[Response]]:
        async def answer(request: Request) -> Response:
            session = self._session(request)
            if session is None:
                return self._to_login(request)
            with speaking(accepted(request.cookies.get(LANGUAGE, "")) or spoken()):
                view = View(request, self._host, session, name)
                try:
                    if self._host.state != "ready":
                        raise NotReady(f"The memory is {self._host.state}.", state=self._host.state)
                    shown = await make(view)
                except MemoryFault as exc:
                    shown = view.fault(exc)
            return self._with_cookie(request, shown, session)

        return answer

    def _session(self, request: Request) -> Session | None:
        known = self._sessions.of(request.cookies.get(COOKIE, ""))
        if known is not None:
            return known
        grant: Grant | None = request.scope.get(GRANT)
        return None if grant is None else self._sessions.begin(grant, request.scope.get(STANDS, lambda: True))

    def _to_login(self, request: Request) -> Response:
        if request.headers.get("hx-request") == "true":
            return Response(status_code=401, headers={**HEADERS, "HX-Redirect": "/ui/login"})
        wanted = request.url.path + (f"?{request.url.query}" if request.url.query else "")
        return RedirectResponse(f"/ui/login?next={quote(wanted, safe='')}", 303, HEADERS)

    def _with_cookie(self, request: Request, answer: Response, session: Session) -> Response:
        if request.cookies.get(COOKIE) != session.id:
            answer.set_cookie(
                COOKIE, session.id, httponly=True, samesite="lax", path="/", secure=request.url.scheme == "https"
            )
        return answer

    async def login(self, request: Request) -> Response:
        """Ask for a token, and begin a session with what it allows; each try has a new form and no session before it."""
        visitor = Session("", Grant("read"), 0.0, secret="")
        with speaking(accepted(request.cookies.get(LANGUAGE, "")) or spoken()):
            view = View(request, self._host, visitor, "login")
            wanted = _local(view.query.get("next", "/"))
            if request.method == "GET":
                return view.show("login.html", wanted=wanted, wrong=False)
            if (origin := request.headers.get("origin")) and urlsplit(origin).netloc != request.headers.get("host"):
                return view.fault(Forbidden("This form came from another site."))
            given = (await form_of(request)).get("token")
            token = given.strip().encode() if isinstance(given, str) else b""
            grant = self._tokens.grant(token)
            if grant is None:
                return view.show("login.html", status=401, wanted=wanted, wrong=True)
        session = self._sessions.begin(grant, self._tokens.standing(token, grant))
        return self._with_cookie(request, RedirectResponse(wanted, 303, HEADERS), session)

    async def logout(self, request: Request) -> Response:
        session = self._session(request)
        if session is not None:
            await View(request, self._host, session, "logout").form()
            self._sessions.end(session.id)
        answer = RedirectResponse("/ui/login" if self._tokens else "/", 303, HEADERS)
        answer.delete_cookie(COOKIE, path="/")
        return answer

    async def look(self, request: Request) -> Response:
        """Keep a language or a theme in the browser."""
        form = await form_of(request)
        answer = RedirectResponse(_local(str(form.get("next", "/"))), 303, HEADERS)
        for name, cookie, allowed in (
            ("language", LANGUAGE, ("en", "zh", "")),
            ("theme", THEME, ("light", "dark", "")),
        ):
            if (chosen := form.get(name)) in allowed:
                answer.set_cookie(cookie, str(chosen), max_age=400 * 86_400, samesite="lax", path="/")
        return answer

    async def static(self, request: Request) -> Response:
        name = request.path_params["name"]
        folder = files(__package__ or "").joinpath("static")
        file = next((one for one in folder.iterdir() if one.name == name and one.is_file()), None)
        if file is None:
            return fault_answer(NotFound(f"There is no file {name[:LONGEST_NAME]}."))
        kind = TYPES.get(name.rpartition(".")[2], "application/octet-stream")
        headers = {**HEADERS, "Cache-Control": "max-age=3600"}
        return Response(file.read_bytes(), headers=headers, media_type=kind)


def _local(path: str) -> str:
    """An address of this server alone: a link must lead nobody to another."""
    parts = urlsplit(path)
    safe = path.startswith("/") and not path.startswith(("//", "/\\")) and not parts.scheme and not parts.netloc
    return path if safe and path.isprintable() else "/"
