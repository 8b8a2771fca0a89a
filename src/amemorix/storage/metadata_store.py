"""The truth: one database with its repositories, owned by one process."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, TypeVar

from ..acting import Act, acting
from .audit import AuditRepository
from .changes import ChangeRepository
from .chat_usage import ChatUsageRepository
from .compaction import Compaction
from .copies import CopyRepository
from .database import Database, Unit
from .delete_operations import DeleteOperationRepository
from .deletions import DeletionRepository
from .derive_tasks import DeriveTaskRepository
from .embeddings import EmbeddingRepository
from .entities import EntityRepository
from .entity_naming import EntityNaming
from .episode_deriving import EpisodeDerivingRepository
from .episodes import EpisodeRepository
from .erasure import ErasureRepository
from .evidence_undo import EvidenceUndoRepository
from .exchange import DATABASE_FILE
from .extractions import ExtractionRepository
from .fact_evidence import FactEvidenceRepository
from .fact_material import FactMaterialRepository
from .facts import FactRepository
from .graph_reading import GraphRepository
from .graph_undo import GraphUndoRepository
from .health import HealthRepository
from .imports import ImportRepository
from .mentions import MentionRepository
from .names import NameRepository
from .namings import NamingRepository
from .paragraphs import ParagraphRepository
from .persons import PersonRepository
from .portable import PortableRepository
from .profile_material import ProfileMaterialRepository
from .profiles import ProfileRepository
from .quoting import QuotingRepository
from .reach import ReachRepository
from .recycling import RecyclingRepository
from .relation_ends import RelationEndRepository
from .relation_return import RelationReturn
from .relations import RelationRepository
from .reserve import make_room
from .retention import RetentionRepository
from .retrieval_profiles import RetrievalProfileRepository
from .revisions import RevisionRepository
from .right_of_way import RightOfWay
from .sources import SourceRepository
from .statements import StatementRepository
from .summaries import SummaryRepository
from .texts import TextRepository
from .tuning import TuningRepository
from .tuning_material import TuningMaterialRepository
from .undo_records import UndoRepository

__all__ = ["MetadataStore"]

T = TypeVar("T")


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
