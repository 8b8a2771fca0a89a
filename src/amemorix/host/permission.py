"""What a call may read and change: whom its arguments name, what its token allows, and what it should be told."""

from __future__ import annotations

import difflib
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any

from ..audit_context import IN_PROCESS, front_door, granted
from ..errors import Forbidden, InvalidRequest
from ..fields import AskingRequest
from ..ingest.operations import IngestText, IngestTexts
from ..lazy_regex import lazy_regex
from ..ops import CHAT_KEYS, LONGEST_NAME, Operation, Request, ScopedRequest, did_you_mean, sorted_keys

if TYPE_CHECKING:
    from .kernel import SDKMemoryKernel

__all__ = ["permitted", "scope_remarks"]

MOST_UNKNOWN = 100
"""Arguments of a call that are not known, with those within them."""
SCOPE_KEYS = (*CHAT_KEYS, "chat_pattern", "person_id", "session_id", "scope")
"""Arguments that bound what a call reaches."""
WHO_AND_WHERE = frozenset({*SCOPE_KEYS, "only_own", "respect_filter", "source"})
"""Arguments that say whose memory is meant: one that is misspelt must not be passed over, the call would reach further."""
_PERSONS = r"user|uid|uin|person|member|account|customer|client|owner|tenant|contact|openid|wxid|用户|成员|好友"
_GROUPS = r"group|guild|server|team|organi[sz]ation|org|community|群聊?|频道组"
_CHATS = (
    r"chat|conversation|convo(?!wner|penid|rg)|conv|thread|room|channel|session|stream|dialog(?:ue)?|peer|agent|bot|namespace|workspace|"
    r"space|project|partition|collection|scope|visibility|audience|filter|where|jid|聊天|会话|对话|房间|频道|私聊"
)
_SCOPE_WORD = lazy_regex(
    rf"(?:current|my|this|src|source|target|from|to|in|for|by|the|asking|private|public|only)*+"
    rf"(?:(?P<person>{_PERSONS})|(?P<group>{_GROUPS})|(?P<chat>{_CHATS})|(?:app|run|user|group|chat)(?=id))s?"
    rf"(?:{_PERSONS}|{_GROUPS}|{_CHATS}|id|key|name|uuid|guid|number|num|no|code|type|list|号码?|s)*+"
)
"""An argument's name without case and separators, if other programs say by it whose memory is meant."""


def permitted(op: Operation, request: Request, args: dict[str, Any]) -> Request:
    """The request, as far as the caller may make it. Raises InvalidRequest where it is not clear for whom, Forbidden.

    The roles `read` and `write` name a chat; what reaches beyond one is for `admin`. A caller who is bound to chats
    names those, and groups and private chats as `group:ID` and `private:ID`; it is never told what somebody said in
    private elsewhere. Of a call that is made of several, each says for whom it is.
    """
    _refuse_unclear(op, args)
    if isinstance(request, IngestTexts):
        for item, given in zip(request.items, args["items"], strict=True):
            permitted(replace(op, request=IngestText), item, given)
        return request
    if isinstance(request, ScopedRequest) and request.scope and request.names_chat:
        raise InvalidRequest(
            f"{op.name}: scope `all` reads every chat: leave it out, or the chat, group and user.", field="scope"
        )
    grant = granted()
    if grant is None or grant.is_unlimited:
        return request
    if not grant.may(op.role):
        raise Forbidden(f"{op.name} needs the role {op.role}; this token has the role {grant.role}.", role=op.role)
    chat, group, user = (str(getattr(request, key, "") or "") for key in CHAT_KEYS)
    chat = chat or str(getattr(request, "session_id", "") or "")
    beyond = getattr(request, "scope", "") in ("all", "global") or getattr(request, "allow_global", False)
    if beyond or not (chat or group or user or "chat_id" not in op.request.known_keys()):
        raise Forbidden(
            f"{op.name}: beyond one chat it needs the role admin: name a chat.", role="admin", field="chat_id"
        )
    if not grant.chats:
        return request
    named = {
        "chat_id": chat,
        "group_id": group and f"group:{group}",
        "user_id": "" if group or not user else f"private:{user}",
    }
    for field, key in named.items():
        if key and key not in grant.chats:
            raise Forbidden(f"{op.name}: {field}: this token is not bound to {key!r}.", field=field)
    if "chat_id" not in op.request.model_fields or getattr(request, "include_private", False):
        raise Forbidden(f"{op.name} reaches beyond the chats that this token is bound to.", role="admin")
    return request.model_copy(update={"include_private": False}) if isinstance(request, AskingRequest) else request


async def scope_remarks(kernel: SDKMemoryKernel, op: Operation, request: ScopedRequest) -> list[str]:
    """What the caller should know of who asks. Raises InvalidRequest where a scope is required and none is given."""
    remarks: list[str] = []
    if "chat_id" in request.model_fields_set and not getattr(request, "chat_id", "") and not request.scope:
        meant = " and ".join(f"{key} {value!r}" for key in CHAT_KEYS if (value := getattr(request, key, "")))
        every = "chat_id is empty, so every chat is read: give a chat, or say `scope`: `all`."
        remarks.append(f"chat_id is empty, so the chats of {meant} are read." if meant else every)
    beside = isinstance(request, AskingRequest) and request.user_id and (request.chat_id or request.group_id)
    if isinstance(request, AskingRequest) and request.include_private and not beside:
        remarks.append("include_private has no effect without a chat and a user_id.")
    required = kernel.config.privacy.require_scope
    grant = granted()
    shown = op.effect == "read" and request.is_list
    shown = shown and front_door() == "http" and grant is not None and grant.on_loopback and grant.is_unlimited
    if not (request.names_chat or request.scope) and (
        required == "always" or (required == "http" and front_door() not in IN_PROCESS and not shown)
    ):
        raise InvalidRequest(
            f"{op.name}: chat_id is required: name the chat (or a group or user) that asks, or say `scope`: `all` to read "
            "every chat (privacy.require_scope).",
            field="chat_id",
        )
    if not isinstance(request, AskingRequest) or not beside:
        return remarks
    config, store = kernel.config, kernel.store
    if request.include_private is not None or config.profile.share_private or config.global_memory_sharing_enabled:
        return remarks
    chat = await store.read(lambda db: store.names.chat_key(db, request.chat_id)) if request.chat_id else None
    if chat and chat.user_id == request.user_id and not (chat.group_id or request.group_id):
        return remarks
    return [
        *remarks,
        f"user_id: what {request.user_id!r} said in private is left out (`include_private` or profile.share_private uses "
        "it; `include_private`: false says that this is meant).",
    ]


def _refuse_unclear(op: Operation, args: dict[str, Any]) -> None:
    """Raises InvalidRequest for an argument without which the call would reach further than was meant.

    That is one that bounds the call and is null, or that is unknown and looks as if it did; a destructive operation
    knows every argument. A write may leave its group or user null where it names a chat by another key.
    """
    known = sorted_keys(op.request)
    writes = op.effect == "write"
    bounded = writes and any(args.get(key) not in (None, "") for key in CHAT_KEYS)
    for key in () if bounded else CHAT_KEYS if writes else SCOPE_KEYS:
        if key in known and args.get(key, "") is None:
            all_ = (
                "leave it out and say `scope`: `all` to read every chat"
                if op.is_scoped and key in CHAT_KEYS
                else "leave it out"
            )
            raise InvalidRequest(f"{op.name}: {key} is null, which names nobody: {all_}, or give an id.", field=key)
    unknown = {key: value for key, value in args.items() if key not in known}
    if len(list(islice(_names_within(unknown), MOST_UNKNOWN + 1))) > MOST_UNKNOWN:
        first = str(next(iter(unknown)))[:LONGEST_NAME]
        raise InvalidRequest(
            f"{op.name}: {first}: there is no such argument, and more than {MOST_UNKNOWN} (nested ones counted) are not known: leave them out.",
            field=first,
        )
    for key, value in unknown.items():
        if op.effect == "destructive" or any(_looks_like_scope(name, known) for name in _names_within({key: value})):
            raise InvalidRequest(
                f"{op.name}: {key}: there is no such argument.{_scope_meant(str(key), known)}", field=str(key)
            )


def _names_within(value: Any, depth: int = 6) -> Iterator[str]:
    """The names in an object and in what it holds; objects within lists have an empty one."""
    if isinstance(value, dict) and depth:
        for name, one in value.items():
            yield str(name)
            yield from _names_within(one, depth - 1)
    elif isinstance(value, list) and depth:
        for one in value:
            if isinstance(one, dict | list):
                yield ""
                yield from _names_within(one, depth - 1)


def _looks_like_scope(key: str, known: list[str]) -> bool:
    if not 0 < len(key) <= LONGEST_NAME:
        return False
    near = difflib.get_close_matches(key, WHO_AND_WHERE.intersection(known), n=1, cutoff=0.7)
    return bool(near) or key in WHO_AND_WHERE or _SCOPE_WORD.fullmatch(_bare(key)) is not None


def _scope_meant(key: str, known: list[str]) -> str:
    key = key[:LONGEST_NAME]
    bare = _bare(key)
    near = (
        [one for one in known if _bare(one) == bare]
        or difflib.get_close_matches(key, set(CHAT_KEYS).intersection(known), n=1, cutoff=0.8)
        or difflib.get_close_matches(key, known, n=1, cutoff=0.8)
    )
    if near:
        return f" Did you mean {near[0]!r}?"
    found = _SCOPE_WORD.fullmatch(bare)
    if found is None:
        return did_you_mean(key, known)
    meant = "user_id" if found["person"] else "group_id" if found["group"] else "chat_id"
    meant = meant if meant in known else "chat_id"
    return f" A chat is named by {meant!r}." if meant in known else " It is not bound to a chat: leave it out."


def _bare(key: str) -> str:
    """An argument's name without case, width and separators."""
    return re.sub(r"[\W_]+", "", unicodedata.normalize("NFKC", key)).casefold()
