-- name: undo_insert
insert into undo_records (kind, detail, requested_by, reason, created_at)
values (:kind, :detail, :requested_by, :reason, :now) returning id;

-- name: undo_find
-- a record that a purge has emptied is as good as none
select id, kind, detail, requested_by, reason, created_at, undone_at from undo_records
where id = :id and kind in (select value from json_each(:kinds)) and detail <> '{}';

-- name: undo_done
update undo_records set undone_at = :now where id = :id;

-- name: undo_list
select id, kind, detail, requested_by, reason, created_at, undone_at from undo_records
where kind in (select value from json_each(:kinds)) and detail <> '{}' and (:undone or undone_at is null)
order by id desc limit :limit offset :offset;

-- name: undo_count
select count(*) from undo_records
where kind in (select value from json_each(:kinds)) and detail <> '{}' and (:undone or undone_at is null);
