-- name: feedback_insert
insert into feedback_tasks (query_tool_id, chat, query, asked_at, hits, status, due_at, updated_at)
values (:key, :chat, :query, :asked_at, :hits, 'pending', :due_at, :now)
on conflict (query_tool_id) do nothing returning id;

-- name: feedback_by_key
select id from feedback_tasks where query_tool_id = :key;

-- name: feedback_claim
update feedback_tasks set status = 'running', attempts = attempts + 1, leased_until = :until, worker = :worker,
                          updated_at = :now
where id in (
    select id from feedback_tasks
    where (status = 'pending' and due_at <= :now) or (status = 'running' and (leased_until <= :now or worker <> :worker))
    order by due_at, id limit :limit)
returning id;

-- name: feedback_decided
update feedback_tasks set decision = :decision, updated_at = :now
where id = :id and status = 'running' and worker = :worker returning id;

-- name: feedback_done
update feedback_tasks set status = :status, result = :result, error = '', leased_until = null, worker = '',
                          updated_at = :now
where id = :id and status = 'running' and worker = :worker;

-- name: feedback_failed
update feedback_tasks set status = :status, error = :error, due_at = :due_at, leased_until = null, worker = '',
                          updated_at = :now
where id = :id and status = 'running' and worker = :worker;

-- name: feedback_rolled_back
update feedback_tasks set rollback_status = :status, error = :error, updated_at = :now where id = :id;

-- name: feedback_get
select t.id, t.query_tool_id, coalesce(c.chat_id, ''), t.query, t.asked_at, t.hits, t.status, t.due_at, t.attempts,
       t.decision, t.rollback_status, t.result, t.error, t.updated_at
from feedback_tasks t left join chats c on c.id = t.chat where t.id = :id;

-- name: feedback_list
select t.id, t.query_tool_id, coalesce(c.chat_id, ''), t.query, t.asked_at, t.hits, t.status, t.due_at, t.attempts,
       t.decision, t.rollback_status, t.result, t.error, t.updated_at
from feedback_tasks t left join chats c on c.id = t.chat
where (:statuses is null or t.status in (select value from json_each(:statuses)))
  and (:rollbacks is null or t.rollback_status in (select value from json_each(:rollbacks)))
  and (:words is null or instr(lower(t.query), lower(:words)))
order by t.id desc limit :limit offset :offset;

-- name: feedback_counts
select status, count(*) from feedback_tasks group by status;

-- name: feedback_due
select count(*) from feedback_tasks where status in ('pending', 'running') and due_at <= :now;

-- name: feedback_messages
-- what was said in the chat after the answer, and by whom
select coalesce(o.person_id, ''), p.content from paragraphs p left join persons o on o.id = p.speaker
where p.scope = :chat and p.kind = 'message' and p.event_start >= :since and p.event_start is not null
  and p.deleted_at is null and p.superseded_at is null and (p.expires_at is null or p.expires_at > :now)
  and p.id not in (select value from json_each(:but))
order by p.event_start, p.id limit :limit;
