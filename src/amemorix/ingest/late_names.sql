-- name: naming_news
-- the last of the next names that have become known
select max(id) from (select id from name_news order by id limit :limit);

-- name: naming_count
select count(*) from name_news;

-- name: naming_persons
-- by what the persons met in a chat are called there; chat 0: everywhere
select n.chat, c.name from name_news n join chat_persons c on c.person = n.person and c.chat = n.chat where n.id <= :upto
union
select n.chat, a.alias from name_news n join person_aliases a on a.person = n.person and a.chat in (0, n.chat)
where n.id <= :upto
union
select n.chat, p.person_id from name_news n join persons p on p.id = n.person where n.id <= :upto;

-- name: naming_entities
-- each with the last piece of news about its entity
with told as materialized (select entity, max(id) as news from name_news where id <= :upto and entity is not null group by entity)
select e.id, e.norm, t.news from told t join entities e on e.id = t.entity
union
select t.entity, a.norm, t.news from told t join entity_aliases a on a.entity = t.entity;

-- name: naming_blobs
select t.id, p.chat, p.scope, p.extracted, t.v from terms t join paragraphs p on p.id = t.id
where p.derive = 1 and t.id > :after and t.id <= :last order by t.id limit :limit;

-- name: naming_linked
select entity, paragraph from paragraph_entities
where paragraph in (select value from json_each(:ids)) and entity in (select value from json_each(:entities));

-- name: naming_unread
update paragraphs set extracted = 0 where id in (select value from json_each(:ids)) and extracted <> 0;

-- name: naming_tell
insert into changes (kind, id) select :kind, id from paragraphs where id in (select value from json_each(:ids)) order by id;

-- name: naming_extracted
select id, extracted from paragraphs where id in (select value from json_each(:ids));

-- name: naming_last_news
select coalesce((select seq from sqlite_sequence where name = 'name_news'), 0);

-- name: naming_first_waiting
select min(id) from name_news;

-- name: naming_done
delete from name_news where id <= :upto;
