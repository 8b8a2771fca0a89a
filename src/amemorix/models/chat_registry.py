"""The choice of the chat model that the settings ask for."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import cast

from ..config.model import Chat
from ..errors import ChatUnavailable
from ..ports import ChatModel
from .api_key import key_of
from .host.chat import ChatFunction, HostTalker
from .structured_chat import StructuredChat

__all__ = ["GivenChat", "make_chat"]

ENDPOINT = "amemorix.models.openai.chat"
"""Imported on use: its HTTP client costs a tenth of a second and some megabytes."""
GivenChat = ChatModel | ChatFunction
"""What a host may hand over: a model, or a function of messages."""


def make_chat(
    settings: Chat, *, environ: Mapping[str, str], given: GivenChat | None = None
) -> tuple[ChatModel | None, str]:
    """The chat model and a notice for people: a sentence, empty if all is as asked.

    The model is None for the provider `none`, and for `auto` when nothing is given and no endpoint can be used. A
    `ChatModel` that is given is returned as it is. Raises ChatUnavailable, which says what to do.
    """
    provider = _provider(settings, given)
    if provider == "openai":
        return _endpoint(settings, environ)
    if provider == "none":
        return None, ""
    if given is None:
        raise ChatUnavailable("chat.provider is `host`, but the host handed over no chat model.", field="chat.provider")
    if hasattr(given, "answer"):
        return cast(ChatModel, given), ""
    talker = HostTalker(cast(ChatFunction, given), settings.model_name, timeout=settings.timeout_seconds)
    return StructuredChat(talker), ""


def _provider(settings: Chat, given: GivenChat | None) -> str:
    if settings.provider != "auto":
        return settings.provider
    if given is not None:
        return "host"
    return "openai" if settings.base_url and settings.model_name else "none"


def _endpoint(settings: Chat, environ: Mapping[str, str]) -> tuple[ChatModel | None, str]:
    """With `auto` a missing key is a notice: the memory goes on by rules."""
    for name in ("base_url", "model_name"):
        if not getattr(settings, name):
            raise ChatUnavailable(f"chat.{name} is empty; provider `openai` needs it.", field=f"chat.{name}")
    try:
        key = key_of(settings.api_key_env, environ, section="chat", fault=ChatUnavailable)
    except ChatUnavailable as exc:
        if settings.provider == "auto":
            return None, f"{exc} No chat model is used."
        raise
    talker = import_module(ENDPOINT).OpenAITalker
    return StructuredChat(talker(settings, api_key=key)), ""
