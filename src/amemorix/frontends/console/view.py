"""What a page is, and what it is made with: the request, who asks, the memory as they may see it, and templates."""

from __future__ import annotations

import hmac
import json
import re
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from datetime import datetime, tzinfo
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, NamedTuple, cast
from urllib.parse import urlencode
from zoneinfo import ZoneInfo

from starlette.datastructures import FormData, QueryParams
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from ...audit_context import Grant
from ...errors import Forbidden, MemoryFault, NotReady, fault_of
from ...locale import Language, spoken, told, word
from ..http.uploads import received
from ..transport import LocalMemory

if TYPE_CHECKING:
    from jinja2 import Environment

    from ...host.service import AMemorixHostService
    from ...importing.staging import Staged
    from .sessions import Session

__all__ = ["HEADERS", "Page", "Query", "View", "form_of", "page_sentences"]


_SOURCES = {"default": "'none'", "script": "'self'", "style": "'self'", "img": "'self'", "connect": "'self'"}
_REFUSED = {"form-action": "'self'", "base-uri": "'none'", "frame-ancestors": "'none'"}
HEADERS = {
    "Content-Security-Policy": "; ".join(f"{k}-src {v}" for k, v in _SOURCES.items()) + "".join(f"; {k} {v}" for k, v in _REFUSED.items()),
    "X-Content-Type-Options": "nosniff", "Referrer-Policy": "same-origin", "Cache-Control": "no-store",
    "Vary": ", ".join(("Accept-Language", "Cookie")),
}  # fmt: skip
"""Of every page: the browser runs and loads nothing but what this server gives it, and keeps nothing.

To itself a page says where it came from: else a browser sends its forms with the origin `null`, which the daemon refuses."""
MENU = (
    ("overview", "/", "Overview"), ("search", "/ui/search", "Search"), ("people", "/ui/people", "People"),
    ("chats", "/ui/chats", "Chats"), ("episodes", "/ui/episodes", "Episodes"), ("graph", "/ui/graph", "Graph"),
    ("corrections", "/ui/corrections", "Corrections"), ("deletion", "/ui/deletion", "Deletion"),
    ("import", "/ui/import", "Import"), ("tuning", "/ui/tuning", "Tuning"), ("settings", "/ui/settings", "Settings"),
    ("audit", "/ui/audit", "Audit"), ("backups", "/ui/backups", "Backups"), ("health", "/ui/health", "Health"),
)  # fmt: skip
UNBOUND = frozenset({"people", "corrections", "deletion", "import", "tuning", "settings", "audit", "backups", "health"})
"""Pages of the menu that are for whoever may do everything."""
STATES = (
    "live", "rebuild", "restart", "true", "false", "yes", "no", "well", "wrong", "queued", "preparing", "running",
    "cancel_requested", "cancelled", "completed", "completed_with_errors", "failed", "skipped", "pending", "off", "idle",
    "embedding", "rebuilding", "stored", "existing", "revised", "gone", "upload", "paste", "raw_scan", "lpmm_openie",
    "lpmm_convert", "maibot_migration", "temporal_backfill", "applied", "applying", "rolled_back", "balanced",
    "precision_priority", "recall_priority", "quick", "standard", "deep", "queries", "rounds", "comparison", "train",
    "validation", "held_out", "reply", "fact", "relation", "asked", "labelled", "manual", "scheduled", "before_restore",
    "before_import", "host", "python", "http", "mcp", "cli", "console", "memory",
)  # fmt: skip
"""What operations answer as a word, and pages show as one."""
DERIVED = {
    "sparse": "index of words", "columns": "index for the ranking", "graph": "index of the graph", "names": "index of names",
    "vectors": "index of vectors", "relations": "index of relations", "namings": "lines with names learned later",
    "extraction": "names in texts", "facts": "statements", "episodes": "episodes",
}  # fmt: skip
"""What is derived from the rows, by what `memory_stats` calls it."""


class Query(Mapping[str, str]):
    """The parameters of an address, which notes those that a page reads."""

    def __init__(self, given: QueryParams) -> None:
        self._given = given
        self._read = set[str]()

    def __getitem__(self, name: str) -> str:
        self._read.add(name)
        return self._given[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._given)

    def __len__(self) -> int:
        return len(self._given)

    def getlist(self, name: str) -> list[str]:
        """Every value of a parameter that may be repeated."""
        self._read.add(name)
        return self._given.getlist(name)

    @property
    def unknown(self) -> list[str]:
        """Names that nothing has asked for so far: a page that is made knows none of them."""
        return [name for name in self._given if name not in self._read]


class View:
    """One request of one page."""

    def __init__(self, request: Request, host: AMemorixHostService, session: Session, page: str) -> None:
        self.request = request
        self.session = session
        self.grant: Grant = session.grant
        self.page = page
        self.query = Query(request.query_params)
        self.zone: tzinfo | None = _zone(host)
        self._host = host
        self._memory = LocalMemory(host, "console", session.grant)

    async def ask(self, component: str, action: str = "", **args: Any) -> dict[str, Any]:
        """The answer of an operation. Raises the MemoryFault that it answers."""
        answer = await self._memory.invoke(component, {"action": action, **args} if action else args)
        if fault := fault_of(answer):
            raise fault
        return answer

    @property
    def scope(self) -> dict[str, Any]:
        """What reading is asked of: the chat that the address names, else all, or the first chat of a token that is bound."""
        chat = self.query.get("chat", "").strip() or next(iter(self.grant.chats), "")
        return {"chat_id": chat} if chat else {"scope": "all"}

    @property
    def menu(self) -> tuple[tuple[str, str, str], ...]:
        """(name, address, label) of what this caller may open."""
        closed = {"overview": bool(self.grant.chats), **dict.fromkeys(UNBOUND, not self.grant.is_unlimited)}
        return tuple(entry for entry in MENU if not closed.get(entry[0]))

    @property
    def theme(self) -> str:
        """`light`, `dark`, or empty for what the system prefers."""
        chosen = self.request.cookies.get("amemorix_theme", "")
        return chosen if chosen in ("light", "dark") else ""

    @property
    def here(self) -> str:
        """The address of this page, to come back to."""
        url = self.request.url
        return (url.path + (f"?{url.query}" if url.query else "")) if self.request.method == "GET" else "/"

    @property
    def logged_in(self) -> bool:
        """Whether there is something to log out of: a token was shown."""
        return bool(self.session.id) and bool(self.grant.name)

    def with_offset(self, offset: int) -> str:
        """This page from another place on."""
        return f"?{urlencode({**self.request.query_params, 'offset': offset})}"

    @property
    def partial(self) -> bool:
        """Whether the browser wants a part of the page alone."""
        return self.request.headers.get("hx-request") == "true"

    def number(self, name: str, default: int, most: int = 1_000_000) -> int:
        """A whole number of the address; what is none counts as not given."""
        given = self.query.get(name, "")
        return min(int(given), most) if given.isdecimal() and len(given) < 9 else default

    async def form(self) -> FormData:
        """What was sent. Raises Forbidden unless it carries the secret of the session: another site cannot know it."""
        form = await form_of(self.request)
        self._refuse_foreign(form)
        return form

    async def upload(self) -> tuple[list[Staged], dict[str, str]]:
        """(files that were sent, staged for an import; the other fields). Raises Forbidden as `form` does, and to who may not."""
        if not self.grant.is_unlimited:
            raise Forbidden("An upload needs the role admin.", role="admin")
        staging, limits = self._host.staging()
        most_bytes = limits.max_file_size_mb * 1_000_000
        most_files = limits.max_files_per_task
        return await received(
            self.request, staging, most_files=most_files, most_bytes=most_bytes, accept=self._refuse_foreign
        )

    def unstage(self, staged: Iterable[Staged]) -> None:
        """Remove files that no import was made of; blocking."""
        for one in staged:
            self._host.staging()[0].remove(one.id)

    def _refuse_foreign(self, fields: Mapping[str, Any]) -> None:
        given = self.request.headers.get("x-csrf-token") or fields.get("csrf") or ""
        if not isinstance(given, str) or not hmac.compare_digest(given.encode(), self.session.secret.encode()):
            raise Forbidden("This form is not of this session: load the page again and repeat it.")

    def say(self, sentence: str, *, undo: str = "") -> None:
        """Told at the top of the next page, there with a button that undoes it where that is possible."""
        self.session.told.append((sentence, undo))

    def go(self, path: str) -> Response:
        """To another page, after something was done."""
        return RedirectResponse(path, 303, HEADERS)

    def show(self, template: str, *, status: int = 200, **context: Any) -> HTMLResponse:
        """A page from its template, in the language that is spoken."""
        language: Language = spoken() or "en"
        remarks: list[tuple[str, str]] = []
        if not self.partial:  # a part of a page has no place for them
            remarks, self.session.told = self.session.told, []
        text = (
            _templates()
            .get_template(template)
            .render(
                view=self, page=self.page, language=language, remarks=remarks, csrf=self.session.secret,
                unknown=lambda: self.query.unknown if status == 200 and self.request.method == "GET" else [],
_=lambda text, **values: _said(text, language).format(**values) if values else _said(text, language),
                word=lambda text: word(text, language).replace("_", " "), at=self.moment, derived=DERIVED, **context,
            )
        )  # fmt: skip
        return HTMLResponse(text, status, HEADERS)

    def moment(self, epoch: float | None, *, date_only: bool = False) -> str:
        """A time in the zone of the settings."""
        if epoch is None:
            return ""
        try:
            return datetime.fromtimestamp(epoch, self.zone).strftime("%Y-%m-%d" if date_only else "%Y-%m-%d %H:%M")
        except (OverflowError, ValueError, OSError):
            return ""

    def fault(self, fault: MemoryFault) -> HTMLResponse:
        """What went wrong, in the place of the page."""
        return self.show(
            "_fault.html" if self.partial else "fault.html", status=fault.status, fault=fault, sentence=told(str(fault))
        )


async def form_of(request: Request) -> FormData:
    """The fields of a form; none of the pages sends files, or many fields."""
    return await request.form(max_files=0, max_fields=20)


class Page(NamedTuple):
    """An address with what is shown there; `name` is the menu's entry that is marked meanwhile."""

    path: str
    name: str
    make: Callable[[View], Awaitable[Response]]
    methods: tuple[str, ...] = ("GET",)


def _said(text: str, language: Language) -> str:
    """A label of the pages, or a finished sentence of the memory, in a language."""
    label = word(text, language)
    return told(text, language) if label == text else label


def _zone(host: AMemorixHostService) -> tzinfo | None:
    """The zone in which times are shown: that of the settings, None for the machine's."""
    try:
        named = host.config.general.timezone
    except NotReady:
        return None
    return ZoneInfo(named) if named else None


@cache
def _templates() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    made = Environment(
        loader=PackageLoader(__package__ or "", "templates"), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True,
    )  # fmt: skip
    made.filters["json"] = lambda value: json.dumps(value, ensure_ascii=False, indent=2)
    made.filters["percent"] = lambda value: f"{cast(float, value) * 100:.0f}%"
    return made


def page_sentences() -> list[str]:
    """What the pages say to people, in English: the menu, states, and each `_("…")` of a template."""
    here = files(__package__ or "")
    found = [*(label for _, _, label in MENU), *STATES, *DERIVED.values()]
    for one in sorted(here.joinpath("templates").iterdir(), key=lambda one: one.name):
        found += ["".join(pair) for pair in re.findall(r"""\b_\(\s*(?:"([^"]+)"|'([^']+)')""", one.read_text("utf-8"))]
    return list(dict.fromkeys(found))
