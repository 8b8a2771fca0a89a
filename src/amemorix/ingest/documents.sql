-- name: documents_sources
-- sources that may hold documents of these scopes
select s.id from sources s
where (:source is null or s.name = :source) and (:source_type is null or s.source_type = :source_type)
  and (:scopes is null or exists (select 1 from sessions n
                                  where n.source = s.id and n.scope in (select value from json_each(:scopes))));

-- name: documents_created_after
select d.id, d.external_id, d.created_at, d.updated_at, d.scope, d.expires_at, d.tags, d.metadata from documents d
where d.source = :source and (d.created_at > :at or d.created_at = :at and d.id > :id)
  and (:tag is null or exists (select 1 from document_tags t where t.tag = :tag and t.ref = d.id))
order by d.created_at, d.id limit :limit;

-- name: documents_created_before
select d.id, d.external_id, d.created_at, d.updated_at, d.scope, d.expires_at, d.tags, d.metadata from documents d
where d.source = :source and (d.created_at < :at or d.created_at = :at and d.id < :id)
  and (:tag is null or exists (select 1 from document_tags t where t.tag = :tag and t.ref = d.id))
order by d.created_at desc, d.id desc limit :limit;

-- name: documents_updated_after
select d.id, d.external_id, d.created_at, d.updated_at, d.scope, d.expires_at, d.tags, d.metadata from documents d
where d.source = :source and (d.updated_at > :at or d.updated_at = :at and d.id > :id)
  and (:tag is null or exists (select 1 from document_tags t where t.tag = :tag and t.ref = d.id))
order by d.updated_at, d.id limit :limit;

-- name: documents_updated_before
select d.id, d.external_id, d.created_at, d.updated_at, d.scope, d.expires_at, d.tags, d.metadata from documents d
where d.source = :source and (d.updated_at < :at or d.updated_at = :at and d.id < :id)
  and (:tag is null or exists (select 1 from document_tags t where t.tag = :tag and t.ref = d.id))
order by d.updated_at desc, d.id desc limit :limit;

-- name: documents_of_ids
-- the documents that a caller knows by these ids, in their order
select d.id, d.external_id, d.created_at, d.updated_at, d.scope, d.expires_at, d.tags, d.metadata
from json_each(:external_ids) e
join sources s on s.name = :source and (:source_type is null or s.source_type = :source_type)
join external_memory_refs r on r.source = s.id and r.external_id = e.value join documents d on d.id = r.id
order by e.key, d.id;

-- name: documents_rarest_tag
-- the one of these tags that the fewest references have, and how many, counted up to a limit
select e.value, (select count(*) from (select 1 from document_tags t where t.tag = e.value limit :limit) counted) as n
from json_each(:tags) e order by n limit 1;

-- name: documents_tagged
select d.id, d.external_id, d.created_at, d.updated_at, d.scope, d.expires_at, d.tags, d.metadata
from document_tags t join external_memory_refs r on r.id = t.ref
join sources s on s.id = r.source and (:source is null or s.name = :source) and (:source_type is null or s.source_type = :source_type)
join documents d on d.id = r.id
where t.tag = :tag;

-- name: documents_of_texts
-- the documents that these paragraphs are of, in their order
select d.id, t.value, d.created_at, d.updated_at, d.scope, d.expires_at, d.tags, d.metadata
from json_each(:ids) t join paragraphs p on p.id = t.value join documents d on d.id = p.ref
order by t.key;

-- name: documents_whole
select d.id, d.metadata, d.tags, d.external_id, s.name, s.source_type, coalesce(c.chat_id, ''), d.created_at, d.updated_at,
       d.revision, d.expires_at, p.event_start, p.derive
from documents d join sources s on s.id = d.source join paragraphs p on p.id = d.paragraph left join chats c on c.id = p.chat
where d.id in (select value from json_each(:ids));

-- name: documents_words
-- their paragraphs, the first with the original where every paragraph of that wording still stands
select p.ref, p.id, p.content, case when p.position = 0 then (
    select o.content from originals o where o.ref = p.ref and o.revision = p.revision and not exists (
        select 1 from paragraphs g where g.ref = p.ref and g.revision = p.revision
                                     and (g.deleted_at is not null or g.superseded_at is not null))) end
from paragraphs p
where p.ref in (select value from json_each(:ids)) and p.deleted_at is null and p.superseded_at is null
order by p.ref, p.position;

-- name: documents_deleted
-- what is in the recycle bin, as it was worded and described last
select r.id, r.external_id, r.created_at, r.updated_at, p.scope, p.expires_at, p.tags, p.metadata
from sources s join external_memory_refs r on r.source = s.id and r.deleted_at is not null
join paragraphs p on p.id = (select q.id from paragraphs q where q.ref = r.id and q.revision = r.revision
                             order by q.position limit 1)
where (:source is null or s.name = :source) and (:source_type is null or s.source_type = :source_type)
  and (:external_ids is null or r.external_id in (select value from json_each(:external_ids)))
  and not exists (select 1 from documents d where d.id = r.id);

-- name: documents_paragraphs
-- those that are shown, and with :gone also older wordings and deleted ones
select p.id from paragraphs p
where p.ref in (select value from json_each(:ids)) and (:gone or p.deleted_at is null and p.superseded_at is null);

-- name: documents_of_hash
-- what a source holds that may be the same text
select d.id from external_memory_refs r join documents d on d.id = r.id
where r.source = :source and r.content_hash = :content_hash and (d.expires_at is null or d.expires_at > :now)
order by d.created_at, d.id;

-- name: document_describe
update paragraphs set tags = coalesce(:tags, tags), metadata = coalesce(:metadata, metadata)
where ref = :ref and deleted_at is null and superseded_at is null;

-- name: document_set_expiry
update paragraphs set expires_at = :expires_at where ref = :ref and deleted_at is null and superseded_at is null;
