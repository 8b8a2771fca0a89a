-- name: relations_free
-- deleted relations that nothing keeps down any more: both ends stand, something speaks for them, nobody has forgotten
-- them, and no deletion or change by hand that took them away still stands
select r.id from relations r join entities s on s.id = r.subject join entities o on o.id = r.object
where r.id in (select value from json_each(:ids)) and r.deleted_at is not null and r.merged_into is null
  and s.deleted_at is null and s.merged_into is null and o.deleted_at is null and o.merged_into is null
  and (r.inactive_reason in ('', 'frozen') or (r.inactive_reason = 'decay' and exists (
      select 1 from delete_operation_items i join delete_operations d on d.id = i.operation
      where i.kind = 'relation' and i.id = r.id and i.restored_at is null and r.deleted_by = 'd' || d.id)))
  and (r.origin = 'admin' or exists (
      select 1 from relation_evidence e join paragraphs p on p.id = e.paragraph
      where e.relation = r.id and p.deleted_at is null and p.superseded_at is null))
  and not case substr(r.deleted_by, 1, 1)
      when 'u' then exists (select 1 from undo_records u where u.id = cast(substr(r.deleted_by, 2) as integer)
                              and u.undone_at is null and u.detail <> '{}')
      when 'c' then exists (select 1 from correction_plans c where c.id = cast(substr(r.deleted_by, 2) as integer)
                              and c.status = 'executed')
      when 'd' then exists (select 1 from delete_operation_items i join delete_operations o on o.id = i.operation
                            where i.operation = cast(substr(r.deleted_by, 2) as integer) and i.kind = 'relation' and i.id = r.id
                              and i.restored_at is null and o.status in ('executed', 'purging')
                              and json_extract(i.detail, '$.why') <> 'evidence')
      else false end
order by r.id;

-- name: relations_ending_at
select id from relations where subject in (select value from json_each(:ids)) and deleted_at is not null
union
select id from relations where object in (select value from json_each(:ids)) and deleted_at is not null;

-- name: relations_taken
-- what has just been deleted, by the record of it
update relations set deleted_by = :by where id in (select value from json_each(:ids)) and deleted_at is not null and deleted_by = '';

-- name: relations_taken_by
select id from relations where id in (select value from json_each(:ids)) and deleted_at is not null and deleted_by = :by;
