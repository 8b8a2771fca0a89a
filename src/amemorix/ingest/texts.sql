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
-- the same of these scopes or everywhere by when it was said, or stored if it is undated, the newest first: each source is
-- read from its end
select n.id
from (select distinct source, scope from sessions where :scopes is null or scope in (select value from json_each(:scopes))) s
join paragraphs n on n.id in (
    select p.id from paragraphs p
    where p.source = s.source and p.scope = s.scope
      and (:since is null or coalesce(p.event_start, p.recorded_at) >= :since)
      and (:until is null or coalesce(p.event_start, p.recorded_at) <= :until)
      and coalesce(p.event_start, p.recorded_at) <= coalesce((
          select coalesce(b.event_start, b.recorded_at) from paragraphs b where b.id = :before), 9e99)
      and not exists (select 1 from paragraphs b where b.id = :before and p.id >= b.id
                        and coalesce(p.event_start, p.recorded_at) = coalesce(b.event_start, b.recorded_at))
      and p.deleted_at is null and p.superseded_at is null and (p.expires_at is null or p.expires_at > :now)
      and (:source is null or p.source in (select o.id from sources o where o.name = :source))
    order by coalesce(p.event_start, p.recorded_at) desc, p.id desc limit :limit)
order by coalesce(n.event_start, n.recorded_at) desc, n.id desc limit :limit;

-- name: texts_of_persons_as_said
-- the same of what these persons said, or took part in, or what is about them
select p.id from paragraphs p
left join paragraphs b on b.id = :before
where p.id in (select paragraph from paragraph_persons where person in (select value from json_each(:persons)))
  and (:scopes is null or p.scope in (select value from json_each(:scopes)))
  and (b.id is null or coalesce(p.event_start, p.recorded_at) < coalesce(b.event_start, b.recorded_at)
       or (coalesce(p.event_start, p.recorded_at) = coalesce(b.event_start, b.recorded_at) and p.id < b.id))
  and p.deleted_at is null and p.superseded_at is null and (p.expires_at is null or p.expires_at > :now)
  and (:source is null or p.source in (select o.id from sources o where o.name = :source))
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
-- chats that may be seen and hold something, those that were talked in last first; only those shown are counted
with talked as (
    select s.scope as chat, max((
        select coalesce(p.event_start, p.recorded_at) from paragraphs p
        where p.source = s.source and p.scope = s.scope and p.deleted_at is null and p.superseded_at is null
          and (p.expires_at is null or p.expires_at > :now)
        order by coalesce(p.event_start, p.recorded_at) desc limit 1)) as last
    from (select distinct source, scope from sessions
          where :scopes is null or scope in (select value from json_each(:scopes))) s
    group by s.scope),
shown as (
    select c.id, c.chat_id, c.group_id, c.user_id, t.last from talked t join chats c on c.id = t.chat
    where t.last is not null and (:text is null or instr(lower(c.chat_id), :text))
    order by t.last desc, c.id desc limit :limit offset :offset)
select h.chat_id, h.group_id, h.user_id, count(*), min(coalesce(p.event_start, p.recorded_at)), h.last
from shown h join paragraphs p on p.scope = h.id
where p.deleted_at is null and p.superseded_at is null and (p.expires_at is null or p.expires_at > :now)
group by h.id, h.chat_id, h.group_id, h.user_id, h.last order by h.last desc, h.id desc;
