-- name: space_named
select id, dimension from vector_spaces where name = :name;

-- name: space_insert
insert into vector_spaces (name, dimension, created_at) values (:name, :dimension, :now) returning id;

-- name: space_remove
delete from vector_spaces where id = :id;

-- name: spaces_all
select o.name, o.dimension, o.created_at,
       (select count(*) from space_vector_rows v where v.space = o.id and v.shown_until > :now)
from vector_spaces o order by o.name;

-- name: space_document
-- the references that are meant by a caller's ids
select r.id from sources s join external_memory_refs r on r.source = s.id
where s.name = :source and r.external_id = :external_id and r.deleted_at is null
  and (:chat_id is null or s.chat in (select id from chats where chat_id = :chat_id));

-- name: space_vectors_expired
delete from space_vectors where expires_at <= :now;

-- name: space_vectors_held
-- those of these ids that the space has
select external_id, id from space_vectors
where space = :space and external_id in (select value from json_each(:ids));

-- name: space_vectors_insert
insert into space_vectors (space, external_id, ref, expires_at, magnitude, attributes, vector)
values (:space, :external_id, :ref, :expires_at, :magnitude, :attributes, :vector);

-- name: space_vectors_remove
delete from space_vectors where id in (select value from json_each(:ids));

-- name: space_vectors_count
select count(*) from space_vectors where space = :space;

-- name: space_vectors_since
-- what an index does not hold yet
select id, vector from space_vectors where space = :space and id > :after order by id;

-- name: space_vectors_of
-- those of these rows that are shown, with what a filter looks at
select id, attributes from space_vector_rows where id in (select value from json_each(:ids)) and shown_until > :now;

-- name: space_vectors_after
-- a page of what is shown, with what a filter looks at
select id, attributes from space_vector_rows
where space = :space and id > :after and shown_until > :now order by id limit :limit;

-- name: space_vectors_called
select id from space_vector_rows
where space = :space and external_id in (select value from json_each(:ids)) and shown_until > :now;

-- name: space_vectors_full
select v.id, v.external_id, v.magnitude, v.attributes, v.expires_at, v.vector, s.name, r.external_id, c.chat_id
from space_vectors v
left join external_memory_refs r on r.id = v.ref
left join sources s on s.id = r.source
left join chats c on c.id = s.chat
where v.id in (select value from json_each(:ids));
