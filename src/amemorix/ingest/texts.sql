-- name: texts_in_scopes
-- ids of what may be seen of these scopes, before an id, the newest first
select n.id from json_each(:scopes) s join paragraphs n on n.id in (
    select p.id from paragraphs p
    where p.scope = s.value and p.id < :before
      and p.deleted_at is null and p.superseded_at is null and (p.expires_at is null or p.expires_at > :now)
      and (:source is null or p.source in (select o.id from sources o where o.name = :source))
      and (:persons is null or exists (select 1 from paragraph_persons pp where pp.paragraph = p.id
                                         and pp.person in (select value from json_each(:persons))))
      and (:since is null or coalesce(p.event_start, p.recorded_at) >= :since)
      and (:until is null or coalesce(p.event_start, p.recorded_at) <= :until)
    order by p.id desc limit :limit)
order by n.id desc limit :limit;

-- name: texts_as_said
-- the same by when it was said, or stored if it is undated, the newest first
select p.id from json_each(:scopes) s join paragraphs p on p.scope = s.value
left join paragraphs b on b.id = :before
where (b.id is null or coalesce(p.event_start, p.recorded_at) < coalesce(b.event_start, b.recorded_at)
       or (coalesce(p.event_start, p.recorded_at) = coalesce(b.event_start, b.recorded_at) and p.id < b.id))
  and p.deleted_at is null and p.superseded_at is null and (p.expires_at is null or p.expires_at > :now)
  and (:source is null or p.source in (select o.id from sources o where o.name = :source))
  and (:persons is null or exists (select 1 from paragraph_persons pp where pp.paragraph = p.id
                                     and pp.person in (select value from json_each(:persons))))
  and (:since is null or coalesce(p.event_start, p.recorded_at) >= :since)
  and (:until is null or coalesce(p.event_start, p.recorded_at) <= :until)
order by coalesce(p.event_start, p.recorded_at) desc, p.id desc limit :limit;

-- name: texts_everywhere
select p.id from paragraphs p
where p.id < :before
  and p.deleted_at is null and p.superseded_at is null and (p.expires_at is null or p.expires_at > :now)
  and (:source is null or p.source in (select o.id from sources o where o.name = :source))
  and (:persons is null or exists (select 1 from paragraph_persons pp where pp.paragraph = p.id
                                     and pp.person in (select value from json_each(:persons))))
  and (:since is null or coalesce(p.event_start, p.recorded_at) >= :since)
  and (:until is null or coalesce(p.event_start, p.recorded_at) <= :until)
order by p.id desc limit :limit;

-- name: texts_seen
-- those of these ids that may be seen
select p.id from paragraphs p
where p.id in (select value from json_each(:ids)) and (:scopes is null or p.scope in (select value from json_each(:scopes)))
  and p.deleted_at is null and p.superseded_at is null and (p.expires_at is null or p.expires_at > :now);

-- name: texts_of_callers_ids
-- paragraphs in place of the texts that a caller knows by these ids, in their order
select p.id, r.external_id
from json_each(:external_ids) e join sources o on o.name = :source
join external_memory_refs r on r.source = o.id and r.external_id = e.value
join paragraphs p on p.ref = r.id and p.revision = r.revision
order by e.key, p.ref, p.position;

-- name: texts_wordings
select p.ref, p.revision, p.id, p.content, p.recorded_at, p.superseded_at, p.deleted_at, p.metadata from paragraphs p
where p.ref in (select t.ref from paragraphs t where t.id = :id
                union all
                select r.id from sources o join external_memory_refs r on r.source = o.id
                where o.name = :source and r.external_id = :external_id)
order by p.ref, p.revision, p.position;

-- name: texts_kept_until
-- when they expire, and whether something is read out of them
select p.id, p.expires_at, p.derive from paragraphs p where p.id in (select value from json_each(:ids));

-- name: texts_chats
-- chats that may be seen and hold something, those that were talked in last first
select c.chat_id, c.group_id, c.user_id, count(*), min(coalesce(p.event_start, p.recorded_at)),
       max(coalesce(p.event_start, p.recorded_at))
from chats c join paragraphs p on p.scope = c.id
where (:scopes is null or c.id in (select value from json_each(:scopes)))
  and (:text is null or instr(lower(c.chat_id), :text))
  and p.deleted_at is null and p.superseded_at is null and (p.expires_at is null or p.expires_at > :now)
group by c.id, c.chat_id, c.group_id, c.user_id order by 6 desc, c.id desc limit :limit offset :offset;
