-- name: document_changes_since
select d.seq, d.kind, d.ref, r.external_id, s.name, c.chat_id
from document_changes d
left join external_memory_refs r on r.id = d.ref
left join sources s on s.id = r.source
left join chats c on c.id = d.chat
where d.seq > :since and d.kind in (select value from json_each(:kinds)) and (:chat is null or d.chat = :chat)
order by d.seq limit :limit;

-- name: documents_expired
select 1 from paragraphs
where expires_at > :after and expires_at <= :now and deleted_at is null and superseded_at is null limit 1;

-- name: document_changes_expired
insert into document_changes (kind, ref, chat)
select distinct 'expired', p.ref, s.chat from paragraphs p join sources s on s.id = p.source
where p.expires_at > :after and p.expires_at <= :now and p.deleted_at is null and p.superseded_at is null;

-- name: document_changes_skip
insert into document_changes (kind, ref, chat) values ('added', 0, 0) returning seq;
