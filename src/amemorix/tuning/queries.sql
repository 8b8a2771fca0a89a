-- name: tuning_insert
insert into tuning_tasks (options, baseline, rounds_wanted, reason) values (:options, :baseline, :rounds, :reason) returning id;

-- name: tuning_list
select t.id, w.status, t.stage, t.options, t.baseline, t.rounds_wanted,
       (select count(*) from tuning_rounds r where r.task = t.id),
       coalesce((select sum(seconds) from tuning_rounds r where r.task = t.id), 0),
       t.result, t.reason, w.error, w.created_at, w.started_at, w.finished_at
from tuning_tasks t join tasks w on w.kind = 'tuning' and w.key = t.id
where (:id is null or t.id = :id) and (:statuses is null or w.status in (select value from json_each(:statuses)))
order by t.id desc limit :limit offset :offset;

-- name: tuning_stage
update tuning_tasks set stage = :stage where id = :id;

-- name: tuning_result
update tuning_tasks set stage = 'done', result = :result where id = :id;

-- name: tuning_prune
delete from tuning_tasks where id in (
    select key from tasks where kind = 'tuning' and status not in ('queued', 'running')) and id not in (
    select id from tuning_tasks order by id desc limit :keep);

-- name: tuning_query_insert
insert into tuning_queries (task, split, kind, chat_id, text) values (:task, :split, :kind, :chat_id, :text)
returning id;

-- name: tuning_query_link
-- a paragraph that was purged meanwhile is not linked
insert into tuning_query_paragraphs (query, paragraph, role)
select :query, p.id, :role from paragraphs p where p.id in (select value from json_each(:paragraphs));

-- name: tuning_query_drop
delete from tuning_queries where id = :id;

-- name: tuning_queries_drop
delete from tuning_queries where task = :task;

-- name: tuning_queries_of
select q.id, q.split, q.kind, q.chat_id, q.text from tuning_queries q where q.task = :task order by q.id;

-- name: tuning_links_of
select l.query, l.paragraph, l.role, p.content_hash,
       p.deleted_at is null and p.superseded_at is null and (p.expires_at is null or p.expires_at > :now)
from tuning_queries q join tuning_query_paragraphs l on l.query = q.id join paragraphs p on p.id = l.paragraph
where q.task = :task order by l.query, l.paragraph;

-- name: tuning_query_counts
select split, kind, count(*) from tuning_queries where task = :task group by split, kind order by split, kind;

-- name: tuning_round_insert
insert into tuning_rounds (task, round, params, profile, score, merit, figures, seconds, created_at)
values (:task, :round, :params, :profile, :score, :merit, :figures, :seconds, :created_at);

-- name: tuning_rounds_of
select round, score, merit, params, figures, profile, seconds, created_at from tuning_rounds
where task = :task order by round limit :limit offset :offset;

-- name: tuning_questions_from
-- the first question of a chat at or after each of these rows
select distinct (
    select p.id from paragraphs p
    where p.id >= s.value and p.id < s.value + :reach and p.flags & 1 and p.kind = 'message' and p.speaker <> 0 and p.derive = 1
      and p.deleted_at is null and p.superseded_at is null and (p.expires_at is null or p.expires_at > :now)
    order by p.id limit 1)
from json_each(:starts) s;

-- name: tuning_reply
-- what somebody else said next
select r.id from paragraphs q join paragraphs r on r.session = q.session and r.scope = q.scope
where q.id = :id and r.id <> q.id and r.speaker not in (0, q.speaker) and r.kind = 'message' and r.derive = 1
  and (coalesce(r.event_start, r.recorded_at), r.id) > (coalesce(q.event_start, q.recorded_at), q.id)
  and r.deleted_at is null and r.superseded_at is null and (r.expires_at is null or r.expires_at > :now)
order by coalesce(r.event_start, r.recorded_at), r.id limit 1;

-- name: tuning_statements_from
select distinct (
    select p.id from paragraphs p
    where p.id >= s.value and p.id < s.value + :reach and not p.flags & 1 and p.derive = 1
      and p.deleted_at is null and p.superseded_at is null and (p.expires_at is null or p.expires_at > :now)
    order by p.id limit 1)
from json_each(:starts) s;

-- name: tuning_facts_from
select distinct (
    select f.id from facts f
    where f.id >= s.value and f.id < s.value + :reach and f.deleted_at is null and f.status = 'active'
      and f.polarity = 1 and exists (select 1 from fact_evidence e where e.fact = f.id and e.stance = 'support')
    order by f.id limit 1)
from json_each(:starts) s;

-- name: tuning_facts
-- with whatever else says the same kind of thing of the same subject: it answers the same question
select f.id, coalesce(p.name, n.name, ''), f.attribute, o.value, e.paragraph
from facts f left join persons p on p.id = f.person left join entities n on n.id = f.entity
join facts o on o.scope = f.scope and o.attribute = f.attribute and o.deleted_at is null
            and (o.person = f.person or o.entity = f.entity)
join fact_evidence e on e.fact = o.id and e.stance = 'support'
where f.id in (select value from json_each(:ids)) order by f.id, e.paragraph;

-- name: tuning_relations_from
select distinct (
    select r.id from relations r
    where r.id >= s.value and r.id < s.value + :reach and r.deleted_at is null and r.inactive_at is null
      and exists (select 1 from relation_evidence e where e.relation = r.id)
    order by r.id limit 1)
from json_each(:starts) s;

-- name: tuning_relations
select r.id, s.name, r.predicate, o.name, e.paragraph
from relations r join entities s on s.id = r.subject
join relations a on a.subject = r.subject and a.predicate = r.predicate and a.deleted_at is null
join entities o on o.id = a.object join relation_evidence e on e.relation = a.id
where r.id in (select value from json_each(:ids)) order by r.id, e.paragraph;

-- name: tuning_paragraphs
select p.id, p.scope, coalesce(c.chat_id, ''), p.session, p.kind, p.flags, p.content,
       coalesce((select name from paragraph_persons pp where pp.paragraph = p.id and pp.role = 1), '')
from paragraphs p left join chats c on c.id = p.scope
where p.id in (select value from json_each(:ids))
  and p.deleted_at is null and p.superseded_at is null and (p.expires_at is null or p.expires_at > :now);

-- name: tuning_highest
select coalesce((select max(id) from paragraphs), 0), coalesce((select max(id) from facts), 0),
       coalesce((select max(id) from relations), 0);

-- name: tuning_expected_ids
select p.id, p.id from paragraphs p
where p.id in (select value from json_each(:labels)) and (:scopes is null or p.scope in (select value from json_each(:scopes)))
  and p.deleted_at is null and p.superseded_at is null and (p.expires_at is null or p.expires_at > :now);

-- name: tuning_expected_references
select p.id, x.external_id
from sources s cross join external_memory_refs x on x.source = s.id join paragraphs p on p.ref = x.id
where x.external_id in (select value from json_each(:labels))
  and (:scopes is null or p.scope in (select value from json_each(:scopes)))
  and p.deleted_at is null and p.superseded_at is null and (p.expires_at is null or p.expires_at > :now);

-- name: tuning_expected_texts
select p.id, lower(hex(p.content_hash)) from paragraphs p
where p.scope in (select value from json_each(:scopes))
  and lower(hex(p.content_hash)) in (select value from json_each(:labels))
  and p.deleted_at is null and p.superseded_at is null and (p.expires_at is null or p.expires_at > :now);

-- name: retrieval_profile_insert
insert into retrieval_profiles (task, profile, previous, reason, status, created_at)
values (:task, :profile, :previous, :reason, 'applying', :now) returning id;

-- name: retrieval_profile_applied
update retrieval_profiles set status = 'applied' where id = :id;

-- name: retrieval_profile_drop
delete from retrieval_profiles where id = :id;

-- name: retrieval_profile_rolled_back
update retrieval_profiles set status = 'rolled_back', rolled_back_at = :now where id = :id;

-- name: retrieval_profiles_list
select id, task, profile, previous, reason, status, created_at, rolled_back_at from retrieval_profiles
where :statuses is null or status in (select value from json_each(:statuses))
order by id desc limit :limit;
