"""Chat turns as bots and platforms spell them: one reading for calls and imports."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, cast

from ..language.message_segments import spelled, spelled_segments
from ..language.normalise import normalise_name
from ..lazy_regex import lazy_regex

__all__ = ["HARMLESS", "KEYS", "SPELLINGS", "Misspelt", "place_of", "read_message"]

SPELLINGS: dict[str, tuple[str, ...]] = {
    "text": ("text", "content", "message", "raw_message", "message_segment", "body", "msg", "processed_plain_text"),
    "person_id": (
        "person_id", "speaker_id", "author_id", "user_id", "sender_id", "from_id", "from_user_id", "member_id", "userid", "uid",
        "uin", "open_id", "openid", "wxid",
    ),
    "speaker": (
        "speaker", "user_cardname", "display_name", "nickname", "name", "user_nickname", "sender_name", "author_name",
        "user_name", "username", "author", "sender", "from", "user", "from_user", "user_info",
    ),
    "time": (
        "time", "timestamp", "ts", "date", "datetime", "created_at", "create_time", "sent_at", "event_time", "origin_server_ts",
    ),
    "external_id": ("external_id", "message_id", "msg_id", "event_id", "id", "client_msg_id"),
}  # fmt: skip
"""Argument of a message -> the keys under which it comes, the surest first; `messageId` is `message_id`."""
_WHO = ("author", "sender", "from", "user", "from_user")
"""Beside a name, a text under one of these is an id."""
_OF_A_PERSON = ("person_id", "user_id", "id", "uin", "uid", "open_id", "openid", "wxid")
_NAMES = (
    "card", "group_card", "user_cardname", "nick", "nickname", "user_nickname", "display_name", "global_name", "real_name",
    "name", "username",
)  # fmt: skip
_ROLES = {"human": "user", "ai": "assistant", "system": "system", "tool": "tool", "function": "function"}
"""Types of messages of LangChain, and the roles that they are."""
_WRAPS = ("message", "edited_message", "channel_post", "event", "data", "d", "message_info")
"""Objects within which a platform says what the message is."""
_PARTS = {
    "image_url": "图片", "image": "图片", "input_image": "图片", "input_audio": "语音", "audio": "语音", "file": "文件",
}  # fmt: skip
_NAMED = [key for some in SPELLINGS.values() for key in some]
KEYS = frozenset(
    {*_NAMED, *(re.sub("_(.)", lambda found: found[1].upper(), key) for key in _NAMED), *_WRAPS, "role", "type",
     "tool_calls", "function_call"}
)  # fmt: skip
"""Every key that a message is read from."""
HARMLESS = frozenset(
    {"self_id", "post_type", "message_type", "sub_type", "font", "group_id", "message_seq", "message_format", "real_id", "real_seq",
     "anonymous", "tts", "pinned", "mention_everyone", "mentions", "mention_roles", "flags", "components", "edited_timestamp",
     "embeds", "attachments", "channel_id", "guild_id", "nonce"}
)  # fmt: skip
"""What OneBot and Discord say with every message, and nobody misses."""
DEEPEST = 4
"""Objects of a platform within each other."""
_WORD = lazy_regex(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_LOOKS: dict[str, frozenset[str]] = {
    "text": frozenset({"text", "content", "body", "message", "msg", "utterance", "said", "words"}),
    "person_id": frozenset({"speaker", "sender", "author", "user", "member", "person", "poster", "participant", "from"}),
    "speaker": frozenset(
        {"speaker", "sender", "author", "user", "member", "person", "poster", "participant", "from", "nick", "name", "who"}
    ),
    "time": frozenset({"time", "date", "timestamp", "datetime", "ts", "at", "when"}),
    "external_id": frozenset({"message", "msg", "turn", "utterance"}),
}  # fmt: skip
_IDS = frozenset({"id", "uid", "uuid", "guid", "uin", "key", "no", "number"})
_OF_SOMETHING_ELSE = frozenset(
    {"reply", "replied", "parent", "thread", "root", "edited", "edit", "updated", "update", "deleted", "read", "channel",
     "guild", "group", "room", "chat", "conversation", "self", "bot", "target", "to", "mention", "mentions", "mentioned", "type",
     "format", "zone", "timezone", "count", "seq", "app", "team", "client", "webhook", "is", "has", "forward", "quote"}
)  # fmt: skip
"""Words of keys that tell something else than the turn itself."""
_ALMOST = {"time": ("sent", "created")}
"""Keys that are no spelling of an argument, and look like one."""
_SHORTEST, _LONGEST = 4, 24
"""Letters of a key that may be a spelling with one letter wrong."""


class Misspelt(ValueError):
    """A key that cannot be taken for what it looks like."""

    def __init__(self, key: str, why: str) -> None:
        super().__init__(why)
        self.key = key


def read_message(raw: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """(the arguments of a message, the keys that are none with their values).

    Raises Misspelt for a value that nothing can be read from, and for an unknown key that looks like what is missing.
    """
    given = _unwrapped(raw)
    keys = {_snake(key): key for key in reversed(given)}  # of two spellings of a key the first counts
    used = {keys[key] for key in ("role", *_WRAPS, *_NAMED) if key in keys}
    found: dict[str, Any] = {}

    def first(argument: str) -> Any:
        return next((given[keys[key]] for key in SPELLINGS[argument] if key in keys), None)

    text = _text(given, keys)
    if text is not None:
        found["text"] = text
    for argument in ("time", "external_id"):
        if (value := first(argument)) is not None:
            found[argument] = value
    found |= _person(given, keys)
    rest = {key: value for key, value in given.items() if key not in used}
    for key in ("tags", "metadata", "aliases"):
        if key in rest:
            value = rest.pop(key)
            further = found.get("aliases", []) if key == "aliases" else []
            found[key] = [*cast(list[Any], value), *further] if isinstance(value, list) else value
    _refuse_what_looks_like_more(rest, found)
    return found, rest


def place_of(raw: Mapping[str, Any]) -> tuple[str, str]:
    """(key, id) of the group, room or channel that the message itself says it is of; both empty if it says none."""
    given = _unwrapped(raw)
    for key in ("group_id", "groupId", "group_info", "chat", "room_id", "roomId", "channel_id", "channelId", "channel"):
        value = given.get(key)
        within = cast(dict[str, Any], value) if isinstance(value, dict) else {"id": value}
        if id_ := _word(within.get("group_id", within.get("id"))):
            return key, "" if id_ == "0" else id_
    return "", ""


def _called_by(person: Mapping[str, Any]) -> tuple[str, list[str]]:
    """(id, names) of somebody as platforms describe them; the name that is shown first, without what is no name."""
    given = {_snake(str(key)): value for key, value in person.items()}
    id_ = next((one for key in _OF_A_PERSON if (one := _word(given.get(key))) and one != "0"), "")
    whole = " ".join(part for key in ("first_name", "last_name") if (part := _word(given.get(key))))
    names = [_word(given.get(key)) for key in _NAMES[:-1]]
    return id_, _distinct([*names, whole, _word(given.get("username"))])


def _unwrapped(raw: Mapping[Any, Any], deep: int = DEEPEST) -> dict[str, Any]:
    """The message itself, with what stands beside it."""
    given = {key: value for key, value in raw.items() if value is not None and isinstance(key, str)}
    has_text = any(isinstance(given.get(one), str | list) and given[one] for one in ("text", "content"))
    for key in _WRAPS if deep and not has_text else ():
        inner = given.get(key)
        if isinstance(inner, dict):
            within = {one: value for one, value in cast(dict[str, Any], inner).items() if value is not None}
            if key == "message_info" or "text" in within or "content" in within or "body" in within:
                return _unwrapped({**{one: value for one, value in given.items() if one != key}, **within}, deep - 1)
    return given


def _text(given: Mapping[str, Any], keys: Mapping[str, str]) -> str | None:
    known = [keys[key] for key in SPELLINGS["text"] if key in keys]
    codes = "post_type" in given or "raw_message" in given
    for key in known:
        if (text := _written(given[key], codes and key in ("message", "raw_message"))) is None:
            raise Misspelt(key, "must be a text, or a list of parts with their texts")
        if text:
            return text
    return "" if known or given.keys() & {"tool_calls", "function_call"} else None


def _written(content: Any, codes: bool) -> str | None:
    """A text, or the parts of one, with a word for each part that is something else; None for what is neither."""
    if isinstance(content, str):
        return spelled(content) if codes else content
    if isinstance(content, list):
        parts = cast(list[Any], content)
        if any(isinstance(one, dict) and "data" in one for one in parts):
            return spelled_segments(_segments(parts))
        return "\n".join(part for one in parts if (part := _part(one)))
    if isinstance(content, dict):
        found = cast(dict[str, Any], content)
        if "data" in found:  # a segment of MaiBot
            return spelled_segments(_segments([found]))
        return next((one for key in ("text", "body", "content") if isinstance(one := found.get(key), str)), None)
    return None


def _segments(parts: Sequence[Any], deep: int = DEEPEST) -> list[Any]:
    """Segments of OneBot; those of MaiBot, which hold a text or further segments in their `data`, made to be so."""
    found: list[Any] = []
    for one in parts:
        data = cast(dict[str, Any], one).get("data") if isinstance(one, dict) else None
        if isinstance(data, list):
            found += _segments(cast(list[Any], data), deep - 1) if deep else []
        elif isinstance(data, str):
            found.append({"type": one.get("type", ""), "data": {"text": data} if one.get("type") == "text" else {}})
        else:
            found.append(one)
    return found


def _part(one: Any) -> str:
    if not isinstance(one, dict):
        return one.strip() if isinstance(one, str) else ""
    part = cast(dict[str, Any], one)
    label = _PARTS.get(_word(part.get("type")), "")
    text = part.get("text")
    return text.strip() if isinstance(text, str) and text.strip() else f"[{label}]" if label else ""


def _person(given: Mapping[str, Any], keys: Mapping[str, str]) -> dict[str, Any]:
    """person_id, speaker and aliases, as far as they are said."""
    ids = [given[keys[key]] for key in SPELLINGS["person_id"] if key in keys]
    names: list[str] = []
    who: list[str] = []
    for key in (keys[key] for key in SPELLINGS["speaker"] if key in keys):
        value = given[key]
        if isinstance(value, dict) and value:
            id_, called = _called_by(cast(dict[str, Any], value))
            if not (id_ or called):
                raise Misspelt(key, "has no `id` and no `name`")
            ids += [id_] if id_ else []
            names += called
        elif isinstance(value, int) and not isinstance(value, bool):
            ids.append(value)
        elif isinstance(value, str):
            (who if _snake(key) in _WHO else names).append(value)
        elif value != {}:
            raise Misspelt(key, "must be a name, or an object with an `id` and a `name`")
    if _distinct(names) and not ids:
        ids, who = who[:1], who[1:]
    names += who
    called, role = _distinct(names), given.get("role") or _ROLES.get(_word(given.get("type")))
    found: dict[str, Any] = {"person_id": ids[0]} if ids else {}
    if speaker := [*called, *([role] if role else []), *names][:1]:
        found["speaker"] = speaker[0]
    if further := [one for one in called[1:] if one != _word(found.get("person_id"))]:
        found["aliases"] = further
    return found


def _refuse_what_looks_like_more(rest: Mapping[str, Any], found: Mapping[str, Any]) -> None:
    for key, value in rest.items():
        words = _words(key)
        if value in (None, "", [], {}) or isinstance(value, bool) or words & _OF_SOMETHING_ELSE:
            continue
        nearly = _nearly(_snake(key))
        if words and words <= {"uuid", "guid", "mid"}:
            nearly.add("external_id")
        for argument, looks in _LOOKS.items():
            wants_id = argument in ("person_id", "external_id")
            alike = words & looks and bool(words & _IDS) == wants_id
            if argument in found or (argument == "speaker" and "person_id" in found):
                continue
            if alike or argument in nearly:
                raise Misspelt(key, f"is not known; what it seems to be is called `{argument}`")


def _nearly(key: str) -> set[str]:
    """The arguments of which the key is a spelling with a letter too many, too few, another or changed for the next."""
    if not _SHORTEST <= len(key) <= _LONGEST:
        return set()
    return {
        argument
        for less in _one_less(key)
        for argument, one in _spellings_by_less().get(less, ())
        if len(one) != len(key) or len(one) > _SHORTEST or sorted(one) == sorted(key)
    }


@cache
def _spellings_by_less() -> dict[str, list[tuple[str, str]]]:
    """(argument, spelling) by the spelling and by it without one of its letters."""
    found: dict[str, list[tuple[str, str]]] = {}
    for argument, spellings in SPELLINGS.items():
        for one in (*spellings, *_ALMOST.get(argument, ())):
            for less in _one_less(one) if len(one) >= _SHORTEST else ():
                found.setdefault(less, []).append((argument, one))
    return found


def _one_less(word: str) -> set[str]:
    """The word, and it without one of its letters."""
    return {word, *(word[:n] + word[n + 1 :] for n in range(len(word)))}


def _distinct(names: Sequence[str]) -> list[str]:
    """The names, each once, without those that no letter or digit is in."""
    return list(dict.fromkeys(one.strip() for one in names if normalise_name(one)))


def _word(value: Any) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return value.strip() if isinstance(value, str) else ""


def _words(key: str) -> frozenset[str]:
    return frozenset(word.lower() for word in _WORD.findall(key))


def _snake(key: str) -> str:
    return "_".join(word.lower() for word in _WORD.findall(key)) if not key.islower() or "-" in key else key
