-- name: relations_free
-- deleted relations that nothing keeps down any more: both ends stand, something speaks for them, nobody has forgotten
-- them, and no deletion or change by hand that took them away still stands
with held (relation, at) as materialized (
    select j.value, json_extract(u.detail, '$.deleted_at') from undo_records u, json_each(u.detail, '$.relations') j
    where u.kind in ('entity_delete', 'relation_delete') and u.undone_at is null
    union all
    select j.value, u.created_at from undo_records u, json_each(u.detail, '$.relations') j
    where u.kind = 'profile_evidence' and u.undone_at is null and json_array_length(u.detail, '$.paragraphs') = 0
    union all
    select j.value, json_extract(c.result, '$.at') from correction_plans c, json_each(c.result, '$.relations') j
    where c.status = 'executed'
    union all
    select i.id, o.created_at from delete_operation_items i join delete_operations o on o.id = i.operation
    where i.kind = 'relation' and i.restored_at is null and o.status in ('executed', 'purging')
      and json_extract(i.detail, '$.why') <> 'evidence' and i.id in (select value from json_each(:ids)))
select r.id from relations r join entities s on s.id = r.subject join entities o on o.id = r.object
where r.id in (select value from json_each(:ids)) and r.deleted_at is not null and r.merged_into is null
  and s.deleted_at is null and s.merged_into is null and o.deleted_at is null and o.merged_into is null
  and (r.inactive_reason in ('', 'frozen') or (r.inactive_reason = 'decay' and exists (
      select 1 from delete_operation_items i join delete_operations d on d.id = i.operation
      where i.kind = 'relation' and i.id = r.id and i.restored_at is null and d.created_at = r.deleted_at)))
  and (r.origin = 'admin' or exists (
      select 1 from relation_evidence e join paragraphs p on p.id = e.paragraph
      where e.relation = r.id and p.deleted_at is null and p.superseded_at is null))
  and r.id not in (select h.relation from held h join relations x on x.id = h.relation where abs(h.at - x.deleted_at) < 0.001)
order by r.id;

-- name: relations_ending_at
select id from relations where subject in (select value from json_each(:ids)) and deleted_at is not null
union
select id from relations where object in (select value from json_each(:ids)) and deleted_at is not null;
