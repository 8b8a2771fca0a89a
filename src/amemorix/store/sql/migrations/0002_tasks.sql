-- Work in the background, one row for each thing to do; what it is about stands in the subject's own row with this key.
-- status: in the words in which users read it. revision counts how often it was wanted, since says where its news begins:
-- both only of what is wanted again and again. attempts: tries since it last got on. due_at: null if it has failed for good.
-- worker: who is at it; it may be taken over from leased_until on, or when another worker has come.
create table tasks (
    kind text not null check (kind in ('episodes', 'profile', 'feedback', 'import', 'tuning')),
    key integer not null,
    status text not null
        check (status in ('pending', 'queued', 'processing', 'preparing', 'running', 'cancel_requested', 'cancelled', 'completed',
                          'completed_with_errors', 'applied', 'skipped', 'failed')),
    revision integer not null default 1,
    since real,
    attempts integer not null default 0,
    due_at real,
    worker text not null default '',
    leased_until real,
    error text not null default '',
    created_at real not null,
    started_at real,
    finished_at real,
    updated_at real not null,
    primary key (kind, key)
) strict, without rowid;

create index tasks_due on tasks (kind, due_at)
    where worker = '' and status in ('pending', 'queued', 'cancel_requested', 'failed');
create index tasks_held on tasks (kind, key) where worker <> '';

insert into tasks (kind, key, status, revision, since, attempts, due_at, worker, leased_until, error, created_at, updated_at)
select kind, key, status, revision, since, attempts, due_at, worker, leased_until, error, updated_at, updated_at
from derive_tasks;

drop trigger paragraphs_forget_profiles;
drop table derive_tasks;

create trigger paragraphs_forget_profiles after delete on paragraphs begin
    insert into tasks (kind, key, since, status, due_at, created_at, updated_at)
    select distinct 'profile', s.person, 0, 'pending', 0, 0, 0
    from profile_evidence e join profile_snapshots s on s.id = e.snapshot where e.paragraph = old.id
    on conflict (kind, key) do update set
        revision = tasks.revision + 1,
        since = 0,
        due_at = 0,
        status = case when tasks.status = 'processing' then 'processing' else 'pending' end,
        attempts = case when tasks.status = 'processing' then tasks.attempts else 0 end;
    delete from profile_snapshots
    where id in (select e.snapshot from profile_evidence e where e.paragraph = old.id);
end;

insert into tasks (kind, key, status, attempts, due_at, worker, leased_until, error, created_at, updated_at)
select 'feedback', id, status, attempts, case when status = 'failed' then null else due_at end, worker, leased_until, error,
       asked_at, updated_at
from feedback_tasks;

drop index feedback_tasks_due;
alter table feedback_tasks drop column status;
alter table feedback_tasks drop column due_at;
alter table feedback_tasks drop column attempts;
alter table feedback_tasks drop column leased_until;
alter table feedback_tasks drop column worker;
alter table feedback_tasks drop column error;
alter table feedback_tasks drop column updated_at;

create trigger feedback_tasks_removed after delete on feedback_tasks begin
    delete from tasks where kind = 'feedback' and key = old.id;
end;

-- an import that waited for its next try kept its worker until then
insert into tasks (kind, key, status, attempts, due_at, worker, leased_until, error, created_at, started_at, finished_at,
                   updated_at)
select 'import', id, status, attempts, case when finished_at is null then created_at end, worker, leased_until, error,
       created_at, started_at, finished_at, updated_at
from import_tasks;

drop index import_tasks_open;
alter table import_tasks drop column status;
alter table import_tasks drop column worker;
alter table import_tasks drop column leased_until;
alter table import_tasks drop column attempts;
alter table import_tasks drop column error;
alter table import_tasks drop column created_at;
alter table import_tasks drop column started_at;
alter table import_tasks drop column finished_at;
alter table import_tasks drop column updated_at;

-- nothing has written it since files are read again from where they were
drop table import_marks;

insert into tasks (kind, key, status, attempts, due_at, worker, leased_until, error, created_at, started_at, finished_at,
                   updated_at)
select 'tuning', id, status, attempts, case when finished_at is null then created_at end, worker, leased_until, error,
       created_at, started_at, finished_at, updated_at
from tuning_tasks;

drop index tuning_tasks_open;
alter table tuning_tasks drop column status;
alter table tuning_tasks drop column error;
alter table tuning_tasks drop column attempts;
alter table tuning_tasks drop column leased_until;
alter table tuning_tasks drop column worker;
alter table tuning_tasks drop column created_at;
alter table tuning_tasks drop column started_at;
alter table tuning_tasks drop column finished_at;
alter table tuning_tasks drop column updated_at;

create trigger tuning_tasks_removed after delete on tuning_tasks begin
    delete from tasks where kind = 'tuning' and key = old.id;
end;
