"""Whether a call may be made, and says for whom it reads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..audit_context import IN_PROCESS, front_door, granted
from ..errors import Forbidden, InvalidRequest
from ..fields import AskingRequest
from ..ops import CHAT_KEYS, Operation, Request, ScopedRequest

if TYPE_CHECKING:
    from .kernel import SDKMemoryKernel

__all__ = ["permitted", "scope_remarks"]

ROLES = ("read", "write", "admin")


def permitted(op: Operation, request: Request) -> Request:
    """The request, as far as the caller may make it. Raises Forbidden.

    The roles `read` and `write` name a chat; what reaches beyond one is for `admin`. A caller who is bound to chats
    names those, and groups and private chats as `group:ID` and `private:ID`; it is never told what somebody said in
    private elsewhere.
    """
    grant = granted()
    if grant is None or (grant.role == "admin" and not grant.chats):
        return request
    if ROLES.index(grant.role) < ROLES.index(op.role):
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
    required = kernel.config.privacy.require_scope
    if not (request.names_chat or request.scope) and (
        required == "always" or (required == "http" and front_door() not in IN_PROCESS)
    ):
        raise InvalidRequest(
            f"{op.name}: chat_id is required: name the chat (or a group or user) that asks, or say `scope`: `all` to read "
            "every chat (privacy.require_scope).",
            field="chat_id",
        )
    if not isinstance(request, AskingRequest) or not (request.user_id and (request.chat_id or request.group_id)):
        return []
    config, store = kernel.config, kernel.store
    if request.include_private is not None or config.profile.share_private or config.global_memory_sharing_enabled:
        return []
    chat = await store.read(lambda db: store.names.chat_key(db, request.chat_id)) if request.chat_id else None
    if chat and chat.user_id == request.user_id and not (chat.group_id or request.group_id):
        return []
    return [
        f"user_id: what {request.user_id!r} said in private is left out (`include_private` or profile.share_private uses "
        "it; `include_private`: false says that this is meant)."
    ]
