-- name: episode_touched
-- the paragraphs named in the next changes, live or not, with their time and the episode that holds them
select c.seq, p.source, coalesce(p.event_start, p.recorded_at), m.episode
from changes c left join paragraphs p on p.id = c.id left join episode_paragraphs m on m.paragraph = p.id
where c.seq > :cursor and c.seq <= :upto and c.kind = 'paragraph' order by c.seq limit :limit;

-- name: episode_expired
-- expired paragraphs that an episode still tells of, where nothing is to be done yet
select p.source, coalesce(p.event_start, p.recorded_at), m.episode
from paragraphs p join episode_paragraphs m on m.paragraph = p.id
where p.expires_at <= :now and p.expires_at is not null
  and not exists (select 1 from tasks t where t.kind = 'episodes' and t.key = p.source and t.status <> 'completed')
limit :limit;

-- name: episode_spans
-- from when to when the paragraphs of these episodes reach, and where they began when they were made
select e.source, min(min(coalesce(p.event_start, p.recorded_at), coalesce(e.event_start, p.recorded_at))),
       max(coalesce(p.event_start, p.recorded_at))
from episodes e join episode_paragraphs m on m.episode = e.id join paragraphs p on p.id = m.paragraph
where e.id in (select value from json_each(:ids)) group by e.id;

-- name: episode_news_insert
-- nothing of a source that is gone by now: what moved was read before
insert into episode_news (source, since, upto, anew)
select id, :since, :upto, :anew from sources where id = :source;

-- name: episode_news_of
select id, since, upto, anew from episode_news where source = :source order by since, id;

-- name: episode_news_forget
delete from episode_news where id in (select value from json_each(:ids));

-- name: all_sources
select id from sources where id > :after order by id limit :limit;

-- name: sources_of_chat
select s.id from sources s join chats c on c.id = s.chat where c.chat_id = :chat_id order by s.id;

-- name: source_type_of
select source_type from sources where id = :source;

-- name: episode_before
-- the live paragraphs before a time, the nearest first
select p.id, coalesce(p.event_start, p.recorded_at), m.episode
from paragraphs p left join episode_paragraphs m on m.paragraph = p.id
where p.source = :source and coalesce(p.event_start, p.recorded_at) < :since
  and p.derive = 1 and p.deleted_at is null and p.superseded_at is null and (p.expires_at is null or p.expires_at > :now)
order by coalesce(p.event_start, p.recorded_at) desc, p.id desc limit :count;

-- name: stretch_start
-- where the stretch begins that an episode belongs to
select coalesce(p.event_start, p.recorded_at), p.id
from episodes e join episode_paragraphs m on m.episode = e.id join paragraphs p on p.id = m.paragraph
where e.source = :source and e.stretch = (select stretch from episodes where id = :episode)
order by 1, 2 limit 1;

-- name: episode_material
select p.id, p.scope, coalesce(p.event_start, p.recorded_at), p.event_start, p.event_end, p.content, p.speaker, t.v
from paragraphs p join terms t on t.id = p.id
where p.source = :source and coalesce(p.event_start, p.recorded_at) >= :at
  and (coalesce(p.event_start, p.recorded_at) > :at or p.id >= :id)
  and p.derive = 1 and p.deleted_at is null and p.superseded_at is null and (p.expires_at is null or p.expires_at > :now)
order by coalesce(p.event_start, p.recorded_at), p.id limit :limit;

-- name: episode_material_of
select p.id, p.scope, coalesce(p.event_start, p.recorded_at), p.event_start, p.event_end, p.content, p.speaker, t.v
from episode_paragraphs m join paragraphs p on p.id = m.paragraph join terms t on t.id = p.id
where m.episode = :episode and p.derive = 1 and p.deleted_at is null and p.superseded_at is null
  and (p.expires_at is null or p.expires_at > :now)
order by m.position;

-- name: stretches_among
-- those of the paragraphs that begin a stretch as it is stored
select m.paragraph from episode_paragraphs m join episodes e on e.id = m.episode
where m.paragraph in (select value from json_each(:ids)) and e.stretch = m.paragraph;

-- name: episodes_between
-- the episodes that hold a paragraph of the source, live or not, from one place in its order up to another
select distinct m.episode from paragraphs p join episode_paragraphs m on m.paragraph = p.id
where p.source = :source and coalesce(p.event_start, p.recorded_at) >= :at
  and (coalesce(p.event_start, p.recorded_at) > :at or p.id >= :id)
  and (:end_at is null or coalesce(p.event_start, p.recorded_at) < :end_at
       or (coalesce(p.event_start, p.recorded_at) = :end_at and p.id < :end_id));

-- name: episodes_held
select id, scope, stretch, event_start, event_end, segmented_by, title, summary, participants, keywords
from episodes where id in (select value from json_each(:ids)) order by id;

-- name: episode_insert
insert into episodes (source, scope, stretch, title, summary, event_start, event_end, paragraph_count, participants,
                      keywords, segmented_by, model_due, prompt, derived_at)
values (:source, :scope, :stretch, :title, :summary, :event_start, :event_end, :paragraph_count, :participants,
        :keywords, :segmented_by, :model_due, :prompt, :now)
returning id;

-- name: episode_update
update episodes set scope = :scope, stretch = :stretch, title = :title, summary = :summary, event_start = :event_start,
                    event_end = :event_end, paragraph_count = :paragraph_count, participants = :participants,
                    keywords = :keywords, segmented_by = :segmented_by, model_due = :model_due, model_attempts = 0,
                    prompt = :prompt, revision = revision + 1, derived_at = :now
where id = :id returning id;

-- name: episodes_remove
delete from episodes where id in (select value from json_each(:ids));

-- name: episode_members_drop
delete from episode_paragraphs where episode in (select value from json_each(:ids));

-- name: episode_terms_drop
delete from episode_terms where episode in (select value from json_each(:ids));

-- name: episode_member_insert
insert into episode_paragraphs (paragraph, episode, position) values (:paragraph, :episode, :position)
on conflict (paragraph) do update set episode = excluded.episode, position = excluded.position;

-- name: episode_term_insert
insert into episode_terms (term, scope, episode) values (:term, :scope, :episode) on conflict do nothing;

-- name: episode_ask_again
-- the chat model may be asked about these again
update episodes set model_due = :due, model_attempts = 0 where id in (select value from json_each(:ids));

-- name: episode_model_claim
update episodes set model_due = :until, model_attempts = model_attempts + 1
where id = (select id from episodes where model_due <= :now order by model_due, id limit 1)
returning id, source, stretch, revision, model_attempts;

-- name: episode_model_put_off
update episodes set model_due = :due, model_attempts = :attempts where id = :id and revision = :revision;

-- name: episode_model_read
-- the model has read it, and the rules' words stand
update episodes set model_due = null, prompt = :prompt where id = :id;

-- name: episode_is_at
select 1 from episodes where id = :id and revision = :revision and model_due is not null;

-- name: episode_model_counts
select count(*), count(*) filter (where model_due <= :now) from episodes where model_due is not null;

-- name: episode_statement_lines
-- those of the paragraphs on which something rests that is kept of a person, with its weight
select e.paragraph, max(f.importance) from fact_evidence e join facts f on f.id = e.fact
where e.paragraph in (select value from json_each(:ids)) and e.stance = 'support'
  and f.person is not null and f.deleted_at is null and f.status <> 'retracted'
group by e.paragraph;
