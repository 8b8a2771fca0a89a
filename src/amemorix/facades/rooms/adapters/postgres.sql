-- name: rooms_table
create table if not exists room_memories (
    row bigint generated always as identity,
    room_id text not null,
    id text not null,
    data text not null,
    terms text[] not null,
    embedding real[],
    created_at timestamptz not null,
    expires_at timestamptz,
    primary key (room_id, id)
);

-- name: rooms_index_of_terms
create index if not exists room_memories_terms on room_memories using gin (terms);

-- name: rooms_index_of_expiry
create index if not exists room_memories_expires on room_memories (expires_at) where expires_at is not null;

-- name: rooms_vector_extension
create extension if not exists vector;

-- name: rooms_has_vectors
select exists (select from pg_extension where extname = 'vector');

-- name: rooms_put
insert into room_memories (room_id, id, data, terms, embedding, created_at, expires_at)
values (%(room_id)s, %(id)s, %(data)s, %(terms)s, %(embedding)s::real[], %(created_at)s, %(expires_at)s)
on conflict (room_id, id) do update set
    data = excluded.data, terms = excluded.terms, embedding = excluded.embedding, created_at = excluded.created_at,
    expires_at = excluded.expires_at;

-- name: rooms_get
select id, data, embedding, created_at, expires_at from room_memories
where room_id = %(room_id)s and id = %(id)s and (expires_at is null or expires_at > %(now)s);

-- name: rooms_all
select id, data, embedding, created_at, expires_at from room_memories
where room_id = %(room_id)s and (expires_at is null or expires_at > %(now)s)
order by created_at, row;

-- name: rooms_near
select id, data, embedding, created_at, expires_at
from (
    select *, coalesce(nullif(1 - (embedding::vector <=> %(query)s::real[]::vector), 'NaN'), 0) as similarity
    from room_memories
    where room_id = %(room_id)s and (expires_at is null or expires_at > %(now)s) and embedding is not null
) as compared
where greatest(similarity, 0) >= %(least)s
order by similarity desc, row
limit %(limit)s;

-- name: rooms_matching
select id, data, embedding, created_at, expires_at from room_memories
where room_id = %(room_id)s and (expires_at is null or expires_at > %(now)s) and terms && %(terms)s::text[]
    and not (%(without_vector)s and embedding is not null)
order by cardinality(array(select unnest(terms) intersect select unnest(%(terms)s::text[]))) desc, cardinality(terms), row
limit %(limit)s;

-- name: rooms_delete
delete from room_memories where room_id = %(room_id)s and id = %(id)s;

-- name: rooms_clear
delete from room_memories where room_id = %(room_id)s;

-- name: rooms_sweep
delete from room_memories where expires_at <= %(now)s;

-- name: rooms_dimension
select cardinality(embedding) from room_memories where embedding is not null limit 1;
