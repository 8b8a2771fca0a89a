"""The choice of the models that the settings ask for."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, cast

from ..config.model import Chat, Embedding
from ..errors import ChatUnavailable
from ..ports import ChatModel, Embedder
from .api_key import key_of
from .host.chat import ChatFunction, HostTalker
from .host.embedder import EmbedderContext, EmbedFunction
from .structured_chat import StructuredChat

if TYPE_CHECKING:
    from ..language.names import Mention

__all__ = [
    "PROVIDERS",
    "GivenChat",
    "chinese_names",
    "create_none",
    "made_by",
    "make_chat",
    "make_embedder",
    "provider_chosen",
    "token_counter",
]

PROVIDERS: dict[str, str] = {
    "auto": "amemorix.models.local.embedder:create_if_installed",
    "local": "amemorix.models.local.embedder:create",
    "openai": "amemorix.models.openai.embedder:create",
    "host": "amemorix.models.host.embedder:create",
    "none": "amemorix.models.registry:create_none",
}

ENDPOINT = "amemorix.models.openai.chat"
"""Imported on use: its HTTP client costs a tenth of a second and some megabytes."""
GivenChat = ChatModel | ChatFunction
"""What a host may hand over: a model, or a function of messages."""


def provider_chosen(settings: Embedding, host_callable: EmbedFunction | None) -> Embedding:
    """The settings with `auto` made `host` if the host handed over a function."""
    if settings.provider == "auto" and host_callable is not None:
        return settings.model_copy(update={"provider": "host"})
    return settings


def make_embedder(
    settings: Embedding,
    *,
    environ: Mapping[str, str],
    host_callable: EmbedFunction | None = None,
    loop: asyncio.AbstractEventLoop | None = None,
) -> tuple[Embedder | None, str]:
    """The embedder and a notice for people: one sentence or two, empty if all is as asked.

    The embedder is None for the provider `none`, and for `auto` when the host gave no function and no local model can be used.
    Raises ModelUnavailable, which says what to do.
    """
    settings = provider_chosen(settings, host_callable)
    module, _, factory = PROVIDERS[settings.provider].partition(":")
    create = getattr(import_module(module), factory)
    return create(settings, EmbedderContext(environ, host_callable, loop))


def made_by(fingerprint: str, environ: Mapping[str, str]) -> Embedder | None:
    """The model in this process that makes vectors of this fingerprint, None if it is not at hand."""
    if not fingerprint.startswith("local:"):
        return None
    return import_module("amemorix.models.local.embedder").made_by(fingerprint, environ)


def token_counter(environ: Mapping[str, str]) -> Callable[[str], int] | None:
    """What counts the tokens of a text as the installed local model does; None if none is installed."""
    return import_module("amemorix.models.local.embedder").token_counter(environ)


def chinese_names(environ: Mapping[str, str]) -> Callable[[str], Iterable[Mention]]:
    """What reads the Chinese names in a text; none where its model is not installed. It is loaded for the first text."""

    @cache
    def reader() -> Callable[[str], Iterable[Mention]] | None:
        return import_module("amemorix.models.local.lac").create_if_installed(environ)

    def names(text: str) -> Iterable[Mention]:
        read = reader()
        return () if read is None else read(text)

    return names


def create_none(settings: Embedding, context: EmbedderContext) -> tuple[Embedder | None, str]:  # noqa: ARG001
    """No embedder, on purpose."""
    return None, ""


def make_chat(
    settings: Chat, *, environ: Mapping[str, str], given: GivenChat | None = None
) -> tuple[ChatModel | None, str]:
    """The chat model and a notice for people: a sentence, empty if all is as asked.

    The model is None for the provider `none`, and for `auto` when nothing is given and no endpoint can be used. A
    `ChatModel` that is given is returned as it is. Raises ChatUnavailable, which says what to do.
    """
    provider = settings.provider
    if provider == "auto":
        usable = "openai" if settings.base_url and settings.model_name else "none"
        provider = usable if given is None else "host"
    if provider == "none":
        return None, ""
    if provider == "openai":
        for name in ("base_url", "model_name"):
            if not getattr(settings, name):
                raise ChatUnavailable(f"chat.{name} is empty; provider `openai` needs it.", field=f"chat.{name}")
        try:
            key = key_of(settings.api_key_env, environ, section="chat", fault=ChatUnavailable)
        except ChatUnavailable as exc:
            if settings.provider == "auto":  # the memory goes on by rules
                return None, f"{exc} No chat model is used."
            raise
        return StructuredChat(import_module(ENDPOINT).OpenAITalker(settings, api_key=key)), ""
    if given is None:
        raise ChatUnavailable("chat.provider is `host`, but the host handed over no chat model.", field="chat.provider")
    if hasattr(given, "answer"):
        return cast(ChatModel, given), ""
    talker = HostTalker(cast(ChatFunction, given), settings.model_name, timeout=settings.timeout_seconds)
    return StructuredChat(talker), ""
