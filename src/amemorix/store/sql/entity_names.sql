-- name: naming_mixed
-- entities that others were merged into, or that have names which were told or read
select e.id from entities e where e.id in (select value from json_each(:ids))
  and (exists (select 1 from entities m where m.merged_into = e.id)
       or exists (select 1 from entity_aliases a where a.entity = e.id and a.origin <> 'admin'));

-- name: naming_touched
-- entities of these paragraphs that have several names
select t.id from entities t
where t.id in (select coalesce(e.merged_into, e.id) from paragraph_entities l join entities e on e.id = l.entity
               where l.paragraph in (select value from json_each(:ids)))
  and (exists (select 1 from entities m where m.merged_into = t.id)
       or exists (select 1 from entity_aliases a where a.entity = t.id));

-- name: naming_names
-- every name of these entities with the row that bears it, the main one first
select coalesce(e.merged_into, e.id), e.norm, e.name, e.id from entities e
where e.id in (select value from json_each(:ids)) or e.merged_into in (select value from json_each(:ids))
union all
select a.entity, a.norm, a.alias, 0 from entity_aliases a where a.entity in (select value from json_each(:ids));

-- name: naming_paragraphs
-- what the paragraphs of an entity say, with the names of their persons: those that may be seen, or whatever there is
select p.id, p.content || char(10) || coalesce(
    (select group_concat(n.name, char(10)) from paragraph_persons n where n.paragraph = p.id), '')
from paragraph_entities l join paragraphs p on p.id = l.paragraph
where l.entity in (select :entity union select id from entities where merged_into = :entity)
  and (:scopes is null or p.scope in (select value from json_each(:scopes))
       and p.deleted_at is null and p.superseded_at is null)
  and (:among is null or p.id in (select value from json_each(:among)))
  and (:but is null or p.id not in (select value from json_each(:but)))
order by p.id desc limit :limit;

-- name: naming_merges
-- what was linked to these entities when they were merged, the first merge first
select cast(json_extract(s.value, '$.id') as integer), cast(t.value as integer)
from undo_records u, json_each(u.detail, '$.sources') s, json_each(s.value, '$.paragraphs') t
where u.kind = 'entity_merge' and u.undone_at is null
  and cast(json_extract(s.value, '$.id') as integer) in (select value from json_each(:ids))
order by u.id;
