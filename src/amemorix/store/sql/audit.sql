-- name: audit_marks
-- the newest record of each kind from which a change can be looked up or undone
select (select coalesce(max(id), 0) from undo_records), (select coalesce(max(id), 0) from delete_operations),
       (select coalesce(max(id), 0) from memory_v5_operations);

-- name: audit_undoable
-- those of the records from which a change can be undone now
select 'undo', id from undo_records
where id in (select value from json_each(:undo)) and undone_at is null and detail <> '{}'
union all
select 'delete', id from delete_operations where id in (select value from json_each(:delete)) and status = 'executed'
union all
select 'correction', id from correction_plans where id in (select value from json_each(:correction)) and status = 'executed'
union all
select 'maintenance', id from memory_v5_operations where id in (select value from json_each(:maintenance));

-- name: audit_insert
insert into audit (at, until, component, action, target, requested_by, door, records, rows)
values (:at, :at, :component, :action, :target, :requested_by, :door, :records, :rows) returning id;

-- name: audit_add
update audit set until = max(until, :at), calls = calls + :calls, rows = rows + :rows, target = :target, records = :records where id = :id returning id;

-- name: audit_page
select id, at, until, component, action, target, requested_by, door, calls, rows, records from audit
where (:before is null or id < :before)
  and (:component is null or component = :component) and (:action is null or action = :action)
  and (:requested_by is null or requested_by = :requested_by)
  and (:since is null or until >= :since) and (:upto is null or at <= :upto)
order by id desc limit :limit;

-- name: audit_prune
delete from audit where id in (select id from audit where until < :before order by id limit :most);

