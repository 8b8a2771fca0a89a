"""`memory_stats`, `memory_runtime_admin`: what is stored, the running memory, its configuration and its vectors."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, Field

from ..errors import NotReady
from ..indexes.vectors.embedding_worker import EmbeddingProgress
from ..ops import NoArguments, Operations, Request, Response
from ..runtime_status import ReloadReport
from ..store.ports import Connection
from ..store.rows import embeddings as embedding_rows
from ..store.rows import paragraphs as paragraph_rows
from ..version import __version__, commit

if TYPE_CHECKING:
    from ..host.kernel import SDKMemoryKernel

ops: Operations[SDKMemoryKernel] = Operations()


class ChatCounts(BaseModel):
    """What a task asked of the chat model, on all days."""

    calls: int = 0
    failures: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0


class ChatState(BaseModel):
    """The chat model, and what it was asked."""

    state: str = "off"
    provider: str = ""
    model: str = ""
    daily_token_budget: int = Field(default=0, description="0 sets no limit.")
    tokens_today: int = Field(default=0, description="Questions and answers together, since midnight UTC.")
    tasks: dict[str, ChatCounts] = Field(default_factory=dict)
    error: str = Field(default="", description="What the last question met with; empty if it was answered.")
    notice: str = ""


class Statistics(Response):
    """Counts of live rows, unless their name says otherwise; persons and chats are all that ever were."""

    paragraphs: int = 0
    superseded: int = Field(default=0, description="Paragraphs replaced by a newer revision.")
    deleted: int = Field(default=0, description="Paragraphs deleted while they were live, or expired.")
    relations: int = 0
    entities: int = Field(default=0, description="Those that a live paragraph names.")
    persons: int = 0
    chats: int = 0
    episodes: int = Field(default=0, description="Those with a live paragraph.")
    sources: int = 0
    external_refs: int = 0
    space_vectors: int = Field(default=0, description="Vectors that callers have brought, in spaces.")
    lag: dict[str, int] = Field(default_factory=dict, description="Changes each projection has not taken up yet.")
    embedding: EmbeddingProgress = Field(default_factory=EmbeddingProgress)
    chat: ChatState = Field(default_factory=ChatState)
    summaries_waiting: int = Field(default=0, description="Chats with messages that are to be summarised.")
    notice: str = Field(default="", description="What a person should know, such as a model that is missing.")
    data_dir: str = ""
    version: str = Field(default="", description="The program's.")
    commit: str = Field(default="", description="What the program was built from; `unknown` if nothing tells.")
    disabled: bool = False


@ops.operation("memory_stats", role="read")
async def memory_stats(kernel: SDKMemoryKernel, request: NoArguments) -> Statistics:  # noqa: ARG001
    """Count what is stored and tell how current the indexes are."""
    return Statistics(
        **await kernel.statistics(), notice=kernel.vectors.notice, data_dir=str(kernel.store.folder),
        version=__version__, commit=commit(), disabled=not kernel.config.plugin.enabled,
    )  # fmt: skip


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
    embedding: EmbeddingProgress = Field(default_factory=EmbeddingProgress)
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
    embedding: EmbeddingProgress = Field(default_factory=EmbeddingProgress)


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

    embedding: EmbeddingProgress = Field(default_factory=EmbeddingProgress)
    generations: list[GenerationItem] = Field(default_factory=list)
    total: int = Field(default=0, description="Live paragraphs.")
    progress: float = Field(default=1.0, description="Share of them that has a vector of the newest generation.")


class Recovered(Response):
    """Failed paragraphs that are tried again now."""

    retried: int = 0
    embedding: EmbeddingProgress = Field(default_factory=EmbeddingProgress)


class ReloadStatus(Response):
    """What became of config changes."""

    config_file: str = ""
    reloads: int = 0
    refused: int = 0
    last: ReloadReport | None = None
    last_error: ReloadReport | None = Field(default=None, description="A refused change that still stands in the file.")
    needs_restart: list[str] = Field(default_factory=list, description="Settings that wait for the process to restart.")


class Settle(Request):
    """How long to wait."""

    seconds: float = Field(30.0, ge=0, le=600, description="The longest to wait.")


class Settled(Response):
    """Whether the background has caught up with what was written."""

    settled: bool = True
    waiting: dict[str, int] = Field(
        default_factory=dict,
        description="What still waits, and how much of it: changes for an index or for what is derived, by its name in `lag` of "
        "`memory_stats`; paragraphs for `vectors`; chats for `summaries`; operations for `purges`.",
    )


@ops.operation("memory_runtime_admin", "settle")
async def settle(kernel: SDKMemoryKernel, request: Settle) -> Settled:
    """Wait until what was written has been read, has its vectors and is in the indexes; after so long tell what still waits."""
    if await kernel.settles_within(request.seconds):
        return Settled()
    waiting = await kernel.waiting()
    return Settled(settled=not waiting, waiting=waiting)


@ops.operation("memory_runtime_admin", "save", effect="write")
async def save(kernel: SDKMemoryKernel, request: NoArguments) -> Saved:  # noqa: ARG001
    """Write the snapshots of the indexes now."""
    return Saved(indexes=await kernel.maintenance.save(), data_dir=str(kernel.store.folder))


@ops.operation("memory_runtime_admin", "get_config")
async def get_config(kernel: SDKMemoryKernel, request: NoArguments) -> RuntimeConfig:  # noqa: ARG001
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
async def rebuild_status(kernel: SDKMemoryKernel, request: NoArguments) -> RebuildStatus:  # noqa: ARG001
    """Tell how far the vectors are."""

    def read(db: Connection) -> RebuildStatus:
        progress = kernel.vectors.embedding.progress(db)
        total = paragraph_rows.live_count(db)
        items = [GenerationItem(**asdict(one), vectors=n) for one, n in embedding_rows.every_generation(db)]
        done = 1.0 if not total or progress.state == "off" else 1.0 - progress.pending / total
        return RebuildStatus(embedding=progress, generations=items, total=total, progress=round(done, 4))

    return await kernel.store.read(read)


@ops.operation("memory_runtime_admin", "recover_embedding", "paragraph_backfill_once", effect="write")
async def recover_embedding(kernel: SDKMemoryKernel, request: NoArguments) -> Recovered:  # noqa: ARG001
    """Ask the model again now, and try again every paragraph that failed."""
    retried = await kernel.vectors.recover()
    return Recovered(retried=retried, embedding=await _embedding(kernel))


@ops.operation("memory_runtime_admin", "reload", effect="write")
async def reload(kernel: SDKMemoryKernel, request: NoArguments) -> ReloadStatus:
    """Read the configuration file now and apply it; if it is refused, the error says why and nothing changes."""
    if kernel.status.reload is None:
        raise NotReady("This memory was opened without a configuration file.")
    await kernel.status.reload()
    return await reload_status(kernel, request)


@ops.operation("memory_runtime_admin", "reload_status")
async def reload_status(kernel: SDKMemoryKernel, request: NoArguments) -> ReloadStatus:  # noqa: ARG001
    """Tell what became of config changes, and why one was refused."""
    return ReloadStatus.model_validate(kernel.status, from_attributes=True)


async def _embedding(kernel: SDKMemoryKernel) -> EmbeddingProgress:
    return await kernel.store.read(kernel.vectors.embedding.progress)
