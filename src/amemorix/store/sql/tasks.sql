-- name: task_want
-- a new wish while the work is under way lets it be done again: the revision says so
insert into tasks (kind, key, since, status, due_at, created_at, updated_at)
values (:kind, :key, :since, :status, :due_at, :now, :now)
on conflict (kind, key) do update set
    revision = tasks.revision + 1,
    since = case when tasks.status = 'completed' then excluded.since
                 when tasks.since is null or excluded.since is null then null
                 else min(tasks.since, excluded.since) end,
    status = case when tasks.status = 'processing' then 'processing' else excluded.status end,
    attempts = case when tasks.status = 'processing' then tasks.attempts else 0 end,
    due_at = case when tasks.status = 'pending' then min(tasks.due_at, excluded.due_at)
                  when tasks.status = 'processing' then tasks.due_at else excluded.due_at end,
    error = '',
    updated_at = excluded.updated_at;

-- name: task_any_due
select exists (
           select 1 from tasks
           where kind = :kind and worker = '' and status in ('pending', 'queued', 'cancel_requested', 'failed')
             and due_at <= :now and (status <> 'failed' or attempts < :most))
    or exists (
           select 1 from tasks
           where kind = :kind and worker <> '' and (leased_until <= :now or worker <> :worker));

-- name: task_hurry
update tasks set due_at = :now where kind = :kind and status = 'pending' and due_at > :now;

-- name: task_give_up
-- begun too often and never ended: whoever worked on it died each time
update tasks set status = 'failed', worker = '', leased_until = null, error = :error, due_at = :now, finished_at = :now,
                 updated_at = :now
where kind = :kind and worker <> '' and (leased_until <= :now or worker <> :worker) and attempts >= :most;

-- name: task_claim_left
-- one that somebody who is gone had begun: alone, so that whichever ended the process shows itself
update tasks set status = iif(status = 'cancel_requested', status, :status), attempts = attempts + 1,
                 worker = :worker, leased_until = :until, updated_at = :now
where kind = :kind and key = (
    select key from tasks where kind = :kind and worker <> '' and (leased_until <= :now or worker <> :worker)
    order by due_at, key limit 1)
returning key, revision, since, attempts;

-- name: task_claim
update tasks set status = iif(status = 'cancel_requested', status, :status), attempts = attempts + 1,
                 worker = :worker, leased_until = :until, started_at = coalesce(started_at, :now), updated_at = :now
where kind = :kind and key in (
    select key from tasks
    where kind = :kind and worker = '' and status in ('pending', 'queued', 'cancel_requested', 'failed')
      and due_at <= :now and (status <> 'failed' or attempts < :most)
    order by due_at, key limit :limit)
returning key, revision, since, attempts;

-- name: task_release
-- cut short, and not by its own fault: the try does not count
update tasks set status = iif(status = 'cancel_requested', status, :status), attempts = max(attempts - 1, 0), worker = '',
                 leased_until = null, updated_at = :now
where kind = :kind and worker = :worker;

-- name: task_hold
-- the lease begins again: nothing if the task is no longer this worker's
update tasks set status = iif(status = 'preparing', 'running', status), leased_until = :until, updated_at = :now
where kind = :kind and key = :key and worker = :worker
returning status;

-- name: task_progressed
-- the tries before this one do not count any more
update tasks set attempts = 1, error = '' where kind = :kind and key = :key and (attempts > 1 or error <> '');

-- name: task_tries
select attempts from tasks where kind = :kind and key = :key and worker = :worker;

-- name: task_done
-- at its end, unless it was wanted again meanwhile; nothing if somebody else has taken it over
update tasks set
    status = case when revision = :revision then :status else 'pending' end,
    since = case when revision = :revision then null else since end,
    due_at = case when revision <> :revision then :now when :status = 'failed' then null else due_at end,
    attempts = :attempts, worker = '', leased_until = null, error = :error, finished_at = :now, updated_at = :now
where kind = :kind and key = :key and worker = :worker
returning revision;

-- name: task_failed
update tasks set status = :status, worker = '', leased_until = null, error = :error, due_at = :due_at, updated_at = :now
where kind = :kind and key = :key and worker = :worker;

-- name: task_cancel
-- what waits is cancelled at once; what is under way is asked to end, unless its worker need not be waited for
update tasks set status = iif(worker = '' or :at_once, 'cancelled', 'cancel_requested'),
                 finished_at = iif(worker = '' or :at_once, cast(:now as real), null),
                 worker = iif(:at_once, '', worker), leased_until = iif(:at_once, null, leased_until), updated_at = :now
where kind = :kind and key = :key and status in ('queued', 'preparing', 'running')
returning status;

-- name: task_counts
select status, count(*) from tasks where kind = :kind group by status;

-- name: task_open
select count(*) from tasks
where kind = :kind and status in ('pending', 'queued', 'processing', 'preparing', 'running', 'cancel_requested')
  and (:due_at is null or due_at <= :due_at);

-- name: task_list
select key, revision, status, attempts, iif(status = 'completed', updated_at, due_at), error, updated_at from tasks
where kind = :kind and (:status is null or status = :status) order by updated_at desc, key limit :limit offset :offset;

-- name: task_noted
update tasks set error = :error, updated_at = :now where kind = :kind and key = :key;

-- name: task_forget
delete from tasks where kind = :kind and key in (select value from json_each(:keys));

-- name: task_scrub
-- what is said of work whose subject was emptied, and what becomes of it if it is open
update tasks set error = '', worker = iif(:open = 'skipped', '', worker),
                 leased_until = iif(:open = 'skipped', null, leased_until),
                 status = iif(:open <> '' and status in ('pending', 'queued', 'preparing', 'running'), :open, status)
where kind = :kind and key in (select value from json_each(:keys));
