"""A small memory with something for every page of the console, hostile texts among it, and the address of each page."""

from __future__ import annotations

from pathlib import Path

from amemorix import AMemorixHostService
from amemorix.clock import SystemClock
from amemorix.testing import memory_host
from entrance import call
from import_entrance import pasted
from tuning_life import create, ended

__all__ = ["HOSTILE", "PAGES", "fill", "filled", "say"]

HOSTILE = "<script>window.hacked=1</script>\"'><img src=x onerror=window.hacked=2> \u202egnp.exe [x](javascript:window.hacked=3) {{7*7}}"
SAID = {
    "qq:hike": [
        ("小林", "u1", "我对花生过敏，点菜的时候提醒我。"), ("阿周", "u2", "周日八点在福田口岸集合去爬山。"), ("小林", "u1", "我在腾讯上班，住在深圳。"),
        ("阿周", "u2", "小林怕高，走平路吧。"), ("小林", "u1", "我养了一只叫豆豆的猫。"), ("阿周", "u2", "那就走梅林水库那条线。"),
    ],
    "discord:band": [
        ("Ann", "u3", "I live in Leeds and have two cats."), ("Ben", "u4", "We rehearse on Tuesdays in the old mill."), ("Ann", "u3", "I work at Stripe."),
        ("Ben", "u4", "Ann is allergic to peanuts, so no satay."), ("Ann", "u3", "Let us move the rehearsal to Wednesday."),
    ],
    HOSTILE[:32]: [
        (HOSTILE[32:80], "<u5>", f"I live in Bath {HOSTILE}"), (HOSTILE[32:80], "<u5>", f"{HOSTILE} {'x' * 200_000}"),
    ],
}  # fmt: skip
RELATED = {
    "qq:hike": [("小林", "住在", "深圳"), ("小林", "任职于", "腾讯"), ("小林", "认识", "阿周"), ("阿周", "住在", "福田"), ("福田", "属于", "深圳")],
    "discord:band": [
        ("Ann", "lives in", "Leeds"), ("Ann", "works at", "Stripe"), ("Ann", "knows", "Ben"), ("Ben", "rehearses in", "old mill"),
        ("Anne", "knows", "Ben"),
    ],
    HOSTILE[:32]: [(HOSTILE, HOSTILE[:60], HOSTILE[40:])],
}  # fmt: skip
PAGES = {
    "overview": "/", "overview-checked": "/?check", "search": "/ui/search?q=peanuts", "search-empty": "/ui/search",
    "search-hostile": "/ui/search?q=who+lives+in+Bath", "search-nothing": "/ui/search?q=zeppelin", "people": "/ui/people",
    "person": "/ui/people/u1?all", "person-hostile": "/ui/people/%3Cu5%3E?all", "chats": "/ui/chats",
    "log": "/ui/log?chat=qq:hike", "log-all": "/ui/log", "text": "/ui/texts/p1", "text-hostile": "/ui/texts/p12",
    "text-long": "/ui/texts/p13", "episodes": "/ui/episodes", "episode": "/ui/episodes/e1", "episode-hostile": "/ui/episodes/e3",
    "graph": "/ui/graph", "graph-search": "/ui/graph?q=Ann", "graph-data": "/ui/graph/data", "node": "/ui/graph/nodes/Ann",
    "node-hostile": "/ui/graph/nodes/{node}", "relation": "/ui/graph/relations/r1", "relation-hostile": "/ui/graph/relations/r11",
    "merge": "/ui/graph/change?do=merge&node=Anne&into=Ann", "delete-node": "/ui/graph/change?do=delete&node={node}",
    "delete-relation": "/ui/graph/change?do=relation&node=r11", "corrections": "/ui/corrections", "deletion": "/ui/deletion",
    "deletion-preview": "/ui/deletion?mode=person&target=u1", "deletion-hostile": "/ui/deletion?mode=person&target=%3Cu5%3E",
    "deletion-done": "/ui/deletion/{deletion}", "purge-look": "/ui/deletion/{deletion}/purge", "import": "/ui/import",
    "import-task": "/ui/import/{task}", "tuning": "/ui/tuning", "tuning-task": "/ui/tuning/{tuning}",
    "tuning-report": "/ui/tuning/{tuning}/report", "tuning-apply": "/ui/tuning/{tuning}/apply", "settings": "/ui/settings",
    "settings-found": "/ui/settings?q=candidates", "settings-table": "/ui/settings/table/general", "settings-raw": "/ui/settings/raw",
    "audit": "/ui/audit", "backups": "/ui/backups", "backup-restore-look": "/ui/backups/{backup}/restore",
    "backup-delete-look": "/ui/backups/{backup}/delete", "health": "/ui/health", "fault": "/ui/texts/p999",
}  # fmt: skip


async def say(host: AMemorixHostService, *chats: str) -> None:
    """Store what was said in these chats, and who is related there."""
    for n, chat in enumerate(chats):
        messages = [
            {"speaker": speaker, "person_id": person, "text": text, "time": f"2025-03-0{n + 1}T09:0{minute}:00Z", "metadata": {"said": text[:200]}}
            for minute, (speaker, person, text) in enumerate(SAID[chat])
        ]  # fmt: skip
        await call(host, "ingest_messages", chat_id=chat, messages=messages)
    for n, chat in enumerate(chats):
        relations = [dict(zip(("subject", "predicate", "object"), one, strict=True)) for one in RELATED[chat]]
        await call(
            host, "ingest_text", external_id=f"n{n}", source_type="note", chat_id=chat, text="Who knows whom.", relations=relations
        )  # fmt: skip
    await host.settle()


async def fill(host: AMemorixHostService) -> dict[str, str]:
    """Store it; the address of each page by its name."""
    await say(host, *SAID)
    await call(host, "memory_profile_admin", "add_alias", person_id="<u5>", alias=HOSTILE[:60], chat_id=HOSTILE[:32])
    backup = (await call(host, "memory_runtime_admin", "backup"))["backup"]["id"]
    task = await pasted(
        host, f"{HOSTILE[:60].replace('/', '')}.jsonl", f'{{"text": 7, "external_id": "{HOSTILE[:8]}"}}\n'
    )
    await call(
        host,
        "ingest_text",
        external_id="gone",
        source_type="note",
        text=f"The locker code. {HOSTILE}",
        chat_id="discord:band",
    )
    deleted = await call(
        host, "memory_delete_admin", "execute", mode="paragraph", selector={"query": "locker code"}, reason=HOSTILE, requested_by=HOSTILE[:60]
    )  # fmt: skip
    wish = {"text": f"Ben does not live in {HOSTILE}, he lives in York", "chat_id": HOSTILE[:32]}
    await call(host, "memory_correction_admin", "preview", **wish)
    tuning = await create(host)
    await ended(host, tuning)
    nodes = (await call(host, "memory_graph_admin", "search", query=HOSTILE[:20], scope="all"))["items"]
    made = {
        "backup": backup, "task": task["task_id"], "deletion": deleted["operation_id"], "tuning": str(tuning),
        "node": next(one["id"] for one in nodes if one["type"] == "entity"),
    }  # fmt: skip
    return {name: path.format(**made) for name, path in PAGES.items()}


async def filled(folder: Path) -> dict[str, str]:
    """Fill a memory below a folder and close it."""
    async with memory_host(folder, clock=SystemClock()) as host:
        return await fill(host)
