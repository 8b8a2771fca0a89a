-- name: purge_begin
-- what the selector and the reason say is scrubbed at once
update delete_operations set status = 'purging', selector = '{}', reason = '', receipt = '{}'
where id = :id and status in ('executed', 'purging') returning id;

-- name: purge_begin_audit
update audit set target = 'operation_id=d' || :id
where exists (select 1 from json_each(records, '$.delete') where value = :id);

-- name: purge_note
update delete_operations set receipt = :receipt where id = :id;

-- name: purge_end
update delete_operations set status = 'purged', purged_at = :now, receipt = :receipt where id = :id;

-- name: purge_items_cleared
update delete_operation_items set detail = '{}' where operation = :id and detail <> '{}';

-- name: erasable_paragraphs
-- what is deleted, and older wordings of what is
select p.id, p.ref, p.source, p.session, p.chat from paragraphs p
where p.id in (select value from json_each(:ids)) and (:force or p.deleted_at is not null
    or p.superseded_at is not null and not exists (
        select 1 from paragraphs q where q.ref = p.ref and q.deleted_at is null and q.superseded_at is null));

-- name: paragraphs_alive
select p.id from paragraphs p
where p.id in (select value from json_each(:ids)) and p.deleted_at is null
  and exists (select 1 from paragraphs q where q.ref = p.ref and q.deleted_at is null and q.superseded_at is null);

-- name: erasable_relations
select id from relations where id in (select value from json_each(:ids)) and (:force or deleted_at is not null);

-- name: erasable_entities
select id from entities where id in (select value from json_each(:ids)) and (:force or deleted_at is not null);

-- name: erasable_facts
select id from facts where id in (select value from json_each(:ids)) and (:force or deleted_at is not null);

-- name: links_to_relations
select distinct relation from relation_evidence where paragraph in (select value from json_each(:ids));

-- name: links_to_facts
select distinct fact from fact_evidence where paragraph in (select value from json_each(:ids));

-- name: links_to_entities
select distinct coalesce(e.merged_into, e.id) from paragraph_entities l join entities e on e.id = l.entity
where l.paragraph in (select value from json_each(:ids));

-- name: links_to_persons
select distinct pp.person, p.chat, pp.name from paragraph_persons pp join paragraphs p on p.id = pp.paragraph
where pp.paragraph in (select value from json_each(:ids));

-- name: erase_wake_neighbours
-- what shared an episode with these paragraphs is told anew
insert into changes (kind, id)
select 'paragraph', m.paragraph from episode_paragraphs m
where m.paragraph not in (select value from json_each(:ids)) and m.episode in (
    select episode from episode_paragraphs where paragraph in (select value from json_each(:ids)));

-- name: erase_episodes
delete from episodes where id in (
    select episode from episode_paragraphs where paragraph in (select value from json_each(:ids)));

-- name: relations_unfounded
-- those that nothing supports any more; what was written by hand stays while it is alive
select id from relations r
where id in (select value from json_each(:ids)) and (r.deleted_at is not null or r.origin <> 'admin')
  and not exists (select 1 from relation_evidence e where e.relation = r.id);

-- name: facts_unfounded
select id from facts f
where id in (select value from json_each(:ids)) and (f.deleted_at is not null or f.asserted_at is null)
  and not exists (select 1 from fact_evidence e where e.fact = f.id);

-- name: relation_ends
select subject from relations where id in (select value from json_each(:ids))
union select object from relations where id in (select value from json_each(:ids));

-- name: erase_relations_merged_into
delete from relations where merged_into in (select value from json_each(:ids));

-- name: erase_relations
delete from relations where id in (select value from json_each(:ids));

-- name: erase_facts
delete from facts where id in (select value from json_each(:ids));

-- name: relations_touching
select id from relations
where subject in (select value from json_each(:ids)) or object in (select value from json_each(:ids));

-- name: names_merged_into
select id from entities where merged_into in (select value from json_each(:ids));

-- name: entities_orphaned
select id from entities e where id in (select value from json_each(:ids))
  and not exists (select 1 from paragraph_entities l where l.entity = e.id)
  and not exists (select 1 from relations r where r.subject = e.id)
  and not exists (select 1 from relations r where r.object = e.id)
  and not exists (select 1 from facts f where f.entity = e.id);

-- name: erase_entity_links
delete from paragraph_entities where entity in (select value from json_each(:ids));

-- name: erase_entities
delete from entities where id in (select value from json_each(:ids))
  and not exists (select 1 from entities m where m.merged_into = entities.id);

-- name: erase_refs
delete from external_memory_refs where id in (select value from json_each(:ids))
  and not exists (select 1 from paragraphs p where p.ref = external_memory_refs.id);

-- name: erase_sessions
delete from sessions where id in (select value from json_each(:ids))
  and not exists (select 1 from paragraphs p where p.session = sessions.id);

-- name: erase_sources
delete from sources where id in (select value from json_each(:ids))
  and not exists (select 1 from external_memory_refs r where r.source = sources.id)
  and not exists (select 1 from sessions s where s.source = sources.id)
  and not exists (select 1 from episodes e where e.source = sources.id)
returning id;

-- name: erase_chat_person
-- a name by which nothing of the chat calls the person any more
delete from chat_persons where person = :person and chat = :chat and name = :name
  and not exists (select 1 from paragraph_persons pp join paragraphs p on p.id = pp.paragraph
                  where pp.person = :person and pp.name = :name and p.chat = :chat);

-- name: chat_persons_of
select person, chat, name from chat_persons where person in (select value from json_each(:ids));

-- name: erase_person_aliases
delete from person_aliases where person in (select value from json_each(:ids))
  and not exists (select 1 from paragraph_persons pp where pp.person = person_aliases.person);

-- name: erase_persons
-- those of whom nothing is known any more
delete from persons where id in (select value from json_each(:ids))
  and not exists (select 1 from chat_persons c where c.person = persons.id)
  and not exists (select 1 from paragraph_persons pp where pp.person = persons.id)
  and not exists (select 1 from person_aliases a where a.person = persons.id)
  and not exists (select 1 from facts f where f.person = persons.id)
  and not exists (select 1 from profile_overrides o where o.person = persons.id)
returning id;

-- name: rename_persons
-- a person whose name is borne nowhere any more goes by one that is, or by the id
update persons set name = coalesce(
    (select c.name from chat_persons c where c.person = persons.id order by c.chat, c.name limit 1),
    (select a.alias from person_aliases a where a.person = persons.id order by a.chat, a.norm limit 1), person_id)
where id in (select value from json_each(:ids)) and name <> person_id
  and not exists (select 1 from chat_persons c where c.person = persons.id and c.name = persons.name)
  and not exists (select 1 from person_aliases a where a.person = persons.id and a.alias = persons.name);

-- name: erase_chat_feedback
delete from feedback_tasks where chat in (select value from json_each(:ids));

-- name: erase_chat_corrections
delete from correction_plans where chat in (select value from json_each(:ids));

-- name: chats_emptied
select id from chats where id in (select value from json_each(:ids))
  and not exists (select 1 from sources s where s.chat = chats.id)
  and not exists (select 1 from facts f where f.scope = chats.id);

-- name: chats_emptied_by
-- chats that hold nothing but these paragraphs
select distinct p.chat from paragraphs p
where p.id in (select value from json_each(:ids)) and p.chat <> 0
  and not exists (select 1 from sources s join paragraphs o on o.source = s.id
                  where s.chat = p.chat and o.id not in (select value from json_each(:ids)))
  and not exists (select 1 from facts f where f.scope = p.chat and f.asserted_at is not null);

-- name: chats_lively
select id from chats where id in (select value from json_each(:ids))
  and exists (select 1 from sources s join paragraphs p on p.source = s.id
              where s.chat = chats.id and p.deleted_at is null and p.superseded_at is null);

-- name: erase_chat_names
delete from chat_persons where chat in (select value from json_each(:ids));

-- name: erase_chats
delete from chats where id in (select value from json_each(:ids));

-- name: entities_gone
-- those of the ids that have no row any more
select value from json_each(:ids) where value not in (select id from entities where id in (select value from json_each(:ids)));

-- name: relations_gone
select value from json_each(:ids) where value not in (select id from relations where id in (select value from json_each(:ids)));

-- name: facts_gone
select value from json_each(:ids) where value not in (select id from facts where id in (select value from json_each(:ids)));

-- name: persons_gone
select value from json_each(:ids) where value not in (select id from persons where id in (select value from json_each(:ids)));

-- name: chats_gone
select value from json_each(:ids) where value not in (select id from chats where id in (select value from json_each(:ids)));

-- name: erase_aliases_of
delete from person_aliases where person in (select value from json_each(:persons)) or chat in (select value from json_each(:chats));

-- name: erase_overrides_of
delete from profile_overrides where person in (select value from json_each(:persons));

-- name: erase_facts_of
delete from facts where person in (select value from json_each(:persons)) or scope in (select value from json_each(:chats));

-- name: erase_cursors_of
delete from summary_cursors where chat in (select value from json_each(:chats));

-- name: ids_of_chats
select chat_id from chats where id in (select value from json_each(:ids));

-- name: ids_of_persons
select person_id from persons where id in (select value from json_each(:ids));

-- name: ids_of_refs
-- external ids that nothing else is stored under
select external_id from external_memory_refs where id in (select value from json_each(:ids))
except select external_id from external_memory_refs where id not in (select value from json_each(:ids));

-- name: names_staying
-- names and ids of rows that stay when these go
select chat_id || char(10) || group_id || char(10) || user_id from chats where id not in (select value from json_each(:chats))
union all select name from sources where chat not in (select value from json_each(:chats))
union all select person_id || char(10) || name from persons where id not in (select value from json_each(:persons))
union all select name from chat_persons
where person not in (select value from json_each(:persons)) and chat not in (select value from json_each(:chats))
union all select alias || char(10) || norm from person_aliases where person not in (select value from json_each(:persons))
union all select external_id from external_memory_refs where id not in (select value from json_each(:refs))
union all select name from vector_spaces
union all select external_id || char(10) || attributes from space_vectors
where ref is null or ref not in (select value from json_each(:refs))
union all select name from paragraph_persons where paragraph not in (select value from json_each(:paragraphs))
union all select name || char(10) || norm from entities where id not in (select value from json_each(:entities))
union all select alias || char(10) || norm from entity_aliases where entity not in (select value from json_each(:entities));

-- name: traces_of_paragraphs
select content from paragraphs where id in (select value from json_each(:ids));

-- name: traces_of_originals
select o.content from originals o
where exists (select 1 from paragraphs p where p.ref = o.ref and p.revision = o.revision
                                           and p.id in (select value from json_each(:ids)));

-- name: traces_of_notes
select tags, metadata from paragraphs where id in (select value from json_each(:ids));

-- name: traces_of_their_persons
select distinct name from paragraph_persons where paragraph in (select value from json_each(:ids));

-- name: traces_of_aliases
select alias, norm from entity_aliases where entity in (select value from json_each(:ids));

-- name: traces_of_refs
select external_id from external_memory_refs where id in (select value from json_each(:ids));

-- name: traces_of_vector_ids
select external_id from space_vectors where ref in (select value from json_each(:ids));

-- name: traces_of_vector_attributes
select attributes from space_vectors where ref in (select value from json_each(:ids));

-- name: traces_of_vectors
select vector from space_vectors where ref in (select value from json_each(:ids)) and magnitude > 0;

-- name: vectors_kept
-- vectors that stay when these references go
select vector from space_vectors where ref is null or ref not in (select value from json_each(:refs));

-- name: traces_of_entities
select name, norm from entities where id in (select value from json_each(:ids));

-- name: traces_of_metadata
select metadata from entities where id in (select value from json_each(:ids));

-- name: traces_of_facts
select value from facts where id in (select value from json_each(:ids));

-- name: traces_of_persons
select name from persons where id in (select value from json_each(:ids))
union select name from chat_persons where person in (select value from json_each(:ids));

-- name: texts_kept
-- everything that a row which stays may say, a page at a time
select id, content || char(10) || tags || char(10) || metadata from paragraphs where id > :after order by id limit 2000;

-- name: originals_kept
-- with the paragraphs that each tells, the documents of a page at a time
select o.ref, o.content, group_concat(p.id) from originals o
join paragraphs p on p.ref = o.ref and p.revision = o.revision
where o.ref in (select distinct r.ref from originals r where r.ref > :after order by r.ref limit 500)
group by o.ref, o.revision, o.content order by o.ref;

-- name: names_kept
-- only: sqlite
-- the other texts of rows, with the program's own words: names of tables and kinds
select chat_id || char(10) || group_id || char(10) || user_id from chats
union all select name from sources
union all select person_id || char(10) || name from persons
union all select name from chat_persons
union all select alias || char(10) || norm from person_aliases
union all select external_id from external_memory_refs
union all select name from vector_spaces
union all select external_id || char(10) || attributes from space_vectors
union all select name from paragraph_persons
union all select name || char(10) || norm || char(10) || metadata from entities
union all select alias || char(10) || norm from entity_aliases
union all select predicate from relations
union all select attribute || char(10) || value || char(10) || norm from facts
union all select value || char(10) || sentence from fact_evidence
union all select text from profile_overrides
union all select title || char(10) || summary || char(10) || participants || char(10) || keywords from episodes
union all select requested_by || char(10) || counts || char(10) || receipt from delete_operations
union all select coalesce(sql, '') from sqlite_schema;

-- name: statements_reading_texts
-- only: sqlite
-- for each table the statement that reads its texts and blobs
select m.name, printf('select %s from "%w"', group_concat(printf('"%w"', c.name), ', '), m.name)
from sqlite_schema m, pragma_table_info(m.name) c
where m.type = 'table' and c.type not in ('INTEGER', 'INT', 'REAL') group by m.name;

-- name: persons_going
-- the persons asked for, and those of whom nothing is left without these paragraphs
select id from persons where id in (select value from json_each(:persons))
union
select p.id from persons p
where p.id in (select person from paragraph_persons where paragraph in (select value from json_each(:paragraphs)))
  and not exists (select 1 from paragraph_persons pp
                  where pp.person = p.id and pp.paragraph not in (select value from json_each(:paragraphs)))
  and not exists (select 1 from person_aliases a where a.person = p.id)
  and not exists (select 1 from facts f where f.person = p.id and f.asserted_at is not null
                    and f.id not in (select value from json_each(:facts)))
  and not exists (select 1 from profile_overrides o where o.person = p.id);

-- name: entities_going
-- the entities asked for, those that nothing speaks of without these paragraphs, and what was merged into either
with going as (
    select id from entities where id in (select value from json_each(:entities))
    union
    select coalesce(e.merged_into, e.id) from paragraph_entities l join entities e on e.id = l.entity
    where l.paragraph in (select value from json_each(:paragraphs))
      and not exists (select 1 from paragraph_entities o where o.entity = coalesce(e.merged_into, e.id)
                        and o.paragraph not in (select value from json_each(:paragraphs)))
      and not exists (select 1 from facts f where f.entity = coalesce(e.merged_into, e.id) and f.asserted_at is not null
                        and f.id not in (select value from json_each(:facts)))
      and not exists (select 1 from relations r
                      where (r.subject = coalesce(e.merged_into, e.id) or r.object = coalesce(e.merged_into, e.id))
                        and r.id not in (select value from json_each(:relations))
                        and (r.origin = 'admin' and r.deleted_at is null or exists (
                            select 1 from relation_evidence v where v.relation = r.id
                              and v.paragraph not in (select value from json_each(:paragraphs)))))
)
select id from going union select id from entities where merged_into in (select id from going);

-- name: names_going
select name from persons where id in (select value from json_each(:persons))
union select person_id from persons where id in (select value from json_each(:persons))
union select name from chat_persons where person in (select value from json_each(:persons))
union select name from paragraph_persons where person in (select value from json_each(:persons))
union select alias from person_aliases where person in (select value from json_each(:persons));

-- name: entity_names_going
select name from entities where id in (select value from json_each(:entities))
union select alias from entity_aliases where entity in (select value from json_each(:entities));

-- name: names_lost
-- (person, name) by which nothing but these paragraphs calls somebody
select distinct pp.person, pp.name from paragraph_persons pp where pp.paragraph in (select value from json_each(:paragraphs))
except
select distinct o.person, o.name from paragraph_persons o
where o.person in (select person from paragraph_persons where paragraph in (select value from json_each(:paragraphs)))
  and o.paragraph not in (select value from json_each(:paragraphs));

-- name: persons_borne
-- (person, name) of persons that stay
select id, name from persons where id not in (select value from json_each(:persons))
union select person, name from chat_persons where person not in (select value from json_each(:persons));

-- name: names_borne
-- further names of persons and things that stay
select alias from person_aliases where person not in (select value from json_each(:persons))
union select name from entities where id not in (select value from json_each(:entities))
union select alias from entity_aliases
where entity not in (select value from json_each(:entities)) and norm not in (select value from json_each(:aliases));

-- name: schema_version
-- only: sqlite
pragma user_version;

-- name: wait_briefly
-- only: sqlite
pragma busy_timeout = 250;

-- name: wait_long
-- only: sqlite
pragma busy_timeout = 30000;

-- name: log_fold
-- only: sqlite
pragma wal_checkpoint(truncate);

-- name: temporary_in_file
-- only: sqlite
pragma temp_store = file;

-- name: temporary_in_memory
-- only: sqlite
pragma temp_store = memory;

-- name: rewrite_file
-- only: sqlite
vacuum;

-- name: chat_persons_in
select distinct person from chat_persons where chat in (select value from json_each(:ids));
