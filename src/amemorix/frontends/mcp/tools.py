"""The tools that a model is offered: those for everyday, and two that reach every other operation."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import datetime
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from ...errors import InvalidRequest, UnknownComponent
from ...fields import Name, RequiredName, TimeInput
from ...host.operations import OPERATIONS
from ...ops import Effect, NoArguments, Operations, Request, did_you_mean
from ...search import LIKELY
from ..python.calls import AsyncCalls, added_of, default_wait, facts_of, local_time, memo_of, scope_of, selected
from ..python.results import Added, Fact, Memo

__all__ = ["TOOLS", "Reading"]

TOOLS: Operations[AsyncCalls] = Operations()
LATEST = 1_000
"""Texts of a chat that `people` looks at."""
SHOWN = 20
"""Of a list in a preview."""
Status = Literal["active", "maybe_outdated", "conflicted", "superseded", "retracted"]


class Scope(Request):
    """Whose memory is meant."""

    chat: Name = Field("", description="Id of the chat, group or channel.")
    user: Name = Field("", description="Id of a person: their private chat; beside `chat`, the one who asks there.")


class Reading(Scope):
    """Whose memory is read."""

    everything: bool = Field(False, description="All that is stored, of every chat and person.")

    @property
    def where(self) -> dict[str, Any]:
        """The arguments of an operation. Raises InvalidRequest where nobody is named."""
        return scope_of(self.user, self.chat, everything=self.everything)


class AnyAnswer(BaseModel):
    """What an operation answers."""

    model_config = ConfigDict(extra="allow")


# writing


class Remember(Reading):
    """What to remember."""

    text: str = Field("", description="The text, as it was said.")
    speaker: Name = Field("", description="Who said it, by name or id, in a chat of several.")
    about: Name = Field("", description="Who it is a fact about, where you put it in words of your own.")
    messages: list[dict[str, Any]] = Field(
        default_factory=list[dict[str, Any]],
        max_length=500,
        description="In place of `text`, turns of a chat in order: `speaker` or `role`, `text` or `content`, and `time`, `id`.",
    )
    time: TimeInput = Field(None, description="When it was said, if not now: ISO 8601, or `yesterday`, `上周三`.")
    id: Name = Field("", description="An id of your own: the same id with another text replaces the text.")


class Remembered(BaseModel):
    """Ids of the texts."""

    stored: list[str]
    there_already: list[str] = Field(default_factory=list)
    refused: str = Field("", description="Why the settings let nothing in.")
    wait_error: str = Field(
        "", description="Why `recall` finds it by its words alone so far, such as the model's error."
    )


@TOOLS.operation("remember", effect="write")
async def remember(memory: AsyncCalls, request: Remember) -> Remembered:
    """Store what somebody said or what should be known later; it is durable when this returns.

    Keep the words that were used ("I'm allergic to peanuts", with `user` or `speaker` for who said it); for something
    that you learned otherwise, give a whole sentence and `about`. What contradicts it is put in order by the memory itself.
    `everything` makes it a note that every chat may see.
    """
    if request.about:
        if request.messages or request.speaker:
            raise InvalidRequest("remember: about: it goes with `text` alone.", field="about")
        where = {"scope": "global"} if request.everything else request.where
        answer = await memory.call(
            "ingest_text", {
                "text": request.text, "source_type": "person_fact", "person_ids": [request.about],
                "timestamp": request.time, "external_id": request.id or None, "wait": default_wait(1), **where,
            },
        )  # fmt: skip
        return _remembered(added_of(answer))
    if request.speaker:
        if request.messages or request.everything:
            raise InvalidRequest("remember: speaker: it goes with `text`, in a chat.", field="speaker")
        turn = {
            "speaker": request.speaker,
            "text": request.text,
            "time": request.time,
            "external_id": request.id or None,
        }
        done = await memory.add(messages=[turn], user=request.user, chat=request.chat)
    else:
        done = await memory.add(
            request.text, messages=request.messages, user=request.user, chat=request.chat, time=request.time,
            id=request.id, everything=request.everything,
        )  # fmt: skip
    return _remembered(done)


def _remembered(done: Added) -> Remembered:
    return Remembered(
        stored=list(done.ids), there_already=list(done.skipped), refused=done.refused, wait_error=done.wait_error
    )


class Correct(Reading):
    """What is wrong, or the plan to carry out."""

    text: str = Field("", description="What is wrong and what is right, in a sentence.")
    person: Name = Field("", description="Whom `I`, `he` or a name that several have means.")
    plan: Name = Field("", description="The `plan` of a preview, to carry it out.")


class Replacement(BaseModel):
    """A text that search no longer gives, and what stands in its place (empty: nothing)."""

    id: str
    text: str
    becomes: str = ""


class Correction(BaseModel):
    """What would change, or has changed."""

    plan: str
    status: Literal["preview", "executed"]
    wrong: str = ""
    right: str = ""
    confidence: float = Field(default=0.0, description="Of a preview; 0 if nothing stored says what is wrong.")
    replacements: list[Replacement] = Field(default_factory=list[Replacement])
    note: str = Field(
        default="", description="The sentence that is stored, where no line is corrected in its own words."
    )
    facts: list[str] = Field(default_factory=list, description="Held true no longer.")
    relations: list[str] = Field(default_factory=list, description="Those that end.")


@TOOLS.operation("correct", effect="destructive")
async def correct(memory: AsyncCalls, request: Correct) -> Correction:
    """Put right what is remembered wrongly, in words: "Mia doesn't work at Google any more, she works at Stripe".

    Two steps: with `text` you get a preview that changes nothing and a `plan`; look at it, ask the user where it is
    not plain, then call again with that `plan` alone to carry it out. `restore` takes it back.
    """
    if bool(request.text) == bool(request.plan):
        raise InvalidRequest("correct: text: give a text for a preview, or the plan of one.", field="text")
    if request.plan:
        done = await memory.call(
            "memory_correction_admin", {"action": "execute", "plan_id": request.plan, "confirmed": True}
        )
        plan = done["plan"]
        return Correction(plan=plan["plan_id"], status="executed", wrong=plan["wrong"], right=plan["right"])
    where = {"allow_global": True} if request.everything else request.where
    found = await memory.call(
        "memory_correction_admin", {"action": "preview", "text": request.text, "person_id": request.person, **where}
    )
    shown = [Replacement(id=one["id"], text=one["content"], becomes=one["becomes"]) for one in found["replacements"]]
    same = {key: found[key] for key in ("wrong", "right", "confidence", "note", "facts", "relations")}
    return Correction(plan=found["plan_id"], status="preview", replacements=shown, **same)


class Forget(Scope):
    """What to forget."""

    ids: list[Name] = Field(default_factory=list[str], max_length=1_000, description="Texts, such as `p12`.")
    confirm: Name = Field("", description="The `confirm` of the preview: delete exactly that.")
    purge: bool = Field(False, description="Erase it for good, from backups too; nothing can restore it then.")


class Going(BaseModel):
    """A row that goes, or stays, and why."""

    id: str
    text: str
    why: str = ""


class Forgetting(BaseModel):
    """What would be deleted, or was."""

    status: Literal["preview", "deleted", "erased for good"]
    texts: int = Field(description="How many texts go.")
    items: list[Going] = Field(default_factory=list[Going], description="The first of what goes.")
    stays: list[Going] = Field(
        default_factory=list[Going], description="What one might expect to go, and why it stays."
    )
    missing: list[str] = Field(default_factory=list, description="What is named and is not there.")
    confirm: str = Field(default="", description="Of a preview: give it back to delete exactly this.")
    operation: str = Field(default="", description="Of a deletion: `restore` takes it.")


@TOOLS.operation("forget", effect="destructive")
async def forget(memory: AsyncCalls, request: Forget) -> Forgetting:
    """Delete a person (`user`) with all that is known of them, a chat (`chat`), what a chat holds of a person (both), or texts (`ids`).

    Two steps: without `confirm` you get a preview and nothing is deleted; show it to the user, then call again with the
    same arguments and its `confirm`. `restore` brings it back, unless it was erased with `purge`.
    """
    chosen = selected(user=request.user, chat=request.chat, id=request.ids)
    if not request.confirm:
        plan = await memory.call("memory_delete_admin", {"action": "preview", **chosen})
        items, stays = ([_going(one) for one in plan[key][:SHOWN]] for key in ("items", "stays"))
        return Forgetting(
            status="preview", texts=plan["counts"].get("paragraphs", 0), missing=plan["missing"], confirm=plan["plan_token"],
            items=items, stays=stays,
        )  # fmt: skip
    done = await memory.call(
        "memory_delete_admin", action="execute", plan_token=request.confirm, purge=request.purge, **chosen
    )
    return Forgetting(
        status="erased for good" if request.purge else "deleted",
        texts=done["deleted_paragraph_count"],
        operation="" if request.purge else done["operation_id"],
    )


def _going(row: dict[str, Any]) -> Going:
    return Going(id=row["item_key"], text=row["label"], why=row["why"])


class Restore(Request):
    """What to take back."""

    operation: RequiredName = Field(
        description="The `operation` of `forget` (`d3`), or the `plan` of `correct` (`c3`)."
    )


class Restored(BaseModel):
    """How many texts are back."""

    operation: str
    texts: int


@TOOLS.operation("restore", effect="write")
async def restore(memory: AsyncCalls, request: Restore) -> Restored:
    """Take back a deletion or a correction, as long as it was not erased for good."""
    if request.operation.startswith("c"):
        done = await memory.call("memory_correction_admin", {"action": "rollback", "plan_id": request.operation})
        return Restored(operation=request.operation, texts=len(done["plan"]["superseded_ids"]))
    return Restored(operation=request.operation, texts=await memory.restore(request.operation))


# reading


class Recall(Reading):
    """What to look for."""

    query: str = Field(min_length=1, description="A question or some words, in any language.")
    about: Name = Field("", description="Only what this person said, or what is about them: id, name or alias.")
    since: TimeInput = Field(None, description="Only from then on: ISO 8601, or `last week`, `上周三`.")
    until: TimeInput = Field(None, description="Only up to then.")
    limit: int = Field(5, ge=1, le=50)


class Recalled(BaseModel):
    """What was found, the likeliest first; nothing that is unlikely to answer."""

    texts: list[Memo]
    facts: list[Fact] = Field(description="Held true of those whom the query names.")
    said: str = Field(
        "", description="That nothing is known of it, where neither a text nor a fact is likely to answer."
    )
    weak: bool = Field(
        default=False, description="It is unlikely that anything stored answers: say so rather than guess."
    )
    corrected: dict[str, str] = Field(
        default_factory=dict, description="Words of the query, and what they were taken for."
    )


@TOOLS.operation("recall")
async def recall(memory: AsyncCalls, request: Recall) -> Recalled:
    """Search what was said and is known, by words, meaning, person and time; each text has the probability that it answers.

    Use it before you say that you do not know something about a person, a plan or an earlier conversation.
    """
    hits = await memory.search(
        request.query, user=request.user, chat=request.chat, limit=request.limit, about=request.about,
        since=request.since, until=request.until, everything=request.everything, min_confidence=LIKELY,
    )  # fmt: skip
    texts, facts = [_shown(hit) for hit in hits], list(hits.facts)
    said = "" if texts or facts else "Nothing is known of that."
    return Recalled(texts=texts, facts=facts, said=said, weak=hits.weak or bool(said), corrected=dict(hits.corrected))


def _shown(text: Memo) -> Memo:
    """Without what a model cannot use."""
    return replace(text, why={}, external_id="")


class GetContext(Reading):
    """What was said last."""

    query: str = Field("", description="The user's last message.")
    messages: list[dict[str, Any]] = Field(
        default_factory=list[dict[str, Any]], max_length=50,
        description="In place of `query`, the last turns, the oldest first: `role` and `content`.",
    )  # fmt: skip
    budget: int = Field(800, ge=50, le=20_000, description="Most tokens.")


class ContextText(BaseModel):
    """What the memory knows that matters now."""

    text: str
    ids: list[str] = Field(default_factory=list, description="Of what stands in it.")
    truncated: bool = False


@TOOLS.operation("get_context")
async def get_context(memory: AsyncCalls, request: GetContext) -> ContextText:
    """Get all that matters to the conversation now in one text: who is there, what is held true, what was said, open plans.

    The best first call in a conversation; `recall` answers single questions.
    """
    if bool(request.query) == bool(request.messages):
        raise InvalidRequest("get_context: query: give a query or messages.", field="query")
    turns = request.messages or [{"role": "user", "content": request.query}]
    found = await memory.context(
        turns, user=request.user, chat=request.chat, budget=request.budget, everything=request.everything
    )
    return ContextText(text=found.text, ids=list(found.ids), truncated=found.truncated)


class WhoIs(Reading):
    """Whose profile."""

    person: RequiredName = Field(description="Id, name or alias.")
    query: str = Field("", description="What it is asked for: what matters for it comes first.")


class Profile(BaseModel):
    """What is known of a person."""

    known: bool
    id: str
    name: str = ""
    aliases: list[str] = Field(default_factory=list)
    text: str = ""
    stale: bool = Field(default=False, description="There is news that it does not tell yet.")


@TOOLS.operation("who_is")
async def who_is(memory: AsyncCalls, request: WhoIs) -> Profile:
    """Tell what is known of a person: who they are, what they like, have and plan, by section and newest word first."""
    found = await memory.call("get_person_profile", person_id=request.person, query=request.query, **request.where)
    return Profile(
        known=found["known"], id=found["person_id"], name=found["person_name"], aliases=found["aliases"],
        text=found["summary"], stale=found["stale"],
    )  # fmt: skip


class ListFacts(Reading):
    """Which facts."""

    person: Name = Field("", description="Only of this person: id, name or alias.")
    text: str = Field("", description="Only those that hold these words.")
    status: list[Status] = Field(
        ["active", "maybe_outdated", "conflicted"],
        description="`superseded` and `retracted` are what is held true no longer.",
    )
    limit: int = Field(50, ge=1, le=200)


class Facts(BaseModel):
    """Facts, the newest first."""

    facts: list[Fact]


@TOOLS.operation("facts")
async def facts(memory: AsyncCalls, request: ListFacts) -> Facts:
    """List single facts with since when they are true, whether something contradicts them, and the texts that say so."""
    asked = {"action": "query", "text": request.text} if request.text else {"action": "list"}
    found = await memory.call(
        "memory_fact_admin",
        **asked,
        person_id=request.person,
        status=request.status,
        limit=request.limit,
        **request.where,
    )
    return Facts(facts=list(facts_of(found["items"], found["timezone"])))


class Timeline(Reading):
    """Which texts."""

    person: Name = Field("", description="Only what this person said, or what is about them.")
    since: TimeInput = Field(None, description="Only from then on: ISO 8601, or `yesterday`, `上周三`.")
    until: TimeInput = Field(None, description="Only up to then.")
    before: Name = Field("", description="The page before: the `next` of the last one.")
    limit: int = Field(30, ge=1, le=500)


class Texts(BaseModel):
    """A page of texts, as they followed each other."""

    texts: list[Memo]
    next: str = Field(default="", description="Give it as `before` for what came earlier; empty at the beginning.")


@TOOLS.operation("timeline")
async def timeline(memory: AsyncCalls, request: Timeline) -> Texts:
    """Read what was said when, word for word, the latest page first; for "what did we talk about yesterday"."""
    found = await memory.call(
        "memory_text_admin", action="list", person_id=request.person, time_start=request.since, time_end=request.until,
        before=request.before or None, limit=request.limit, order="said", **request.where,
    )  # fmt: skip
    return Texts(
        texts=[_shown(memo_of(one, found["timezone"])) for one in reversed(found["items"])], next=found["next"]
    )


class Episodes(Reading):
    """Which stretches of talk."""

    id: Name = Field("", description="Read this one whole, such as `e3`.")
    query: str = Field("", description="What they are about; without it the newest come first.")
    person: Name = Field("", description="Only those that this person takes part in.")
    since: TimeInput = Field(None, description="Only what went on then or later.")
    until: TimeInput = Field(None, description="Only what began by then.")
    limit: int = Field(10, ge=1, le=100)


class Episode(BaseModel):
    """A stretch of talk."""

    id: str
    title: str = ""
    summary: str = ""
    chat: str = ""
    start: datetime | None = None
    end: datetime | None = None
    texts: list[Memo] = Field(default_factory=list[Memo], description="Of one that is read whole.")


class FoundEpisodes(BaseModel):
    """Stretches of talk."""

    episodes: list[Episode]


@TOOLS.operation("episodes")
async def episodes(memory: AsyncCalls, request: Episodes) -> FoundEpisodes:
    """Find conversations by what they were about, each with a title and a summary; with `id`, read one whole."""
    if request.id:
        one = await memory.call("memory_episode_admin", {"action": "get", "episode_id": request.id, **request.where})
        texts = [
            Memo(row["id"], row["content"], row["speaker"], local_time(row["time_start"], one["timezone"]))
            for row in one["paragraphs"]
        ]
        return FoundEpisodes(episodes=[_episode(one["episode"], texts, one["timezone"])] if one["episode"] else [])
    found = await memory.call(
        "memory_episode_admin", {
            "action": "list", "query": request.query, "person_id": request.person, "time_start": request.since,
            "time_end": request.until, "limit": request.limit, **request.where,
        },
    )  # fmt: skip
    return FoundEpisodes(episodes=[_episode(one, [], found["timezone"]) for one in found["items"]])


def _episode(row: dict[str, Any], texts: list[Memo], timezone: str) -> Episode:
    return Episode(
        id=row["episode_id"], title=row["title"], summary=row["summary"], chat=row["chat_id"],
        start=local_time(row["time_start"], timezone), end=local_time(row["time_end"], timezone), texts=texts,
    )  # fmt: skip


class Find(Reading):
    """Which of them."""

    text: str = Field("", max_length=512, description="Part of an id or a name.")
    limit: int = Field(50, ge=1, le=200)


class Person(BaseModel):
    """Somebody who is known."""

    id: str
    name: str = ""
    aliases: list[str] = Field(default_factory=list)
    texts: int = Field(default=0, description="Of the last thousand texts of the chat, how many are theirs.")
    summary: str = ""


class People(BaseModel):
    """Persons, those who say most first; of everything, those of whom something is known."""

    people: list[Person]


@TOOLS.operation("people")
async def people(memory: AsyncCalls, request: Find) -> People:
    """List the people of a chat, or with `everything` all of whom something is known; `who_is` tells more of one."""
    if request.everything and not (request.chat or request.user):
        found = await memory.call("memory_profile_admin", action="list", keyword=request.text, limit=request.limit)
        return People(
            people=[
                Person(id=one["person_id"], name=one["person_name"], aliases=one["aliases"], summary=one["summary"])
                for one in found["items"]
            ]
        )
    found = await memory.call("memory_text_admin", action="list", limit=LATEST, **request.where)
    said = Counter(
        (row["person_ids"][0], row["speaker"]) for row in found["items"] if row["speaker"] and row["person_ids"]
    )
    wanted = request.text.casefold()
    return People(
        people=[
            Person(id=id_, name=name, texts=texts)
            for (id_, name), texts in said.most_common()
            if wanted in f"{id_} {name}".casefold()
        ][: request.limit]
    )


class Chat(BaseModel):
    """A chat."""

    chat: str
    texts: int
    first: datetime | None = None
    last: datetime | None = None


class Chats(BaseModel):
    """Chats that hold something, the one talked in last first."""

    chats: list[Chat]


@TOOLS.operation("chats")
async def chats(memory: AsyncCalls, request: Find) -> Chats:
    """List the chats that may be read from here, the one talked in last first."""
    found = await memory.call(
        "memory_text_admin", action="chats", text=request.text, limit=request.limit, **request.where
    )
    zone = found["timezone"]
    return Chats(
        chats=[
            Chat(
                chat=one["chat_id"],
                texts=one["texts"],
                first=local_time(one["first"], zone),
                last=local_time(one["last"], zone),
            )
            for one in found["items"]
        ]
    )


@TOOLS.operation("memory_status")
async def memory_status(memory: AsyncCalls, request: NoArguments) -> AnyAnswer:  # noqa: ARG001
    """Tell how much is stored, whether search goes by meaning, and what a person should know, such as a missing model."""
    return AnyAnswer.model_validate(await memory.call("memory_stats"))


# every other operation


class Describe(Request):
    """Which operation."""

    component: Name = Field("", description="Such as `memory_graph_admin`; without it all are listed.")
    action: Name = Field("", description="Such as `merge_nodes`; without it those of the component are listed.")


class OperationItem(BaseModel):
    """An operation."""

    component: str
    action: str = ""
    effect: Effect
    role: str = Field(description="The role that the caller needs.")
    summary: str
    arguments: dict[str, Any] = Field(
        default_factory=dict[str, Any], description="Their JSON schema, of a single operation."
    )


class Described(BaseModel):
    """Operations."""

    operations: list[OperationItem]


@TOOLS.operation("describe_operation")
async def describe_operation(memory: AsyncCalls, request: Describe) -> Described:  # noqa: ARG001
    """List what else the memory can do, or tell the arguments of one operation; `call_operation` calls it."""
    component = OPERATIONS.older_names.get(request.component, request.component)
    found = [
        op
        for op in OPERATIONS
        if component in ("", op.component) and (not request.action or request.action in op.actions)
    ]
    if not found:
        meant = did_you_mean(component, OPERATIONS.components())
        told = (
            f"describe_operation: component: there is no operation {f'{component} {request.action}'.strip()!r}.{meant}"
        )
        raise UnknownComponent(told, field="component")
    return Described(
        operations=[
            OperationItem(
                component=op.component, action=op.action or "", effect=op.effect, role=op.role, summary=op.summary,
                arguments=op.request.model_json_schema() if len(found) == 1 else {},
            )
            for op in found
        ]
    )  # fmt: skip


class Call(Request):
    """The operation, and its arguments."""

    component: RequiredName = Field(description="Such as `memory_graph_admin`.")
    action: Name = Field("", description="Such as `merge_nodes`; `search_memory` and others have none.")
    arguments: dict[str, Any] = Field(default_factory=dict[str, Any])


@TOOLS.operation("call_operation", effect="destructive")
async def call_operation(memory: AsyncCalls, request: Call) -> AnyAnswer:
    """Call any operation of the memory: the graph, imports, backups, settings, tuning; `describe_operation` tells its arguments.

    One that deletes asks for no confirmation: ask the user first.
    """
    action = {"action": request.action} if request.action else {}
    return AnyAnswer.model_validate(await memory.call(request.component, {**request.arguments, **action}))
