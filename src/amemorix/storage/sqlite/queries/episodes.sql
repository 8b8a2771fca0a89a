-- name: changed_paragraphs
-- the paragraphs named in the next changes, live or not, and how far that reads
select c.seq, p.id, p.source from changes c left join paragraphs p on p.id = c.id
where c.seq > :cursor and c.kind = 'paragraph' order by c.seq limit :limit;

-- name: all_sources
select id from sources where id > :after order by id limit :limit;

-- name: source_type_of
select source_type, name from sources where id = :source;

-- name: episode_start
-- where regrouping has to begin: the start of the episode that holds the earliest of these paragraphs, or the last one before them
select min(coalesce(p.event_start, p.recorded_at)) from episode_paragraphs ep
join paragraphs p on p.id = ep.paragraph
where ep.episode in (
    select m.episode from episode_paragraphs m where m.paragraph in (select value from json_each(:ids))
    union
    select x.id from (select id from episodes where source = :source and coalesce(event_start, derived_at) <= :at
                      order by coalesce(event_start, derived_at) desc, id desc limit 1) x);

-- name: episodes_reach
-- where the episodes begin that hold a paragraph of the source at or after the given time
select min(coalesce(p.event_start, p.recorded_at)) from episode_paragraphs m join paragraphs p on p.id = m.paragraph
where m.episode in (
    select n.episode from paragraphs q join episode_paragraphs n on n.paragraph = q.id
    where q.source = :source and coalesce(q.event_start, q.recorded_at) >= :since);

-- name: paragraphs_earliest
select min(coalesce(event_start, recorded_at)) from paragraphs where id in (select value from json_each(:ids));

-- name: episode_material
select p.id, p.scope, coalesce(p.event_start, p.recorded_at), p.event_start, p.event_end, p.content, p.speaker, t.v
from paragraphs p join terms t on t.id = p.id
where p.source = :source and coalesce(p.event_start, p.recorded_at) >= :since
  and p.deleted_at is null and p.superseded_at is null and (p.expires_at is null or p.expires_at > :now)
order by coalesce(p.event_start, p.recorded_at), p.id;

-- name: episodes_drop
-- episodes of the source that hold a paragraph at or after the given time, or none that lives
delete from episodes where source = :source and (
    exists (select 1 from episode_paragraphs m join paragraphs p on p.id = m.paragraph
            where m.episode = episodes.id and coalesce(p.event_start, p.recorded_at) >= :since)
    or not exists (select 1 from episode_paragraphs m join paragraphs p on p.id = m.paragraph
                   where m.episode = episodes.id and p.deleted_at is null and p.superseded_at is null));

-- name: episode_insert
insert into episodes (source, scope, title, summary, event_start, event_end, paragraph_count, participants, keywords, derived_at)
values (:source, :scope, :title, :summary, :event_start, :event_end, :paragraph_count, :participants, :keywords, :now)
returning id;

-- name: episode_member_insert
insert into episode_paragraphs (paragraph, episode, position) values (:paragraph, :episode, :position)
on conflict (paragraph) do update set episode = excluded.episode, position = excluded.position;

-- name: episodes_of_paragraphs
-- an episode that tells of a paragraph which was deleted or reworded or has expired is left out until it is derived again
with held as materialized (
    select paragraph, episode from episode_paragraphs where paragraph in (select value from json_each(:ids))),
stale as materialized (
    select distinct m.episode from episode_paragraphs m join paragraphs p on p.id = m.paragraph
    where m.episode in (select distinct episode from held) and (p.deleted_at is not null or p.superseded_at is not null or p.expires_at <= :now))
select paragraph, episode from held where episode not in (select episode from stale);

-- name: episodes_full
select e.id, e.title, e.summary, e.event_start, e.event_end, e.paragraph_count, e.participants, e.keywords, e.derived_at,
       s.name, s.source_type, coalesce(c.chat_id, ''), e.scope
from episodes e join sources s on s.id = e.source left join chats c on c.id = s.chat
where e.id in (select value from json_each(:ids));

-- name: episode_members
select episode, paragraph from episode_paragraphs
where episode in (select value from json_each(:ids)) order by episode, position;
