-- name: relations_pending
-- live relations without a vector; what rules have read gets none, since it stands in the paragraph's own words
select r.id, s.name, r.predicate, o.name
from relations r join entities s on s.id = r.subject join entities o on o.id = r.object
where r.deleted_at is null and r.inactive_at is null and r.origin <> 'rule'
  and r.id not in (select value from json_each(:but))
  and not exists (select 1 from relation_embeddings v where v.generation = :generation and v.relation = r.id)
order by r.id limit :limit;

-- name: relations_pending_among
select r.id, s.name, r.predicate, o.name
from relations r join entities s on s.id = r.subject join entities o on o.id = r.object
where r.id in (select value from json_each(:among)) and r.id not in (select value from json_each(:but))
  and r.deleted_at is null and r.inactive_at is null and r.origin <> 'rule'
  and not exists (select 1 from relation_embeddings v where v.generation = :generation and v.relation = r.id)
order by r.id limit :limit;

-- name: relation_embedding_put
insert into relation_embeddings (relation, generation, vector)
select :relation, :generation, :vector where exists (
    select 1 from relations r join entities s on s.id = r.subject join entities o on o.id = r.object
    where r.id = :relation
      and :sentence in ('', s.name || ' ' || replace(r.predicate, '_', ' ') || ' ' || o.name))
on conflict (generation, relation) do update set vector = excluded.vector;

-- name: relation_vector_rows
select v.relation, v.vector from relation_embeddings v join relations r on r.id = v.relation
where v.generation = :generation and length(v.vector) > 0
  and r.deleted_at is null and r.inactive_at is null and r.origin <> 'rule';

-- name: relation_vector_rows_of
select v.relation, v.vector from relation_embeddings v join relations r on r.id = v.relation
where v.generation = :generation and v.relation in (select value from json_each(:ids))
  and length(v.vector) > 0 and r.deleted_at is null and r.inactive_at is null and r.origin <> 'rule';

-- name: relations_seen
-- those of the relations that were told, not read by rules, and that a paragraph supports which may be seen
select r.id from relations r
where r.id in (select value from json_each(:ids)) and r.deleted_at is null and r.inactive_at is null and r.origin <> 'rule'
  and exists (
      select 1 from relation_evidence e join paragraphs p on p.id = e.paragraph
      where e.relation = r.id and p.deleted_at is null and p.superseded_at is null
        and (p.expires_at is null or p.expires_at > :now)
        and (:scopes is null or p.scope in (select value from json_each(:scopes)))
        and (:among is null or p.id in (select value from json_each(:among))));

-- name: relations_paragraphs
select group_concat(paragraph) from relation_evidence where relation in (select value from json_each(:ids));

-- name: relation_support
-- the newest paragraphs which may be seen that support each relation
select e.relation, e.paragraph
from json_each(:ids) j
cross join relation_evidence e on e.relation = j.value and e.paragraph in (
    select n.paragraph from relation_evidence n join paragraphs p on p.id = n.paragraph
    where n.relation = j.value and p.deleted_at is null and p.superseded_at is null
      and (p.expires_at is null or p.expires_at > :now)
      and (:scopes is null or p.scope in (select value from json_each(:scopes)))
      and (:among is null or p.id in (select value from json_each(:among)))
    order by n.paragraph desc limit :each);
