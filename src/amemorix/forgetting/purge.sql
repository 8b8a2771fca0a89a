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

-- name: erase_snapshots_of_paragraphs
delete from profile_snapshots where person in (
    select person from paragraph_persons where paragraph in (select value from json_each(:ids)))
returning person;

-- name: erase_paragraphs
delete from paragraphs where id in (select value from json_each(:ids));

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

-- name: erase_snapshots_of
delete from profile_snapshots where person in (select value from json_each(:persons)) or scope in (select value from json_each(:chats));

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
union all select name from paragraph_persons where paragraph not in (select value from json_each(:paragraphs))
union all select name || char(10) || norm from entities where id not in (select value from json_each(:entities))
union all select alias || char(10) || norm from entity_aliases where entity not in (select value from json_each(:entities));

-- name: traces_of_paragraphs
select content, tags, metadata from paragraphs where id in (select value from json_each(:ids));

-- name: traces_of_their_persons
select distinct name from paragraph_persons where paragraph in (select value from json_each(:ids));

-- name: traces_of_aliases
select alias, norm from entity_aliases where entity in (select value from json_each(:ids));

-- name: traces_of_refs
select external_id from external_memory_refs where id in (select value from json_each(:ids));

-- name: traces_of_entities
select name, norm from entities where id in (select value from json_each(:ids));

-- name: traces_of_metadata
select metadata from entities where id in (select value from json_each(:ids));

-- name: traces_of_facts
select value from facts where id in (select value from json_each(:ids));

-- name: traces_of_persons
select name from persons where id in (select value from json_each(:ids))
union select name from chat_persons where person in (select value from json_each(:ids));

-- name: traces_of_chats
select chat_id from chats where id in (select value from json_each(:ids));

-- name: traces_of_person_ids
select person_id from persons where id in (select value from json_each(:ids));

-- name: texts_kept
-- everything that a row which stays may say, a page at a time
select id, content || char(10) || tags || char(10) || metadata from paragraphs where id > :after order by id limit 2000;

-- name: names_kept
-- only: sqlite
-- the other texts of rows, with the program's own words: names of tables and kinds
select chat_id || char(10) || group_id || char(10) || user_id from chats
union all select name from sources
union all select person_id || char(10) || name from persons
union all select name from chat_persons
union all select alias || char(10) || norm from person_aliases
union all select external_id from external_memory_refs
union all select name from paragraph_persons
union all select name || char(10) || norm || char(10) || metadata from entities
union all select alias || char(10) || norm from entity_aliases
union all select predicate from relations
union all select attribute || char(10) || value || char(10) || norm from facts
union all select value from fact_evidence
union all select text || char(10) || content from profile_snapshots
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

-- name: quoting_undo_records
select id, reason, detail from undo_records;

-- name: quoting_memory_v5_operations
select id, reason, items from memory_v5_operations;

-- name: quoting_correction_plans
select id, request || char(10) || reason, plan, result from correction_plans;

-- name: quoting_feedback_tasks
select t.id, t.query_tool_id || char(10) || t.query || char(10) || w.error, t.hits, t.decision, t.result
from feedback_tasks t join tasks w on w.kind = 'feedback' and w.key = t.id;

-- name: quoting_delete_operations
select id, reason, selector from delete_operations where selector <> '{}' or reason <> '';

-- name: quoting_delete_operation_items
select json_array(operation, kind, id), '', detail from delete_operation_items
where operation <> :operation and json_type(detail, '$.row') is not null;

-- name: quoting_fact_transitions
select id, reason from fact_transitions where reason <> '';

-- name: quoting_profile_snapshots
select id, text, content from profile_snapshots;

-- name: forget_memory_v5_operations
-- why these memories were kept or let go
update memory_v5_operations set reason = '' where reason <> '' and exists (
    select 1 from json_each(items) i where json_extract(i.value, '$.id') in (
        select 'p' || value from json_each(:paragraphs) union all select 'r' || value from json_each(:relations)));

-- name: forget_delete_operations
-- how and why these rows were deleted before
update delete_operations set selector = '{}', reason = '' where (selector <> '{}' or reason <> '') and id in (
    select operation from delete_operation_items
    where kind = 'paragraph' and id in (select value from json_each(:paragraphs))
       or kind = 'relation' and id in (select value from json_each(:relations))
       or kind = 'fact' and id in (select value from json_each(:facts)));

-- name: forget_undo_records
-- in which words a hand changed the facts that these paragraphs state
update undo_records set reason = '' where reason glob '*[^a-z_]*' and id in (
    select undo from fact_transitions where fact in (
        select value from json_each(:facts) union
        select fact from fact_evidence where paragraph in (select value from json_each(:paragraphs))));

-- name: forget_fact_transitions
update fact_transitions set reason = '' where reason glob '*[^a-z_]*' and fact in (
    select value from json_each(:facts) union
    select fact from fact_evidence where paragraph in (select value from json_each(:paragraphs)));

-- name: forget_audit
-- what the files were called that told of it
update audit set target = substr(target, instr(target, 'task_id=i'))
where component = 'memory_import_admin' and instr(target, ' task_id=i') > 0
  and substr(target, instr(target, ' task_id=i') + 10) in (
    select cast(o.task as text)
    from import_files f join import_files o on o.id = f.id or (o.sha256 <> '' and o.sha256 = f.sha256
        and not exists (select 1 from import_sources t where t.file = o.id))
    where f.id in (select file from import_sources where source in (
        select source from paragraphs where id in (select value from json_each(:paragraphs)))));

-- name: forget_import_chunks
-- what could not be stored of them, and where each piece ended
update import_chunks set
    errors = iif(errors = '[]', '[]', '[{"place": "", "reason": "erased"}]'),
    start = iif(status = 'completed', 0, start), stop = iif(status = 'completed', 0, stop)
where file in (
    select file from import_sources where source in (
        select source from paragraphs where id in (select value from json_each(:paragraphs))))
  and file in (select id from import_files where status in ('completed', 'skipped', 'failed', 'cancelled'));

-- name: forget_import_files
-- the digest and the size of a file tell what short text it held; so of each that was skipped as it had the same content
update import_files set sha256 = '', size = 0,
    position = iif(status in ('completed', 'skipped', 'failed', 'cancelled'), 0, position),
    name = iif(status in ('completed', 'skipped', 'failed', 'cancelled'), '', name),
    path = iif(status in ('completed', 'skipped', 'failed', 'cancelled'), '', path),
    error = iif(status in ('completed', 'skipped', 'failed', 'cancelled'), '', error)
where (sha256 <> '' or name <> '') and id in (
    select o.id from import_files f join import_files o on o.id = f.id or (o.sha256 <> '' and o.sha256 = f.sha256
        and not exists (select 1 from import_sources t where t.file = o.id))
    where f.id in (select file from import_sources where source in (
        select source from paragraphs where id in (select value from json_each(:paragraphs)))));

-- name: scrub_undo_records
update undo_records set detail = '{}', reason = '' where id in (select value from json_each(:ids));

-- name: scrub_memory_v5_operations
update memory_v5_operations set items = '[]', reason = '' where id in (select value from json_each(:ids));

-- name: scrub_correction_plans
update correction_plans set request = '', plan = '{}', result = '{}', reason = '',
    status = iif(status = 'rolled_back', status, 'failed')
where id in (select value from json_each(:ids));

-- name: scrub_feedback_tasks
update feedback_tasks set query = '', hits = '[]', decision = '{}', result = '{}', query_tool_id = 'purged:' || id
where id in (select value from json_each(:ids));

-- name: scrub_delete_operations
update delete_operations set selector = '{}', reason = '' where id in (select value from json_each(:ids));

-- name: scrub_delete_operation_items
update delete_operation_items set detail = '{}'
where json_array(operation, kind, id) in (select value from json_each(:ids));

-- name: scrub_fact_transitions
update fact_transitions set reason = '' where id in (select value from json_each(:ids));

-- name: scrub_profile_snapshots
delete from profile_snapshots where id in (select value from json_each(:ids));

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

-- name: changes_of_entities
-- records of changes to entities of which the row goes
select distinct u.id from undo_records u, json_tree(u.detail) t
where (u.kind like 'entity\_%' escape '\' or u.kind like 'relation\_%' escape '\')
  and (t.key in ('entity', 'target', 'exchanged') and t.type = 'integer'
           and t.value in (select value from json_each(:ids))
       or t.path = '$.touches' and t.value in (select 'n' || value from json_each(:ids)));

-- name: plans_about_paragraphs
-- plans that name these paragraphs, as what they correct or as what they stored
select c.id from correction_plans c, json_each(c.plan, '$.paragraphs') t
where json_extract(t.value, '$.id') in (select value from json_each(:ids))
union
select c.id from correction_plans c, json_each(c.result, '$.superseded') t where t.value in (select value from json_each(:ids))
union
select c.id from correction_plans c, json_each(c.result, '$.stored') t where t.value in (select value from json_each(:ids));

-- name: feedback_about_paragraphs
select t.id from feedback_tasks t, json_each(t.hits) h where h.value in (select value from json_each(:ids));

-- name: rows_kept_of
-- rows about these persons and chats that other operations keep
select json_array(operation, kind, id), detail from delete_operation_items
where operation <> :operation and json_type(detail, '$.row') is not null
  and (json_extract(detail, '$.row.person') in (select value from json_each(:persons))
       or kind = 'profile_snapshot' and json_extract(detail, '$.row.scope') in (select value from json_each(:chats))
       or kind in ('person_alias', 'summary_cursor')
          and json_extract(detail, '$.row.chat') in (select value from json_each(:chats)));

-- name: asked_undo_records
select id, requested_by from undo_records where requested_by <> '';

-- name: asked_memory_v5_operations
select id, requested_by from memory_v5_operations where requested_by <> '';

-- name: asked_correction_plans
select id, requested_by from correction_plans where requested_by <> '';

-- name: asked_fact_transitions
select id, requested_by from fact_transitions where requested_by <> '';

-- name: asked_delete_operations
select id, requested_by from delete_operations where requested_by <> '';

-- name: asked_profile_overrides
select person, updated_by from profile_overrides where updated_by <> '';

-- name: quoting_audit
select id, target from audit where target <> '';

-- name: acts_on
-- what was done to these chats and persons, as callers called them
select a.id from audit a
where exists (select 1 from chats c where c.id in (select value from json_each(:chats)) and instr(a.target, json_quote(c.chat_id)))
   or exists (select 1 from sources s where s.chat in (select value from json_each(:chats)) and instr(a.target, json_quote(s.name)))
   or exists (select 1 from persons p where p.id in (select value from json_each(:persons))
                and (instr(a.target, json_quote(p.person_id)) or instr(a.target, json_quote(p.name))));

-- name: scrub_audit
update audit set target = '' where id in (select value from json_each(:ids));

-- name: asked_audit
select id, requested_by from audit where requested_by <> '';

-- name: unname_undo_records
update undo_records set requested_by = '' where id in (select value from json_each(:ids));

-- name: unname_memory_v5_operations
update memory_v5_operations set requested_by = '' where id in (select value from json_each(:ids));

-- name: unname_correction_plans
update correction_plans set requested_by = '' where id in (select value from json_each(:ids));

-- name: unname_fact_transitions
update fact_transitions set requested_by = '' where id in (select value from json_each(:ids));

-- name: unname_delete_operations
update delete_operations set requested_by = '' where id in (select value from json_each(:ids));

-- name: unname_profile_overrides
update profile_overrides set updated_by = '' where person in (select value from json_each(:ids));

-- name: unname_audit
update audit set requested_by = '' where id in (select value from json_each(:ids));

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

-- name: quoting_tuning_queries
select id, text, json_object('chat_id', chat_id) from tuning_queries;

-- name: quoting_tuning_tasks
select t.id, t.reason || char(10) || w.error from tuning_tasks t join tasks w on w.kind = 'tuning' and w.key = t.id
where t.reason <> '' or w.error <> '';

-- name: quoting_retrieval_profiles
select id, reason from retrieval_profiles where reason <> '';

-- name: scrub_tuning_queries
delete from tuning_queries where id in (select value from json_each(:ids));

-- name: scrub_tuning_tasks
update tuning_tasks set reason = '' where id in (select value from json_each(:ids));

-- name: scrub_retrieval_profiles
update retrieval_profiles set reason = '' where id in (select value from json_each(:ids));
