"""Commands on people and chats: chats, people, log, show, profile, facts, context, forget."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Annotated, TypeVar

import typer

from ...errors import InvalidRequest
from ...locale import spoken, told, word
from ...profiles.items import HEADINGS as SECTIONS
from ...profiles.statements import cut_at_phrase, fact_section, worded_fact
from ..python.calls import AsyncCalls, CallsOf, local_time, memo_of, selected
from .memory_client import opened, remark_unread
from .terminal import DEFAULT_CONFIG, MemoryPath, columns, confirmed, counted, out, print_stored, remark, say

T = TypeVar("T")
Who = Annotated[str, typer.Argument(metavar="WHO", help="Id, name or alias.")]
Chat = Annotated[str, typer.Option("--chat", help="As far as this chat may see it; without it everything.")]
Last = Annotated[int, typer.Option("--last", "-n", min=1, max=1_000, help="How many.")]
EXAMPLES = 5
"""Of each kind, what is shown before it is forgotten."""
SUMMARY_CHARS = 100
"""Of what is known of a person, in the list of people."""
HEADINGS = ("paragraphs", "facts", "relations", "entities", "episodes", "profiles", "aliases", "persons", "chats")
"""What is counted of a deletion."""
ITEM_TYPES = {"entities": "entity", "profiles": "profile_override", "aliases": "person_alias"}
"""Where that of its items is not the same word without its last letter."""
FACT_STATES = {"active": "active", "maybe_outdated": "possibly outdated", "conflicted": "contradicted"}


def _asked(config: Path, ask: Callable[[AsyncCalls], Awaitable[T]], *, of_facts: bool = False) -> T:
    """What the memory answers; of facts with a remark where some of what is stored has not been read yet."""

    async def asked() -> T:
        async with opened(config) as memory:
            if of_facts:
                await remark_unread(memory)
            return await ask(CallsOf(memory))

    return asyncio.run(asked())


def chats(
    text: Annotated[str, typer.Argument(help="Part of a chat's id.")] = "",
    last: Last = 50,
    config: MemoryPath = DEFAULT_CONFIG,
) -> None:
    """List the chats, the one talked in last first."""
    found = _asked(
        config, lambda memory: memory.call("memory_text_admin", action="chats", text=text, limit=last, scope="all")
    )
    table = columns("chat", "texts", "first", "last", right=("texts",))
    for one in found["items"]:
        days = (f"{local_time(one[key], found['timezone']):%Y-%m-%d %H:%M}" for key in ("first", "last"))
        table.add_row(one["chat_id"], str(one["texts"]), *days)
    out().print(table)


def people(
    text: Annotated[str, typer.Argument(help="Part of an id, a name or an alias.")] = "",
    last: Last = 50,
    config: MemoryPath = DEFAULT_CONFIG,
) -> None:
    """List the people of whom something is known."""
    found = _asked(
        config,
        lambda memory: memory.call("memory_profile_admin", action="list", keyword=text, limit=min(last, 200)),
        of_facts=True,
    )
    table = columns("person", "name", "also", "what is known")
    for one in found["items"]:
        summary = " · ".join(one["summary"].splitlines()[1:])
        table.add_row(
            one["person_id"], one["person_name"], ", ".join(one["aliases"]), cut_at_phrase(summary, SUMMARY_CHARS)
        )
    out().print(table)


def log(
    chat: Annotated[str, typer.Argument(help="The chat.")],
    last: Last = 50,
    config: MemoryPath = DEFAULT_CONFIG,
) -> None:
    """Print the last lines of a chat, the newest last."""
    wanted = {"action": "list", "chat_id": chat, "limit": last, "order": "said"}
    found = _asked(config, lambda memory: memory.call("memory_text_admin", wanted))
    for row in reversed(found["items"]):
        one = memo_of(row, found["timezone"])
        at = f"{one.time:%Y-%m-%d %H:%M}  " if one.time else ""
        print_stored(f"{at}{one.speaker + ': ' if one.speaker else ''}{one.text}  [{one.id}]")
    if not found["items"]:
        remark(f"The chat {chat!r} holds nothing; `amemorix chats` lists those that do.")


def show(ids: Annotated[list[str], typer.Argument(help="Such as p12.")], config: MemoryPath = DEFAULT_CONFIG) -> None:
    """Show texts with where they are from."""
    if facts := [one for one in ids if one[:1] == "f" and one[1:].isdigit()]:
        raise InvalidRequest(
            f"ids: {facts[0]} is a fact: `amemorix call memory_fact_admin get --fact-id {facts[0]}` shows it.",
            field="ids",
        )
    found = _asked(
        config, lambda memory: memory.call("memory_text_admin", {"action": "get", "ids": ids, "scope": "all"})
    )
    for one in found["items"]:
        print_stored(one["text"])
        for key in (
            "id",
            "speaker",
            "chat_id",
            "source",
            "time",
            "recorded_at",
            "expires_at",
            "external_id",
            "tags",
            "metadata",
        ):
            value = one[key]
            if value and key in ("time", "recorded_at", "expires_at"):
                value = f"{local_time(value, found['timezone']):%Y-%m-%d %H:%M:%S}"
            if value:
                print_stored(f"  {key}: {value}", "dim")
    if found["missing"]:
        remark(f"There is no {', '.join(found['missing'])}.", "red")
        raise typer.Exit(1)


def profile(who: Who, chat: Chat = "", config: MemoryPath = DEFAULT_CONFIG) -> None:
    """Print what is known of a person."""
    found = _asked(config, lambda memory: memory.profile(who, chat=chat), of_facts=True)
    (print_stored if found.text else say)(str(found))


def facts(who: Who, chat: Chat = "", last: Last = 50, config: MemoryPath = DEFAULT_CONFIG) -> None:
    """Print what is held true of a person, since when, and on which texts it stands."""
    found = _asked(config, lambda memory: memory.facts(who, chat=chat, limit=last), of_facts=True)
    table, chinese, year = columns("fact", "what", "since", "status", "evidence"), spoken() == "zh", datetime.now().year
    for one in found:
        since = f"{one.since:%Y-%m-%d}" if one.since else ""
        what = worded_fact(one.attribute, one.value, one.denied, chinese, year)
        if what == one.value and one.attribute != "statement":  # its section would say what it is
            section = SECTIONS[fact_section(one.attribute, "", one.denied, one.value)][chinese]
            what = f"{section}{'：' if chinese else ': '}{what}"
        state = word(FACT_STATES.get(one.status, one.status))
        table.add_row(one.id, f"{one.person}: {what}", since, state, " ".join(one.evidence[:3]))
    out().print(table)


def context(
    text: Annotated[str, typer.Argument(help="What was said last.")],
    chat: Chat = "",
    user: Annotated[str, typer.Option(help="Who said it.")] = "",
    budget: Annotated[int, typer.Option(min=50, max=20_000, help="Most tokens.")] = 800,
    config: MemoryPath = DEFAULT_CONFIG,
) -> None:
    """Print what the memory would put into a bot's prompt."""
    turns = [{"role": "user", "content": text, **({"name": user} if user else {})}]
    everything = not (chat or user)
    found = _asked(
        config, lambda memory: memory.context(turns, chat=chat, user=user, budget=budget, everything=everything)
    )
    print_stored(found.text)
    remark(f"{found.tokens} tokens")


def forget(
    what: Annotated[
        str, typer.Argument(metavar="WHO|CHAT|p12", help="A person, a chat with --chat, or a text by its id.")
    ] = "",
    chat: Annotated[
        str, typer.Option("--chat", help="The chat; beside a person: what that chat holds of them alone.")
    ] = "",
    purge: Annotated[bool, typer.Option("--purge", help="Erase it for good.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    config: MemoryPath = DEFAULT_CONFIG,
) -> None:
    """Delete a person, a chat or a text, after a look at what goes."""
    is_text = what[:1] == "p" and what[1:].isdigit()
    given: dict[str, str] = {"id": what} if is_text else {"user": what, "chat": chat}

    async def forgotten(memory: AsyncCalls) -> None:
        plan = await memory.call("memory_delete_admin", action="preview", **selected(**given))
        say("This would go:" if any(plan["counts"].values()) else "Nothing would go.")
        for plural in HEADINGS:
            count = plan["counts"].get(plural, 0)
            older = plan["counts"].get("superseded", 0) if plural == "paragraphs" else 0
            if not (count or older):
                continue
            say(f"  {counted(count, plural)}" + (f" ({told(f'with {older:,} older wordings')})" if older else ""))
            listed = [one for one in plan["items"] if one["item_type"] == ITEM_TYPES.get(plural, plural[:-1])]
            if listed:
                _print_some([f"{one['item_key']}  {one['label']}" for one in listed], count + older)
        if stays := plan["stays"]:
            say("This stays:")
            _print_some([f"{one['item_key']}  {one['label']} ({told(one['why'])})" for one in stays], len(stays))
        if not (yes or confirmed("Erase them for good?" if purge else "Delete them?")):
            raise typer.Exit(1)
        gone = await memory.forget(**given, purge=purge)
        if purge:
            say(f"{gone.texts} texts erased for good.")
        else:
            back = f"amemorix call memory_delete_admin restore --operation-id {gone.operation}"
            say(f"{gone.texts} texts deleted; `{back}` brings them back.")
        for file in gone.left:
            remark(f"Something was left in {file}.", "red")

    _asked(config, forgotten)


def _print_some(lines: Sequence[str], count: int) -> None:
    """The first lines, and how many of all `count` they leave out."""
    for line in lines[:EXAMPLES]:
        print_stored(f"    {line}", "dim")
    if count > (shown := len(lines[:EXAMPLES])):
        say(f"    {count - shown:,} more are not listed", "dim")
