-- name: retention_of
select id, strength, anchor_at, pinned, protected_until, accessed_at, reinforced_at, reinforcements
from retention where kind = :kind and id in (select value from json_each(:ids));

-- name: retention_put
insert into retention (kind, id, strength, anchor_at, pinned, protected_until, accessed_at, reinforced_at, reinforcements)
values (:kind, :id, :strength, :anchor_at, :pinned, :protected_until, :accessed_at, :reinforced_at, :reinforcements)
on conflict (kind, id) do update set
    strength = excluded.strength, anchor_at = excluded.anchor_at, pinned = excluded.pinned,
    protected_until = excluded.protected_until, accessed_at = excluded.accessed_at,
    reinforced_at = excluded.reinforced_at, reinforcements = excluded.reinforcements;

-- name: retention_touched
-- what use or a hand has touched, the last touched first
select t.kind, t.id from retention t
where :scopes is null
   or (t.kind = 'paragraph' and exists (
          select 1 from paragraphs p where p.id = t.id and p.scope in (select value from json_each(:scopes))))
   or (t.kind = 'relation' and exists (
          select 1 from relation_evidence e join paragraphs p on p.id = e.paragraph
          where e.relation = t.id and p.scope in (select value from json_each(:scopes))))
order by max(t.anchor_at, coalesce(t.accessed_at, 0), coalesce(t.reinforced_at, 0)) desc, t.kind, t.id limit :limit;

-- name: memory_relations
-- relations with their retention; `supported` if a live paragraph speaks for it, or a hand has asserted it; an end that
-- is deleted or merged
select r.id, r.created_at, s.name, r.predicate, o.name, r.confidence, r.inactive_at, r.inactive_reason, r.deleted_at,
       r.origin = 'admin' or exists (
           select 1 from relation_evidence e join paragraphs p on p.id = e.paragraph
           where e.relation = r.id and p.deleted_at is null and p.superseded_at is null),
       case when s.deleted_at is not null or s.merged_into is not null then s.id
            when o.deleted_at is not null or o.merged_into is not null then o.id end,
       t.strength, t.anchor_at, t.pinned, t.protected_until, t.accessed_at, t.reinforced_at, t.reinforcements
from relations r join entities s on s.id = r.subject join entities o on o.id = r.object
left join retention t on t.kind = 'relation' and t.id = r.id
where r.id in (select value from json_each(:ids)) and r.merged_into is null
  and (:scopes is null or exists (
      select 1 from relation_evidence e join paragraphs p on p.id = e.paragraph
      where e.relation = r.id and p.scope in (select value from json_each(:scopes))));

-- name: memory_paragraphs
-- paragraphs with their retention; `current` if no newer wording was stored under the same reference
select p.id, p.recorded_at, p.content, p.expires_at, p.deleted_reason, p.deleted_at,
       p.superseded_at is null and p.revision = f.revision,
       t.strength, t.anchor_at, t.pinned, t.protected_until, t.accessed_at, t.reinforced_at, t.reinforcements
from paragraphs p join external_memory_refs f on f.id = p.ref
left join retention t on t.kind = 'paragraph' and t.id = p.id
where p.id in (select value from json_each(:ids))
  and (:scopes is null or p.scope in (select value from json_each(:scopes)));

-- name: relations_by_words
-- relations with this name at an end or as predicate, exact ones first, then those that hold it; `gone`: those to restore
with ends as materialized (
    select id, iif(norm = :norm, 1, 0) as exact from entities where norm = :norm or (length(:norm) > 1 and instr(norm, :norm) > 0)
    union all
    select entity, iif(norm = :norm, 1, 0) from entity_aliases
    where norm = :norm or (length(:norm) > 1 and instr(norm, :norm) > 0)),
found as (
    select r.id, n.exact from ends n join relations r on r.subject = n.id
    union all
    select r.id, n.exact from ends n join relations r on r.object = n.id
    union all
    select r.id, iif(lower(r.predicate) = :norm, 1, 0) from relations r
    where lower(r.predicate) = :norm or (length(:norm) > 1 and instr(lower(r.predicate), :norm) > 0))
select f.id, max(f.exact) from found f join relations r on r.id = f.id
where r.merged_into is null and ((:gone and r.inactive_at is not null) or (not :gone and r.deleted_at is null))
  and (:scopes is null or exists (
      select 1 from relation_evidence e join paragraphs p on p.id = e.paragraph
      where e.relation = r.id and p.scope in (select value from json_each(:scopes))))
group by f.id order by max(f.exact) desc, f.id desc limit :limit;

-- name: paragraphs_in_bin
select id, content from paragraphs indexed by paragraphs_in_bin
where deleted_reason <> '' and (:scopes is null or scope in (select value from json_each(:scopes)))
order by deleted_at desc, id desc;

-- name: relations_of_paragraphs
-- live relations that these paragraphs support
select distinct r.id from relation_evidence e join relations r on r.id = e.relation
where e.paragraph in (select value from json_each(:ids)) and r.deleted_at is null and r.inactive_at is null
order by r.id limit :limit;

-- name: relations_faded_by_age
-- old active relations that nothing has refreshed since, or that were weakened
select r.id, r.created_at from relations r indexed by relations_by_age
left join retention t on t.kind = 'relation' and t.id = r.id
where r.deleted_at is null and r.inactive_at is null and r.created_at <= :cutoff
  and (r.created_at, r.id) > (:after_at, :after_id)
  and (t.id is null or (t.pinned = 0 and coalesce(t.protected_until, 0) <= :now
                        and (t.strength < 1 or t.anchor_at <= :cutoff)))
order by r.created_at, r.id limit :limit;

-- name: relations_weakened
select r.id from retention t indexed by retention_weakened join relations r on r.id = t.id
where t.kind = 'relation' and t.strength < 1 and t.pinned = 0 and t.id > :after
  and coalesce(t.protected_until, 0) <= :now and r.deleted_at is null and r.inactive_at is null
order by t.id limit :limit;

-- name: relations_to_recycle
select id from relations indexed by relations_inactive
where inactive_at is not null and deleted_at is null and inactive_at <= :before and inactive_reason = 'decay'
order by inactive_at, id limit :limit;

-- name: paragraphs_expired
select id from paragraphs indexed by paragraphs_by_expiry
where expires_at is not null and deleted_at is null and superseded_at is null and expires_at <= :now
order by expires_at, id limit :limit;

-- name: relations_set_state
update relations set inactive_at = :inactive_at, inactive_reason = :reason, deleted_at = :deleted_at
where id in (select value from json_each(:ids));

-- name: paragraphs_discard
update paragraphs set deleted_at = :now, deleted_reason = :reason
where id in (select value from json_each(:ids)) and deleted_at is null;

-- name: refs_emptied
-- references of these paragraphs of whose current wording nothing lives
update external_memory_refs set deleted_at = :now
where deleted_at is null and id in (select ref from paragraphs where id in (select value from json_each(:ids)))
  and not exists (
      select 1 from paragraphs p where p.ref = external_memory_refs.id and p.deleted_at is null and p.superseded_at is null);

-- name: refs_filled
update external_memory_refs set deleted_at = null
where deleted_at is not null and id in (select ref from paragraphs where id in (select value from json_each(:ids)));

-- name: relations_lost_with
-- relations that went when these paragraphs went, for want of another one, come back
update relations set deleted_at = null
where deleted_at is not null and deleted_by = '' and inactive_reason <> 'forgotten' and merged_into is null and id in (
    select e.relation from relation_evidence e join paragraphs p on p.id = e.paragraph
    where e.paragraph in (select value from json_each(:ids)) and p.deleted_at = relations.deleted_at)
  and not exists (select 1 from entities n where n.id in (subject, object) and (n.deleted_at is not null or n.merged_into is not null));

-- name: paragraphs_revive
update paragraphs set deleted_at = null, deleted_reason = '',
                      expires_at = case when expires_at <= :now then null else expires_at end
where id in (select value from json_each(:ids));

-- name: embedded_upto_lower
-- what comes back may still want its vector
update meta set value = cast(:row - 1 as text)
where key >= 'embedded_upto:' and key < 'embedded_upto;' and cast(value as integer) >= :row;

-- name: recycle_bin
-- what has been forgotten, has faded or has expired, the last first
select kind, id from (
    select 'relation' as kind, id, deleted_at from relations indexed by relations_in_bin
    where inactive_at is not null and deleted_at is not null and merged_into is null
      and (:scopes is null or exists (
          select 1 from relation_evidence e join paragraphs p on p.id = e.paragraph
          where e.relation = relations.id and p.scope in (select value from json_each(:scopes))))
    union all
    select 'paragraph', id, deleted_at from paragraphs indexed by paragraphs_in_bin
    where deleted_reason <> '' and deleted_at is not null
      and (:scopes is null or scope in (select value from json_each(:scopes))))
order by deleted_at desc, kind, id desc limit :limit offset :offset;

-- name: recycle_bin_count
select (select count(*) from relations indexed by relations_in_bin
        where inactive_at is not null and deleted_at is not null and merged_into is null
          and (:scopes is null or exists (
              select 1 from relation_evidence e join paragraphs p on p.id = e.paragraph
              where e.relation = relations.id and p.scope in (select value from json_each(:scopes)))))
     + (select count(*) from paragraphs indexed by paragraphs_in_bin
        where deleted_reason <> '' and deleted_at is not null
          and (:scopes is null or scope in (select value from json_each(:scopes))));

-- name: v5_operation_insert
insert into memory_v5_operations (action, kind, items, strength, requested_by, reason, created_at)
values (:action, :kind, :items, :strength, :requested_by, :reason, :now) returning id;
