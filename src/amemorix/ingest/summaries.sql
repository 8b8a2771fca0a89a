-- name: summary_last_message
-- paragraphs that belong to a chat alone have its row as their scope
select id from paragraphs
where scope = :chat and kind = 'message' and derive = 1 and deleted_at is null and superseded_at is null
order by id desc limit 1;

-- name: summary_want
insert into summary_cursors (chat, upto, wanted, due_at, updated_at) values (:chat, 0, :wanted, :now, :now)
on conflict (chat) do update set wanted = max(summary_cursors.wanted, excluded.wanted), updated_at = excluded.updated_at
returning summary_cursors.upto < summary_cursors.wanted;

-- name: summary_keep
update summary_cursors set upto = max(upto, wanted), attempts = 0, updated_at = :now where chat = :chat;

-- name: summary_next
-- the chat that has waited longest of those that are due and not under way
select s.chat, c.chat_id, c.group_id, c.user_id, s.upto, s.wanted, s.attempts
from summary_cursors s join chats c on c.id = s.chat
where s.wanted > s.upto and s.due_at <= :now and s.chat not in (select value from json_each(:busy))
order by s.due_at, s.chat limit 1;

-- name: summary_messages
select p.id, p.ref, p.content, p.event_start from paragraphs p
where p.scope = :chat and p.kind = 'message' and p.derive = 1 and p.id > :upto and p.id <= :wanted
  and p.deleted_at is null and p.superseded_at is null and (p.expires_at is null or p.expires_at > :now)
order by p.id limit :limit;

-- name: summary_recent
select content from paragraphs
where scope = :chat and kind = 'summary' and derive = 1 and deleted_at is null and superseded_at is null
order by id desc limit :limit;

-- name: summary_advance
-- nothing if somebody else was quicker
update summary_cursors set upto = :upto, attempts = 0, due_at = :now, updated_at = :now
where chat = :chat and upto = :was returning chat;

-- name: summary_postpone
update summary_cursors set attempts = :attempts, due_at = :due_at, updated_at = :now where chat = :chat and upto = :was;

-- name: summary_waiting_count
select count(*) from summary_cursors where wanted > upto;
