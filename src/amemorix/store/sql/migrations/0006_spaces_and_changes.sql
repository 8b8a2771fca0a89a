-- Vectors that callers bring, in spaces. Those of a space have one dimension, that of the first unless it was said before.
create table vector_spaces (
    id integer primary key autoincrement,
    name text not null unique,
    dimension integer check (dimension > 0),
    created_at real not null
) strict;

-- vector: float16, of length 1 or all zeros; magnitude: how long it was given. ref: the document that it is of.
create table space_vectors (
    id integer primary key autoincrement,
    space integer not null references vector_spaces (id) on delete cascade,
    external_id text not null,
    ref integer references external_memory_refs (id) on delete cascade,
    expires_at real,
    magnitude real not null check (magnitude >= 0),
    attributes text not null default '{}' check (json_valid(attributes)),
    vector blob not null,
    unique (space, external_id)
) strict;

create index space_vectors_by_space on space_vectors (space, id);
create index space_vectors_by_ref on space_vectors (ref) where ref is not null;
create index space_vectors_by_expiry on space_vectors (expires_at) where expires_at is not null;

-- shown_until: when it expires, itself or the document that it is of; 0 where that document is deleted.
create view space_vector_rows as
select v.id, v.space, v.external_id, v.ref, v.expires_at, v.magnitude, v.attributes, v.vector,
       min(coalesce(v.expires_at, 9e999),
           case when v.ref is null then 9e999
                else coalesce((select max(coalesce(p.expires_at, 9e999)) from paragraphs p
                               where p.ref = v.ref and p.superseded_at is null and p.deleted_at is null), 0) end) as shown_until
from space_vectors v;

-- What became of documents, for whoever keeps copies of them: numbers alone, so that nothing in it outlives a purge.
create table document_changes (
    seq integer primary key autoincrement,
    kind text not null check (kind in ('added', 'revised', 'metadata', 'deleted', 'restored', 'expired', 'purged')),
    ref integer not null,
    chat integer not null
) strict;

-- Of what is stored already nothing is told: the numbers begin behind those of the change log.
insert into meta (key, value)
select 'document_changes_floor', cast(max(coalesce((select max(seq) from changes), 0), cast(value as integer)) as text)
from meta where key = 'changes_floor'
on conflict (key) do nothing;

insert into document_changes (seq, kind, ref, chat)
select cast(value as integer), 'added', 0, 0 from meta where key = 'document_changes_floor' and value <> '0';

delete from document_changes;

create trigger refs_inserted after insert on external_memory_refs begin
    insert into document_changes (kind, ref, chat) select 'added', new.id, s.chat from sources s where s.id = new.source;
end;

create trigger refs_revised after update of revision on external_memory_refs when new.revision <> old.revision begin
    insert into document_changes (kind, ref, chat)
    select case when old.deleted_at is null then 'revised' else 'added' end, new.id, s.chat from sources s where s.id = new.source;
end;

-- an expiry that was told when it came is not told again when what has expired is cleared away
create trigger refs_deleted after update of deleted_at on external_memory_refs
when old.deleted_at is null and new.deleted_at is not null begin
    insert into document_changes (kind, ref, chat)
    select case when exists (select 1 from paragraphs p
                             where p.ref = new.id and p.revision = new.revision and p.deleted_reason = 'expired')
                then 'expired' else 'deleted' end, new.id, s.chat
    from sources s
    where s.id = new.source
      and not exists (select 1 from paragraphs p join meta m on m.key = 'documents_expired_upto'
                      where p.ref = new.id and p.revision = new.revision and p.deleted_reason = 'expired'
                        and p.expires_at <= cast(m.value as real));
end;

create trigger refs_restored after update of deleted_at on external_memory_refs
when old.deleted_at is not null and new.deleted_at is null and new.revision = old.revision begin
    insert into document_changes (kind, ref, chat) select 'restored', new.id, s.chat from sources s where s.id = new.source;
end;

create trigger refs_removed after delete on external_memory_refs begin
    insert into document_changes (kind, ref, chat) select 'purged', old.id, s.chat from sources s where s.id = old.source;
end;

create trigger paragraphs_described after update of expires_at, tags, metadata on paragraphs
when new.superseded_at is null and new.deleted_at is null
  and (new.expires_at is not old.expires_at or new.tags <> old.tags or new.metadata <> old.metadata) begin
    insert into document_changes (kind, ref, chat)
    select case when old.expires_at <= (select cast(value as real) from meta where key = 'documents_expired_upto')
                then 'restored' else 'metadata' end, new.ref, s.chat
    from sources s
    where s.id = new.source
      and not exists (select 1 from paragraphs p
                      where p.ref = new.ref and p.revision = new.revision and p.position < new.position and p.deleted_at is null);
end;

-- A part of a text goes or comes back; when all of it does, that is told of the reference, and this is passed over.
create trigger paragraphs_parted after update of deleted_at on paragraphs
when (new.deleted_at is null) <> (old.deleted_at is null) and new.superseded_at is null
  and new.deleted_reason <> 'expired' and old.deleted_reason <> 'expired' begin
    insert into document_changes (kind, ref, chat)
    select 'revised', new.ref, s.chat from sources s
    where s.id = new.source
      and exists (select 1 from paragraphs p
                  where p.ref = new.ref and p.revision = new.revision and p.id <> new.id and p.deleted_at is null);
end;
