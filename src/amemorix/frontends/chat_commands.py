"""What people may ask of the memory in a chat: `/记得`, `/忘了`, `/你记得我什么`, `/纠正`, `/帮助`, and the same in English."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ..errors import Conflict, InvalidRequest, MemoryFault, NotFound
from ..fields import MAX_QUERY_CHARS
from ..language.normalise import tokens
from ..language.times import asks_something
from ..lazy_regex import lazy_regex
from ..locale import Language
from ..profiles.items import HEADINGS
from ..search import LIKELY
from ..search.language.answer_type import asks
from .python.calls import AsyncCalls, Moment, local_time

__all__ = ["COMMANDS", "Asked", "ChatCommands"]

log = logging.getLogger(__name__)
COMMANDS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "about_me": (
        ("你还记得我什么", "你记得我什么", "你知道我什么"),
        ("what do you remember about me", "what do you know about me", "about me", "aboutme"),
    ),
    "recall": (("你还记得", "你记得", "还记得"), ("recall",)),
    "remember": (("记得", "记住"), ("remember",)),
    "forget": (("忘了", "忘掉", "忘记"), ("forget",)),
    "correct": (("纠正", "更正"), ("correct",)),
    "purge": (("彻底清除",), ("purge",)),
    "restore": (("恢复",), ("restore",)),
    "confirm": (("确认",), ("confirm",)),
    "cancel": (("取消",), ("cancel",)),
    "help": (("帮助",), ("help",)),
}
"""Command -> the words behind the slash, in Chinese and in English; the first that fits counts."""
_ALONE = ("about_me", "confirm", "cancel", "help")
"""Commands that nothing follows."""
_EVERYTHING = frozenset(
    {"全部", "所有", "一切", "我", "我的一切", "关于我的一切", "all", "everything", "me", "about me"}
)
_AROUND = " \t\r\n:：,，.。!！?？~～"
_NUMBERS = lazy_regex(r"[\d\s,，、.;；和-]+")
_RANGE = lazy_regex(r"(\d{1,3})(?:\s*-\s*(\d{1,3}))?")
_PARTICLES = "呢吗吧啊呀了"
_UNDOABLE = {"restore": lazy_regex(r"[dcDC]\d{1,18}"), "purge": lazy_regex(r"[dD]\d{1,18}")}
"""Commands that an id follows."""
MEANT = 0.5
"""How likely a text has to be what is meant to be forgotten, where it holds none of the words."""
MOST_LISTED, MOST_STATEMENTS, MOST_HITS = 10, 15, 3
LONGEST_LINE = 100
UNNAMED_KINDS = ("allergies", "likes", "dislikes")
"""Sections of statements that are bare values, which only their heading explains."""
WAITS_SECONDS = 600.0
"""How long a list of numbers, or a question, waits for its answer."""
MOST_WAITING = 10_000

_LANGUAGES: tuple[Language, Language] = ("zh", "en")
_Sayings = Mapping[str, str]
_SAID: dict[Language, _Sayings] = {
    "zh": {
        "remembered": "记住了：{text}",
        "what_to_remember": "要我记住什么？例如“/记得 周五晚上聚餐”。问我还记得什么，就说“/还记得 周五有什么安排”。",
        "nothing_found": "不记得了。",
        "not_stored": "（这句当成了提问，没有存下。）",
        "about": "关于你，我记得：",
        "more": "……还有 {n} 条",
        "about_hint": "哪里不对，说“/纠正 ……”；想让我忘掉，说“/忘了 ……”。",
        "about_nothing": "关于你，我还不知道什么。你说过的话，说“/忘了”可以看到。",
        "listed": "你在这里说过的，或是与你有关的：",
        "which": "要忘掉哪几条？说“/忘了 1 3”。要忘掉这里与你有关的全部，说“/忘了 全部”。",
        "nothing_to_forget": "这里没有你说过的、或是与你有关的这样的话。",
        "no_list": "先说“/忘了”，看看有哪些，再说要忘掉第几条。",
        "no_number": "没有第 {n} 条，什么也没有忘掉。",
        "all": "将忘掉我在这里记得的、与你有关的全部：{texts} 条话，{facts} 件事。",
        "confirm": "确定就说“/确认”，不要了就说“/取消”。",
        "forgotten": "忘掉了 {n} 条。后悔了说“/恢复 {id}”；要彻底清除、再也找不回来，说“/彻底清除 {id}”。",
        "already": "这些已经不在了。",
        "cancelled": "好，什么都没有改。",
        "which_restore": "恢复哪一次？例如“/恢复 d12”；每次忘掉或纠正之后，我都会说出它的编号。",
        "which_purge": "彻底清除哪一次忘掉的？例如“/彻底清除 d12”；每次忘掉之后，我都会说出它的编号。",
        "not_yours": "没有你做过的 {id}。",
        "restored": "想起来了：{n} 条。",
        "not_restored": "{id} 已经恢复过，或者已彻底清除，没有可恢复的。",
        "purging": "正在彻底清除 {id}：数据库、索引和备份里的都会抹去，再也找不回来。",
        "purged": "{id} 已经恢复，或者已彻底清除，没有可清除的。",
        "what_to_correct": "要纠正什么？说清哪里不对、怎样才对，例如“/纠正 我不住在上海，我住在杭州”。",
        "unreadable": "没看懂要纠正什么。说清哪里不对、怎样才对，例如“/纠正 我不住在上海，我住在杭州”。",
        "of_others": "只能纠正你自己说过的，或是与你有关的。",
        "would_change": "我会这样改：",
        "becomes": "{old} → {new}",
        "dropped": "不再记得：{old}",
        "noted": "记下：{text}",
        "corrected": "改好了。后悔了说“/恢复 {id}”。",
        "correction_outdated": "那句话已经变了，没有改；请再说一次“/纠正 ……”。",
        "undone": "已恢复原样。",
        "too_long": "这太长了，最多 {n} 个字，什么也没有做。",
        "unusable": "这里面有我读不了的内容，什么也没有做。",
        "failed": "记忆库出了问题，这次没有做成，请稍后再试。",
        "help": (
            "/记得 我对花生过敏：记住这句话；后面是问句就回答\n/还记得 谁对花生过敏：问我还记得什么\n"
            "/你记得我什么：我对你的了解\n/忘了、/忘了 花生：列出你说过的，再说“/忘了 1 3”；“/忘了 全部”忘掉与你有关的全部\n"
            "/纠正 我不住在上海，我住在杭州：先说会怎样改\n/确认、/取消：回答我的询问\n"
            "/恢复 d12：取回忘掉或改掉的\n/彻底清除 d12：再也找不回来"
        ),
    },
    "en": {
        "remembered": "I will remember: {text}",
        "what_to_remember": "What shall I remember? For example `/remember dinner is on Friday`. `/recall when is dinner?` asks.",
        "nothing_found": "I remember nothing of it.",
        "not_stored": "(Taken for a question, so it was not stored.)",
        "about": "What I know of you:",
        "more": "… and {n} more",
        "about_hint": "`/correct …` if something is wrong, `/forget …` if I am to forget it.",
        "about_nothing": "I know nothing of you yet. `/forget` lists what you have said.",
        "listed": "What you said here, or what is about you:",
        "which": "Which shall I forget? `/forget 1 3`; or `/forget all` for everything here that is about you.",
        "nothing_to_forget": "There is nothing like that here that you said or that is about you.",
        "no_list": "Say `/forget` first to see what there is, then which numbers to forget.",
        "no_number": "There is no number {n}; nothing was forgotten.",
        "all": "This forgets everything that I remember of you here: {texts} texts, {facts} facts.",
        "confirm": "`/confirm` to do it, `/cancel` to leave it.",
        "forgotten": "{n} forgotten. `/restore {id}` brings them back; `/purge {id}` erases them for good.",
        "already": "They are gone already.",
        "cancelled": "Nothing was changed.",
        "which_restore": "Which? Such as `/restore d12`: I told its id when it was forgotten or corrected.",
        "which_purge": "Which? Such as `/purge d12`: I told its id when it was forgotten.",
        "not_yours": "There is no {id} of yours.",
        "restored": "{n} are back.",
        "not_restored": "{id} was restored already, or erased for good: there is nothing to bring back.",
        "purging": "{id} is being erased for good, from the database, the indexes and the backups.",
        "purged": "{id} was restored, or erased already: there is nothing to erase.",
        "what_to_correct": "What is wrong, and what is right? `/correct I don't live in Leeds, I live in York`.",
        "unreadable": "I could not read that. Say what is wrong and what is right: `/correct I don't live in Leeds, I live in York`.",
        "of_others": "You can correct only what you said yourself, or what is about you.",
        "would_change": "This is what I would change:",
        "becomes": "{old} → {new}",
        "dropped": "no longer remembered: {old}",
        "noted": "noted: {text}",
        "corrected": "Corrected. `/restore {id}` undoes it.",
        "correction_outdated": "That text has changed meanwhile, nothing was corrected; say `/correct …` again.",
        "undone": "It is as it was.",
        "too_long": "That is too long: at most {n} characters. Nothing was done.",
        "unusable": "There is something in it that I cannot read. Nothing was done.",
        "failed": "The memory could not do that now; please try again later.",
        "help": (
            "/remember dinner is on Friday: keeps it; a question is answered\n/recall when is dinner?: asks me\n"
            "/about me: what I know of you\n/forget, /forget peanuts: lists what you said, then /forget 1 3; /forget all"
            " for everything that is about you\n/correct I don't live in Leeds, I live in York: shows what would change\n"
            "/confirm, /cancel: answers me\n/restore d12: takes back what was forgotten or corrected\n"
            "/purge d12: erases it for good"
        ),
    },
}


@dataclass(frozen=True, slots=True)
class Asked:
    """A message that may be a command: who wrote it, and where."""

    text: str
    person: str
    """Id of who wrote it, as their messages are stored with it."""
    chat: str
    group: str = ""
    """Id of the chat's group; empty in a private chat."""
    name: str = ""
    id: str = ""
    """The message's own id; what is to be remembered is stored under it."""
    time: Moment = None

    @property
    def where(self) -> dict[str, str]:
        """The chat, as calls name it."""
        return {"chat_id": self.chat} | ({"group_id": self.group} if self.group else {"user_id": self.person})


@dataclass(frozen=True, slots=True)
class _Waiting:
    """What a speaker was shown last: texts by number, or something to confirm."""

    until: float = 0.0
    listed: tuple[str, ...] = ()
    everything: bool = False
    plan: str = ""


class ChatCommands:
    """Answers the commands of a chat, in the language of the command.

    A speaker forgets and corrects only what they said, or what is about them, of the chat that they write in; it can be
    restored until they have it erased. In a chat that the chat filter leaves out nothing is answered.
    """

    def __init__(self, memory: AsyncCalls, *, now: Callable[[], float] = time.monotonic) -> None:
        self._memory = memory
        self._now = now
        self._waiting: dict[tuple[str, str], _Waiting] = {}

    async def answer(self, asked: Asked) -> str | None:
        """The answer as plain text; None for a message that is no command, which is to be stored like any other."""
        read = _command(asked.text)
        if read is None or not asked.person:
            return None
        command, say, rest = read
        key = (asked.chat, asked.person)
        waiting = self._waiting.get(key, _Waiting())
        if waiting.until < self._now():
            waiting = _Waiting()
        if command in ("confirm", "cancel") and not (waiting.everything or waiting.plan):
            return None  # it answers somebody else
        try:
            profile = await self._ask("get_person_profile", person_id=asked.person, **asked.where)
            if profile["filtered"] or profile["disabled"]:
                return None
            if profile["person_id"] != asked.person:  # another person has this id for a name
                profile = {**profile, "known": False}
            match command:
                case "about_me":
                    return _about(profile, say)
                case "help":
                    return say["help"]
                case "recall":
                    return await self._recall(asked, rest, say)
                case "remember" if asks(rest):
                    answer = await self._recall(asked, rest, say)
                    if rest.endswith(("?", "？")):
                        return answer
                    if answer == say["nothing_found"]:  # a note that only reads like a question is not lost
                        return await self._remember(asked, rest, say)
                    return f"{answer}\n{say['not_stored']}"
                case "remember":
                    return await self._remember(asked, rest, say)
                case "forget" if rest.rstrip(_AROUND + _PARTICLES).lower() in _EVERYTHING:
                    return await self._preview_everything(asked, profile, say)
                case "forget" if rest and _NUMBERS.fullmatch(rest):
                    return await self._forget_numbers(asked, rest, waiting, say)
                case "forget":
                    return await self._list(asked, rest, say)
                case "correct":
                    return await self._preview_correction(asked, rest, say)
                case "cancel":
                    del self._waiting[key]
                    return say["cancelled"]
                case "confirm":
                    del self._waiting[key]
                    return await self._confirmed(asked, waiting, say)
                case _ if not rest:
                    return say[f"which_{command}"]
                case "purge":
                    return await self._purge(asked, rest, say)
                case _:
                    return await self._restore(asked, rest, say)
        except InvalidRequest as exc:  # what they wrote, not the memory, is to be changed
            limit = MAX_QUERY_CHARS if len(rest) > MAX_QUERY_CHARS and exc.details.get("field") == "query" else 0
            if limit := exc.details.get("limit", limit):
                return say["too_long"].format(n=limit)
            log.info("the command %r of a chat was refused: %s", command, exc)
            return say["unusable"]
        except MemoryFault:
            log.warning("the command %r of a chat failed", command, exc_info=True)
            return say["failed"]

    async def _ask(self, component: str, action: str = "", **arguments: Any) -> dict[str, Any]:
        return await self._memory.call(component, {"action": action, **arguments} if action else arguments)

    def _wait(self, asked: Asked, **what: Any) -> None:
        key = (asked.chat, asked.person)
        self._waiting.pop(key, None)
        if len(self._waiting) >= MOST_WAITING:
            del self._waiting[next(iter(self._waiting))]
        self._waiting[key] = _Waiting(self._now() + WAITS_SECONDS, **what)

    async def _remember(self, asked: Asked, text: str, say: _Sayings) -> str | None:
        if not text:
            return say["what_to_remember"]
        turn = {"text": text, "person_id": asked.person, "speaker": asked.name or asked.person, "time": asked.time,
                "external_id": asked.id}  # fmt: skip
        await self._ask("ingest_messages", messages=[turn], **asked.where)
        return say["remembered"].format(text=_line(text))

    async def _recall(self, asked: Asked, question: str, say: _Sayings) -> str:
        if not question:
            return say["what_to_remember"]
        wanted = {"query": question, "limit": MOST_HITS, "min_confidence": LIKELY}
        found = await self._ask("search_memory", **wanted, **asked.where)
        hits = [{**hit, "text": hit["content"], "time": hit["time"]["start"]} for hit in found["hits"]]
        return "\n".join(_shown(hit) for hit in hits) or say["nothing_found"]

    async def _list(self, asked: Asked, about: str, say: _Sayings) -> str:
        of_theirs: dict[str, Any] = {"person_id": asked.person, "only_own": True, **asked.where}
        if about:
            hits = (await self._ask("search_memory", query=about, limit=50, **of_theirs))["hits"]
            words = {term for term in tokens(about) if len(term) > 1} or set(tokens(about))
            ids = [hit["id"] for hit in hits if hit["confidence"] >= MEANT or words & set(tokens(hit["content"]))]
            here: dict[str, Any] = {"ids": ids, "only_own": True, **asked.where}
            items = (await self._ask("memory_text_admin", "get", **here))["items"] if ids else []
        else:
            items = (await self._ask("memory_text_admin", "list", limit=50, **of_theirs))["items"]
        texts = [one for one in items if _is_of(one, asked)][:MOST_LISTED]
        if not texts:
            return say["nothing_to_forget"]
        self._wait(asked, listed=tuple(one["id"] for one in texts))
        lines = [f"{n}. {_shown(one, to=asked.person)}" for n, one in enumerate(texts, 1)]
        return "\n".join([say["listed"], *lines, say["which"]])

    async def _forget_numbers(self, asked: Asked, given: str, waiting: _Waiting, say: _Sayings) -> str:
        if not waiting.listed:
            return say["no_list"]
        numbers: dict[int, None] = {}
        for found in _RANGE.finditer(given):
            numbers.update(dict.fromkeys(range(int(found[1]), int(found[2] or found[1]) + 1)))
        for n in numbers:
            if not 1 <= n <= len(waiting.listed):
                return say["no_number"].format(n=n)
        ids = [waiting.listed[n - 1] for n in numbers]
        return (
            await self._forget(asked, say, mode="paragraph", selector=ids, chat_id=asked.chat)
            if ids
            else say["no_list"]
        )

    async def _preview_everything(self, asked: Asked, profile: Mapping[str, Any], say: _Sayings) -> str:
        counts: Mapping[str, int] = {}
        if profile["known"]:
            plan = await self._ask("memory_delete_admin", "preview", **_everything_of(asked))
            counts = plan["counts"]
        if not any(counts.get(kind) for kind in ("paragraphs", "facts")):
            return say["nothing_to_forget"]
        self._wait(asked, everything=True)
        return f"{say['all'].format(texts=counts['paragraphs'], facts=counts['facts'])}\n{say['confirm']}"

    async def _forget(self, asked: Asked, say: _Sayings, **which: Any) -> str:
        by = {"requested_by": asked.person, "reason": "a command in the chat"}
        try:
            gone = await self._ask("memory_delete_admin", "execute", **which, **by)
        except NotFound:
            return say["already"]
        return say["forgotten"].format(n=gone["deleted_paragraph_count"], id=gone["operation_id"])

    async def _preview_correction(self, asked: Asked, text: str, say: _Sayings) -> str:
        if not text or asks_something(text):
            return say["what_to_correct"]
        who = {"person_id": asked.person, "requested_by": asked.person}
        try:
            plan = await self._ask("memory_correction_admin", "preview", text=text, **who, **asked.where)
        except InvalidRequest:
            return say["unreadable"]
        except NotFound:  # the speaker has said nothing yet
            return say["about_nothing"]
        kept = (await self._ask("memory_correction_admin", "get", plan_id=plan["plan_id"]))["plan"]
        ids = [one["id"] for one in plan["replacements"]]
        texts = (await self._ask("memory_text_admin", "get", ids=ids, scope="all"))["items"] if ids else []
        if not (ids or plan["note"]):
            return say["unreadable"]
        if not all(_is_of(one, asked) for one in texts) or (
            plan["note"] and kept["person_id"] not in ("", asked.person)
        ):
            return say["of_others"]
        self._wait(asked, plan=plan["plan_id"])
        lines = [
            say["becomes" if one["becomes"] else "dropped"].format(old=_line(one["content"]), new=_line(one["becomes"]))
            for one in plan["replacements"]
        ]
        if plan["note"] and plan["note"] not in [one["becomes"] for one in plan["replacements"]]:
            lines.append(say["noted"].format(text=_line(plan["note"])))
        return "\n".join([say["would_change"], *lines, say["confirm"]])

    async def _confirmed(self, asked: Asked, waiting: _Waiting, say: _Sayings) -> str:
        if waiting.everything:
            return await self._forget(asked, say, **_everything_of(asked))
        try:
            await self._ask("memory_correction_admin", "execute", plan_id=waiting.plan, confirmed=True)
        except Conflict:
            return say["correction_outdated"]
        return say["corrected"].format(id=waiting.plan)

    async def _restore(self, asked: Asked, id_: str, say: _Sayings) -> str:
        try:
            if id_.startswith("c"):
                plan = (await self._ask("memory_correction_admin", "get", plan_id=id_))["plan"]
                if plan["requested_by"] != asked.person:
                    return say["not_yours"].format(id=id_)
                await self._ask("memory_correction_admin", "rollback", plan_id=id_)
                return say["undone"]
            if await self._status(asked, id_) is None:
                return say["not_yours"].format(id=id_)
            back = await self._ask("memory_delete_admin", "restore", operation_id=id_)
        except NotFound:
            return say["not_yours"].format(id=id_)
        except Conflict:
            return say["not_restored"].format(id=id_)
        return say["restored"].format(n=back["counts"].get("paragraph", 0))

    async def _purge(self, asked: Asked, id_: str, say: _Sayings) -> str:
        status = await self._status(asked, id_)
        if status == "executed":
            await self._ask("memory_delete_admin", "purge", operation_id=id_, wait=False)
        said = "not_yours" if status is None else "purging" if status == "executed" else "purged"
        return say[said].format(id=id_)

    async def _status(self, asked: Asked, id_: str) -> str | None:
        """What became of a deletion; None if it is none that the speaker has asked for."""
        try:
            found = await self._ask("memory_delete_admin", "get_operation", operation_id=id_, limit=1)
        except NotFound:
            return None
        operation = found["operation"]
        return operation["status"] if operation["requested_by"] == asked.person else None


def _command(text: str) -> tuple[str, _Sayings, str] | None:
    """(command, what is said in its language, what follows it)."""
    text = text.strip()
    if text[:1] not in ("/", "／"):
        return None
    text = " ".join(text[1:].split())
    for command, spellings in COMMANDS.items():
        for language, words in zip(_LANGUAGES, spellings, strict=True):
            for word in words:
                rest = text[len(word) :]
                if text[: len(word)].lower() != word or (language == "en" and rest[:1].isalnum()):
                    continue
                rest = rest.lstrip(_AROUND)
                bare = rest.rstrip(_AROUND + _PARTICLES)
                if command in _ALONE and bare:
                    continue
                if command in _UNDOABLE and not (bare == "" or _UNDOABLE[command].fullmatch(bare)):
                    continue
                return command, _SAID[language], bare.lower() if command in _UNDOABLE else rest
    return None


def _about(profile: Mapping[str, Any], say: _Sayings) -> str:
    lines = [
        f"{HEADINGS[one['section']][say is _SAID['zh']]}{'：' if say is _SAID['zh'] else ': '}{one['statement']}"
        if one["kind"] in ("fact", "relation") and one["section"] in UNNAMED_KINDS
        else one["statement"]
        for one in profile["items"]
    ] or profile["summary"].splitlines()
    if not (profile["known"] and lines):
        return say["about_nothing"]
    shown = [f"· {_line(line)}" for line in lines[:MOST_STATEMENTS]]
    more = [say["more"].format(n=len(lines) - MOST_STATEMENTS)] if len(lines) > MOST_STATEMENTS else []
    return "\n".join([say["about"], *shown, *more, say["about_hint"]])


def _is_of(text: Mapping[str, Any], asked: Asked) -> bool:
    """Whether a stored text is of the chat, and said by the speaker or about them; in a summary others have their part."""
    return text["chat_id"] == asked.chat and asked.person in text["person_ids"] and text["kind"] != "summary"


def _everything_of(asked: Asked) -> dict[str, Any]:
    """What the chat holds of the speaker; what others said stays even where it names them."""
    selector = {"person_ids": [asked.person]}
    return {"mode": "person", "selector": selector, "chat_id": asked.chat, "mentions": "keep"}


def _shown(text: Mapping[str, Any], to: str = "") -> str:
    """A text on one line, with its day and who said it, unless it is whom it is shown to."""
    when = local_time(text["time"])
    who = "" if to and text["person_ids"][:1] == [to] else text["speaker"]
    said = _line(text["text"])
    return f"{f'{when:%Y-%m-%d} ' if when else ''}{f'{who}: ' if who else ''}{said}"


def _line(text: str) -> str:
    whole = " ".join(text.split())
    return whole if len(whole) <= LONGEST_LINE else f"{whole[: LONGEST_LINE - 1]}…"
