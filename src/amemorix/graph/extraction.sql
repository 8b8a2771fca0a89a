-- name: extraction_changes
-- the paragraphs named in the next changes, live or not, and how far that reads; and whether one is to be read again
select seq, id, kind <> 'paragraph' from changes
where seq > :cursor and kind in ('paragraph', 'naming', 'mention') order by seq limit :limit;

-- name: extraction_all
select id from paragraphs where id > :after order by id limit :limit;

-- name: extraction_material
select p.id, p.chat, p.kind, p.knowledge, p.content, s.source_type,
       coalesce((select n.name from paragraph_persons n where n.paragraph = p.id and n.person = p.speaker and n.role = 1), '')
from paragraphs p join sources s on s.id = p.source
where p.id in (select value from json_each(:ids)) and p.derive = 1 and p.deleted_at is null and p.superseded_at is null
  and (p.extracted = 0 or p.id in (select value from json_each(:named)))
order by p.id;

-- name: extraction_done
update paragraphs set extracted = 1 + :known where id in (select value from json_each(:ids)) and extracted <= :known;

-- name: extraction_entity_kinds
select id, kind from entities where id in (select value from json_each(:ids));

-- name: extraction_relation
-- the relation of these ends, or the one that it was merged into
select coalesce(t.id, r.id), coalesce(t.deleted_at, r.deleted_at) is not null,
       coalesce(t.origin, r.origin), coalesce(t.confidence, r.confidence)
from relations r left join relations t on t.id = r.merged_into
where r.subject = :subject and r.predicate = :predicate and r.object = :object;

-- name: extraction_relation_insert
insert into relations (subject, predicate, object, confidence, origin, created_at)
values (:subject, :predicate, :object, :confidence, :origin, :now) returning id;

-- name: extraction_relation_revive
-- what was gone because nothing supported it is told anew; what was forgotten on purpose stays so
update relations set confidence = :confidence, origin = :origin, deleted_at = null
where id = :id and inactive_reason <> 'forgotten';

-- name: extraction_relation_confirm
update relations set confidence = :confidence where id = :id and origin in ('rule', 'model');

-- name: extraction_supports
select 1 from relation_evidence where relation = :relation and paragraph = :paragraph;
