-- What was stored under an external id is a document: when it was first stored, and when it was last worded or described
-- anew.
alter table external_memory_refs add column created_at real not null default 0;
alter table external_memory_refs add column updated_at real not null default 0;

update external_memory_refs set updated_at = recorded_at, created_at = coalesce(
    (select min(p.recorded_at) from paragraphs p where p.ref = external_memory_refs.id), recorded_at);

create index refs_by_creation on external_memory_refs (source, created_at);
create index refs_by_update on external_memory_refs (source, updated_at);

-- derive: 0 for what is found and told, and nothing is read out of.
alter table paragraphs add column derive integer not null default 1 check (derive in (0, 1));

-- The words of a document as they were told, where its paragraphs, each on a line, are not the same.
create table originals (
    ref integer not null references external_memory_refs (id) on delete cascade,
    revision integer not null,
    content text not null,
    primary key (ref, revision)
) strict;

-- An original says what each of its paragraphs says.
create trigger paragraphs_forget_original after delete on paragraphs begin
    delete from originals where ref = old.ref and revision = old.revision;
end;

-- The tags of documents, as their current paragraphs have them.
create table document_tags (
    tag text not null,
    ref integer not null references external_memory_refs (id) on delete cascade,
    primary key (tag, ref)
) strict, without rowid;

create index document_tags_by_ref on document_tags (ref);

insert into document_tags (tag, ref)
select distinct t.value, p.ref from paragraphs p, json_each(p.tags) t
where p.tags <> '[]' and p.superseded_at is null;

create trigger paragraphs_tagged after insert on paragraphs when new.tags <> '[]' or new.revision > 1 begin
    delete from document_tags where ref = new.ref and tag not in (select value from json_each(new.tags));
    insert into document_tags (tag, ref) select value, new.ref from json_each(new.tags) where true on conflict do nothing;
end;

create trigger paragraphs_tagged_anew after update of tags on paragraphs when new.tags <> old.tags begin
    delete from document_tags where ref = new.ref and tag not in (select value from json_each(new.tags));
    insert into document_tags (tag, ref) select value, new.ref from json_each(new.tags) where true on conflict do nothing;
end;

-- A document as it stands: with its first paragraph that is alive and current.
create view documents as
select r.id, r.source, r.external_id, r.revision, r.created_at, r.updated_at, p.id as paragraph, p.scope, p.expires_at,
       p.tags, p.metadata
from external_memory_refs r join paragraphs p on p.id = (
    select q.id from paragraphs q where q.ref = r.id and q.deleted_at is null and q.superseded_at is null
    order by q.position limit 1);
