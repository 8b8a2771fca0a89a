"""Builds data directories of the reference implementation, by its documented schema, in several of its versions."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

Version = Literal["current", "nine", "first"]
VERSIONS: tuple[Version, ...] = ("current", "nine", "first")

PARAGRAPHS = "hash text primary key, content text not null, vector_index integer, created_at real, updated_at real, metadata text, source text, word_count integer"
TIMES = "event_time real, event_time_start real, event_time_end real, time_granularity text, time_confidence real"
RELATIONS = "hash text primary key, subject text, predicate text, object text, vector_index integer, confidence real, created_at real, source_paragraph text, metadata text"
SCHEMAS: dict[Version, str] = {
    "current": f"""
        create table paragraphs ({PARAGRAPHS}, {TIMES}, knowledge_type text, is_permanent integer default 0,
            last_accessed real, access_count integer default 0, is_deleted integer default 0, deleted_at real,
            expires_at real, deletion_reason text);
        create table entities (hash text primary key, name text unique, vector_index integer, appearance_count integer,
            created_at real, metadata text, is_deleted integer default 0, deleted_at real);
        create table relations ({RELATIONS}, vector_state text, is_permanent integer default 0,
            is_inactive integer default 0, inactive_since real, is_pinned integer default 0, protected_until real,
            retention_strength real, inactive_reason text, unique (subject, predicate, object));
        create table deleted_relations ({RELATIONS}, deleted_at real);
        create table relation_hash_aliases (alias32 text primary key, hash text);
        create table paragraph_entities (paragraph_hash text, entity_hash text, mention_count integer,
            primary key (paragraph_hash, entity_hash));
        create table paragraph_relations (paragraph_hash text, relation_hash text,
            primary key (paragraph_hash, relation_hash));
        create table paragraph_stale_relation_marks (paragraph_hash text, relation_hash text, reason text,
            primary key (paragraph_hash, relation_hash));
        create table external_memory_refs (external_id text primary key,
            paragraph_hash text references paragraphs (hash) on delete cascade, source_type text, created_at real,
            metadata_json text);
        create index refs_by_paragraph on external_memory_refs (paragraph_hash);
        create table person_profile_snapshots (snapshot_id integer primary key, person_id text, profile_version integer,
            profile_text text, aliases_json text, updated_at real, unique (person_id, profile_version));
        create table person_profile_overrides (person_id text primary key, override_text text, updated_at real,
            updated_by text, source text);
        create table episodes (episode_id text primary key, source text, title text, summary text);
    """,
    "nine": f"""
        create table paragraphs ({PARAGRAPHS}, {TIMES}, knowledge_type text, is_deleted integer default 0);
        create table entities (hash text primary key, name text unique, appearance_count integer, created_at real);
        create table relations ({RELATIONS}, is_inactive integer default 0, is_pinned integer default 0);
        create table paragraph_entities (paragraph_hash text, entity_hash text, mention_count integer);
        create table paragraph_relations (paragraph_hash text, relation_hash text);
        create table external_memory_refs (external_id text primary key, paragraph_hash text, source_type text);
        create table person_profile_overrides (person_id text primary key, override_text text);
        create table person_profile_snapshots (snapshot_id integer primary key, person_id text, profile_version integer,
            profile_text text, aliases_json text);
    """,
    "first": f"""
        create table paragraphs ({PARAGRAPHS});
        create table entities (hash text primary key, name text unique, created_at real);
        create table relations ({RELATIONS});
        create table paragraph_entities (paragraph_hash text, entity_hash text);
    """,
}


def key_of(text: str) -> str:
    """The hash by which the reference knows a text, a name or a triple."""
    return hashlib.sha256(text.encode()).hexdigest()


class ReferenceDirectory:
    """A directory that is filled row by row; columns and tables which its version lacks are left out."""

    def __init__(self, folder: Path, version: Version = "current") -> None:
        self.folder = folder
        self.path = folder / "metadata" / "metadata.db"
        self.path.parent.mkdir(parents=True)
        self.version = version
        self.db = sqlite3.connect(self.path, isolation_level=None)
        self.db.execute("pragma journal_mode = wal")
        self.db.executescript(SCHEMAS[version])
        found = self.db.execute(
            "select m.name, c.name from sqlite_master m join pragma_table_info(m.name) c"
        ).fetchall()
        self.columns = {table: {column for name, column in found if name == table} for table, _ in found}

    def close(self) -> Path:
        """The directory, as a clean shutdown leaves it."""
        self.db.close()
        return self.folder

    def insert(self, table: str, **row: Any) -> None:
        """One row, as far as this version can hold it."""
        kept = {key: value for key, value in row.items() if key in self.columns.get(table, ())}
        if kept:
            marks = ", ".join(f":{key}" for key in kept)
            self.db.execute(f"insert or ignore into {table} ({', '.join(kept)}) values ({marks})", kept)

    def paragraph(
        self,
        content: str,
        *,
        metadata: Mapping[str, Any] | None = None,
        entities: tuple[str, ...] = (),
        external_id: str = "",
        **columns: Any,
    ) -> str:
        """A paragraph with its entities and its external id; its hash."""
        key = key_of(content)
        about = json.dumps(dict(metadata or {}), ensure_ascii=False)
        self.insert(
            "paragraphs", hash=key, content=content, metadata=about, **{"created_at": 1_700_000_000.0, **columns}
        )
        for name in entities:
            self.insert("entities", hash=key_of(name.lower()), name=name, appearance_count=1, created_at=1.0)
            self.insert("paragraph_entities", paragraph_hash=key, entity_hash=key_of(name.lower()), mention_count=1)
        if external_id:
            self.reference(external_id, key, (metadata or {}).get("source_type", "chat_turn"))
        return key

    def reference(self, external_id: str, paragraph: str, source_type: str, **metadata: Any) -> None:
        """A further external id of a paragraph."""
        self.insert("external_memory_refs", external_id=external_id, paragraph_hash=paragraph, source_type=source_type,
                    created_at=1_700_000_000.0, metadata_json=json.dumps(metadata, ensure_ascii=False))  # fmt: skip

    def relation(self, subject: str, predicate: str, object_: str, *paragraphs: str, **columns: Any) -> str:
        """A relation with the paragraphs that it rests on; its hash."""
        key = key_of(f"{subject}|{predicate}|{object_}")
        source = paragraphs[0] if paragraphs else None
        self.insert("relations", hash=key, subject=subject, predicate=predicate, object=object_, source_paragraph=source,
                    **{"created_at": 1_700_000_000.0, "confidence": 1.0, **columns})  # fmt: skip
        for paragraph in paragraphs:
            self.insert("paragraph_relations", paragraph_hash=paragraph, relation_hash=key)
        return key
