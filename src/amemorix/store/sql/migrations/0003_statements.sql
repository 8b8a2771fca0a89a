-- Facts become statements: each is of a kind, has the words in which it was said, a weight in a profile, and a mark where
-- what was said later may have put an end to it.
-- kind: identity, home, work, relation, possession, health, preference, skill, habit, plan, event or opinion; empty: not known.
-- doubted_by: a later statement near in meaning, of which nobody has said that it takes the place of this one.
alter table facts add column kind text not null default '';
alter table facts add column importance real not null default 0.5 check (importance between 0 and 1);
alter table facts add column doubted_by integer references facts (id) on delete set null;

create index facts_by_doubt on facts (doubted_by) where doubted_by is not null;

-- the whole sentence where the value is a part of it
alter table fact_evidence add column sentence text not null default '';

drop view fact_rows;

create view fact_rows as
select id, person, entity, scope, attribute, value, norm, polarity, cardinality, stability, authority, status, confidence,
       asserted_at, pinned, merged, valid_from, valid_to, recorded_at, superseded_at, superseded_by, outdone_at,
       kind, importance, doubted_by
from facts where deleted_at is null;

-- Sentences are chosen where rules had found values: what rules read goes, and every paragraph is read anew. What a hand has
-- asserted, decided, pinned, refuted or deleted stays.
delete from facts where asserted_at is null and not pinned and deleted_at is null and status <> 'retracted'
    and not exists (select 1 from fact_evidence e where e.fact = facts.id and e.stance = 'refute')
    and not exists (select 1 from fact_transitions t where t.fact = facts.id and t.requested_by <> '');

insert into meta (key, value) select 'facts_scan', '0:' || coalesce(max(seq), 0) from changes
where true
on conflict (key) do update set value = excluded.value;

-- A profile is read from the facts when it is asked for: nothing of it is stored but what a hand has written.
drop trigger paragraphs_forget_profiles;
drop table profile_evidence;
drop table profile_snapshots;
delete from tasks where kind = 'profile';
delete from delete_operation_items where kind = 'profile_snapshot';
create index facts_by_weight on facts (person, importance desc) where person is not null and deleted_at is null;

-- Relations that rules read out of texts go, for no relation is read so any more, and with them the names that nothing else
-- speaks of; then all texts are read for names anew. What was told, read by a chat model, deleted or merged by hand stays.
delete from relations where origin = 'rule' and deleted_at is null and merged_into is null
    and id not in (select merged_into from relations where merged_into is not null);

delete from paragraph_entities where entity in (select id from entities where origin = 'rule' and deleted_at is null);

delete from entities where origin = 'rule' and deleted_at is null and merged_into is null
    and id not in (select merged_into from entities where merged_into is not null)
    and id not in (select subject from relations union select object from relations)
    and id not in (select entity from facts where entity is not null)
    and id not in (select entity from entity_aliases);

update paragraphs set extracted = 0 where extracted > 0;

update meta set value = (select coalesce(max(seq), 0) from changes) || ':0' where key = 'extracted_upto';

-- What the comparison of two statements of one person came to, by their words alone: `later` says that `fact` is over
-- (replaces, ends), may be over (doubts) or is part of it (completes). It counts while `later` stands and, but for `completes`,
-- was said after `fact`.
create table fact_links (
    fact integer not null references facts (id) on delete cascade,
    later integer not null references facts (id) on delete cascade,
    outcome text not null check (outcome in ('replaces', 'ends', 'completes', 'doubts')),
    reason text not null default '',
    primary key (fact, later)
) strict, without rowid;

create index fact_links_by_later on fact_links (later);

create index facts_by_newest on facts (person, scope, id) where person is not null;

-- What a fact had taken the place of, or had put in doubt, is looked at again when it goes.
drop trigger facts_removed;

create trigger facts_removed before delete on facts begin
    update facts set pinned = 0 where superseded_by = old.id and status = 'superseded';
    insert into changes (kind, id)
    select 'paragraph', e.paragraph from facts f join fact_evidence e on e.fact = f.id
    where f.superseded_by = old.id or f.doubted_by = old.id or f.id = old.id;
end;

-- The language and version of the prompt with which the chat model has read an episode; empty: it has not.
alter table episodes add column prompt text not null default '';
