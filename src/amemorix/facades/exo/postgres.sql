-- name: exo_items_table
create table if not exists memory_items (
    row bigint generated always as identity,
    namespace text not null,
    id text not null,
    content text not null,
    memory_type text not null,
    status text not null,
    metadata jsonb not null,
    fields jsonb not null,
    digest text not null,
    terms text[] not null,
    created_at text not null,
    updated_at text not null,
    primary key (namespace, id)
);

-- name: exo_items_indexes
create index if not exists memory_items_terms on memory_items using gin (terms);
create index if not exists memory_items_digest on memory_items (namespace, digest);
create index if not exists memory_items_row on memory_items (namespace, row);

-- name: exo_items_category
alter table memory_items add column category text;

-- name: exo_item_put
insert into memory_items
    (namespace, id, content, memory_type, category, status, metadata, fields, digest, terms, created_at, updated_at)
values
    (%(namespace)s, %(id)s, %(content)s, %(memory_type)s, %(category)s, %(status)s, %(metadata)s::jsonb, %(fields)s::jsonb,
     %(digest)s, %(terms)s, %(created_at)s, %(updated_at)s)
on conflict (namespace, id) do update set
    content = excluded.content, memory_type = excluded.memory_type, category = excluded.category, status = excluded.status,
    metadata = excluded.metadata, fields = excluded.fields, digest = excluded.digest, terms = excluded.terms,
    created_at = excluded.created_at, updated_at = excluded.updated_at;

-- name: exo_item_get
select id, content, memory_type, category, status, metadata, fields, created_at, updated_at
from memory_items where namespace = %(namespace)s and id = %(id)s;

-- name: exo_item_same
select id, content, memory_type, category, status, metadata, fields, created_at, updated_at
from memory_items
where namespace = %(namespace)s and digest = %(digest)s and status = %(status)s and id <> %(id)s
    and metadata ->> 'user_id' is not distinct from %(user_id)s
order by row limit 1;

-- name: exo_items_found
-- Without terms all that meet the filters, the last stored first.
select id, content, memory_type, category, status, metadata, fields, created_at, updated_at
from memory_items
where namespace = %(namespace)s and metadata @> %(whose)s::jsonb
    and not exists (
        select from jsonb_each(%(extra)s::jsonb) as wanted
        where metadata -> 'extra' -> wanted.key is distinct from wanted.value
    )
    and (%(memory_type)s::text is null or memory_type = %(memory_type)s)
    and (%(category)s::text is null or category = %(category)s)
    and (status = %(status)s or (%(status)s::text is null and status <> 'discard'))
    and (%(terms)s::text[] is null or terms && %(terms)s::text[])
order by cardinality(array(select unnest(terms) intersect select unnest(%(terms)s::text[]))) desc,
    case when %(terms)s::text[] is null then 0 else cardinality(terms) end, row desc
limit %(limit)s;

-- name: exo_items_clear
with gone as (
    delete from memory_items
    where namespace = %(namespace)s and metadata @> %(whose)s::jsonb
        and not exists (
            select from jsonb_each(%(extra)s::jsonb) as wanted
            where metadata -> 'extra' -> wanted.key is distinct from wanted.value
        )
    returning id
)
select count(*) from gone;

-- name: exo_item_delete
delete from memory_items where namespace = %(namespace)s and id = %(id)s returning id;

-- name: exo_foreign_items
select to_jsonb(i) from memory_items i order by to_jsonb(i) ->> 'created_at', to_jsonb(i) ->> 'id';
