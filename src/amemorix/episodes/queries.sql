-- name: episodes_of_paragraphs
-- an episode that tells of a paragraph which was deleted, reworded or has expired is left out until it is derived again
with held as materialized (
    select paragraph, episode from episode_paragraphs where paragraph in (select value from json_each(:ids))),
stale as materialized (
    select distinct m.episode from episode_paragraphs m join paragraphs p on p.id = m.paragraph
    where m.episode in (select distinct episode from held)
      and (p.deleted_at is not null or p.superseded_at is not null or p.expires_at <= :now))
select paragraph, episode from held where episode not in (select episode from stale);

-- name: episodes_full
select e.id, e.title, e.summary, e.event_start, e.event_end, e.paragraph_count, e.participants, e.keywords, e.derived_at,
       s.name, s.source_type, coalesce(c.chat_id, ''), e.scope, e.revision, e.segmented_by, e.prompt
from episodes e join sources s on s.id = e.source left join chats c on c.id = s.chat
where e.id in (select value from json_each(:ids));

-- name: episode_members
select episode, paragraph from episode_paragraphs
where episode in (select value from json_each(:ids)) order by episode, position;

-- name: episode_live_members
select m.paragraph from episode_paragraphs m join paragraphs p on p.id = m.paragraph
where m.episode = :episode and p.deleted_at is null and p.superseded_at is null
  and (p.expires_at is null or p.expires_at > :now)
  and (:scopes is null or p.scope in (select value from json_each(:scopes)))
order by m.position;

-- name: episodes_by_terms
-- (term, episode) for every one of the words that an episode in scope has of its own
select t.term, t.episode from episode_terms t
where t.term in (select value from json_each(:terms))
  and (:scopes is null or t.scope in (select value from json_each(:scopes)))
limit :limit;

-- name: episodes_in_scope
select count(*) from episodes where (:scopes is null or scope in (select value from json_each(:scopes)));

-- name: episodes_listed
-- the newest first, those that tell of something which is gone left out
select e.id from episodes e
where (:scopes is null or e.scope in (select value from json_each(:scopes)))
  and (:sources is null or e.source in (select value from json_each(:sources)))
  and (:start is null or e.event_end >= :start) and (:end is null or e.event_start <= :end)
  and (:persons is null or exists (
      select 1 from episode_paragraphs m join paragraph_persons pp on pp.paragraph = m.paragraph
      where m.episode = e.id and pp.person in (select value from json_each(:persons))))
  and exists (select 1 from episode_paragraphs m where m.episode = e.id)
  and not exists (
      select 1 from episode_paragraphs m join paragraphs p on p.id = m.paragraph
      where m.episode = e.id and (p.deleted_at is not null or p.superseded_at is not null or p.expires_at <= :now
                                  or (:scopes is not null and p.scope not in (select value from json_each(:scopes)))))
order by coalesce(e.event_start, e.derived_at) desc, e.id desc limit :limit offset :offset;

-- name: episode_failures
-- sources whose episodes could not be made
select s.name, coalesce(c.chat_id, ''), t.attempts, t.error, t.due_at, t.updated_at
from tasks t join sources s on s.id = t.key left join chats c on c.id = s.chat
where t.kind = 'episodes' and t.status = 'failed' order by t.updated_at desc, t.key limit :limit;
