-- name: evidence_undo_find
-- a record that a purge has emptied is as good as none
select id, detail, created_at, undone_at from undo_records
where id = :id and kind = 'profile_evidence' and detail <> '{}';

-- name: evidence_undo_done
update undo_records set undone_at = :now where id = :id;

-- name: evidence_undo_paragraph
-- when it was deleted, whether its reference is, and whether that has been given a newer text
select p.deleted_at, r.deleted_at is not null, p.superseded_at is null and r.revision > p.revision
from paragraphs p join external_memory_refs r on r.id = p.ref where p.id = :id;

-- name: evidence_undo_relation
select deleted_at from relations where id = :id;
