-- What a purge empties in the journals, table by table: rows that quote (`quoting`) or are about what goes, emptied
-- (`scrub`); what was noted of rows that go (`forget`); who asked (`unname`).

-- name: quoting_undo_records
select id, reason, detail from undo_records;

-- name: changes_of_entities
-- records of changes to entities of which the row goes
select distinct u.id from undo_records u, json_tree(u.detail) t
where (u.kind like 'entity\_%' escape '\' or u.kind like 'relation\_%' escape '\')
  and (t.key in ('entity', 'target', 'exchanged') and t.type = 'integer'
           and t.value in (select value from json_each(:ids))
       or t.path = '$.touches' and t.value in (select 'n' || value from json_each(:ids)));

-- name: scrub_undo_records
update undo_records set detail = '{}', reason = '' where id in (select value from json_each(:ids));

-- name: forget_undo_records
-- in which words a hand changed the facts that these paragraphs state
update undo_records set reason = '' where reason glob '*[^a-z_]*' and id in (
    select undo from fact_transitions where fact in (
        select value from json_each(:facts) union
        select fact from fact_evidence where paragraph in (select value from json_each(:paragraphs))));

-- name: unname_undo_records
update undo_records set requested_by = '' where id in (select value from json_each(:ids));

-- name: quoting_memory_v5_operations
select id, reason, items from memory_v5_operations;

-- name: scrub_memory_v5_operations
update memory_v5_operations set items = '[]', reason = '' where id in (select value from json_each(:ids));

-- name: forget_memory_v5_operations
-- why these memories were kept or let go
update memory_v5_operations set reason = '' where reason <> '' and exists (
    select 1 from json_each(items) i where json_extract(i.value, '$.id') in (
        select 'p' || value from json_each(:paragraphs) union all select 'r' || value from json_each(:relations)));

-- name: unname_memory_v5_operations
update memory_v5_operations set requested_by = '' where id in (select value from json_each(:ids));

-- name: quoting_correction_plans
select id, request || char(10) || reason, plan, result from correction_plans;

-- name: plans_about_paragraphs
-- plans that name these paragraphs, as what they correct or as what they stored
select c.id from correction_plans c, json_each(c.plan, '$.paragraphs') t
where json_extract(t.value, '$.id') in (select value from json_each(:ids))
union
select c.id from correction_plans c, json_each(c.result, '$.superseded') t where t.value in (select value from json_each(:ids))
union
select c.id from correction_plans c, json_each(c.result, '$.stored') t where t.value in (select value from json_each(:ids));

-- name: scrub_correction_plans
update correction_plans set request = '', plan = '{}', result = '{}', reason = '',
    status = iif(status = 'rolled_back', status, 'failed')
where id in (select value from json_each(:ids));

-- name: unname_correction_plans
update correction_plans set requested_by = '' where id in (select value from json_each(:ids));

-- name: quoting_feedback_tasks
select t.id, t.query_tool_id || char(10) || t.query || char(10) || w.error, t.hits, t.decision, t.result
from feedback_tasks t join tasks w on w.kind = 'feedback' and w.key = t.id;

-- name: feedback_about_paragraphs
select t.id from feedback_tasks t, json_each(t.hits) h where h.value in (select value from json_each(:ids));

-- name: scrub_feedback_tasks
update feedback_tasks set query = '', hits = '[]', decision = '{}', result = '{}', query_tool_id = 'purged:' || id
where id in (select value from json_each(:ids));

-- name: quoting_delete_operations
select id, reason, selector from delete_operations where selector <> '{}' or reason <> '';

-- name: scrub_delete_operations
update delete_operations set selector = '{}', reason = '' where id in (select value from json_each(:ids));

-- name: forget_delete_operations
-- how and why these rows were deleted before
update delete_operations set selector = '{}', reason = '' where (selector <> '{}' or reason <> '') and id in (
    select operation from delete_operation_items
    where kind = 'paragraph' and id in (select value from json_each(:paragraphs))
       or kind = 'relation' and id in (select value from json_each(:relations))
       or kind = 'fact' and id in (select value from json_each(:facts)));

-- name: unname_delete_operations
update delete_operations set requested_by = '' where id in (select value from json_each(:ids));

-- name: quoting_delete_operation_items
select json_array(operation, kind, id), '', detail from delete_operation_items
where operation <> :operation and json_type(detail, '$.row') is not null;

-- name: rows_kept_of
-- rows about these persons and chats that other operations keep
select json_array(operation, kind, id), detail from delete_operation_items
where operation <> :operation and json_type(detail, '$.row') is not null
  and (json_extract(detail, '$.row.person') in (select value from json_each(:persons))
       or kind in ('person_alias', 'summary_cursor')
          and json_extract(detail, '$.row.chat') in (select value from json_each(:chats)));

-- name: scrub_delete_operation_items
update delete_operation_items set detail = '{}'
where json_array(operation, kind, id) in (select value from json_each(:ids));

-- name: quoting_fact_transitions
select id, reason from fact_transitions where reason <> '';

-- name: scrub_fact_transitions
update fact_transitions set reason = '' where id in (select value from json_each(:ids));

-- name: forget_fact_transitions
update fact_transitions set reason = '' where reason glob '*[^a-z_]*' and fact in (
    select value from json_each(:facts) union
    select fact from fact_evidence where paragraph in (select value from json_each(:paragraphs)));

-- name: unname_fact_transitions
update fact_transitions set requested_by = '' where id in (select value from json_each(:ids));

-- name: quoting_tuning_queries
select id, text, json_object('chat_id', chat_id) from tuning_queries;

-- name: scrub_tuning_queries
delete from tuning_queries where id in (select value from json_each(:ids));

-- name: quoting_tuning_tasks
select t.id, t.reason || char(10) || w.error from tuning_tasks t join tasks w on w.kind = 'tuning' and w.key = t.id
where t.reason <> '' or w.error <> '';

-- name: scrub_tuning_tasks
update tuning_tasks set reason = '' where id in (select value from json_each(:ids));

-- name: quoting_retrieval_profiles
select id, reason from retrieval_profiles where reason <> '';

-- name: scrub_retrieval_profiles
update retrieval_profiles set reason = '' where id in (select value from json_each(:ids));

-- name: unname_profile_overrides
update profile_overrides set updated_by = '' where person in (select value from json_each(:ids));

-- name: quoting_import_tasks
select id, '', params from import_tasks where params <> '{}';

-- name: scrub_import_tasks
update import_tasks set params = '{}' where id in (select value from json_each(:ids));

-- name: unname_import_tasks
update import_tasks set requested_by = '' where id in (select value from json_each(:ids));

-- name: quoting_import_texts
-- what stands in a task that does not tell where it imports
select t.id, w.error, json_object('columns', json_extract(t.params, '$.columns'))
from import_tasks t join tasks w on w.kind = 'import' and w.key = t.id
where w.error <> '' or json_type(t.params, '$.columns') is not null;

-- name: scrub_import_texts
update import_tasks set params = json_remove(params, '$.columns') where id in (select value from json_each(:ids));

-- name: quoting_import_files
select id, name || char(10) || path || char(10) || error from import_files;

-- name: scrub_import_files
update import_files set name = '', path = '', error = '', status = iif(status in ('queued', 'preparing', 'writing'), 'failed', status)
where id in (select value from json_each(:ids));

-- name: imports_noted
-- files of imports that wait for nothing any more: those that stored nothing, and those of which something could not be stored
select f.id, f.task, f.root, f.path, t.params
from import_files f join import_tasks t on t.id = f.task join tasks w on w.kind = 'import' and w.key = t.id
where w.status not in ('queued', 'preparing', 'running')
  and (f.name <> '' or f.sha256 <> '' or exists (select 1 from import_chunks c where c.file = f.id and c.errors <> '[]'))
  and (not exists (select 1 from import_sources s where s.file = f.id) or f.error <> ''
       or exists (select 1 from import_chunks c where c.file = f.id and c.errors <> '[]'))
order by f.id;

-- name: forget_import_files
-- the digest and the size of a file tell what short text it held; so of each that was skipped as it had the same content
update import_files set sha256 = '', size = 0,
    position = iif(status in ('completed', 'skipped', 'failed', 'cancelled'), 0, position),
    name = iif(status in ('completed', 'skipped', 'failed', 'cancelled') or id in (select value from json_each(:imports)), '', name),
    path = iif(status in ('completed', 'skipped', 'failed', 'cancelled') or id in (select value from json_each(:imports)), '', path),
    error = iif(status in ('completed', 'skipped', 'failed', 'cancelled') or id in (select value from json_each(:imports)), '', error)
where (sha256 <> '' or name <> '') and (id in (select value from json_each(:imports)) or id in (
    select o.id from import_files f join import_files o on o.id = f.id or (o.sha256 <> '' and o.sha256 = f.sha256
        and not exists (select 1 from import_sources t where t.file = o.id))
    where f.id in (select file from import_sources where source in (
        select source from paragraphs where id in (select value from json_each(:paragraphs))))));

-- name: quoting_import_chunks
select json_array(file, number), '', errors from import_chunks where errors <> '[]';

-- name: scrub_import_chunks
update import_chunks set errors = '[{"place": "", "reason": "erased"}]' where json_array(file, number) in (select value from json_each(:ids));

-- name: forget_import_chunks
-- what could not be stored of them, and where each piece ended
update import_chunks set
    errors = iif(errors = '[]', '[]', '[{"place": "", "reason": "erased"}]'),
    start = iif(status = 'completed', 0, start), stop = iif(status = 'completed', 0, stop)
where file in (select value from json_each(:imports))
   or file in (
        select file from import_sources where source in (
            select source from paragraphs where id in (select value from json_each(:paragraphs))))
      and file in (select id from import_files where status in ('completed', 'skipped', 'failed', 'cancelled'));

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

-- name: forget_audit
-- what the files were called that told of it
update audit set target = substr(target, instr(target, 'task_id=i'))
where component = 'memory_import_admin' and instr(target, ' task_id=i') > 0
  and substr(target, instr(target, ' task_id=i') + 10) in (
    select cast(o.task as text)
    from import_files f join import_files o on o.id = f.id or (o.sha256 <> '' and o.sha256 = f.sha256
        and not exists (select 1 from import_sources t where t.file = o.id))
    where f.id in (select file from import_sources where source in (
        select source from paragraphs where id in (select value from json_each(:paragraphs))))
    union select cast(task as text) from import_files where id in (select value from json_each(:imports)));

-- name: unname_audit
update audit set requested_by = '' where id in (select value from json_each(:ids));

-- name: journal_askers
-- who asked for what is noted: (table, row, who)
select 'undo_records', id, requested_by from undo_records where requested_by <> ''
union all select 'memory_v5_operations', id, requested_by from memory_v5_operations where requested_by <> ''
union all select 'correction_plans', id, requested_by from correction_plans where requested_by <> ''
union all select 'delete_operations', id, requested_by from delete_operations where requested_by <> ''
union all select 'fact_transitions', id, requested_by from fact_transitions where requested_by <> ''
union all select 'profile_overrides', person, updated_by from profile_overrides where updated_by <> ''
union all select 'import_tasks', id, requested_by from import_tasks where requested_by <> ''
union all select 'audit', id, requested_by from audit where requested_by <> '';
