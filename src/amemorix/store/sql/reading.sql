-- name: gate
-- what fusion needs of the candidates that may be seen; what is pinned is as strong as if it were never past
select p.id, p.speaker, p.flags, p.event_start, coalesce(t.strength, 1.0),
       iif(t.pinned = 1, 9e999, coalesce(t.anchor_at, p.recorded_at))
from paragraphs p left join retention t on t.kind = 'paragraph' and t.id = p.id
where p.id in (select value from json_each(:ids))
  and p.deleted_at is null and p.superseded_at is null
  and (p.expires_at is null or p.expires_at > :now)
  and (:scopes is null or p.scope in (select value from json_each(:scopes)));

-- name: paragraph_contents
select id, content from paragraphs where id in (select value from json_each(:ids));

-- name: paragraphs_current
select id from paragraphs
where id in (select value from json_each(:ids)) and deleted_at is null and superseded_at is null;

-- name: paragraphs_full
-- current ones, and with :replaced also wordings that were
select p.id, r.external_id, p.revision, p.position, coalesce(c.chat_id, ''), s.name, s.source_type, p.kind, p.speaker,
       p.event_start, p.event_end, p.recorded_at, p.content_hash, p.content, p.tags, p.metadata, p.scope, p.knowledge
from paragraphs p
join external_memory_refs r on r.id = p.ref
join sources s on s.id = p.source
left join chats c on c.id = p.chat
where p.id in (select value from json_each(:ids)) and p.deleted_at is null and (:replaced or p.superseded_at is null);

-- name: paragraphs_shown
-- the same of those that may be seen: whatever an index says, a row that is deleted, replaced, expired or hidden is not served
select p.id, r.external_id, p.revision, p.position, coalesce(c.chat_id, ''), s.name, s.source_type, p.kind, p.speaker,
       p.event_start, p.event_end, p.recorded_at, p.content_hash, p.content, p.tags, p.metadata, p.scope, p.knowledge
from paragraphs p
join external_memory_refs r on r.id = p.ref
join sources s on s.id = p.source
left join chats c on c.id = p.chat
where p.id in (select value from json_each(:ids)) and p.deleted_at is null and p.superseded_at is null
  and (p.expires_at is null or p.expires_at > :now)
  and (:scopes is null or p.scope in (select value from json_each(:scopes)));

-- name: paragraph_persons_of
select pp.paragraph, p.person_id, pp.name, pp.role
from paragraph_persons pp join persons p on p.id = pp.person
where pp.paragraph in (select value from json_each(:ids))
order by pp.role <> 1, pp.role = 2, pp.person;

-- name: paragraph_entity_norms
-- every name, in its normal form, of what paragraphs are linked to: its own, aliases, those of what was merged into it
with linked (paragraph, id, name, norm) as materialized (
    select pe.paragraph, e.id, e.name, e.norm from paragraph_entities pe join entities e on e.id = pe.entity
    where pe.paragraph in (select value from json_each(:ids)) and e.deleted_at is null)
select paragraph, id, norm from (
    select paragraph, id, name, norm from linked
    union all
    select l.paragraph, l.id, l.name, m.norm from linked l join entities m on m.merged_into = l.id
    union all
    select l.paragraph, l.id, l.name, a.norm from linked l join entity_aliases a on a.entity = l.id)
order by paragraph, id;

-- name: paragraph_relations_of
select re.paragraph, r.id, r.subject, r.predicate, r.object
from relation_evidence re join relations r on r.id = re.relation
where re.paragraph in (select value from json_each(:ids)) and r.deleted_at is null and r.inactive_at is null order by re.paragraph, r.id limit 200;

-- name: paragraphs_by_person
select group_concat(paragraph) from paragraph_persons where person in (select value from json_each(:persons));

-- name: paragraphs_by_sources
select group_concat(id) from paragraphs where source in (select value from json_each(:sources));

-- name: paragraphs_tagged
select group_concat(p.id) from paragraphs p
where p.ref in (select t.ref from document_tags t where t.tag in (select value from json_each(:tags))
                group by t.ref having count(*) = :count);

-- name: recent_by_person
select pp.paragraph from paragraph_persons pp join paragraphs p on p.id = pp.paragraph
where pp.person = :person and p.deleted_at is null and p.superseded_at is null
  and (p.expires_at is null or p.expires_at > :now)
  and (:scopes is null or p.scope in (select value from json_each(:scopes)))
order by pp.paragraph desc limit :limit;

-- name: paragraphs_in_window_scoped
select group_concat(id) from paragraphs indexed by paragraphs_by_time
where scope in (select value from json_each(:scopes)) and event_start between :start and :end and event_start is not null;

-- name: paragraphs_in_window
select group_concat(id) from paragraphs indexed by paragraphs_by_event where event_start between :start and :end and event_start is not null;

-- name: intervals_over_start
select group_concat(id) from paragraphs indexed by paragraphs_by_interval
where event_end > event_start and event_end >= :start and event_start < :start
  and (:scopes is null or scope in (select value from json_each(:scopes)));

-- name: newest_in_window
-- newest first, what may be seen
select p.id from paragraphs p
where p.event_start is not null and p.event_start <= :end and p.event_end >= :start
  and p.scope in (select value from json_each(:scopes))
  and p.deleted_at is null and p.superseded_at is null and (p.expires_at is null or p.expires_at > :now)
order by p.event_start desc, p.id desc limit :limit;

-- name: newest_in_window_everywhere
select p.id from paragraphs p indexed by paragraphs_by_event
where p.event_start is not null and p.event_start <= :end and p.event_end >= :start
  and p.deleted_at is null and p.superseded_at is null and (p.expires_at is null or p.expires_at > :now)
order by p.event_start desc, p.id desc limit :limit;

-- name: newest_texts
select p.content from paragraphs p
where p.scope in (select value from json_each(:scopes))
  and p.deleted_at is null and p.superseded_at is null and (p.expires_at is null or p.expires_at > :now)
order by p.id desc limit :limit;

-- name: newest_texts_everywhere
select p.content from paragraphs p
where p.id > :after and p.deleted_at is null and p.superseded_at is null and (p.expires_at is null or p.expires_at > :now)
order by p.id desc limit :limit;

-- name: evidence_of_entities
select pe.entity, pe.paragraph, instr(lower(p.content), lower(e.name)) > 0
from paragraph_entities pe join paragraphs p on p.id = pe.paragraph join entities e on e.id = pe.entity
where pe.entity in (select value from json_each(:entities))
  and p.deleted_at is null and p.superseded_at is null and (p.expires_at is null or p.expires_at > :now)
  and (:scopes is null or p.scope in (select value from json_each(:scopes)))
  and (:among is null or p.id in (select value from json_each(:among)))
order by pe.paragraph desc limit :limit;

-- name: links_of_entities
select l.entity, group_concat(l.paragraph) from json_each(:entities) j join paragraph_entities l on l.entity = j.value
where (select count(*) from (select 1 from paragraph_entities m where m.entity = j.value limit :most + 1)) <= :most
group by l.entity;

-- name: relations_of
-- the ends and weights of the relations of these entities that a paragraph supports which may be seen
select r.id, r.subject, r.object, r.confidence * r.weight from relations r
where r.deleted_at is null and r.inactive_at is null and r.id in (
    select id from relations where subject in (select value from json_each(:entities))
    union select id from relations where object in (select value from json_each(:entities)))
  and exists (select 1 from relation_evidence e join paragraphs p on p.id = e.paragraph
              where e.relation = r.id and p.deleted_at is null and p.superseded_at is null
                and (p.expires_at is null or p.expires_at > :now)
                and (:scopes is null or p.scope in (select value from json_each(:scopes))))
order by r.id desc limit :limit;

-- name: entities_rarely_linked
select j.value from json_each(:entities) j
where (select count(*) from (select 1 from paragraph_entities l where l.entity = j.value limit :most + 1)) <= :most;

-- name: entities_of_paragraphs
select l.paragraph, l.entity from paragraph_entities l join entities e on e.id = l.entity
where l.paragraph in (select value from json_each(:ids)) and e.deleted_at is null;

-- name: newest_begun
-- the newest that began within the stretch, read off the index
select p.id from paragraphs p indexed by paragraphs_by_time
where p.scope in (select value from json_each(:scopes)) and p.event_start between :start and :end and p.event_start is not null
  and p.deleted_at is null and p.superseded_at is null
order by p.event_start desc limit :limit;

-- name: newest_begun_everywhere
select p.id from paragraphs p indexed by paragraphs_by_event
where p.event_start between :start and :end and p.event_start is not null and p.deleted_at is null and p.superseded_at is null
order by p.event_start desc limit :limit;

-- name: live_paragraph_count
select count(*) from paragraphs where deleted_at is null and superseded_at is null;

-- name: paragraphs_in_scopes
select group_concat(id) from paragraphs indexed by paragraphs_by_scope
where scope in (select value from json_each(:scopes));

-- name: highest_paragraph
select coalesce(max(id), 0) from paragraphs;
