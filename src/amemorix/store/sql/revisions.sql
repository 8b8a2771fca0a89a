-- name: paragraphs_as_of
-- what is still current of what the memory held at a time
select group_concat(id) from paragraphs
where recorded_at <= :as_of and (event_start is null or event_start <= :as_of)
  and deleted_at is null and superseded_at is null;

-- name: paragraphs_as_of_scoped
select group_concat(id) from paragraphs indexed by paragraphs_by_scope
where scope in (select value from json_each(:scopes))
  and recorded_at <= :as_of and (event_start is null or event_start <= :as_of)
  and deleted_at is null and superseded_at is null;

-- name: revisions_as_of
-- wordings that were current at a time and no longer are, the newest first; what was deleted never comes back, nor do the
-- earlier wordings of what was deleted
select p.id, p.event_start, t.v from paragraphs p indexed by paragraphs_by_supersession join terms t on t.id = p.id
where p.superseded_at > :as_of and p.superseded_at is not null and p.recorded_at <= :as_of
  and (p.event_start is null or p.event_start <= :as_of)
  and p.deleted_at is null and (p.expires_at is null or p.expires_at > :now)
  and (:scopes is null or p.scope in (select value from json_each(:scopes)))
  and not exists (select 1 from paragraphs n where n.ref = p.ref and n.revision > p.revision and n.deleted_at is not null)
order by p.recorded_at desc, p.id desc limit :limit;
