-- name: derive_want
-- a new wish while the work is under way lets it be done again: the revision says so
insert into derive_tasks (kind, key, since, status, due_at, updated_at)
values (:kind, :key, :since, 'pending', :due_at, :now)
on conflict (kind, key) do update set
    revision = derive_tasks.revision + 1,
    since = case when derive_tasks.status = 'completed' then excluded.since
                 when derive_tasks.since is null or excluded.since is null then null
                 else min(derive_tasks.since, excluded.since) end,
    status = case when derive_tasks.status = 'processing' then 'processing' else 'pending' end,
    attempts = case when derive_tasks.status = 'processing' then derive_tasks.attempts else 0 end,
    due_at = case when derive_tasks.status = 'pending' then min(derive_tasks.due_at, excluded.due_at)
                  when derive_tasks.status = 'processing' then derive_tasks.due_at else excluded.due_at end,
    error = '',
    updated_at = excluded.updated_at;

-- name: derive_give_up
-- begun too often and never ended: whoever worked on it died each time
update derive_tasks set status = 'failed', leased_until = null, worker = '', error = :error, due_at = :now,
                        updated_at = :now
where kind = :kind and status = 'processing' and (leased_until <= :now or worker <> :worker) and attempts >= :most;

-- name: derive_claim_left
-- one that somebody who is gone had begun: alone, so that whichever ended the process shows itself
update derive_tasks set attempts = attempts + 1, leased_until = :until, worker = :worker, updated_at = :now
where kind = :kind and key = (
    select key from derive_tasks
    where kind = :kind and status = 'processing' and (leased_until <= :now or worker <> :worker)
    order by due_at, key limit 1)
returning key, revision, since, attempts;

-- name: derive_claim
update derive_tasks set status = 'processing', attempts = attempts + 1, leased_until = :until, worker = :worker,
                        updated_at = :now
where kind = :kind and key in (
    select key from derive_tasks
    where kind = :kind and status in ('pending', 'failed') and due_at <= :now and attempts < :most
    order by due_at, key limit :limit)
returning key, revision, since, attempts;

-- name: derive_release
-- cut short, and not by its own fault: the try does not count
update derive_tasks set status = 'pending', attempts = max(attempts - 1, 0), leased_until = null, worker = '',
                        updated_at = :now
where kind = :kind and status = 'processing' and worker = :worker;

-- name: derive_any_due
select 1 from derive_tasks
where kind = :kind and status in ('pending', 'processing', 'failed')
  and ((status <> 'processing' and due_at <= :now and attempts < :most)
       or (status = 'processing' and (leased_until <= :now or worker <> :worker))) limit 1;

-- name: derive_hurry
update derive_tasks set due_at = :now where kind = :kind and status = 'pending' and due_at > :now;

-- name: derive_done
-- completed, unless it was wanted again meanwhile; nothing if somebody else has taken it over
update derive_tasks set
    status = case when revision = :revision then 'completed' else 'pending' end,
    since = case when revision = :revision then null else since end,
    attempts = 0, leased_until = null, worker = '', error = '', due_at = :now, updated_at = :now
where kind = :kind and key = :key and status = 'processing' and worker = :worker
returning revision;

-- name: derive_failed
update derive_tasks set status = 'failed', leased_until = null, worker = '', error = :error, due_at = :due_at,
                        updated_at = :now
where kind = :kind and key = :key and status = 'processing' and worker = :worker;

-- name: derive_counts
select status, count(*) from derive_tasks where kind = :kind group by status;

-- name: derive_open
select count(*) from derive_tasks where kind = :kind and status in ('pending', 'processing');

-- name: derive_list
select key, revision, status, attempts, due_at, error, updated_at from derive_tasks
where kind = :kind and (:status is null or status = :status) order by updated_at desc, key limit :limit offset :offset;

-- name: derive_forget
delete from derive_tasks where kind = :kind and key in (select value from json_each(:keys));
