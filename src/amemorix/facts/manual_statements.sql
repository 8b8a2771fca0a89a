-- name: statements_overrides
select person, text, updated_by, source, updated_at from profile_overrides
where person not in (select value from json_each(:persons)) order by person;

-- name: statements_facts
-- facts given by hand about others, of one scope or all
select id, scope, value from facts
where asserted_at is not null and deleted_at is null and coalesce(person, 0) not in (select value from json_each(:persons))
  and (:scope is null or scope = :scope) order by id;

-- name: statements_relations
select id, 0, replace(predicate, '_', ' ') from relations where origin = 'admin' and deleted_at is null order by id;

-- name: statements_entities
-- entities that stay and hold one of these names in their own, an alias or what is noted of them
select e.id, e.name || char(10) || e.metadata || char(10) || coalesce(
    (select group_concat(a.alias, char(10)) from entity_aliases a where a.entity = e.id), '')
from entities e
where e.deleted_at is null and e.merged_into is null and e.id not in (select value from json_each(:but))
  and exists (select 1 from json_each(:names) n
              where instr(e.norm, n.value) or (e.metadata <> '{}' and instr(lower(e.metadata), n.value))
                 or exists (select 1 from entity_aliases a where a.entity = e.id and instr(a.norm, n.value)))
  and (e.origin = 'admin' or exists (select 1 from relations r where r.origin = 'admin' and r.deleted_at is null
                                       and (r.subject = e.id or r.object = e.id))
       or exists (select 1 from paragraph_entities l join paragraphs p on p.id = l.paragraph
                  where l.entity = e.id and p.deleted_at is null and p.superseded_at is null
                    and p.id not in (select value from json_each(:paragraphs))))
order by e.id limit 1000;

-- name: statements_aliases
-- persons with an alias that holds one of these names
select a.person, group_concat(a.alias, char(10)) from person_aliases a
where a.person not in (select value from json_each(:persons))
  and exists (select 1 from json_each(:names) n where instr(a.norm, n.value))
group by a.person order by a.person;
