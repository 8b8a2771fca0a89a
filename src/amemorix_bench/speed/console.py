"""How long the pages of the console take at the server."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import httpx

from amemorix.errors import StorageFailure
from amemorix.host.service import AMemorixHostService

from ..corpus import Question, chat_name, questions
from ..metrics import percentile
from ..workspace import answered
from .search import search_args

__all__ = ["PageTimes", "measure_pages"]

SEARCH = "search"
PAGES = {
    "overview": "/", SEARCH: "/ui/search", "people": "/ui/people", "person": "/ui/people/{person}", "chats": "/ui/chats",
    "a chat": "/ui/log?chat={chat}", "every chat": "/ui/log", "text": "/ui/texts/p1", "episodes": "/ui/episodes",
    "episode": "/ui/episodes/{episode}", "graph": "/ui/graph", "drawing of 2,000": "/ui/graph/data?nodes=2000",
    "node": "/ui/graph/nodes/{node}", "corrections": "/ui/corrections", "deletion": "/ui/deletion",
    "deletion of a person": "/ui/deletion?mode=person&target={person}", "import": "/ui/import", "tuning": "/ui/tuning",
    "settings": "/ui/settings", "audit": "/ui/audit", "backups": "/ui/backups", "health": "/ui/health",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class PageTimes:
    """Milliseconds of one page: the first time that it is asked for, and later ones.

    Of the search every question is new; `over` is what its page takes beyond the search itself (medians). `cpu` is what all
    threads of the process spent on a page: a busy machine stretches the times, but hardly this.
    """

    page: str
    first: float
    p50: float
    p95: float
    cpu: float
    over: float | None = None


async def measure_pages(host: AMemorixHostService, rows: int, count: int) -> list[PageTimes]:
    """`count` requests for each page, one after the other. Raises StorageFailure if a page does not answer."""
    from amemorix.frontends.http.app import create_app

    asked = questions(2 * count + 1, rows, "console")
    profiles = await answered(host, "memory_profile_admin", {"action": "list", "limit": 1})
    episodes = await answered(host, "memory_episode_admin", {"action": "list", "limit": 1, "scope": "all"})
    graph = await answered(host, "memory_graph_admin", {"action": "get_graph", "limit": 1, "scope": "all"})
    named = {
        "chat": chat_name(0), "person": profiles["items"][0]["person_id"], "episode": episodes["items"][0]["episode_id"],
        "node": graph["nodes"][0]["id"],
    }  # fmt: skip
    found: list[PageTimes] = []
    app = httpx.ASGITransport(create_app(host))
    async with httpx.AsyncClient(transport=app, base_url="http://localhost", timeout=None) as web:
        for page, path in PAGES.items():
            address, taken, spent = path.format(**named), list[float](), time.process_time()
            for question in asked[: count + 1]:
                started = time.perf_counter()
                answer = await web.get(address, params={"q": question.text} if page == SEARCH else None)
                taken.append((time.perf_counter() - started) * 1000)
                if answer.status_code != 200:
                    raise StorageFailure(f"{address} answers {answer.status_code}.")
            first, *later = taken
            cpu, p50 = (time.process_time() - spent) / len(taken) * 1000, percentile(later, 50)
            over = round(p50 - await _search_itself(host, rows, asked[-count:]), 1) if page == SEARCH else None
            p95 = percentile(later, 95)
            found.append(PageTimes(page, round(first, 1), round(p50, 1), round(p95, 1), round(cpu, 1), over))
    return found


async def _search_itself(host: AMemorixHostService, rows: int, asked: Sequence[Question]) -> float:
    """The median of the same searches without a page."""
    taken: list[float] = []
    for question in asked:
        started = time.perf_counter()
        await answered(host, "search_memory", {**search_args(question, rows, scoped=False), "scope": "all"})
        taken.append((time.perf_counter() - started) * 1000)
    return percentile(taken, 50)
