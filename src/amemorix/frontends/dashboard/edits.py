"""Calls of MaiBot's dashboard that change something, and of which an operation takes another shape, or several do."""

from __future__ import annotations

from typing import Any

from ...errors import InvalidRequest, NotFound
from . import shapes
from .page_call import Answer, Handler, PageCall

__all__ = [
    "add_fact", "change_fact", "create_import", "deletes", "preview_correction", "restore_fact", "retry_import", "save_aliases",
    "tuning_profile",
]  # fmt: skip

FACTS = "memory_fact_admin"


async def add_fact(call: PageCall) -> Answer:
    if call.text("scope_type") == "chat":
        raise InvalidRequest(
            "A fact is about a person: give scope_type person and whom it is about.", field="scope_type"
        )
    args = call.take(
        "reason",
        "valid_from",
        person_id="scope_id",
        attribute="fact_key",
        value="value_text",
        requested_by="updated_by",
    )
    args |= {"chat_id": call.chat} if call.chat else {}
    found = await call.ask(FACTS, "add", denied=call.text("polarity") == "negative", **args)
    return {**found, **shapes.fact_change(found)}


async def change_fact(call: PageCall) -> Answer:
    """Say what is true in the place of a fact; what it is about stays."""
    before = (await call.ask(FACTS, "get", fact_id=call.text("id"), **call.scope))["fact"]
    kept = {"fact_key": before["attribute"], "polarity": "negative" if before["denied"] else "positive"}
    for field, value in kept.items():
        if call.given.get(field, value) != value:
            raise InvalidRequest(
                f"{field}: only the value of a fact can be changed; add another for the rest.", field=field
            )
    args = call.take("reason", "valid_from", fact_id="id", value="value_text", requested_by="updated_by")
    found = await call.ask(FACTS, "supersede", **args)
    stands = (await call.ask(FACTS, "get", fact_id=found["fact"]["superseded_by"], **call.scope))["fact"]
    return {**found, **shapes.fact_change(found), "claim": stands, "replaced": True}


async def restore_fact(call: PageCall) -> Answer:
    """Take back that a fact was retracted. Raises NotFound."""
    changes = (await call.ask(FACTS, "get", fact_id=call.text("id"), **call.scope))["transitions"]
    undo = next((one["undo_id"] for one in reversed(changes) if one["became"] == "retracted" and one["undo_id"]), "")
    if not undo:
        raise NotFound(f"Nobody has retracted the fact {call.text('id')}.", field="id")
    found = await call.ask(FACTS, "undo", undo_id=undo, **call.take("reason", "requested_by"))
    return {**found, **shapes.fact_change(found)}


async def save_aliases(call: PageCall) -> Answer:
    """Let exactly these names, and the person's own, mean a person."""
    wanted: Any = call.given.get("aliases")
    if not isinstance(wanted, list):
        raise InvalidRequest("aliases must be a list of names.", field="aliases")
    person = call.text("person_id")
    known = (await call.ask("memory_profile_admin", "query", person_id=person))["aliases"]
    for action, names in (
        ("add_alias", [one for one in wanted if one not in known]),
        ("remove_alias", [one for one in known if one not in wanted]),
    ):
        for name in names:
            await call.ask("memory_profile_admin", action, person_id=person, alias=name)
    found = await call.ask("memory_profile_admin", "query", person_id=person)
    return {**found, **shapes.aliases(found)}


def deletes(action: str, *names: str) -> Handler:
    """A call of the deletion: what pages call hashes are ids."""

    async def answer(call: PageCall) -> Answer:
        selector: Any = call.given.get("selector")
        if isinstance(selector, dict):
            selector = {key.replace("hashes", "ids"): value for key, value in selector.items()}
        found = await call.ask("memory_delete_admin", action, selector=selector, **call.take("mode", *names))
        return {**found, **shapes.deletion(found)}

    return answer


async def preview_correction(call: PageCall) -> Answer:
    """What a correction would change: of a chat, or of every one where none is named."""
    if call.given.get("targets"):
        raise InvalidRequest(
            "A correction is said in words; rows that are chosen cannot be corrected together.", field="targets"
        )
    args = call.take("reason", "requested_by", "person_id", text="request_text")
    args |= {"person_id": call.text("person_keyword")} if call.text("person_keyword") else {}
    args |= {"chat_id": call.chat} if call.chat else {"allow_global": True}
    found = await call.ask("memory_correction_admin", "preview", **args)
    return {**found, **shapes.plan_preview(found)}


def create_import(kind: str) -> Handler:
    """A call that begins an import; what the pages set for another engine is told back as not known."""

    async def create(call: PageCall) -> Answer:
        files = {"files": call.staged} if call.staged else {}
        found = await call.ask("memory_import_admin", f"create_{kind}", **{**call.given, **files})
        return {**found, **shapes.import_task(found)}

    return create


async def retry_import(call: PageCall) -> Answer:
    """Read again what failed, with those settings of the page that an import takes anew."""
    given: Any = call.given.get("overrides")
    given = given if isinstance(given, dict) else {}
    overrides = {key: given[key] for key in ("chat_id", "strategy_override") if key in given}
    found = await call.ask("memory_import_admin", "retry_failed", task_id=call.text("task_id"), overrides=overrides)
    return {**found, **shapes.import_task(found)}


async def tuning_profile(call: PageCall) -> Answer:
    """The retrieval settings at work, which are those of the configuration file."""
    found = await call.ask("memory_tuning_admin", "get_profile")
    exported = await call.ask("memory_tuning_admin", "export_profile")
    return {
        **found,
        "runtime_profile": found["profile"],
        "persistable_profile": found["profile"],
        "toml": exported["toml"],
    }
