-- name: meta_get
select value from meta where key = :key;

-- name: meta_put
insert into meta (key, value) values (:key, :value) on conflict (key) do update set value = excluded.value;

-- name: chat_by_id
select id, group_id, user_id from chats where chat_id = :chat_id;

-- name: chat_insert
insert into chats (chat_id, group_id, user_id, created_at) values (:chat_id, :group_id, :user_id, :now) returning id;

-- name: chat_set_owner
update chats set group_id = :group_id, user_id = :user_id where id = :id;

-- name: chats_by_owner
-- group_id, or else the user's chats that belong to no group
select id from chats
where (:group_id <> '' and group_id = :group_id)
   or (:group_id = '' and :user_id <> '' and user_id = :user_id and group_id = '');

-- name: chats_all
select id, chat_id, group_id, user_id from chats;

-- name: chats_from
-- chats whose ids begin so
select id, chat_id from chats where substr(chat_id, 1, length(:head)) = :head and chat_id >= :head;

-- name: source_by_name
select id from sources where name = :name and chat = :chat;

-- name: source_insert
insert into sources (name, chat, source_type, created_at) values (:name, :chat, :source_type, :now) returning id;

-- name: person_by_key
select id, name from persons where person_id = :person_id;

-- name: persons_called
-- up to two persons with an id of their own who have this name in the chat, or an alias that counts there
select c.person from chat_persons c join persons p on p.id = c.person
where c.name = :name and c.chat = :chat and p.person_id <> :name
union
select a.person from person_aliases a join persons p on p.id = a.person
where a.norm = :norm and a.chat in (0, :chat) and p.person_id <> :name
limit 2;

-- name: persons_known
select id, person_id, name from persons where id in (select value from json_each(:ids));

-- name: person_insert
insert into persons (person_id, name, created_at) values (:person_id, :name, :now) returning id;

-- name: chat_person_insert
insert into chat_persons (person, chat, name) values (:person, :chat, :name) on conflict do nothing;

-- name: chat_person_names
-- the names of persons in a chat, and those that count everywhere
select c.person, c.name from chat_persons c where c.chat = :chat
union
select a.person, a.alias from person_aliases a
where a.chat in (0, :chat) and exists (select 1 from chat_persons c where c.person = a.person and c.chat = :chat);

-- name: entity_by_norm
-- the entity of this name, or the one that it was merged into, or the one that has it as an alias; a deleted one is given too
select coalesce(e.merged_into, e.id) from entities e where e.norm = :norm
union all
select a.entity from entity_aliases a where a.norm = :norm
limit 1;

-- name: entity_revive
-- not by a paragraph that spoke of it before it was deleted
update entities set deleted_at = null where id = :id and deleted_at is not null
  and not exists (select 1 from paragraph_entities l where l.entity = :id and l.paragraph = :paragraph);

-- name: entity_set_origin
-- what was read is told, or made by hand, now; what was told is made by hand
update entities set origin = :origin
where id = :id and origin <> 'admin' and (:origin = 'admin' or (:origin = 'caller' and origin <> 'caller'));

-- name: entity_insert
insert into entities (name, norm, kind, origin, created_at) values (:name, :norm, :kind, :origin, :now) returning id;

-- name: entities_by_norms
-- the entities that these names mean, by name, alias or merge
select t.id, n.norm, t.name
from (select e.norm, coalesce(e.merged_into, e.id) as id from entities e where e.norm in (select value from json_each(:norms))
      union
      select a.norm, a.entity from entity_aliases a where a.norm in (select value from json_each(:norms))) n
join entities t on t.id = n.id where t.deleted_at is null;

-- name: entity_names
select id, name from entities where id in (select value from json_each(:ids));
