-- name: generation_serving
select id, fingerprint, provider, model, dimension, status from embedding_generations where status = 'serving';

-- name: generation_building
select id, fingerprint, provider, model, dimension, status from embedding_generations
where status = 'building' order by id desc limit 1;

-- name: generation_by_fingerprint
-- the newest set of vectors of this model
select id, fingerprint, provider, model, dimension, status from embedding_generations
where fingerprint = :fingerprint order by id desc limit 1;

-- name: generations_all
select g.id, g.fingerprint, g.provider, g.model, g.dimension, g.status,
       (select count(*) from embeddings e where e.generation = g.id)
from embedding_generations g order by g.id;

-- name: generation_ids
select id from embedding_generations;

-- name: generation_is_whole
-- not while its vectors are being dropped: then nothing is known to be complete any more
select exists (
    select 1 from embedding_generations where id = :id
      and not (status = 'retired' and coalesce((select value from meta where key = :watermark), '') = '0'));

-- name: generation_insert
insert into embedding_generations (fingerprint, provider, model, dimension, status, created_at)
values (:fingerprint, :provider, :model, :dimension, :status, :now) returning id;

-- name: generation_retire_serving
update embedding_generations set status = 'retired' where status = 'serving' and id <> :id;

-- name: generation_retire_building
update embedding_generations set status = 'retired' where status = 'building' and id <> :id;

-- name: generation_serve
update embedding_generations set status = 'serving', served_at = :now where id = :id;

-- name: generation_build
update embedding_generations set status = 'building' where id = :id;

-- name: generations_retired
select id from embedding_generations where status = 'retired' order by coalesce(served_at, created_at) desc, id desc;

-- name: generation_vectors_drop
delete from embeddings where generation = :id
  and paragraph in (select paragraph from embeddings where generation = :id limit :limit);

-- name: generation_tokens_drop
delete from paragraph_tokens where generation = :id
  and paragraph in (select paragraph from paragraph_tokens where generation = :id limit :limit);

-- name: generation_relations_drop
delete from relation_embeddings where generation = :id
  and relation in (select relation from relation_embeddings where generation = :id limit :limit);

-- name: generation_delete
delete from embedding_generations where id = :id;

-- name: embedding_put
insert into embeddings (paragraph, generation, vector)
select :paragraph, :generation, :vector where exists (select 1 from paragraphs where id = :paragraph)
on conflict (generation, paragraph) do update set vector = excluded.vector;

-- name: token_vectors_put
insert into paragraph_tokens (paragraph, generation, v)
select :paragraph, :generation, :tokens where exists (select 1 from paragraphs where id = :paragraph)
on conflict (generation, paragraph) do update set v = excluded.v;

-- name: token_vectors_of
select paragraph, v from paragraph_tokens
where generation = :generation and paragraph in (select value from json_each(:ids));

-- name: embedding_failure_put
insert into embedding_failures (paragraph, generation, attempts, next_at, error)
select :paragraph, :generation, 1, :next_at, :error where exists (select 1 from paragraphs where id = :paragraph)
on conflict (generation, paragraph) do update
set attempts = embedding_failures.attempts + 1, next_at = excluded.next_at, error = excluded.error;

-- name: embedding_failure_clear
delete from embedding_failures where generation = :generation and paragraph = :paragraph;

-- name: embedding_failures_retry_now
update embedding_failures set next_at = 0;

-- name: embedding_attempts
select paragraph, attempts from embedding_failures
where generation = :generation and paragraph in (select value from json_each(:ids));

-- name: embedding_states
select e.paragraph is not null, coalesce(length(e.vector), 1) = 0, coalesce(f.error, '')
from paragraphs p
left join embeddings e on e.generation = :generation and e.paragraph = p.id
left join embedding_failures f on f.generation = :generation and f.paragraph = p.id
where p.id in (select value from json_each(:ids)) and p.deleted_at is null and p.superseded_at is null;

-- name: embeddings_pending
-- live paragraphs past the watermark that have no vector and are not waiting for another try
select p.id, p.chat, p.content from paragraphs p
where p.id > :after and p.deleted_at is null and p.superseded_at is null
  and not exists (select 1 from embeddings e where e.generation = :generation and e.paragraph = p.id)
  and not exists (select 1 from embedding_failures f
                  where f.generation = :generation and f.paragraph = p.id and f.next_at > :now)
order by p.id limit :limit;

-- name: embeddings_pending_of
-- those of the paragraphs that have no vector and are not waiting for another try
select p.id, p.chat, p.content from paragraphs p
where p.id in (select value from json_each(:ids)) and p.deleted_at is null and p.superseded_at is null
  and not exists (select 1 from embeddings e where e.generation = :generation and e.paragraph = p.id)
  and not exists (select 1 from embedding_failures f
                  where f.generation = :generation and f.paragraph = p.id and f.next_at > :now)
order by p.id limit :limit;

-- name: embeddings_pending_count
select count(*) from paragraphs p
where p.id > :after and p.deleted_at is null and p.superseded_at is null
  and not exists (select 1 from embeddings e where e.generation = :generation and e.paragraph = p.id);

-- name: embeddings_pending_between
select exists (
    select 1 from paragraphs p where p.id > :after and p.id <= :upto and p.deleted_at is null and p.superseded_at is null
      and not exists (select 1 from embeddings e where e.generation = :generation and e.paragraph = p.id));

-- name: embedding_failures_waiting
select count(*), min(f.next_at), max(f.paragraph) from embedding_failures f join paragraphs p on p.id = f.paragraph
where f.generation = :generation and p.deleted_at is null and p.superseded_at is null;

-- name: embedding_failures_hopeless
select count(*) from embedding_failures f join paragraphs p on p.id = f.paragraph
where f.generation = :generation and f.attempts >= :tries and p.deleted_at is null and p.superseded_at is null;
