-- name: import_task_insert
insert into import_tasks (kind, params, parent, requested_by) values (:kind, :params, :parent, :requested_by)
returning id;

-- name: import_file_insert
insert into import_files (task, name, root, path, format, size, sha256, position, rest, status)
values (:task, :name, :root, :path, :format, :size, :sha256, :position, :rest, 'queued') returning id;

-- name: import_chunk_queue
insert into import_chunks (file, number, start, stop, status) values (:file, :number, :start, :stop, 'queued');

-- name: import_open_params
select t.id, t.params from import_tasks t join tasks w on w.kind = 'import' and w.key = t.id
where w.status in ('queued', 'preparing', 'running');

-- name: import_telling
-- imports at work after a moment that have told something in these paragraphs' sources
select distinct t.id from import_tasks t join tasks w on w.kind = 'import' and w.key = t.id
join import_files f on f.task = t.id join import_sources s on s.file = f.id
where w.status not in ('cancel_requested', 'cancelled') and (w.finished_at is null or w.finished_at > :since)
  and s.source in (select source from paragraphs where id in (select value from json_each(:paragraphs)));

-- name: import_tasks
select t.id, t.kind, t.params, w.status, t.parent, w.error, t.requested_by, w.created_at, w.started_at, w.finished_at,
       w.updated_at
from import_tasks t join tasks w on w.kind = 'import' and w.key = t.id
where (:id is null or t.id = :id) and (:status is null or w.status = :status)
order by t.id desc limit :limit offset :offset;

-- name: import_files
-- one of them, or those of tasks
select id, task, name, root, path, format, options, size, sha256, position, share, rest, status, records, counts, seconds, error,
       notes
from import_files where id = :id or task in (select value from json_each(:tasks)) order by id;

-- name: import_file_begin
update import_files set status = 'writing', format = :format, size = :size, sha256 = :sha256, options = :options
where id = :id;

-- name: import_file_preparing
update import_files set status = 'preparing' where id = :id and status = 'queued';

-- name: import_file_told
update import_files set position = :position, share = :share, records = :records, counts = :counts,
                        notes = :notes, seconds = seconds + :seconds
where id = :id;

-- name: import_file_end
update import_files set status = :status, error = :error, share = iif(:status = 'completed', 1, share) where id = :id;

-- name: import_files_given_up
update import_files set status = 'failed', error = :error
where task = :task and status in ('queued', 'preparing', 'writing');

-- name: import_files_cancelled
update import_files set status = 'cancelled' where task = :task and status in ('queued', 'preparing', 'writing');

-- name: import_chunks_cancelled
update import_chunks set status = 'cancelled'
where status = 'queued' and file in (select id from import_files where task = :task);

-- name: import_chunk_put
insert into import_chunks (file, number, start, stop, status, records, counts, errors, done_at)
values (:file, :number, :start, :stop, :status, :records, :counts, :errors, :now)
on conflict (file, number) do update set stop = excluded.stop, status = excluded.status, records = excluded.records,
    counts = excluded.counts, errors = excluded.errors, done_at = excluded.done_at;

-- name: import_chunks
select number, status, start, stop, records, counts, errors, done_at from import_chunks
where file = :file and (:status is null or status = :status) order by number limit :limit offset :offset;

-- name: import_chunk_counts
select f.id, coalesce(c.status, ''), count(c.number) from import_files f left join import_chunks c on c.file = f.id
where f.task in (select value from json_each(:tasks)) group by f.id, c.status;

-- name: import_chunk_last
select coalesce(max(number), -1) from import_chunks where file = :file;

-- name: import_source_met
insert into import_sources (file, source) values (:file, :source) on conflict do nothing;

-- name: import_known
-- the newest file with this content that was stored in the same way; chunks that failed make it unknown
select f.id, f.task from import_files f
where f.sha256 = :sha256 and f.size = :size and f.options = :options and f.status = 'completed' and f.id <> :but
  and not exists (select 1 from import_chunks c where c.file = f.id and (c.status <> 'completed' or c.errors <> '[]'))
  and not exists (select 1 from import_tasks t where t.id = f.task and t.parent is not null)
order by f.id desc limit 1;

-- name: import_sources_lost
-- sources that the file has told something of and that hold nothing alive any more
select s.source from import_sources s
where s.file = :file and not exists (
    select 1 from paragraphs p where p.source = s.source and p.deleted_at is null and p.superseded_at is null
      and (p.expires_at is null or p.expires_at > :now))
limit 1;

-- name: import_may_lack
-- whether something may be gone of what a file has told: a text lies in the recycle bin, or anything was purged since
select exists (
           select 1 from import_sources s cross join external_memory_refs r on r.source = s.source
           where s.file = :file and r.deleted_at is not null)
    or exists (
           select 1 from import_files f join tasks w on w.kind = 'import' and w.key = f.task
           join delete_operations d on d.purged_at >= w.created_at where f.id = :file);

-- name: import_lacking
-- how many of these ids the sources of a file do not hold
select count(*) from json_each(:ids) k
where not exists (
    select 1 from import_sources s cross join external_memory_refs r on r.source = s.source and r.external_id = k.value
    where s.file = :file and r.deleted_at is null);

-- name: import_staged
-- staged files that are still wanted: by tasks that are open, and for a while by those that may be tried again
select distinct f.path from import_files f join tasks w on w.kind = 'import' and w.key = f.task
where f.root = 'staging'
  and (w.status in ('queued', 'preparing', 'running', 'cancel_requested')
       or w.status in ('failed', 'completed_with_errors') and w.finished_at > :since
          and (f.status = 'failed' or exists (select 1 from import_chunks c where c.file = f.id and c.status = 'failed')));

-- name: import_staged_used
select distinct path from import_files where root = 'staging';

-- name: import_undated
-- paragraphs without a time of their own
select p.id, p.content, p.recorded_at, coalesce(c.chat_id, '') from paragraphs p left join chats c on c.id = p.chat
where p.id > :after and p.derive = 1 and p.event_start is null and p.deleted_at is null and p.superseded_at is null
order by p.id limit :limit;

-- name: import_undated_count
select count(*) from paragraphs where derive = 1 and event_start is null and deleted_at is null and superseded_at is null;

-- name: import_date
update paragraphs set event_start = :start, event_end = :end where id = :id and event_start is null and deleted_at is null
returning id;

-- name: import_terms
update terms set v = :v where id = :id;
