-- name: changes_bounds
select cast((select value from meta where key = 'changes_floor') as integer),
       coalesce((select seq from sqlite_sequence where name = 'changes'), 0);

-- name: changes_between
select distinct id from changes
where seq > :cursor and seq <= :upto and kind in (select value from json_each(:kinds));

-- name: changes_prune
delete from changes where seq <= :upto;

-- name: changes_floor_raise
update meta set value = cast(max(cast(value as integer), :upto) as text) where key = 'changes_floor';

-- name: document_changes_bounds
-- where the numbers begin, the last one, how far expiry was told, and of which rows they are
select cast((select value from meta where key = 'document_changes_floor') as integer),
       max(cast((select value from meta where key = 'document_changes_floor') as integer),
           coalesce((select max(seq) from document_changes), 0)),
       coalesce((select cast(value as real) from meta where key = 'documents_expired_upto'), 0),
       (select value from meta where key = 'document_changes_history');

-- name: document_changes_forget
delete from document_changes where seq <= :upto;

-- name: term_rows
select p.id, p.scope, p.session, cast(coalesce(p.event_start, p.recorded_at) * 1000 as integer), t.v
from paragraphs p join terms t on t.id = p.id
where p.deleted_at is null and p.superseded_at is null;

-- name: term_rows_of
select p.id, p.scope, p.session, cast(coalesce(p.event_start, p.recorded_at) * 1000 as integer), t.v
from paragraphs p join terms t on t.id = p.id
where p.id in (select value from json_each(:ids)) and p.deleted_at is null and p.superseded_at is null;

-- name: column_rows
select id, scope, speaker, flags, event_start, recorded_at, expires_at from paragraphs
where deleted_at is null and superseded_at is null;

-- name: column_rows_of
select id, scope, speaker, flags, event_start, recorded_at, expires_at from paragraphs
where id in (select value from json_each(:ids)) and deleted_at is null and superseded_at is null;

-- name: vector_rows
select e.paragraph, e.vector from embeddings e join paragraphs p on p.id = e.paragraph
where e.generation = :generation and length(e.vector) > 0 and p.deleted_at is null and p.superseded_at is null;

-- name: vector_rows_of
select e.paragraph, e.vector from embeddings e join paragraphs p on p.id = e.paragraph
where e.generation = :generation and e.paragraph in (select value from json_each(:ids))
  and length(e.vector) > 0 and p.deleted_at is null and p.superseded_at is null;

-- name: edge_rows
select r.id, r.subject, r.object, r.confidence * r.weight,
       (select count(*) from relation_evidence e where e.relation = r.id)
from relations r where r.deleted_at is null and r.inactive_at is null;

-- name: edge_rows_of
select r.id, r.subject, r.object, r.confidence * r.weight,
       (select count(*) from relation_evidence e where e.relation = r.id)
from relations r
where r.id in (select value from json_each(:ids)) and r.deleted_at is null and r.inactive_at is null;

-- name: person_rows
select p.id, p.person_id, p.name,
       (select json_group_array(json_array(n.chat, n.name)) from (
           select c.chat, c.name from chat_persons c where c.person = p.id
           union all select a.chat, a.alias from person_aliases a where a.person = p.id) n)
from persons p;

-- name: person_rows_of
select p.id, p.person_id, p.name,
       (select json_group_array(json_array(n.chat, n.name)) from (
           select c.chat, c.name from chat_persons c where c.person = p.id
           union all select a.chat, a.alias from person_aliases a where a.person = p.id) n)
from persons p where p.id in (select value from json_each(:ids));
