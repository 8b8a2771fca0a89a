"""`memory_runtime_admin`: the running memory, its configuration and its vectors."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, Field

from ..errors import NotReady
from ..ops import Operations, Request, Response
from ..store.ports import Connection
from ..store.rows import embeddings as embedding_rows
from ..store.rows import paragraphs as paragraph_rows
from .stats import EmbeddingState

if TYPE_CHECKING:
    from ..host.kernel import SDKMemoryKernel

__all__ = ["ops"]

ops: Operations[SDKMemoryKernel] = Operations()


class Nothing(Request):
    """No arguments."""


class Saved(Response):
    """Snapshots written."""

    saved: bool = True
    indexes: list[str] = Field(default_factory=list, description="Those that were out of date.")
    data_dir: str = ""


class RuntimeConfig(Response):
    """The configuration at work, and what it amounts to."""

    config: dict[str, Any] = Field(default_factory=dict)
    config_file: str = ""
    data_dir: str = ""
    auto_save: bool = True
    embedding: EmbeddingState = Field(default_factory=EmbeddingState)
    retrieval_mode: str = Field(
        default="", description="`hybrid`: words and meaning; `sparse_graph`: words and structure."
    )
    notice: str = ""


class AutoSave(Request):
    """Whether snapshots are written by themselves."""

    enabled: bool


class AutoSaved(Response):
    """The switch as it stands now."""

    auto_save: bool = True


class RebuildVectors(Request):
    """How to rebuild."""

    dry_run: bool = Field(default=False, description="Only say what would be done.")


class VectorRebuild(Response):
    """A rebuild, planned or begun; `rebuild_status` tells how far it is."""

    started: bool = False
    dry_run: bool = False
    paragraphs: int = Field(default=0, description="Vectors to make.")
    generation: int = 0
    embedding: EmbeddingState = Field(default_factory=EmbeddingState)


class GenerationItem(BaseModel):
    """One set of vectors."""

    id: int
    provider: str
    model: str
    dimension: int
    status: str
    vectors: int


class RebuildStatus(Response):
    """How far the vectors are."""

    embedding: EmbeddingState = Field(default_factory=EmbeddingState)
    generations: list[GenerationItem] = Field(default_factory=list)
    total: int = Field(default=0, description="Live paragraphs.")
    progress: float = Field(default=1.0, description="Share of them that has a vector of the newest generation.")


class Recovered(Response):
    """Failed paragraphs that are tried again now."""

    retried: int = 0
    embedding: EmbeddingState = Field(default_factory=EmbeddingState)


class Reload(BaseModel):
    """One reload."""

    at: float = 0.0
    ok: bool = True
    level: str = "none"
    changed: list[str] = Field(default_factory=list)
    error: str = ""
    problems: list[dict[str, Any]] = Field(default_factory=list)
    seconds: float = 0.0


class ReloadStatus(Response):
    """What became of config changes."""

    config_file: str = ""
    reloads: int = 0
    refused: int = 0
    last: Reload | None = None
    last_error: Reload | None = Field(default=None, description="A refused change that still stands in the file.")
    needs_restart: list[str] = Field(default_factory=list, description="Settings that wait for the process to restart.")


@ops.operation("memory_runtime_admin", "save", effect="write")
async def save(kernel: SDKMemoryKernel, request: Nothing) -> Saved:  # noqa: ARG001
    """Write the snapshots of the indexes now."""
    return Saved(indexes=await kernel.maintenance.save(), data_dir=str(kernel.store.folder))


@ops.operation("memory_runtime_admin", "get_config")
async def get_config(kernel: SDKMemoryKernel, request: Nothing) -> RuntimeConfig:  # noqa: ARG001
    """Show the configuration at work."""
    return RuntimeConfig(
        config=kernel.config.model_dump(mode="json"), config_file=kernel.status.config_file,
        data_dir=str(kernel.store.folder), auto_save=await kernel.maintenance.auto_save(),
        embedding=await _embedding(kernel), notice=kernel.vectors.notice,
        retrieval_mode="hybrid" if kernel.vectors.dense.serving else "sparse_graph",
    )  # fmt: skip


@ops.operation("memory_runtime_admin", "set_auto_save", effect="write")
async def set_auto_save(kernel: SDKMemoryKernel, request: AutoSave) -> AutoSaved:
    """Switch the writing of snapshots in the background on or off; kept over restarts."""
    await kernel.maintenance.set_auto_save(request.enabled)
    return AutoSaved(auto_save=await kernel.maintenance.auto_save())


@ops.operation("memory_runtime_admin", "rebuild_all_vectors", effect="write")
async def rebuild_all_vectors(kernel: SDKMemoryKernel, request: RebuildVectors) -> VectorRebuild:
    """Embed everything again in the background; the old vectors answer until the new ones are complete."""
    total = await kernel.store.read(paragraph_rows.live_count)
    if request.dry_run:
        return VectorRebuild(dry_run=True, paragraphs=total, embedding=await _embedding(kernel))
    generation = await kernel.vectors.embedding.rebuild()
    return VectorRebuild(started=True, paragraphs=total, generation=generation.id, embedding=await _embedding(kernel))


@ops.operation("memory_runtime_admin", "rebuild_status")
async def rebuild_status(kernel: SDKMemoryKernel, request: Nothing) -> RebuildStatus:  # noqa: ARG001
    """Tell how far the vectors are."""
    store = kernel.store

    def read(db: Connection) -> RebuildStatus:
        progress = kernel.vectors.embedding.progress(db)
        total = paragraph_rows.live_count(db)
        items = [
            GenerationItem(
                id=g.id, provider=g.provider, model=g.model, dimension=g.dimension, status=g.status, vectors=n
            )
            for g, n in embedding_rows.every_generation(db)
        ]
        done = 1.0 if not total or progress.state == "off" else 1.0 - progress.pending / total
        return RebuildStatus(
            embedding=EmbeddingState(**asdict(progress)), generations=items, total=total, progress=round(done, 4)
        )

    return await store.read(read)


@ops.operation("memory_runtime_admin", "recover_embedding", "paragraph_backfill_once", effect="write")
async def recover_embedding(kernel: SDKMemoryKernel, request: Nothing) -> Recovered:  # noqa: ARG001
    """Ask the model again now, and try again every paragraph that failed."""
    retried = await kernel.vectors.recover()
    return Recovered(retried=retried, embedding=await _embedding(kernel))


@ops.operation("memory_runtime_admin", "reload", effect="write")
async def reload(kernel: SDKMemoryKernel, request: Nothing) -> ReloadStatus:
    """Read the configuration file now and apply it; if it is refused, the error says why and nothing changes."""
    if kernel.status.reload is None:
        raise NotReady("This memory was opened without a configuration file.")
    await kernel.status.reload()
    return await reload_status(kernel, request)


@ops.operation("memory_runtime_admin", "reload_status")
async def reload_status(kernel: SDKMemoryKernel, request: Nothing) -> ReloadStatus:  # noqa: ARG001
    """Tell what became of config changes, and why one was refused."""
    status = kernel.status
    return ReloadStatus(
        config_file=status.config_file, reloads=status.reloads, refused=status.refused,
        last=None if status.last is None else Reload(**asdict(status.last)),
        last_error=None if status.last_error is None else Reload(**asdict(status.last_error)),
        needs_restart=list(status.needs_restart),
    )  # fmt: skip


async def _embedding(kernel: SDKMemoryKernel) -> EmbeddingState:
    return EmbeddingState(**asdict(await kernel.store.read(kernel.vectors.embedding.progress)))
