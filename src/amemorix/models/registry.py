"""The choice of the embedder that the settings ask for."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from importlib import import_module

from ..config.model import Embedding
from ..ports import Embedder
from .glosses.table import GlossTable
from .host.embedder import EmbedFunction
from .host.environment import Surroundings

__all__ = ["PROVIDERS", "create_none", "make_embedder", "provider_chosen"]

PROVIDERS: dict[str, str] = {
    "auto": "amemorix.models.local.embedder:create_if_installed",
    "local": "amemorix.models.local.embedder:create",
    "openai": "amemorix.models.openai.embedder:create",
    "host": "amemorix.models.host.embedder:create",
    "none": "amemorix.models.registry:create_none",
}


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
    glosses: GlossTable | None = None,
) -> tuple[Embedder | None, str]:
    """The embedder and a notice for people: one sentence or two, empty if all is as asked.

    The embedder is None for the provider `none`, and for `auto` when the host gave no function and no local model can be used.
    Raises ModelUnavailable, which says what to do.
    """
    settings = provider_chosen(settings, host_callable)
    module, _, factory = PROVIDERS[settings.provider].partition(":")
    create = getattr(import_module(module), factory)
    return create(settings, Surroundings(environ, host_callable, loop, glosses))


def create_none(settings: Embedding, surroundings: Surroundings) -> tuple[Embedder | None, str]:  # noqa: ARG001
    """No embedder, on purpose."""
    return None, ""
