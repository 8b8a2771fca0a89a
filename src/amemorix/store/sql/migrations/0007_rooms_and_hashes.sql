-- The same text within a source is looked up by its hash.
create index refs_by_hash on external_memory_refs (source, content_hash);

-- The vectors of all rooms were in one space `rooms`; each room has one of its own, named as its chat.
insert into vector_spaces (name, dimension, created_at)
select distinct s.name, o.dimension, o.created_at
from vector_spaces o join space_vectors v on v.space = o.id
join external_memory_refs r on r.id = v.ref join sources s on s.id = r.source and s.source_type = 'room'
where o.name = 'rooms' on conflict (name) do nothing;

update space_vectors set space = (
    select n.id from external_memory_refs r join sources s on s.id = r.source join vector_spaces n on n.name = s.name
    where r.id = space_vectors.ref)
where space = (select id from vector_spaces where name = 'rooms')
  and ref in (select r.id from external_memory_refs r join sources s on s.id = r.source
              join vector_spaces n on n.name = s.name join vector_spaces o on o.name = 'rooms'
              where s.source_type = 'room' and n.dimension is o.dimension and n.id <> o.id);

delete from vector_spaces where name = 'rooms'
  and not exists (select 1 from space_vectors v where v.space = vector_spaces.id);
