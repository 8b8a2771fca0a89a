-- name: entity_rows_of
select id, name, norm, kind, metadata, created_at, deleted_at, merged_into from entities
where id in (select value from json_each(:ids));

-- name: entity_named
select id, name, norm, kind, metadata, created_at, deleted_at, merged_into from entities where norm = :norm;

-- name: entity_set_kind
-- a kind that is known already stays
update entities set kind = :kind where id = :id and kind = '';

-- name: entity_set_metadata
update entities set metadata = :metadata where id = :id;

-- name: entity_set_name
update entities set name = :name, norm = :norm where id = :id;

-- name: entity_set_deleted
update entities set deleted_at = :at where id in (select value from json_each(:ids));

-- name: entity_set_merged
update entities set merged_into = :target where id in (select value from json_each(:ids));

-- name: entities_merged_into
select id from entities where merged_into = :id order by id;

-- name: entity_alias_find
select norm, entity, alias, origin, created_at from entity_aliases where norm = :norm;

-- name: entity_aliases_of
select norm, entity, alias, origin, created_at from entity_aliases
where entity in (select value from json_each(:ids)) order by entity, created_at, norm;

-- name: entity_former_names
-- names of what was merged into these entities
select merged_into, name, norm from entities where merged_into in (select value from json_each(:ids)) order by merged_into, id;

-- name: entity_alias_put
insert into entity_aliases (norm, entity, alias, origin, created_at) values (:norm, :entity, :alias, :origin, :created_at)
on conflict (norm) do nothing;

-- name: entity_alias_remove
delete from entity_aliases where norm = :norm;

-- name: entity_aliases_move
update entity_aliases set entity = :entity where norm in (select value from json_each(:norms));

-- name: entity_paragraphs
select paragraph from paragraph_entities where entity = :entity order by paragraph;

-- name: entity_paragraphs_link
insert into paragraph_entities (entity, paragraph)
select e.value, p.id from json_each(:entities) e cross join paragraphs p
where p.id in (select value from json_each(:paragraphs))
on conflict do nothing;

-- name: entity_paragraphs_unlink
delete from paragraph_entities where entity = :entity and paragraph in (select value from json_each(:paragraphs));

-- name: entity_facts
select id from facts where entity = :entity order by id;

-- name: entity_facts_move
update facts set entity = :entity where id in (select value from json_each(:facts)) and person is null;

-- name: relation_rows_of
select id, subject, predicate, object, confidence, weight, origin, inactive_at, inactive_reason, deleted_at, merged_into
from relations where id in (select value from json_each(:ids)) order by id;

-- name: relation_rows_at
-- every relation that begins or ends at one of these entities, whatever its state
select id, subject, predicate, object, confidence, weight, origin, inactive_at, inactive_reason, deleted_at, merged_into
from relations where id in (
    select id from relations where subject in (select value from json_each(:entities))
    union select id from relations where object in (select value from json_each(:entities)))
order by id;

-- name: relation_row_of
select id, subject, predicate, object, confidence, weight, origin, inactive_at, inactive_reason, deleted_at, merged_into
from relations where subject = :subject and predicate = :predicate and object = :object;

-- name: relations_between
select id, subject, predicate, object, confidence, weight, origin, inactive_at, inactive_reason, deleted_at, merged_into
from relations
where subject = :subject and object = :object and deleted_at is null and (:predicate = '' or predicate = :predicate)
order by id;

-- name: relations_merged_into
select id from relations where merged_into = :id order by id;

-- name: relation_set
update relations set subject = :subject, object = :object, confidence = :confidence, weight = :weight, origin = :origin,
                     inactive_at = :inactive_at, inactive_reason = :inactive_reason, deleted_at = :deleted_at,
                     merged_into = :merged_into
where id = :id;

-- name: relation_paragraphs
select paragraph from relation_evidence where relation = :relation order by paragraph;

-- name: relation_paragraphs_link
insert into relation_evidence (relation, paragraph)
select r.value, p.id from json_each(:relations) r cross join paragraphs p
where p.id in (select value from json_each(:paragraphs))
on conflict do nothing;

-- name: relation_paragraphs_unlink
delete from relation_evidence where relation = :relation and paragraph in (select value from json_each(:paragraphs));

-- name: relation_vectors_remove
-- their sentences read differently now
delete from relation_embeddings where relation in (select value from json_each(:ids));

-- name: graph_undo_later
-- the newest record after this one that still stands and touched any of the same things
select u.id from undo_records u
where u.id > :id and u.undone_at is null and u.detail <> '{}' and u.kind in (select value from json_each(:kinds))
  and exists (select 1 from json_each(u.detail, '$.touches') t where t.value in (select value from json_each(:touches)))
order by u.id desc limit 1;
