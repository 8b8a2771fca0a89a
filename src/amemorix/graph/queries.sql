-- name: graph_nodes
-- nodes in the order given, and how many entities there are in all
select e.id, e.name, e.kind, e.created_at
from json_each(:ids) j join entities e on e.id = j.value
where e.deleted_at is null and e.merged_into is null
  and (:scopes is null or exists (
      select 1 from paragraph_entities m join paragraphs p on p.id = m.paragraph
      where m.entity = e.id and p.deleted_at is null and p.superseded_at is null
        and (p.expires_at is null or p.expires_at > :now) and p.scope in (select value from json_each(:scopes))))
order by j.key;

-- name: graph_edges
-- relations that may be seen, with the paragraphs behind them that may be seen
select g.* from (
    select r.id, r.subject, r.predicate, r.object, r.confidence, r.weight, r.origin, r.created_at,
           (select count(*) from relation_evidence e join paragraphs p on p.id = e.paragraph
            where e.relation = r.id and p.deleted_at is null and p.superseded_at is null
              and (p.expires_at is null or p.expires_at > :now)
              and (:scopes is null or p.scope in (select value from json_each(:scopes)))) as support
    from json_each(:ids) j join relations r on r.id = j.value
    where r.deleted_at is null and r.inactive_at is null) g
where :scopes is null or g.support > 0 order by g.id;

-- name: graph_entity_ids
-- every entity that lives, the newest first
select group_concat(id) from (select id from entities where deleted_at is null and merged_into is null and id not in (select id from entities_unheard) order by id desc);

-- name: graph_entity_ids_by_name
select group_concat(id) from (select id from entities where deleted_at is null and merged_into is null and id not in (select id from entities_unheard) order by norm);

-- name: graph_entity_count
select count(*) from entities
where deleted_at is null and merged_into is null and id not in (select id from entities_unheard);

-- name: graph_scope_edges
-- relations that rest on what may be seen, with how much of it
select r.id, r.subject, r.object, r.confidence * r.weight, count(*)
from paragraphs p indexed by paragraphs_by_scope
cross join relation_evidence e on e.paragraph = p.id
cross join relations r on r.id = e.relation
where p.scope in (select value from json_each(:scopes)) and p.deleted_at is null and p.superseded_at is null
  and (p.expires_at is null or p.expires_at > :now) and r.deleted_at is null and r.inactive_at is null
group by r.id;

-- name: graph_scope_nodes
select group_concat(id) from (
    select distinct e.id as id
    from paragraphs p indexed by paragraphs_by_scope
    cross join paragraph_entities m on m.paragraph = p.id
    cross join entities e on e.id = m.entity
    where p.scope in (select value from json_each(:scopes)) and p.deleted_at is null and p.superseded_at is null
      and (p.expires_at is null or p.expires_at > :now) and e.deleted_at is null and e.merged_into is null);

-- name: graph_names_from
-- entities that may be seen with a name or alias between :first and :last, the exact ones first
select t.id, t.name, t.kind, t.created_at, min(n.norm <> :first) as tier, n.field, n.said
from (select coalesce(e.merged_into, e.id) as id, case when e.merged_into is null then 'name' else 'alias' end as field,
             e.norm as norm, e.name as said
      from entities e where e.norm >= :first and e.norm < :last
      union all
      select a.entity, 'alias', a.norm, a.alias from entity_aliases a where a.norm >= :first and a.norm < :last) n
join entities t on t.id = n.id
where t.deleted_at is null and t.id not in (select id from entities_unheard)
  and (:scopes is null or exists (
      select 1 from paragraph_entities m join paragraphs p on p.id = m.paragraph
      where m.entity = t.id and p.deleted_at is null and p.superseded_at is null
        and (p.expires_at is null or p.expires_at > :now) and p.scope in (select value from json_each(:scopes))))
group by t.id order by tier, length(n.said), n.said, t.id limit :limit;

-- name: graph_names_with
-- entities that may be seen with a name or alias that holds the text further inside
select t.id, t.name, t.kind, t.created_at, min(length(n.norm)) as tier, n.field, n.said
from (select coalesce(e.merged_into, e.id) as id, case when e.merged_into is null then 'name' else 'alias' end as field,
             e.norm as norm, e.name as said
      from entities e where instr(e.norm, :text) > 1
      union all
      select a.entity, 'alias', a.norm, a.alias from entity_aliases a where instr(a.norm, :text) > 1) n
join entities t on t.id = n.id
where t.deleted_at is null and t.id not in (select value from json_each(:but))
  and t.id not in (select id from entities_unheard)
  and (:scopes is null or exists (
      select 1 from paragraph_entities m join paragraphs p on p.id = m.paragraph
      where m.entity = t.id and p.deleted_at is null and p.superseded_at is null
        and (p.expires_at is null or p.expires_at > :now) and p.scope in (select value from json_each(:scopes))))
group by t.id order by tier, n.said, t.id limit :limit;

-- name: graph_predicates
-- each predicate once, read off the index
with recursive one (said) as (
    select min(predicate) from relations where deleted_at is null
    union all
    select (select min(predicate) from relations where deleted_at is null and predicate > one.said) from one
    where one.said is not null)
select said from one where said is not null limit :limit;

-- name: graph_relations_saying
-- the newest relations with one of these predicates that may be seen
select r.id from relations r indexed by relations_by_predicate
where r.predicate in (select value from json_each(:predicates)) and r.deleted_at is null and r.inactive_at is null
  and (:scopes is null or exists (
      select 1 from relation_evidence e join paragraphs p on p.id = e.paragraph
      where e.relation = r.id and p.deleted_at is null and p.superseded_at is null
        and (p.expires_at is null or p.expires_at > :now) and p.scope in (select value from json_each(:scopes))))
order by r.id desc limit :limit;

-- name: graph_relations_at
-- the relations of these entities that may be seen, the best supported first
select g.id, g.subject, g.object, g.weight, g.support from (
    select r.id, r.subject, r.object, r.confidence * r.weight as weight,
           (select count(*) from relation_evidence e join paragraphs p on p.id = e.paragraph
            where e.relation = r.id and p.deleted_at is null and p.superseded_at is null
              and (p.expires_at is null or p.expires_at > :now)
              and (:scopes is null or p.scope in (select value from json_each(:scopes)))) as support
    from relations r
    where r.deleted_at is null and r.inactive_at is null and r.id in (
        select id from relations where subject in (select value from json_each(:entities))
        union select id from relations where object in (select value from json_each(:entities)))) g
where :scopes is null or g.support > 0
order by g.weight * max(g.support, 1) desc, g.id desc;

-- name: graph_paragraphs_at
-- the newest paragraphs of an entity that may be seen
select p.id from paragraph_entities m join paragraphs p on p.id = m.paragraph
where m.entity = :entity and p.deleted_at is null and p.superseded_at is null
  and (p.expires_at is null or p.expires_at > :now)
  and (:scopes is null or p.scope in (select value from json_each(:scopes)))
order by p.id desc limit :limit;

-- name: graph_paragraph_count_at
select count(*) from paragraph_entities m join paragraphs p on p.id = m.paragraph
where m.entity = :entity and p.deleted_at is null and p.superseded_at is null
  and (p.expires_at is null or p.expires_at > :now)
  and (:scopes is null or p.scope in (select value from json_each(:scopes)));

-- name: graph_all_names
-- (entity, name) for names, aliases and names of what was merged, of entities that live
select t.id, n.said
from (select coalesce(e.merged_into, e.id) as id, e.name as said from entities e
      union all select a.entity, a.alias from entity_aliases a) n
join entities t on t.id = n.id
where t.deleted_at is null and t.merged_into is null and t.id not in (select id from entities_unheard) order by t.id;

-- name: graph_export_nodes
select e.id, e.name, e.kind, e.created_at, e.metadata from entities e
where e.deleted_at is null and e.merged_into is null and e.id not in (select id from entities_unheard)
  and (:ids is null or e.id in (select value from json_each(:ids))) order by e.id;

-- name: graph_export_edges
select g.* from (
    select r.id, r.subject, r.predicate, r.object, r.confidence, r.weight, r.origin, r.created_at,
           (select count(*) from relation_evidence e join paragraphs p on p.id = e.paragraph
            where e.relation = r.id and p.deleted_at is null and p.superseded_at is null
              and (p.expires_at is null or p.expires_at > :now)
              and (:scopes is null or p.scope in (select value from json_each(:scopes)))) as support
    from relations r
    where r.deleted_at is null and r.inactive_at is null
      and (:ids is null or r.id in (select value from json_each(:ids)))) g
where :scopes is null or g.support > 0 order by g.id;
