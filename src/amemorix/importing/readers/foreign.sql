-- Statements on databases of other programs; `*`, because which columns there are depends on their version.

-- name: foreign_columns
select m.name as table_name, c.name as column_name
from sqlite_master m join pragma_table_info(m.name) c where m.type = 'table';

-- name: foreign_indexed
select m.name as table_name, c.name as column_name
from sqlite_master m join pragma_index_list(m.name) i join pragma_index_info(i.name) c
where m.type = 'table' and c.seqno = 0;

-- name: paragraphs_after
select p.rowid as row_, p.* from paragraphs p where p.rowid > :after order by p.rowid limit :limit;

-- name: last_paragraph
select max(rowid) as row_ from paragraphs;

-- name: evidence_table
create temp table evidence (
    paragraph text not null,
    relation text not null,
    stale integer not null default 0,
    primary key (paragraph, relation)
) without rowid;

-- name: evidence_of_links
insert or ignore into evidence (paragraph, relation)
select paragraph_hash, relation_hash from paragraph_relations
where paragraph_hash is not null and relation_hash is not null;

-- name: evidence_of_renamed_links
insert or ignore into evidence (paragraph, relation)
select l.paragraph_hash, a.hash from paragraph_relations l join relation_hash_aliases a on a.alias32 = l.relation_hash
where l.paragraph_hash is not null and a.hash is not null;

-- name: evidence_of_sources
insert or ignore into evidence (paragraph, relation)
select source_paragraph, hash from relations where source_paragraph <> '' and hash is not null;

-- name: evidence_gone_stale
update evidence set stale = 1
where (paragraph, relation) in (select paragraph_hash, relation_hash from paragraph_stale_relation_marks);

-- name: evidence_by_relation
create index temp.evidence_by_relation on evidence (relation);

-- name: entity_links_copied
create temp table paragraph_entities as select * from main.paragraph_entities;

-- name: entity_links_indexed
create index temp.entity_links_by_paragraph on paragraph_entities (paragraph_hash);

-- name: references_copied
create temp table external_memory_refs as select * from main.external_memory_refs;

-- name: references_indexed
create index temp.references_by_paragraph on external_memory_refs (paragraph_hash);

-- name: relations_of_paragraphs
select e.paragraph as paragraph_, r.*
from json_each(:paragraphs) p
cross join evidence e on e.paragraph = p.value
cross join relations r on r.hash = e.relation
where not e.stale order by p.key, r.rowid;

-- name: entities_of_paragraphs
select l.paragraph_hash as paragraph_, n.*
from json_each(:paragraphs) p
cross join paragraph_entities l on l.paragraph_hash = p.value
cross join entities n on n.hash = l.entity_hash
order by p.key, n.rowid;

-- name: references_of_paragraphs
select x.paragraph_hash as paragraph_, x.*
from json_each(:paragraphs) p cross join external_memory_refs x on x.paragraph_hash = p.value
order by p.key, x.rowid;

-- name: loose_relations_after
select r.rowid as row_, r.* from relations r
where r.rowid > :after and not exists (select 1 from evidence e where e.relation = r.hash)
order by r.rowid limit :limit;

-- name: overrides_after
select o.rowid as row_, o.* from person_profile_overrides o where o.rowid > :after order by o.rowid limit :limit;

-- name: last_snapshots_after
select s.rowid as row_, s.* from person_profile_snapshots s
where s.rowid > :after and not exists (
    select 1 from person_profile_snapshots n where n.person_id = s.person_id and n.profile_version > s.profile_version
)
order by s.rowid limit :limit;

-- name: messages_after
select m.rowid as row_, m.* from messages m where m.rowid > :after and m.rowid <= :last order by m.rowid limit :limit;

-- name: mai_messages_after
select m.rowid as row_, m.* from mai_messages m
where m.rowid > :after and m.rowid <= :last order by m.rowid limit :limit;

-- name: last_message
select max(rowid) as row_ from messages;

-- name: last_mai_message
select max(rowid) as row_ from mai_messages;

-- name: messages_repeated
create temp table repeated as select chat_id as chat, message_id, min(rowid) as first from messages
where message_id <> '' group by chat_id, message_id having count(distinct processed_plain_text) > 1;

-- name: mai_messages_repeated
create temp table repeated as select session_id as chat, message_id, min(rowid) as first from mai_messages
where message_id <> '' group by session_id, message_id having count(distinct processed_plain_text) > 1;

-- name: repeated_messages
select chat, message_id, first from repeated where message_id in (select value from json_each(:ids));

-- name: persons_of_users
select * from person_info where user_id in (select value from json_each(:users));

-- name: streams_of_chats
select * from chat_streams where stream_id in (select value from json_each(:chats));

-- name: sessions_of_chats
select * from chat_sessions where session_id in (select value from json_each(:chats));

-- name: scratch_table
create table kept (kind text not null, key text not null, place integer not null, value text not null,
    primary key (kind, key, place)) without rowid;

-- name: scratch_put
insert into kept (kind, key, place, value) values (:kind, :key, :place, :value)
on conflict (kind, key, place) do nothing;

-- name: scratch_values
select value from kept where kind = :kind and key = :key order by place limit :limit;

-- name: scratch_meeting
select 1 from kept a where a.kind = :kind and a.key = :first
and exists (select 1 from kept b where b.kind = :kind and b.key = :second and b.value = a.value) limit 1;

-- name: scratch_between
-- what stands under two of the keys, whichever comes first
select s.value from json_each(:keys) a cross join json_each(:keys) b cross join kept s
where s.kind = :kind and s.key = a.value || :between || b.value
order by a.key, b.key, s.place;
