-- name: sources_list
select s.id, s.name, s.source_type, coalesce(max(c.chat_id), ''), count(p.id), max(p.recorded_at),
       min(p.event_start), max(p.event_end)
from sources s
left join chats c on c.id = s.chat
join paragraphs p on p.source = s.id and p.deleted_at is null and p.superseded_at is null and (p.expires_at is null or p.expires_at > :now)
where (:name is null or s.name = :name) and (:chat_id is null or c.chat_id = :chat_id)
group by s.id order by max(p.recorded_at) desc, s.id desc limit :limit offset :offset;

-- name: sources_count
select count(*) from sources s
where exists (select 1 from paragraphs p where p.source = s.id and p.deleted_at is null and p.superseded_at is null and (p.expires_at is null or p.expires_at > :now))
  and (:chat_id is null or s.chat in (select id from chats where chat_id = :chat_id));

-- name: sources_named
select s.id from sources s
where (:name is null or s.name = :name) and (:source_type is null or s.source_type = :source_type)
  and (:chat_id is null or s.chat in (select id from chats where chat_id = :chat_id));

-- name: stats_counts
-- a paragraph is live, superseded or deleted, and one whose time has run out counts as deleted; one that was superseded before its source was deleted stays superseded
select held.live, held.superseded, held.deleted,
       (select count(*) from relations where deleted_at is null),
       (select count(*) from entities e where e.deleted_at is null and exists (
            select 1 from paragraph_entities m join paragraphs p on p.id = m.paragraph
            where m.entity = e.id and p.deleted_at is null and p.superseded_at is null
              and (p.expires_at is null or p.expires_at > :now))),
       (select count(*) from persons),
       (select count(*) from chats),
       (select count(*) from episodes e where exists (
            select 1 from episode_paragraphs m join paragraphs p on p.id = m.paragraph
            where m.episode = e.id and p.deleted_at is null and p.superseded_at is null
              and (p.expires_at is null or p.expires_at > :now))),
       (select count(*) from sources s where exists (
            select 1 from paragraphs p where p.source = s.id and p.deleted_at is null and p.superseded_at is null
              and (p.expires_at is null or p.expires_at > :now))),
       (select count(*) from external_memory_refs where deleted_at is null),
       (select count(*) from space_vectors)
from (select a.n - s.n - d.n as live, s.n as superseded, d.n as deleted
      from (select count(*) as n from paragraphs) a,
           (select count(*) as n from paragraphs where superseded_at is not null) s,
           (select count(*) as n from (
                select id from paragraphs where deleted_at is not null and superseded_at is null
                union select id from paragraphs where expires_at <= :now and superseded_at is null) g) d) held;
