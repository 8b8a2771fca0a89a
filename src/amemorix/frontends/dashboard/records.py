"""Calls of MaiBot's dashboard that several operations answer together: records of every kind, and the times of a chat."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from ...errors import InvalidRequest, NotFound
from . import shapes
from .page_call import Answer, PageCall

__all__ = ["episodes", "paragraph_detail", "profile", "record", "search_profiles", "search_records", "timeline"]

Row = dict[str, Any]
HELD_TRUE = ["active", "maybe_outdated", "conflicted"]
RELATED = ("paragraphs", "entities", "relations", "facts", "episodes", "profiles")
LONGEST_TITLE = 80
MOST = 80
"""Records of a kind, if the page does not say."""


async def search_records(call: PageCall) -> Answer:
    """Records of the kinds that are asked for, or of all: those that the words find, else the newest or weightiest."""
    kinds = call.listed("types") or list(FINDING)
    found = [one for kind in kinds for one in await _of_kind(FINDING, kind)(call)]
    counts = {kind: sum(one["type"] == kind for one in found) for kind in kinds}
    return {"success": True, "items": found, "counts": counts}


async def record(call: PageCall) -> Answer:
    """A record with what belongs to it. Raises NotFound."""
    shown, related, more, actions = await _of_kind(OPENING, call.text("type"))(call, call.text("id"))
    return {
        "success": True, "record": shown, "related": {kind: related.get(kind, []) for kind in RELATED},
        "projection": {"graph_jobs": []}, "fact_evidence": [], "fact_transitions": [], **more,
        "available_actions": actions if call.grant.is_unlimited else [],
    }  # fmt: skip


def _of_kind(table: Mapping[str, Any], kind: str) -> Any:
    if kind not in table:
        raise InvalidRequest(f"There is no kind of record {kind!r}.", field="type", allowed=list(table))
    return table[kind]


def _record(
    kind: str, id_: str, title: str, summary: str = "", *, status: str = "active", at: float = 0.0, **more: Any
) -> Row:
    return {"type": kind, "id": id_, "title": title, "summary": summary, "status": status, "updated_at": at,
            "source": "", "source_label": "", "metadata": {}, **more}  # fmt: skip


def _paragraph(one: Row) -> Row:
    about = {key: one[key] for key in ("chat_id", "speaker", "person_ids", "external_id", "tags")}
    text, long = one["text"], len(one["text"]) > LONGEST_TITLE
    return _record("paragraph", one["id"], f"{text[:LONGEST_TITLE]}…" if long else text, text if long else "",
                   at=one["time"] or one["recorded_at"], source=one["source"],
                   source_label=" · ".join(filter(None, (one["speaker"], one["source"]))), metadata=about)  # fmt: skip


def _entity(one: Row) -> Row:
    return _record("entity", one["id"], one["name"], one.get("type", ""), at=one.get("created_at", 0.0))


def _relation(one: Row) -> Row:
    return _record("relation", one["id"], one["text"], at=one["created_at"], metadata={"confidence": one["confidence"]})


def _fact(one: Row) -> Row:
    about = {
        "scope_type": "person", "scope_id": one["person_id"] or one["entity"], "fact_key": one["attribute"],
        "value_text": one["value"], "polarity": "negative" if one["denied"] else "positive", "stability": one["stability"],
        "authority": one["authority"], "confidence": one["confidence"],
    }  # fmt: skip
    who = one["person"] or one["entity"]
    return _record("fact", one["id"], one["sentence"] or f"{who} {one['attribute']} {one['value']}", f"{who}: {one['value']}",
                   status=one["status"], at=one["recorded_at"], metadata=about)  # fmt: skip


def _episode(one: Row) -> Row:
    return _record("episode", one["episode_id"], one["title"] or one["summary"], one["summary"], at=one["derived_at"],
                   source=one["source"], source_label=one["source"], event_time_start=one["time_start"],
                   event_time_end=one["time_end"])  # fmt: skip


# finding


async def _texts(call: PageCall) -> list[Row]:
    limit = call.given.get("limit", MOST)
    if not call.text("query"):
        return (await call.ask("memory_text_admin", "list", limit=limit, **call.scope))["items"]
    hits = (await call.ask("search_memory", query=call.text("query"), limit=limit, **call.scope))["hits"]
    ids = [one["id"] for one in hits if one["type"] == "paragraph"]
    return sorted(await _stored(call, *ids), key=lambda one: ids.index(one["id"]))


async def _paragraphs(call: PageCall) -> list[Row]:
    return [_paragraph(one) for one in await _texts(call)]


async def _named(call: PageCall, kind: str) -> list[Row]:
    args = {"query": call.text("query"), "kind": kind, **call.take("limit"), **call.scope}
    return (await call.ask("memory_graph_admin", "search", **args))["items"]


async def _entities(call: PageCall) -> list[Row]:
    if call.text("query"):
        return [_record("entity", one["id"], one["name"], one["entity_type"]) for one in await _named(call, "entity")]
    page = await call.ask("memory_graph_admin", "get_graph", **call.take("limit"), **call.scope)
    return [_entity(one) for one in page["nodes"]]


async def _relations(call: PageCall) -> list[Row]:
    if call.text("query"):
        return [_relation(one["relation"]) for one in await _named(call, "relation")]
    page = await call.ask("memory_graph_admin", "get_graph", **call.take("limit", edge_limit="limit"), **call.scope)
    names = {one["id"]: one["name"] for one in page["nodes"]}
    return [
        _record("relation", one["relation_ids"][0], f"{names[one['source']]} {one['label']} {names[one['target']]}")
        for one in page["edges"]
    ]


async def _facts(call: PageCall) -> list[Row]:
    status = {} if call.text("include_inactive") == "true" else {"status": HELD_TRUE}
    words = call.take(text="query")
    found = await call.ask(
        "memory_fact_admin", "query" if words else "list", **words, **status, **call.take("limit"), **call.scope
    )
    return [_fact(one) for one in found["items"]]


async def _episodes(call: PageCall) -> list[Row]:
    found = await call.ask("memory_episode_admin", "list", **call.take("query", "limit"), **call.scope)
    return [_episode(one) for one in found["items"]]


FINDING: dict[str, Callable[[PageCall], Awaitable[list[Row]]]] = {
    "paragraph": _paragraphs, "entity": _entities, "relation": _relations, "fact": _facts, "episode": _episodes,
}  # fmt: skip


# opening

Opened = tuple[Row, dict[str, list[Row]], Row, list[str]]
"""The record, what is related to it, what else the page shows, and what may be done to it."""


async def _stored(call: PageCall, *ids: str) -> list[Row]:
    return (await call.ask("memory_text_admin", "get", ids=list(ids), **call.scope))["items"] if ids else []


async def _open_paragraph(call: PageCall, id_: str) -> Opened:
    one = await _existing(call, id_)
    return _paragraph(one), {}, {}, ["graph", "correct", "reinforce", "delete"]


async def _existing(call: PageCall, id_: str) -> Row:
    if not (found := await _stored(call, id_)):
        raise NotFound(f"There is no text {id_}, or it may not be seen here.", id=id_)
    return found[0]


async def _open_entity(call: PageCall, id_: str) -> Opened:
    found = await call.ask("memory_graph_admin", "node_detail", node=id_, **call.scope)
    texts = await _stored(call, *(one["id"] for one in found["paragraphs"]))
    related = {"relations": list(map(_relation, found["relations"])), "paragraphs": list(map(_paragraph, texts))}
    return _entity(found["node"]), related, {}, [*(["graph"] if texts else []), "delete"]


async def _open_relation(call: PageCall, id_: str) -> Opened:
    found = await call.ask("memory_graph_admin", "edge_detail", relation=id_, **call.scope)
    texts = await _stored(call, *(one["id"] for one in found["paragraphs"]))
    one = found["relations"][0]
    ends = [_record("entity", one[f"{end}_id"], one[end]) for end in ("subject", "object")]
    related = {"entities": ends, "paragraphs": list(map(_paragraph, texts))}
    return (
        _relation(one),
        related,
        {},
        [*(["graph"] if texts else []), "correct", "reinforce", "freeze", "protect", "delete"],
    )


async def _open_fact(call: PageCall, id_: str) -> Opened:
    found = await call.ask("memory_fact_admin", "get", fact_id=id_, **call.scope)
    one = found["fact"]
    texts = await _stored(call, *(piece["paragraph_id"] for piece in found["evidence"]))
    more = {
        "fact_evidence": [
            {**piece, "evidence_type": "paragraph", "evidence_id": piece["paragraph_id"]} for piece in found["evidence"]
        ],
        "fact_transitions": [
            {**change, "transition_id": at, "transition_type": _transition(change), "created_at": change["at"]}
            for at, change in enumerate(found["transitions"])
        ],
    }
    actions = ["correct", *(["profile"] if one["person_id"] else [])]
    actions += ["restore_fact"] if one["status"] == "retracted" else ["edit_fact", "retract_fact"]
    return _fact(one), {"paragraphs": list(map(_paragraph, texts))}, more, actions


def _transition(change: Row) -> Any:
    if not change["was"]:
        return "assert"
    names = {"retracted": "retract", "superseded": "supersede", "active": "restore"}
    return names.get(change["became"], change["became"])


async def _open_episode(call: PageCall, id_: str) -> Opened:
    found = await call.ask("memory_episode_admin", "get", episode_id=id_, **call.scope)
    texts = await _stored(call, *(one["id"] for one in found["paragraphs"]))
    return _episode(found["episode"]), {"paragraphs": list(map(_paragraph, texts))}, {}, []


OPENING: dict[str, Callable[[PageCall, str], Awaitable[Opened]]] = {
    "paragraph": _open_paragraph, "entity": _open_entity, "relation": _open_relation, "fact": _open_fact, "episode": _open_episode,
}  # fmt: skip


async def paragraph_detail(call: PageCall) -> Answer:
    """A text by itself, in the graph's view of evidence. Raises NotFound."""
    one = await _existing(call, call.text("paragraph_hash"))
    shown = {
        **one,
        "hash": one["id"],
        "content": one["text"],
        "preview": one["text"],
        "updated_at": one["recorded_at"],
        "entities": [],
    }
    alone = {"id": one["id"], "type": "paragraph", "content": one["text"], "metadata": shown}
    return {
        "success": True,
        "paragraph": shown,
        "evidence_graph": {"nodes": [alone], "edges": [], "focus_entities": []},
    }


async def episodes(call: PageCall) -> Answer:
    """Episodes; the account of somebody on a platform stands for the person."""
    person = call.take(person_id="user_id") | call.take("person_id")
    found = await call.ask(
        "memory_episode_admin",
        "list",
        **person,
        **call.take("query", "limit", "source", "time_start", "time_end"),
        **call.scope,
    )
    return {**found, **shapes.episodes(found)}


async def search_profiles(call: PageCall) -> Answer:
    """Persons by a word, or the one who is named."""
    keyword = call.text("person_keyword") or call.text("person_id") or call.text("user_id")
    found = await call.ask("memory_profile_admin", "list", keyword=keyword, **call.take("limit"))
    return {**found, **shapes.profiles(found)}


async def profile(call: PageCall) -> Answer:
    """What is known of a person, with the evidence; the account of somebody on a platform stands for the person."""
    person = call.take(person_id="person_keyword") | call.take(person_id="user_id") | call.take("person_id")
    found = await call.ask("memory_profile_admin", "query", **person, **call.take("limit"))
    return {**found, **shapes.profile(found)}


async def timeline(call: PageCall) -> Answer:
    """What a chat has come to hold: its texts and its episodes, the newest first."""
    wanted, when = call.listed("types") or ["paragraph", "episode"], call.take("time_start", "time_end", "limit")
    events: list[Row] = []
    if "paragraph" in wanted:
        texts = await call.ask("memory_text_admin", "list", order="said", only_own=True, **when, **call.scope)
        events += [
            _event("paragraph", one["id"], one["time"] or one["recorded_at"], one["chat_id"], one["speaker"] or one["source"],
                   one["text"], {"tab": "graph", "params": {"paragraph_hash": one["id"]}})
            for one in texts["items"]
        ]  # fmt: skip
    if "episode" in wanted:
        episodes = await call.ask("memory_episode_admin", "list", **when, **call.scope)
        events += [
            _event("episode", one["episode_id"], one["time_end"] or one["derived_at"], one["chat_id"], one["title"],
                   one["summary"], {"tab": "episodes", "params": {"episode_id": one["episode_id"]}})
            for one in episodes["items"]
        ]  # fmt: skip
    events.sort(key=lambda one: -one["occurred_at"])
    by_type = {kind: sum(one["category"] == kind for one in events) for kind in wanted}
    return {"success": True, "items": events, "summary": {"total": len(events), "by_type": by_type}}


def _event(kind: str, id_: str, at: float, chat: str, title: str, summary: str, jump: Row) -> Row:
    return {
        "event_id": f"{kind}:{id_}", "event_type": f"{kind}_created", "category": kind, "occurred_at": at, "chat_id": chat,
        "chat_name": chat, "title": title, "summary": summary, "object_count": 1, "key_id": id_, "metadata": {},
        "jump_target": jump,
    }  # fmt: skip
