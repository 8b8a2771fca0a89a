-- name: feedback_insert
insert into feedback_tasks (query_tool_id, chat, query, asked_at, hits) values (:key, :chat, :query, :asked_at, :hits)
on conflict (query_tool_id) do nothing returning id;

-- name: feedback_by_key
select id from feedback_tasks where query_tool_id = :key;

-- name: feedback_result
update feedback_tasks set result = :result where id = :id;

-- name: feedback_decided
update feedback_tasks set decision = :decision where id = :id;

-- name: feedback_rolled_back
update feedback_tasks set rollback_status = :status where id = :id;

-- name: feedback_list
select t.id, t.query_tool_id, coalesce(c.chat_id, ''), t.query, t.asked_at, t.hits, w.status, coalesce(w.due_at, w.updated_at),
       w.attempts, t.decision, t.rollback_status, t.result, w.error, w.updated_at
from feedback_tasks t join tasks w on w.kind = 'feedback' and w.key = t.id left join chats c on c.id = t.chat
where (:id is null or t.id = :id) and (:statuses is null or w.status in (select value from json_each(:statuses)))
  and (:rollbacks is null or t.rollback_status in (select value from json_each(:rollbacks)))
  and (:words is null or instr(lower(t.query), lower(:words)))
order by t.id desc limit :limit offset :offset;

-- name: feedback_messages
-- what was said in the chat after the answer, and by whom
select coalesce(o.person_id, ''), p.content from paragraphs p left join persons o on o.id = p.speaker
where p.scope = :chat and p.kind = 'message' and p.event_start >= :since and p.event_start is not null
  and p.deleted_at is null and p.superseded_at is null and (p.expires_at is null or p.expires_at > :now)
  and p.id not in (select value from json_each(:but))
order by p.event_start, p.id limit :limit;
