"""Modules for agents of xaibo: a memory, and the chunker, embedder and vector index that memories are made of.

An agent's YAML names them by their path. What xaibo asks of a module's constructor keeps this file free of
`from __future__ import annotations`, and its constructors free of a return annotation: xaibo reads annotations raw and
takes each but that of `config` for a dependency. Whatever passes between modules, texts of the memory included, is in
xaibo's event log and debug files.
"""

import asyncio
import base64
import json
import os
import re
import uuid
from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, Optional

from ..errors import NotFound
from ..extras import require
from ..language.chunking import split
from ..language.normalise import is_mostly_cjk
from ..location import TOKEN_ENV
from .access import caller_of, shared
from .texts import Texts, ask, checked_name

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from .access import AnyMemory, Caller

    Given = AnyMemory | Caller

__all__ = ["AMemorixChunker", "AMemorixEmbedder", "AMemorixMemory", "AMemorixVectorIndex"]

_MOST = 200
"""Results of one search."""
_LARGEST_ANSWER = 2**24
"""Bytes of a vector in JSON."""
_UNSPACED = re.compile(r"[\u2e80-\u9fff\uac00-\ud7ff\uf900-\ufaff]")
_WORD = re.compile(r"\s(?=\S)")


class _Module:
    """What the four have in common: checked settings, and the memory that they name, opened when it is first asked.

    `config_path` is a folder or a configuration file (by default that of `Memory()`); with `url`, and the token in the
    environment variable `token_env`, it is a daemon. Raises ValueError for a setting that is unknown or of another type.
    """

    protocol: ClassVar[str]
    settings: ClassVar[Mapping[str, Any]] = {}
    """The settings of this module with their defaults."""

    def __init__(self, config: Optional[dict[str, Any]] = None):  # noqa: UP045
        known: dict[str, Any] = {
            "config_path": "",
            "url": "",
            "token_env": TOKEN_ENV,
            "namespace": "default",
            **self.settings,
        }
        self.config: dict[str, Any] = dict(known)
        for key, value in (config or {}).items():
            if key not in known:
                raise ValueError(f"config.{key}: unknown; there are {', '.join(known)}")
            default = known[key]
            kind = (int, float) if isinstance(default, float) else type(default)
            if value is None:
                continue
            if not isinstance(value, kind) or isinstance(value, bool) != isinstance(default, bool):
                raise ValueError(f"config.{key}: expected {type(default).__name__}, not {value!r}")
            self.config[key] = value
        for name in {"namespace", "space"} & known.keys():
            checked_name(f"config.{name}", self.config[name])
        self._given: Optional[Caller] = None  # noqa: UP045

    @classmethod
    def over(cls, memory: "Given", **config: Any):
        """The module over a memory that the program runs itself, for `ConfigOverrides(instances=…)`."""
        made = cls(config)
        made._given = caller_of(memory)
        return made

    @classmethod
    def provides(cls) -> list[type]:
        """xaibo's protocols that it implements."""
        return [getattr(_protocols(), cls.protocol)]

    @property
    def _memory(self) -> "Caller":
        if self._given is None:
            config = self.config
            self._given = shared(config["config_path"] or None, url=config["url"], token_env=config["token_env"])
        return self._given


class AMemorixMemory(_Module):
    """Memories that are kept, found by meaning and by words, changed and deleted.

    Settings: `dedupe` (the same text has one id), `purge_on_delete` (nothing is left of what is deleted, instead of a
    recycle bin), `ttl_seconds` (0: for ever), `gate` (a search gives nothing rather than what hardly answers), `wait`
    (what storing waits for: `vectors` until it is found by meaning too, `` for words alone). Errors: ValueError for what
    cannot be taken, RuntimeError with the sentence of the memory where it cannot do it.
    """

    protocol = "MemoryProtocol"
    settings: ClassVar[Mapping[str, Any]] = {
        "dedupe": False,
        "purge_on_delete": False,
        "ttl_seconds": 0.0,
        "gate": False,
        "wait": "",
    }

    @property
    def _texts(self) -> Texts:
        return Texts(partial(ask, self._memory), "xaibo", self.config["namespace"])

    async def store_memory(self, text: str, attributes: "dict[str, Any] | None" = None) -> str:
        """Store a text; gives its new id."""
        return await self._put(str(uuid.uuid4()), text, attributes, "merge" if self.config["dedupe"] else "store")

    async def get_memory(self, memory_id: str) -> "dict[str, Any] | None":
        """`id`, `content`, `attributes` and `chunks` of a memory; None if it is not there."""
        item = (await self._texts.get([memory_id])).get(memory_id)
        return _memory(item) if item else None

    async def search_memory(self, query: str, k: int = 10) -> list[Any]:
        """The `k` memories (200 at most) that the memory ranks first, the most similar before the others.

        `similarity_score` is the cosine to the nearest part of the text, from 0 to 1; where there is no model, it is
        the score of the words.
        """
        _positive("k", k)
        if not query.strip():
            return []
        hits, _ = await self._texts.search(query, min(k, _MOST), gate=self.config["gate"], min_similarity=0)
        whole = await self._texts.get(hit["external_id"] for hit in hits)
        found = [
            _protocols().MemorySearchResult(
                memory_id=hit["external_id"],
                content=whole[hit["external_id"]]["text"],
                similarity_score=_unit(hit["score"] if hit["similarity"] is None else hit["similarity"]),
                attributes=whole[hit["external_id"]]["metadata"],
            )
            for hit in hits
            if hit["external_id"] in whole
        ]
        return sorted(found, key=lambda one: one.similarity_score, reverse=True)

    async def list_memories(self) -> "list[dict[str, Any]]":
        """All memories in the order they were stored."""
        return [_memory(item) async for item in self._texts.every()]

    async def delete_memory(self, memory_id: str) -> bool:
        """Delete a memory with its vectors; whether it was there."""
        return bool(await self._texts.delete(external_ids=[memory_id], purge=self.config["purge_on_delete"]))

    async def update_memory(self, memory_id: str, text: str, attributes: "dict[str, Any] | None" = None) -> bool:
        """Give a memory another text, and other attributes in place of those it had; whether it was there."""
        if memory_id not in await self._texts.get([memory_id]):
            return False
        await self._put(memory_id, text, attributes)
        return True

    async def _put(
        self, memory_id: str, text: str, attributes: "dict[str, Any] | None", same_text: str = "store"
    ) -> str:
        if not text.strip():
            raise ValueError("text: must not be empty")
        item = {"external_id": memory_id, "text": text, "metadata": _checked(attributes), "same_text": same_text}
        if ttl := self.config["ttl_seconds"]:
            item["ttl_seconds"] = ttl
        return (await self._texts.put(**item, wait=self.config["wait"]))["external_id"]


class AMemorixChunker(_Module):
    """Cuts texts into pieces of up to `window_size` tokens, of which `window_overlap` end the piece before.

    A piece ends where a paragraph, a line, a sentence or a word does, and is a part of the text as it stands; only white
    space between pieces is left out. `unit` is `token` (of the installed local model, roughly counted where there is
    none) or `char`.
    """

    protocol = "ChunkingProtocol"
    settings: ClassVar[Mapping[str, Any]] = {"window_size": 512, "window_overlap": 50, "unit": "token"}

    def __init__(self, config: Optional[dict[str, Any]] = None):  # noqa: UP045
        super().__init__(config)
        _positive("config.window_size", self.config["window_size"])
        if not 0 <= self.config["window_overlap"] < self.config["window_size"]:
            raise ValueError("config.window_overlap: must be from 0 to less than config.window_size")
        if self.config["unit"] not in ("token", "char"):
            raise ValueError("config.unit: must be token or char")

    async def chunk(self, text: str) -> list[str]:
        """The pieces of the text in their order; a text that fits is one piece, white space is none."""
        return await asyncio.to_thread(self._chunk, text)

    def _chunk(self, text: str) -> list[str]:
        count = len if self.config["unit"] == "char" else _token_counter()
        window, overlap = self.config["window_size"], self.config["window_overlap"]
        if not text.strip():
            return []
        if count(text) <= window:
            return [text]
        chunks, end = list[str](), 0
        for piece in _fitting(text, count, window - overlap):
            start = text.index(piece, end)
            before = _tail(text[max(0, start - 16 * overlap - 1) : start], count, overlap) if chunks else 0
            end = start + len(piece)
            chunks.append(text[start - before : end])
        return chunks


class AMemorixEmbedder(_Module):
    """Vectors by the model of the memory; with `multimodal`, texts, images and sounds by an endpoint for all three.

    `multimodal` has `base_url`, `model_name`, `api_key_env` (the environment variable that holds the key) and `format`:
    how `POST {base_url}/embeddings` takes images and sounds. `vllm`: as messages with data URLs; `jina`: as
    `{"image": …}` in `input`; `infinity`: as data URLs in `input`, with a `modality`.
    """

    protocol = "EmbeddingProtocol"
    settings: ClassVar[Mapping[str, Any]] = {"multimodal": {}}

    def __init__(self, config: Optional[dict[str, Any]] = None):  # noqa: UP045
        super().__init__(config)
        endpoint = {"api_key_env": "", "format": "vllm", **self.config["multimodal"]}
        if self.config["multimodal"] and endpoint.keys() != {"base_url", "model_name", "api_key_env", "format"}:
            raise ValueError("config.multimodal: has base_url, model_name, api_key_env and format")
        if endpoint["format"] not in _FORMATS:
            raise ValueError(f"config.multimodal.format: must be one of {', '.join(_FORMATS)}")
        self._endpoint = endpoint

    async def text_to_embedding(self, text: str) -> "NDArray[np.float32]":
        """A vector of unit length; zeros for a text without anything but white space."""
        if text.strip() or not self.config["multimodal"]:
            return await self._embedded(text=text)
        return 0 * await self._embedded(text="zeros")

    async def image_to_embedding(self, image_data: bytes) -> "NDArray[np.float32]":
        """The same of an image. Raises NotImplementedError where no multimodal endpoint is set."""
        return await self._embedded(image=image_data)

    async def audio_to_embedding(self, audio_data: bytes) -> "NDArray[np.float32]":
        """The same of a recording. Raises NotImplementedError where no multimodal endpoint is set."""
        return await self._embedded(audio=audio_data)

    async def _embedded(self, **what: Any) -> "NDArray[np.float32]":
        import numpy as np

        ((kind, data),) = what.items()
        if self.config["multimodal"]:
            vector = await _asked(self._endpoint, kind, data)
        elif kind == "text":
            vector = (await ask(self._memory, "embed_texts", texts=[data]))["vectors"][0]
        else:
            raise NotImplementedError(
                f"The memory's model reads text, no {kind}: name an endpoint that does in config.multimodal."
            )
        found = np.asarray(vector, np.float32)
        return found / max(float(np.linalg.norm(found)), 1e-12)


class AMemorixVectorIndex(_Module):
    """Vectors of any model with what belongs to them; `space` names one of several indexes of a namespace."""

    protocol = "VectorIndexProtocol"
    settings: ClassVar[Mapping[str, Any]] = {"space": "vectors"}

    async def add_vectors(
        self, vectors: "list[NDArray[np.floating[Any]]]", attributes: "list[dict[str, Any]] | None" = None
    ) -> None:
        """Add vectors, each with its attributes. Raises ValueError for a dimension that is not that of the first one."""
        described = [{} for _ in vectors] if attributes is None else attributes
        if len(vectors) != len(described):
            raise ValueError("Number of vectors and attributes must match")
        items = [
            {"vector": vector.tolist(), "attributes": _checked(one)}
            for vector, one in zip(vectors, described, strict=True)
        ]
        if items:
            await self._space("add", create=True, items=items)

    async def search(self, query_vector: "NDArray[np.floating[Any]]", k: int = 10) -> list[Any]:
        """The `k` vectors (200 at most) with the greatest cosines, from 0 to 1, the best first."""
        _positive("k", k)
        try:
            answer = await self._space("search", vector=query_vector.tolist(), limit=min(k, _MOST))
        except RuntimeError as exc:
            if isinstance(exc.__cause__, NotFound):  # no vector was added
                return []
            raise
        return [
            _protocols().VectorSearchResult(
                vector_id=hit["id"], similarity_score=_unit(hit["score"]), attributes=hit["attributes"]
            )
            for hit in answer["items"]
        ]

    async def _space(self, action: str, **arguments: Any) -> dict[str, Any]:
        # a colon within it must not look like the one behind it
        namespace = self.config["namespace"].replace("%", "%25").replace(":", "%3A")
        space = f"xaibo:{namespace}:{self.config['space']}"
        return await ask(self._memory, "memory_vector_admin", action=action, space=space, **arguments)


def _protocols() -> Any:
    """xaibo's own module of protocols and results."""
    require("xaibo", "A module of an agent")
    return import_module("xaibo.core.protocols.memory")


def _memory(item: Mapping[str, Any]) -> dict[str, Any]:
    chunks = [f"{item['external_id']}_chunk_{place}" for place in range(len(item["paragraph_ids"]))]
    return {
        "id": item["external_id"], "content": item["text"], "attributes": item["metadata"], "chunks": chunks,
    }  # fmt: skip


def _checked(attributes: Any) -> dict[str, Any]:
    if not isinstance(attributes or {}, dict):
        raise ValueError("attributes: must be a dict")
    try:
        json.dumps(attributes, allow_nan=False)
    except (TypeError, ValueError) as exc:
        raise ValueError(f"attributes: must be JSON: {exc}") from exc
    return attributes or {}


def _positive(name: str, value: int) -> None:
    if value < 1:
        raise ValueError(f"{name}: must be at least 1")


def _unit(score: float) -> float:
    return min(1.0, max(0.0, score))


def _roughly(text: str) -> int:
    """About as many tokens as most models count: one for each Chinese character, one for four others."""
    unspaced = len(_UNSPACED.findall(text))
    return unspaced + -(-(len(text) - unspaced) // 4)


@cache
def _token_counter() -> Callable[[str], int]:
    from ..models.registry import token_counter

    return token_counter(os.environ) or _roughly


def _fitting(text: str, count: Callable[[str], int], room: int) -> Iterator[str]:
    """The text in pieces that count up to `room`."""
    total = count(text)
    if total <= room or len(text) == 1:
        yield text
        return
    for piece in split(text, target=max(1, len(text) * room * 4 // (total * 5))):
        yield from _fitting(piece, count, room)


def _tail(text: str, count: Callable[[str], int], room: int) -> int:
    """The length of the longest end of the text that counts up to `room` and begins with a word, if it has one."""
    low, high = 0, min(len(text), 16 * room)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if count(text[-middle:]) <= room else (low, middle - 1)
    tail = text[len(text) - low :]
    within = 0 < low < len(text) and tail[0].isalnum() and text[-low - 1].isalnum() and not is_mostly_cjk(tail[0])
    if not within:
        return low
    word = _WORD.search(tail)
    return low - word.end() if word else 0


def _data_url(kind: str, data: bytes) -> str:
    """The data with its type, which is told by how it begins."""
    begins = {
        b"\x89PNG": "image/png", b"\xff\xd8": "image/jpeg", b"GIF8": "image/gif", b"RIFF": "image/webp" if kind == "image" else "audio/wav",
        b"fLaC": "audio/flac", b"OggS": "audio/ogg", b"ID3": "audio/mpeg", b"\xff\xfb": "audio/mpeg",
    }  # fmt: skip
    mime = next((mime for mark, mime in begins.items() if data.startswith(mark)), f"{kind}/*")
    return f"data:{mime};base64,{base64.b64encode(data).decode()}"


def _vllm(kind: str, data: Any) -> dict[str, Any]:
    if kind == "text":
        part = {"type": "text", "text": data}
    else:
        part = {"type": f"{kind}_url", f"{kind}_url": {"url": _data_url(kind, data)}}
    return {"messages": [{"role": "user", "content": [part]}]}


def _jina(kind: str, data: Any) -> dict[str, Any]:
    return {"input": [{kind: data if kind == "text" else base64.b64encode(data).decode()}]}


def _infinity(kind: str, data: Any) -> dict[str, Any]:
    return {"input": [data if kind == "text" else _data_url(kind, data)], "modality": kind}


_FORMATS = {"vllm": _vllm, "jina": _jina, "infinity": _infinity}


async def _asked(endpoint: Mapping[str, Any], kind: str, data: Any) -> list[float]:
    """The vector that the endpoint gives."""
    from ..errors import ModelUnavailable
    from ..models.openai.client import OpenAIClient, Refused

    key = os.environ.get(endpoint["api_key_env"], "").strip() if endpoint["api_key_env"] else ""
    client: Any = None
    try:
        client = OpenAIClient(
            "multimodal", endpoint["base_url"], "/embeddings", key=key, fault=ModelUnavailable, details={},
            refused=frozenset({400, 413, 415, 422}), timeout=60, max_attempts=3, max_bytes=_LARGEST_ANSWER,
        )  # fmt: skip
        answer = await client.post({"model": endpoint["model_name"], **_FORMATS[endpoint["format"]](kind, data)})
        return [float(one) for one in json.loads(answer)["data"][0]["embedding"]]
    except Refused as exc:
        raise NotImplementedError(f"{client.who} takes no {kind}: it {exc}.") from exc
    except (ModelUnavailable, KeyError, IndexError, TypeError, ValueError) as exc:
        raise RuntimeError(f"No vector of the {kind}: {exc}") from exc
    finally:
        if client:
            await client.close()
