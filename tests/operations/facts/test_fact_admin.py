"""`memory_fact_admin`: what it lists, and what it refuses."""

from __future__ import annotations

from typing import Any

import pytest

from amemorix import AMemorixHostService
from amemorix.testing import FrozenClock
from conftest import Open
from entrance import admin_of, change, refused, rows, said, told

START = 1_680_000_000.0
DAY = 86_400.0


admin = admin_of("memory_fact_admin")


@pytest.fixture
async def filled(host: AMemorixHostService) -> AMemorixHostService:
    await said(host, "c", ("林澈", "我住在上海", START), ("林澈", "我搬到北京了", START + DAY), ("林澈", "我对花生过敏", START),
               ("Melanie", "I live in Berlin", START), ("Melanie", "My dog is called Rex", START))  # fmt: skip
    await said(host, "d", ("Melanie", "I'm vegan", START))
    await told(host, "A café at the corner.", entities=["Blue Bird"], chat_id="c")
    await host.settle(600)
    return host


def values(result: dict[str, Any]) -> list[str]:
    return [item["value"] for item in result["items"]]


async def test_listing(filled: AMemorixHostService) -> None:
    assert values(await admin(filled, "list")) == ["vegan", "Rex (dog)", "Berlin", "花生", "北京", "上海"]
    assert values(await admin(filled, "list", limit=2, offset=1)) == ["Rex (dog)", "Berlin"]
    assert values(await admin(filled, "list", chat_id="d")) == ["vegan"]
    assert values(await admin(filled, "list", person_id="林澈", status="superseded")) == ["上海"]
    assert values(await admin(filled, "list", person_id="nobody")) == []
    assert values(await admin(filled, "list", entity="nothing")) == []
    assert values(await admin(filled, "list", attribute="pet")) == ["Rex (dog)"]


async def test_looking_for(filled: AMemorixHostService) -> None:
    assert values(await admin(filled, "query", text="berlin")) == ["Berlin"]
    assert values(await admin(filled, "query", text="花生", chat_id="d")) == []
    assert values(await admin(filled, "query", attribute="residence", status=["active"])) == ["Berlin", "北京"]
    assert values(await admin(filled, "search", person_id="林澈", valid_at=START + 1)) == ["花生", "上海"]
    assert values(await admin(filled, "query", person_id="林澈", attribute="residence", valid_at=START + 2 * DAY)) == [
        "北京"
    ]
    assert values(await admin(filled, "query", person_id="林澈", as_of=START)) == [], "nothing was recorded then"


async def test_as_the_memory_stood_then(opened: Open) -> None:
    clock = FrozenClock(START)
    host = await opened(clock=clock)
    await said(host, "c", ("林澈", "我住在上海", START))
    await host.settle(600)
    clock.advance(10 * DAY)
    await said(host, "c", ("林澈", "我搬到北京了", START + DAY))
    await host.settle(600)
    then = (await admin(host, "query", person_id="林澈", as_of=START + 5 * DAY))["items"]

    assert [(f["value"], f["status"], f["valid_to"], f["superseded_by"]) for f in then] == [
        ("上海", "active", None, "")
    ]
    assert values(await admin(host, "query", person_id="林澈", valid_at=START + 5 * DAY)) == ["北京"]
    assert values(await admin(host, "query", person_id="林澈", as_of=START + 20 * DAY)) == ["北京"]


async def test_the_chat_filter_hides_facts_too(opened: Open) -> None:
    host = await opened(filter={"chats": ["stream:c"]})
    await told(host, "林澈住在上海", source_type="person_fact", person_ids=["林澈"])
    messages = [{"speaker": "林澈", "text": "我对花生过敏"}]
    await host.invoke("ingest_messages", {"chat_id": "c", "messages": messages, "respect_filter": False})
    await host.settle(600)

    assert values(await admin(host, "list", chat_id="c")) == []
    assert values(await admin(host, "list", chat_id="d")) == ["上海"]
    assert values(await admin(host, "list")) == ["上海"]


async def test_status_and_pending(opened: Open) -> None:
    host = await opened(facts={"poll_interval_seconds": 3600})
    await host.settle(600)
    await said(host, "c", ("林澈", "我住在上海", START))
    waiting = await admin(host, "status")
    done = await admin(host, "process_pending")
    after = await admin(host, "status")

    assert waiting["lag"] > 0
    assert (done["steps"] > 0, done["lag"], after["lag"]) == (True, 0, 0)
    assert (after["counts"], after["total"]) == (
        {"active": 1, "maybe_outdated": 0, "conflicted": 0, "superseded": 0, "retracted": 0},
        1,
    )


async def test_ids_are_taken_with_and_without_their_letter(filled: AMemorixHostService) -> None:
    for fact in ("f1", "F1", "1", 1):
        assert (await admin(filled, "get", fact_id=fact))["fact"]["id"] == "f1"


async def test_superseding_by_hand(filled: AMemorixHostService) -> None:
    by = {item["value"]: item["id"] for item in (await admin(filled, "list"))["items"]}
    result = await admin(
        filled, "supersede", fact_id=by["Berlin"], value="Hamburg", valid_from="2023-05-01", reason="told me"
    )
    old = result["fact"]
    new = next(f for f in result["facts"] if f["value"] == "Hamburg") if len(result["facts"]) > 1 else None
    assert (old["value"], old["status"]) == ("Berlin", "superseded")
    assert values(await admin(filled, "query", person_id="Melanie", attribute="residence", status="active")) == [
        "Hamburg"
    ]
    assert new is None or new["id"] == old["superseded_by"]
    detail = await admin(filled, "get", fact_id=old["superseded_by"])
    assert (detail["fact"]["authority"], detail["evidence"]) == ("manual", [])


GET, RETRACT, RESOLVE, SUPERSEDE, UNDO, ADD, QUERY = "get", "retract", "resolve", "supersede", "undo", "add", "query"
REFUSED: dict[str, list[tuple[str, dict[str, Any], str]]] = {
    "invalid_request": [
        (GET, {}, "fact_id"),
        (GET, {"fact_id": "x"}, "fact_id"),
        (GET, {"fact_id": "p1"}, "fact_id"),
        (GET, {"fact_id": True}, "fact_id"),
        (GET, {"fact_id": 0}, "fact_id"),
        (RETRACT, {}, "fact_id"),
        (RESOLVE, {}, "winner"),
        (SUPERSEDE, {"fact_id": "f2"}, "value"),
        (SUPERSEDE, {"fact_id": "f2", "value": "x", "superseded_by": "f3"}, "value"),
        (SUPERSEDE, {"fact_id": "f2", "value": " 北京 "}, "value"),
        (SUPERSEDE, {"fact_id": "f2", "value": "。"}, "value"),
        (SUPERSEDE, {"fact_id": "f2", "value": "x", "valid_from": "nonsense"}, "valid_from"),
        (UNDO, {}, "undo_id"),
        (UNDO, {"undo_id": "f1"}, "undo_id"),
        (ADD, {"attribute": "residence", "value": "上海"}, "person_id"),
        (ADD, {"person_id": "林澈", "entity": "Blue Bird", "attribute": "a", "value": "b"}, "person_id"),
        (ADD, {"person_id": "林澈", "attribute": "a", "value": ""}, "value"),
        (ADD, {"person_id": "林澈", "attribute": "a", "value": "x" * 1001}, "value"),
        (ADD, {"person_id": "林澈", "attribute": " ", "value": "b"}, "attribute"),
        (ADD, {"person_id": "林澈", "attribute": "a", "value": "b", "valid_from": "不是时间"}, "valid_from"),
        (QUERY, {}, "text"),
        (QUERY, {"text": "  "}, "text"),
        (QUERY, {"as_of": START}, "person_id"),
        (QUERY, {"person_id": "林澈", "as_of": START, "valid_at": START}, "valid_at"),
        (QUERY, {"person_id": "林澈", "as_of": "nonsense"}, "as_of"),
        (QUERY, {"status": ["gone"]}, "status.0"),
        ("list", {"limit": 0}, "limit"),
        ("list", {"offset": -1}, "offset"),
        ("list", {"status": "gone"}, "status.0"),
        ("conflicts", {"limit": 1001}, "limit"),
    ],
    "not_found": [
        (GET, {"fact_id": "f999"}, "fact_id"),
        (GET, {"fact_id": "f1", "chat_id": "d"}, "fact_id"),
        (RETRACT, {"fact_id": 999}, "fact_id"),
        (RESOLVE, {"winner": "f999"}, "winner"),
        (SUPERSEDE, {"fact_id": "f999", "value": "x"}, "fact_id"),
        (SUPERSEDE, {"fact_id": "f2", "superseded_by": "f999"}, "superseded_by"),
        (UNDO, {"undo_id": "u999"}, "undo_id"),
        (ADD, {"person_id": "nobody", "attribute": "a", "value": "b"}, "person_id"),
        (ADD, {"person_id": "林澈", "attribute": "a", "value": "b", "chat_id": "nowhere"}, "chat_id"),
        (ADD, {"person_id": "林澈", "attribute": "a", "value": "b", "chat_id": "d"}, "person_id"),
        (ADD, {"entity": "nothing", "attribute": "a", "value": "b"}, "entity"),
    ],
    "conflict": [
        (RESOLVE, {"winner": "f2"}, "winner"),
        (SUPERSEDE, {"fact_id": "f1", "value": "x"}, "fact_id"),
        (SUPERSEDE, {"fact_id": "f2", "superseded_by": "f2"}, "superseded_by"),
        (SUPERSEDE, {"fact_id": "f2", "superseded_by": "f1"}, "superseded_by"),
        (SUPERSEDE, {"fact_id": "f2", "superseded_by": "f4"}, "superseded_by"),
    ],
}
"""Error code -> (action, arguments, the field that is named)."""


async def test_what_is_refused(filled: AMemorixHostService) -> None:
    before = await admin(filled, "list")
    for code, calls in REFUSED.items():
        for action, args, field in calls:
            await refused(filled, "memory_fact_admin", {"action": action, **args}, field, code)
    assert await admin(filled, "list") == before


async def test_what_is_retracted_cannot_be_retracted_again(filled: AMemorixHostService) -> None:
    await admin(filled, RETRACT, fact_id="f2")
    await refused(filled, "memory_fact_admin", {"action": RETRACT, "fact_id": "f2"}, "fact_id", "conflict")


async def test_a_name_that_two_persons_have_is_nobody(host: AMemorixHostService) -> None:
    messages = [{"person_id": key, "speaker": "小美", "text": "大家好"} for key in ("p1", "p2")]
    await host.invoke("ingest_messages", {"chat_id": "c", "messages": messages})
    new = {"action": ADD, "person_id": "小美", "attribute": "residence", "value": "上海"}
    await refused(host, "memory_fact_admin", new, "person_id")
    assert (await admin(host, ADD, person_id="p1", attribute="residence", value="上海"))["fact"]["person_id"] == "p1"


async def test_an_undo_record_of_something_else_is_not_ours(filled: AMemorixHostService) -> None:
    change(filled, "insert into undo_records (kind, detail, created_at) values ('other', '{}', 0)")
    ((row,),) = rows(filled, "select max(id) from undo_records")
    await refused(filled, "memory_fact_admin", {"action": UNDO, "undo_id": f"u{row}"}, "undo_id", "not_found")
