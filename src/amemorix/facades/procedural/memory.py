"""`ProceduralMemory`: the flows of agents in a memory."""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from ...location import TOKEN_ENV
from ..access import Caller, caller_of, shared
from ..texts import Texts, ask, checked_name
from .flows import texts_of

if TYPE_CHECKING:
    from ..access import AnyMemory

__all__ = ["ProceduralMemory", "QdrantManager"]

_log = logging.getLogger(__name__)
_KIND = "flow"
_LISTED = ("flow_id", "flow_name", "flow_type", "checksum")
_RECALLED = ("flow_id", "flow_name", "flow_type", "description", "condition", "desired_effects", "agent_id")


class QdrantManager:
    """Where the memory is: `url` is a folder, a configuration file, or the address of a daemon (`http…`).

    It has the name that the interface gives it; no Qdrant is asked. `vector_size` is that of the memory's model, 0 for
    whichever it is.
    """

    def __init__(self, url: str | Path = "", vector_size: int = 384, *, token_env: str = TOKEN_ENV) -> None:
        self.url, self.vector_size, self.token_env = url, vector_size, token_env

    def caller(self) -> Caller:
        """The memory, shared by all in this process that name the same place."""
        if isinstance(self.url, str) and self.url.startswith(("http://", "https://")):
            return shared(url=self.url, token_env=self.token_env)
        return shared(self.url or None)


class ProceduralMemory:
    """Keeps flows, and finds those that a request asks for, by meaning and by words.

    Over a `QdrantManager`, or a memory of any kind. Texts are cut and embedded by the memory itself, so `tokenizer_path`,
    `model_dir`, `quantized` and `max_batch` have no effect, and `api_key` is not kept; but where an endpoint is named
    (`api_key`, `base_url` or `model_name`) it has to be the one of the memory's settings, and `hidden_size` (0: any) the
    dimension of its model: else the first call raises ValueError.

    `fusion="weighted"` ranks as every other search of the memory does, which finds more than the interface's own `rrf`.
    `bad_flow_id` says what becomes of an id that is no UUID: one that is made of it, a random one, or a ValueError.
    A model that fails, such as an endpoint that answers 401 or 429, is a RuntimeError with its sentence; with
    `on_model_error="words"` flows are kept and found by their words meanwhile. A memory without any model goes by words.
    `wait` as in `ingest_text`: `vectors` unless a failing model is no error; with `""` a flow is found by its words at once, and
    by meaning soon after.
    """

    def __init__(
        self, qdrant_manager: QdrantManager | AnyMemory | Caller | str | Path | None, tokenizer_path: str = "",
        model_dir: str | None = None, quantized: bool = False, api_key: str | None = None, provider: str = "openai",
        hidden_size: int = 384, *, base_url: str | None = None, model_name: str | None = None, max_batch: int = 8,
        fusion: Literal["rrf", "weighted"] = "rrf", bad_flow_id: Literal["uuid5", "uuid4", "error"] = "uuid5",
        wait: Literal["", "indexed", "vectors"] | None = None, on_model_error: Literal["raise", "words"] = "raise",
    ) -> None:  # fmt: skip
        if on_model_error not in ("raise", "words"):
            raise ValueError("on_model_error: must be raise or words")
        if fusion not in ("rrf", "weighted"):
            raise ValueError("fusion: must be rrf or weighted")
        if bad_flow_id not in ("uuid5", "uuid4", "error"):
            raise ValueError("bad_flow_id: must be uuid5, uuid4 or error")
        if tokenizer_path or model_dir or quantized or max_batch != 8:
            _log.info(
                "tokenizer_path, model_dir, quantized and max_batch have no effect: the memory has its own model."
            )
        self._given = qdrant_manager
        self._memory: Caller | None = None
        remote = bool(api_key or base_url or model_name)
        self._endpoint = {"provider": provider, "model_name": model_name, "base_url": base_url} if remote else {}
        self._sizes = {"hidden_size": hidden_size}
        if isinstance(qdrant_manager, QdrantManager):
            self._sizes["vector_size"] = qdrant_manager.vector_size
        self._fusion, self._bad_flow_id, self._raises = fusion, bad_flow_id, on_model_error == "raise"
        self._wait, self._has_model = ("vectors" if self._raises else "") if wait is None else wait, False
        self._may_lack_model = wait is None

    async def memorize(
        self, embedding_text: str, flow_id: str, flow_name: str, flow_type: str = "flow", description: str = "",
        condition: str = "", agent_id: str = "", desired_effects: Sequence[str] = (), checksum: str = "",
        *, wait: str | None = None,
    ) -> str:  # fmt: skip
        """Keep a flow, in place of the agent's flow of that id; gives the UUID under which it is kept.

        Raises ValueError for what cannot be taken. With `wait="vectors"` (else what this was made with) raises
        RuntimeError with the model's sentence if there are none; the flow is kept then too.
        """
        item = self.item(
            embedding_text, flow_id, flow_name, flow_type, description, condition, agent_id, desired_effects, checksum
        )
        await self.store(agent_id, [item], wait=wait)
        return item["external_id"]

    update_memory = memorize

    async def recall(self, query: str, agent_id: str, top_k: int = 3, rrf_k: int = 60) -> list[dict[str, Any]]:
        """The agent's `top_k` (1 to 50) flows that fit the request best, the best first; none for an empty one.

        Each has `flow_id`, `flow_name`, `flow_type`, `description`, `condition`, `desired_effects`, `agent_id` and `score`:
        the sum of 1 / (rrf_k + rank) over the ranks by meaning and by words, of the best 4 * `top_k` each (Cormack et al.
        2009); of two with the same, the more similar one is first. Where the model cannot be asked, it raises RuntimeError
        with the model's sentence, or with `on_model_error="words"` words alone find and the log says so.
        """
        if not 1 <= top_k <= 50:
            raise ValueError("top_k: must be from 1 to 50")
        if rrf_k < 1:
            raise ValueError("rrf_k: must be at least 1")
        texts = await self._texts(agent_id)
        if not query.strip():
            return []
        how = {"rrf_k": rrf_k, "stage1": 4 * top_k} if self._fusion == "rrf" else {}
        hits, degraded = await texts.search(query, 4 * top_k, gate=False, min_similarity=0, fusion=self._fusion, **how)
        if degraded and self._raises and self._has_model:
            await ask(await self._caller(), "embed_texts", texts=[query], kind="query")  # raises what the model says
            raise RuntimeError(f"The flows could not be looked up by {', '.join(degraded)}.")
        if how:
            hits.sort(key=lambda hit: (hit["score"], hit["similarity"] or 0), reverse=True)
        if degraded:
            _log.warning("Flows were looked up without %s.", ", ".join(degraded))
        return [{**{key: hit["metadata"].get(key) for key in _RECALLED}, "score": hit["score"]} for hit in hits[:top_k]]

    async def list_flows(self, agent_id: str) -> list[dict[str, Any]]:
        """`flow_id`, `flow_name`, `flow_type` and `checksum` of each of the agent's flows, in the order first kept."""
        return [{key: one[key] for key in _LISTED} for one in await self.stored(agent_id)]

    async def delete_flow(self, flow_id: str, *, agent_id: str | None = None) -> bool:
        """Delete the flows of this id, of all agents unless one is named; whether there was one."""
        point = self._point(flow_id)
        which = {"metadata": {"point_id": point} if point else {"flow_id": flow_id}}
        if agent_id is not None:
            return bool(await (await self._texts(agent_id)).delete(**which))
        answer = await ask(await self._caller(), "memory_document_admin", action="delete", source_type=_KIND, **which)
        return answer["deleted_count"] > 0

    async def stored(self, agent_id: str) -> list[dict[str, Any]]:
        """All that is kept of each of the agent's flows but its text."""
        texts = await self._texts(agent_id)
        return [one["metadata"] async for one in texts.every()]

    def item(
        self, embedding_text: str, flow_id: str, flow_name: str, flow_type: str, description: str, condition: str,
        agent_id: str, desired_effects: Sequence[str], checksum: str, *, point_id: str = "",
    ) -> dict[str, Any]:  # fmt: skip
        """A flow as `store` takes it, to be kept in place of the one with `point_id`. Raises ValueError."""
        for name, text in (("embedding_text", embedding_text), ("flow_name", flow_name), ("flow_id", flow_id)):
            if not text.strip():
                raise ValueError(f"{name}: must not be empty")
        if len(checksum) > 128:
            raise ValueError("checksum: must have 128 characters at most")
        metadata = {
            "flow_id": flow_id, "flow_name": flow_name, "flow_type": flow_type, "description": description, "condition": condition,
            "agent_id": agent_id, "desired_effects": list(texts_of("desired_effects", desired_effects)), "checksum": checksum,
        }  # fmt: skip
        point_id = point_id or self._point(flow_id) or str(uuid.uuid4())
        metadata["point_id"] = point_id
        return {"external_id": point_id, "text": embedding_text, "metadata": metadata, "knowledge_type": "quote"}

    async def store(
        self, agent_id: str, items: Sequence[dict[str, Any]], delete: Sequence[str] = (), *, wait: str | None = None
    ) -> None:
        """Keep flows of an agent in one transaction, then delete those with these `point_id`s. As `memorize`."""
        texts = await self._texts(agent_id)
        waits = "" if self._may_lack_model and not self._has_model else self._wait
        error = await texts.put_all(items, wait=waits if wait is None else wait) if items else ""
        if delete:
            await texts.delete(external_ids=list(delete))
        if error:
            raise RuntimeError(error)

    def _point(self, flow_id: str) -> str:
        """The UUID under which the flow is kept; empty if it is a random one."""
        try:
            return str(uuid.UUID(flow_id))
        except ValueError:
            if self._bad_flow_id == "error":
                raise ValueError(f"flow_id: {flow_id!r} is no UUID") from None
            return str(uuid.uuid5(uuid.NAMESPACE_DNS, flow_id)) if self._bad_flow_id == "uuid5" else ""

    async def _texts(self, agent_id: str) -> Texts:
        checked_name("agent_id", agent_id)
        return Texts(partial(ask, await self._caller()), _KIND, agent_id, derive=False)

    async def _caller(self) -> Caller:
        """The memory, once its model is known to be the one that was named."""
        if self._memory is None:
            given = self._given
            memory = await asyncio.to_thread(
                given.caller if isinstance(given, QdrantManager) else lambda: caller_of(given)
            )
            await self._compare(memory)
            self._memory = memory
        return self._memory

    async def _compare(self, memory: Caller) -> None:
        model = (await ask(memory, "memory_stats"))["embedding"]
        self._has_model = bool(model["model"])
        for name, size in self._sizes.items():
            if size and model["dimension"] and size != model["dimension"]:
                raise ValueError(
                    f"{name}: is {size}, and {model['model']}, the model of the memory, has {model['dimension']} dimensions"
                )
        if self._endpoint:
            settings = (await ask(memory, "memory_runtime_admin", action="get_config"))["config"]["embedding"]
            held = {**settings, "model_name": settings["model_name"] or model["model"]}
            for name, wanted in self._endpoint.items():
                if wanted and wanted.rstrip("/") != held[name].rstrip("/"):
                    raise ValueError(
                        f"{name}: is {wanted!r}, and the memory's setting embedding.{name} is {held[name]!r}"
                    )
