"""The truth: one database with its repositories, owned by one process."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, TypeVar

from ..audit_context import Act, acting
from ..episodes.deriving_rows import EpisodeDerivingRepository
from ..episodes.rows import EpisodeRepository
from ..errors import MemoryFault
from ..facts.evidence import FactEvidenceRepository
from ..facts.manual_statements import StatementRepository
from ..facts.material import FactMaterialRepository
from ..facts.rows import FactRepository
from ..foreground_priority import RightOfWay
from ..forgetting.closure import ReachRepository
from ..forgetting.mention_rows import MentionRepository
from ..forgetting.operation_rows import DeleteOperationRepository
from ..forgetting.purge_rows import ErasureRepository
from ..forgetting.rows import DeletionRepository
from ..forgetting.text_references import QuotingRepository
from ..graph.extraction_rows import ExtractionRepository
from ..graph.relation_restore import RelationReturn
from ..graph.rows import GraphRepository
from ..graph.undo_rows import GraphUndoRepository
from ..importing.rows import ImportRepository
from ..ingest.late_name_rows import NamingRepository
from ..ingest.summary_rows import SummaryRepository
from ..lifecycle.evidence_rows import EvidenceUndoRepository
from ..lifecycle.trash import RecyclingRepository
from ..profiles.material import ProfileMaterialRepository
from ..profiles.rows import ProfileRepository
from ..store.copies import CopyRepository
from ..store.portable import PortableRepository
from ..tuning.material import TuningMaterialRepository
from ..tuning.profile_rows import RetrievalProfileRepository
from ..tuning.rows import TuningRepository
from .audit import AuditRepository
from .changes import ChangeRepository
from .compaction import Compaction
from .file_swap import DATABASE_FILE
from .integrity import HealthRepository
from .ports import Unit
from .reserve import make_room
from .rows.chat_usage import ChatUsageRepository
from .rows.documents import TextRepository
from .rows.embeddings import EmbeddingRepository
from .rows.entities import EntityRepository
from .rows.entity_names import EntityNaming
from .rows.names import NameRepository
from .rows.paragraphs import ParagraphRepository
from .rows.persons import PersonRepository
from .rows.relation_validity import RelationEndRepository
from .rows.relations import RelationRepository
from .rows.retention import RetentionRepository
from .rows.revisions import RevisionRepository
from .rows.sources import SourceRepository
from .sqlite import Database
from .tasks import DeriveTaskRepository
from .undo_records import UndoRepository

__all__ = ["MetadataStore", "noted"]

T = TypeVar("T")
log = logging.getLogger(__name__)


class MetadataStore:
    """Repositories over one database."""

    def __init__(
        self,
        folder: Path,
        *,
        synchronous: Literal["full", "normal"] = "full",
        readers: int = 2,
        group_commit_max: int = 256,
    ) -> None:
        self.folder = folder
        self.purging = asyncio.Lock()
        """Held by whoever erases rows and rewrites files: kernels that follow each other share the store."""
        self.purges: dict[int, Any] = {}
        """What purges under way look for, by operation: kept in memory only, for the kernel that goes on with them."""
        self.purge_progress: dict[int, tuple[str, int, int]] = {}
        """(phase, how much of it is done, of how much) of purges under way, by operation."""
        self.exchanging = False
        """Whether other rows are about to take the place of these."""
        self.importing = False
        """Whether files are being imported: what derives in the background gives way."""
        self.right_of_way = RightOfWay()
        """Searches take it; what works in the background gives way."""
        self.names = NameRepository()
        self.namings = NamingRepository()
        self.texts = TextRepository(self.names)
        self.paragraphs = ParagraphRepository()
        self.embeddings = EmbeddingRepository()
        self.entities = EntityRepository()
        self.entity_naming = EntityNaming()
        self.relations = RelationRepository()
        self.relation_ends = RelationEndRepository()
        self.relation_return = RelationReturn()
        self.graph = GraphRepository()
        self.graph_undo = GraphUndoRepository()
        self.retention = RetentionRepository()
        self.recycling = RecyclingRepository()
        self.episodes = EpisodeRepository()
        self.extractions = ExtractionRepository(self.names, self.entities, self.relations)
        self.facts = FactRepository()
        self.fact_evidence = FactEvidenceRepository()
        self.fact_material = FactMaterialRepository()
        self.undo_records = UndoRepository()
        self.statements = StatementRepository()
        self.episode_deriving = EpisodeDerivingRepository()
        self.derive_tasks = DeriveTaskRepository()
        self.persons = PersonRepository()
        self.profiles = ProfileRepository()
        self.profile_material = ProfileMaterialRepository()
        self.evidence_undo = EvidenceUndoRepository()
        self.revisions = RevisionRepository()
        self.sources = SourceRepository()
        self.summaries = SummaryRepository()
        self.chat_usage = ChatUsageRepository()
        self.changes = ChangeRepository()
        self.audit = AuditRepository()
        self.health = HealthRepository()
        self.imports = ImportRepository()
        self.copies = CopyRepository()
        self.portable = PortableRepository()
        self.deletions = DeletionRepository()
        self.delete_operations = DeleteOperationRepository()
        self.reach = ReachRepository()
        self.mentions = MentionRepository()
        self.erasure = ErasureRepository(self._forget)
        self.quoting = QuotingRepository()
        self.tuning = TuningRepository()
        self.tuning_material = TuningMaterialRepository()
        self.retrieval_profiles = RetrievalProfileRepository()
        self._compaction = Compaction()
        make_room(folder)
        self._database = Database(
            folder / DATABASE_FILE,
            synchronous=synchronous,
            readers=readers,
            group_commit_max=group_commit_max,
            on_rollback=self._forget,
        )

    @property
    def database_id(self) -> str:
        """A random name given to the database when it was made."""
        return self._database.database_id

    @property
    def history(self) -> str:
        """A name for the database and the restores it went through: an index is of one history only."""
        return f"{self._database.database_id}{self._database.incarnation}"

    async def write(self, unit: Unit[T]) -> T:
        """Run a unit of work in a transaction; returns after the commit is durable."""
        act = acting()
        return await self._database.write(unit if act is None else self.audit.noting(unit, act))

    async def note(self, act: Act) -> None:
        """Note an act that changes something else than rows."""
        await self._database.write(lambda db: self.audit.put(db, act))

    async def read(self, unit: Unit[T]) -> T:
        """Run a unit of work on a reader thread, within one snapshot."""
        return await self._database.read(unit)

    def read_here(self, unit: Unit[T]) -> T:
        """Run a unit of work on the calling thread, within one snapshot."""
        return self._database.read_here(unit)

    async def fold_log(self) -> bool:
        """Bring the write-ahead log into the database and empty it; False if a reader was in the way."""
        return await self._database.alone(self._compaction.fold)

    async def rewrite(self) -> None:
        """Write the database file anew; nothing else is written meanwhile."""
        size = self._database.path.stat().st_size
        await self._database.alone(lambda db: self._compaction.rewrite(db, size))

    async def reindex(self) -> None:
        """Make the database's own indexes anew; nothing else is written meanwhile."""
        await self._database.alone(self.health.reindex)

    @property
    def files(self) -> tuple[Path, Path]:
        """The database file and its write-ahead log."""
        path = self._database.path
        return path, path.with_name(f"{path.name}-wal")

    def raw_chunks(self, path: Path) -> Iterator[bytes]:
        """The bytes of one of `files`, a chunk at a time."""
        return self._database.raw.chunks(path)

    def close(self) -> None:
        """Finish pending writes and let go of the files."""
        self._database.close()

    def _forget(self) -> None:
        self.names.forget()
        self.texts.forget()
        self.audit.forget()


async def noted(store: MetadataStore, given: dict[str, Any] | None = None, **known: str) -> None:
    """Note the act under way, and what it worked on, though it changed no row; what was done stays done if that fails."""
    act = acting()
    if act is None:
        return
    act.name(given, **known)
    try:
        await store.note(act)
    except MemoryFault as exc:
        log.warning("%s %s was not noted in the audit: %s", act.component, act.action, exc)
