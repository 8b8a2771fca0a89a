create table meta (
    key text primary key,
    value text not null
) strict, without rowid;

insert into meta (key, value) values ('database_id', lower(hex(randomblob(16)))), ('changes_floor', '0');

-- naming: a paragraph holds a name that has become known since it was read.
create table changes (
    seq integer primary key autoincrement,
    kind text not null check (kind in ('paragraph', 'embedding', 'relation', 'relation_embedding', 'person', 'entity', 'naming', 'mention')),
    id integer not null
) strict;

create table chats (
    id integer primary key autoincrement,
    chat_id text not null unique,
    group_id text not null default '',
    user_id text not null default '',
    created_at real not null
) strict;

create index chats_by_group on chats (group_id) where group_id <> '';
create index chats_by_user on chats (user_id) where user_id <> '';

create table sources (
    id integer primary key autoincrement,
    name text not null,
    chat integer not null default 0,
    source_type text not null,
    created_at real not null,
    unique (name, chat)
) strict;

create table sessions (
    id integer primary key autoincrement,
    source integer not null references sources (id),
    scope integer not null
) strict;

create index sessions_by_source on sessions (source, scope);

create table persons (
    id integer primary key autoincrement,
    person_id text not null unique,
    name text not null,
    created_at real not null
) strict;

-- The names by which a person was met in each chat: a name of one chat means nobody in another.
create table chat_persons (
    person integer not null references persons (id),
    chat integer not null,
    name text not null,
    primary key (person, chat, name)
) strict, without rowid;

create index chat_persons_by_name on chat_persons (name, chat);

-- Further names of a person, given by hand or by a caller; they count in every chat (chat 0) or in one.
create table person_aliases (
    person integer not null references persons (id) on delete cascade,
    chat integer not null default 0,
    norm text not null,
    alias text not null,
    origin text not null check (origin in ('caller', 'rule', 'model', 'admin')),
    created_at real not null,
    primary key (person, chat, norm)
) strict, without rowid;

create index person_aliases_by_norm on person_aliases (norm);
create index person_aliases_by_alias on person_aliases (alias);

create table external_memory_refs (
    id integer primary key autoincrement,
    source integer not null references sources (id),
    external_id text not null,
    content_hash blob not null,
    revision integer not null default 1,
    recorded_at real not null,
    deleted_at real,
    unique (source, external_id)
) strict;

-- scope: the chat that may see the row, 0 for everyone. An undated row has no event times. deleted_reason: how it came
-- into the recycle bin, empty for what was deleted otherwise.
-- flags: 1 the text is a question, 2 it speaks of time, 4 it gives a number, 8 it holds a proper name, 16 it is Chinese,
-- Japanese or Korean. extracted: 0 until the rules have read what it tells, so that they never read more out of it when it
-- is deleted and comes back; then one more than the last row of name_news that they knew of.
create table paragraphs (
    id integer primary key autoincrement,
    source integer not null references sources (id),
    ref integer not null references external_memory_refs (id),
    revision integer not null,
    position integer not null,
    chat integer not null default 0,
    scope integer not null,
    session integer not null references sessions (id),
    kind text not null check (kind in ('message', 'text', 'summary')),
    knowledge text not null default '' check (knowledge in ('', 'factual', 'narrative', 'quote')),
    speaker integer not null default 0,
    flags integer not null default 0,
    extracted integer not null default 0 check (extracted >= 0),
    event_start real,
    event_end real check ((event_end is null) = (event_start is null) and (event_end is null or event_end >= event_start)),
    recorded_at real not null,
    superseded_at real,
    deleted_at real,
    expires_at real,
    deleted_reason text not null default '' check (deleted_reason in ('', 'forgotten', 'expired')),
    content_hash blob not null,
    content text not null,
    tags text not null default '[]' check (json_valid(tags)),
    metadata text not null default '{}' check (json_valid(metadata))
) strict;

create unique index paragraphs_by_ref on paragraphs (ref, revision, position);
create index paragraphs_by_source on paragraphs (source, coalesce(event_start, recorded_at));
create index paragraphs_by_session on paragraphs (session);
create index paragraphs_by_scope on paragraphs (scope);
create index paragraphs_by_supersession on paragraphs (superseded_at) where superseded_at is not null;
create index paragraphs_in_cjk on paragraphs (scope) where flags & 16;
create index paragraphs_by_time on paragraphs (scope, event_start) where event_start is not null;
create index paragraphs_by_event on paragraphs (event_start) where event_start is not null;
create index paragraphs_by_expiry on paragraphs (expires_at) where expires_at is not null;
create index paragraphs_by_deletion on paragraphs (deleted_at) where deleted_at is not null;
create index paragraphs_in_bin on paragraphs (deleted_at) where deleted_reason <> '';
create index paragraphs_by_interval on paragraphs (event_end) where event_end > event_start;

create table terms (
    id integer primary key references paragraphs (id) on delete cascade,
    v blob not null
) strict;

-- role: 1 said it, 2 took part, 3 it is about them.
create table paragraph_persons (
    person integer not null references persons (id),
    paragraph integer not null references paragraphs (id) on delete cascade,
    role integer not null check (role in (1, 2, 3)),
    name text not null,
    primary key (person, paragraph)
) strict, without rowid;

create index paragraph_persons_by_paragraph on paragraph_persons (paragraph);

-- A merged entity keeps its row and points at the one that it became, which is itself never merged. origin: who spoke of
-- it first; what was only read, by rules or a model, is told of as long as something that lives speaks of it.
create table entities (
    id integer primary key autoincrement,
    name text not null,
    norm text not null unique,
    kind text not null default '',
    metadata text not null default '{}' check (json_valid(metadata)),
    origin text not null default 'caller' check (origin in ('caller', 'rule', 'model', 'admin')),
    created_at real not null,
    deleted_at real,
    merged_into integer references entities (id)
) strict;

create index entities_by_merge on entities (merged_into) where merged_into is not null;

create table entity_aliases (
    norm text primary key,
    entity integer not null references entities (id) on delete cascade,
    alias text not null,
    origin text not null check (origin in ('caller', 'rule', 'model', 'admin')),
    created_at real not null
) strict, without rowid;

create index entity_aliases_by_entity on entity_aliases (entity);

-- Names that have become known, and for which the lines that hold them are still to be found: those of a person in a chat
-- (0: in every one), or those of an entity.
create table name_news (
    id integer primary key autoincrement,
    person integer references persons (id) on delete cascade,
    chat integer not null default 0,
    entity integer references entities (id) on delete cascade,
    check ((person is null) <> (entity is null))
) strict;

create index name_news_by_person on name_news (person) where person is not null;
create index name_news_by_entity on name_news (entity) where entity is not null;

create table paragraph_entities (
    entity integer not null references entities (id),
    paragraph integer not null references paragraphs (id) on delete cascade,
    primary key (entity, paragraph)
) strict, without rowid;

create index paragraph_entities_by_paragraph on paragraph_entities (paragraph);

-- deleted_by: the record by which it was deleted on purpose, u12, c12 or d12; empty if it only lost what it rested on.
create table relations (
    id integer primary key autoincrement,
    subject integer not null references entities (id),
    predicate text not null,
    object integer not null references entities (id),
    confidence real not null check (confidence between 0 and 1),
    weight real not null default 1 check (weight > 0),
    origin text not null default 'caller' check (origin in ('caller', 'rule', 'model', 'admin')),
    created_at real not null,
    inactive_at real,
    inactive_reason text not null default '' check (inactive_reason in ('', 'decay', 'frozen', 'forgotten')),
    deleted_at real,
    deleted_by text not null default '',
    merged_into integer references relations (id),
    check (subject <> object),
    unique (subject, predicate, object)
) strict;

create index relations_by_object on relations (object);
create index relations_told on relations (id) where origin <> 'rule' and deleted_at is null;
create index relations_by_predicate on relations (predicate) where deleted_at is null;
create index relations_by_age on relations (created_at) where deleted_at is null and inactive_at is null;
create index relations_inactive on relations (inactive_at) where inactive_at is not null and deleted_at is null;
create index relations_in_bin on relations (deleted_at) where inactive_at is not null and deleted_at is not null;
create index relations_by_merge on relations (merged_into) where merged_into is not null;

create table relation_evidence (
    relation integer not null references relations (id) on delete cascade,
    paragraph integer not null references paragraphs (id) on delete cascade,
    primary key (relation, paragraph)
) strict, without rowid;

create index relation_evidence_by_paragraph on relation_evidence (paragraph);

-- Entities that were only read, and of which no live paragraph or relation speaks any more.
create view entities_unheard as
select distinct e.id
from (select id from paragraphs indexed by paragraphs_by_deletion where deleted_at is not null
      union all
      select id from paragraphs indexed by paragraphs_by_supersession where superseded_at is not null) gone
cross join paragraph_entities l on l.paragraph = gone.id
cross join entities e on e.id = l.entity
where e.origin in ('rule', 'model')
  and not exists (select 1 from paragraph_entities m join paragraphs p on p.id = m.paragraph
                  where m.entity = e.id and p.deleted_at is null and p.superseded_at is null)
  and not exists (select 1 from relations r where r.subject = e.id and r.deleted_at is null)
  and not exists (select 1 from relations r where r.object = e.id and r.deleted_at is null)
  and not exists (select 1 from entities m where m.merged_into = e.id and m.origin in ('caller', 'admin'));

create table embedding_generations (
    id integer primary key autoincrement,
    fingerprint text not null,
    provider text not null,
    model text not null,
    dimension integer not null check (dimension > 0),
    status text not null check (status in ('building', 'serving', 'retired')),
    created_at real not null,
    served_at real
) strict;

-- What use and hand have made of the retention of a memory; without a row it is 1 at the time it was recorded.
create table retention (
    kind text not null check (kind in ('paragraph', 'relation')),
    id integer not null,
    strength real not null check (strength between 0 and 1),
    anchor_at real not null,
    pinned integer not null default 0 check (pinned in (0, 1)),
    protected_until real,
    accessed_at real,
    reinforced_at real,
    reinforcements integer not null default 0,
    primary key (kind, id)
) strict, without rowid;

create index retention_weakened on retention (id) where kind = 'relation' and strength < 1 and pinned = 0;

-- What was done to the retention of memories; `items` holds ids with what was there before and after, never texts.
create table memory_v5_operations (
    id integer primary key autoincrement,
    action text not null,
    kind text not null check (kind in ('paragraph', 'relation', 'mixed')),
    items text not null check (json_valid(items)),
    strength real,
    requested_by text not null default '',
    reason text not null default '',
    created_at real not null
) strict;

-- Something that can be undone; `detail` holds ids and what was there before.
create table undo_records (
    id integer primary key autoincrement,
    kind text not null,
    detail text not null check (json_valid(detail)),
    requested_by text not null default '',
    reason text not null default '',
    created_at real not null,
    undone_at real
) strict;

-- Who changed what is stored, and when; `records` are the rows from which it can be looked up or undone, `target` what
-- it worked on: by number where it has one, else as the caller called it. A purge looks through both.
create table audit (
    id integer primary key autoincrement,
    at real not null,
    until real not null,
    component text not null,
    action text not null,
    target text not null,
    requested_by text not null,
    door text not null,
    calls integer not null default 1,
    rows integer not null,
    records text not null check (json_valid(records))
) strict;

create index audit_by_component on audit (component, action);
create index audit_by_age on audit (until);

-- Facts, bi-temporal: valid_* when it is true in the world, recorded_at and superseded_at when the memory held it true.
-- The subject is a person, or an entity where person is null. asserted_at: since when it is true by a hand that gave it, so
-- that it needs no paragraph; pinned: its status was set by hand (or by the dedup checker) and the rules leave it; merged:
-- its wording draws on every paragraph that supports it, so it goes with any of them. outdone_at: when the statement counts
-- that puts an end to it; what is said after that time changes nothing about it.
create table facts (
    id integer primary key autoincrement,
    person integer references persons (id) on delete cascade,
    entity integer references entities (id) on delete cascade,
    scope integer not null,
    attribute text not null,
    value text not null,
    norm text not null,
    polarity integer not null default 1 check (polarity in (1, -1)),
    cardinality text not null check (cardinality in ('single', 'set')),
    stability text not null check (stability in ('stable', 'temporal', 'uncertain')),
    authority text not null check (authority in ('manual', 'direct_user', 'imported', 'summary', 'rule', 'model')),
    status text not null check (status in ('active', 'conflicted', 'superseded', 'retracted')),
    confidence real not null check (confidence between 0 and 1),
    asserted_at real,
    pinned integer not null default 0 check (pinned in (0, 1)),
    merged integer not null default 0 check (merged in (0, 1)),
    valid_from real not null,
    valid_to real,
    recorded_at real not null,
    superseded_at real,
    superseded_by integer references facts (id) on delete set null,
    outdone_at real,
    deleted_at real,
    check ((person is null) <> (entity is null))
) strict;

create index facts_by_person on facts (person, scope, attribute, polarity, outdone_at) where person is not null;
create index facts_by_person_and_norm on facts (person, scope, attribute, norm, polarity, outdone_at) where person is not null;
create index facts_by_hand on facts (person, scope, attribute) where pinned or asserted_at is not null;
create index facts_by_entity on facts (entity, scope, attribute) where entity is not null;
create index facts_over on facts (id) where status in ('superseded', 'retracted') or valid_to is not null;
create index facts_by_successor on facts (superseded_by) where superseded_by is not null;

-- What a paragraph says of a fact: in which words, since when, on whose authority; until: when it ends by itself; told: of a
-- statement that names its own start, up to when it vouches for it.
create table fact_evidence (
    fact integer not null references facts (id) on delete cascade,
    paragraph integer not null references paragraphs (id) on delete cascade,
    stance text not null default 'support' check (stance in ('support', 'refute')),
    value text not null,
    at real not null,
    until real,
    told real,
    authority text not null check (authority in ('manual', 'direct_user', 'imported', 'summary', 'rule', 'model')),
    confidence real not null check (confidence between 0 and 1),
    primary key (fact, paragraph)
) strict, without rowid;

create index fact_evidence_by_paragraph on fact_evidence (paragraph);
create index fact_evidence_by_time on fact_evidence (fact, coalesce(told, at));

create view fact_rows as
select id, person, entity, scope, attribute, value, norm, polarity, cardinality, stability, authority, status, confidence,
       asserted_at, pinned, merged, valid_from, valid_to, recorded_at, superseded_at, superseded_by, outdone_at
from facts where deleted_at is null;

create table fact_transitions (
    id integer primary key autoincrement,
    fact integer not null references facts (id) on delete cascade,
    was text not null,
    became text not null,
    cause integer references facts (id) on delete set null,
    undo integer references undo_records (id) on delete set null,
    requested_by text not null default '',
    reason text not null default '',
    at real not null
) strict;

create index fact_transitions_by_fact on fact_transitions (fact);
create index fact_transitions_by_cause on fact_transitions (cause) where cause is not null;
create index fact_transitions_by_undo on fact_transitions (undo) where undo is not null;

-- What is known of a person from the memories of one scope (a chat's row, 0 for global ones); the newest version counts.
create table profile_snapshots (
    id integer primary key autoincrement,
    person integer not null references persons (id) on delete cascade,
    scope integer not null,
    version integer not null,
    text text not null,
    content text not null check (json_valid(content)),
    confidence real not null check (confidence between 0 and 1),
    derived_at real not null,
    unique (person, scope, version)
) strict;

-- The paragraphs that a snapshot tells of: it goes with the first of them that is purged.
create table profile_evidence (
    paragraph integer not null,
    snapshot integer not null references profile_snapshots (id) on delete cascade,
    primary key (paragraph, snapshot)
) strict, without rowid;

create index profile_evidence_by_snapshot on profile_evidence (snapshot);

create table profile_overrides (
    person integer primary key references persons (id) on delete cascade,
    text text not null,
    updated_by text not null default '',
    source text not null default '',
    updated_at real not null
) strict;

-- Work that is derived in the background, one row for each thing to derive; `revision` counts how often it was wanted.
create table derive_tasks (
    kind text not null check (kind in ('episodes', 'profile')),
    key integer not null,
    revision integer not null default 1,
    since real,
    status text not null check (status in ('pending', 'processing', 'completed', 'failed')),
    attempts integer not null default 0,
    due_at real not null,
    leased_until real,
    worker text not null default '',
    error text not null default '',
    updated_at real not null,
    primary key (kind, key)
) strict, without rowid;

create index derive_tasks_due on derive_tasks (kind, due_at) where status in ('pending', 'processing', 'failed');

-- How far the messages of a chat are covered by summaries, and how far they are wanted; both are paragraphs.
create table summary_cursors (
    chat integer primary key,
    upto integer not null,
    wanted integer not null default 0,
    attempts integer not null default 0,
    due_at real not null default 0,
    updated_at real not null
) strict;

create index summary_cursors_waiting on summary_cursors (due_at) where wanted > upto;

create table chat_usage (
    day text not null,
    task text not null,
    calls integer not null,
    failures integer not null,
    prompt_tokens integer not null,
    completion_tokens integer not null,
    primary key (day, task)
) strict, without rowid;

-- stays: what one might have expected to go with it, as [kind, row, why], never texts.
create table delete_operations (
    id integer primary key autoincrement,
    mode text not null check (mode in ('relation', 'paragraph', 'entity', 'source', 'person', 'chat', 'mixed')),
    selector text not null check (json_valid(selector)),
    counts text not null check (json_valid(counts)),
    stays text not null default '[]' check (json_valid(stays)),
    requested_by text not null default '',
    reason text not null default '',
    status text not null check (status in ('executed', 'restored', 'purging', 'purged')),
    created_at real not null,
    restored_at real,
    purged_at real,
    receipt text not null default '{}' check (json_valid(receipt))
) strict;

create table delete_operation_items (
    operation integer not null references delete_operations (id) on delete cascade,
    kind text not null,
    id integer not null,
    detail text not null default '{}' check (json_valid(detail)),
    restored_at real,
    primary key (operation, kind, id)
) strict, without rowid;

create index delete_operation_items_by_id on delete_operation_items (kind, id);

create table correction_plans (
    id integer primary key autoincrement,
    request text not null,
    person integer references persons (id) on delete set null,
    chat integer not null default 0,
    plan text not null check (json_valid(plan)),
    status text not null
        check (status in ('awaiting_confirmation', 'executing', 'executed', 'failed', 'rolled_back')),
    result text not null default '{}' check (json_valid(result)),
    requested_by text not null default '',
    reason text not null default '',
    created_at real not null,
    executed_at real,
    rolled_back_at real
) strict;

create table feedback_tasks (
    id integer primary key autoincrement,
    query_tool_id text not null unique,
    chat integer not null default 0,
    query text not null,
    asked_at real not null,
    hits text not null check (json_valid(hits)),
    status text not null check (status in ('pending', 'running', 'applied', 'skipped', 'failed')),
    due_at real not null,
    attempts integer not null default 0,
    leased_until real,
    worker text not null default '',
    decision text not null default '{}' check (json_valid(decision)),
    rollback_status text not null default 'none' check (rollback_status in ('none', 'rolled_back', 'failed')),
    result text not null default '{}' check (json_valid(result)),
    error text not null default '',
    updated_at real not null
) strict;

create index feedback_tasks_due on feedback_tasks (due_at) where status in ('pending', 'running');

-- Imports: a task has files, each read in chunks, each chunk stored in one transaction together with its row.
-- leased_until: until then the worker has it; after a failure, until then it is left alone.
create table import_tasks (
    id integer primary key autoincrement,
    kind text not null,
    params text not null check (json_valid(params)),
    status text not null check (status in ('queued', 'preparing', 'running', 'cancel_requested', 'cancelled', 'completed',
                                           'completed_with_errors', 'failed')),
    parent integer references import_tasks (id) on delete set null,
    worker text not null default '',
    leased_until real,
    attempts integer not null default 0,
    error text not null default '',
    requested_by text not null default '',
    created_at real not null,
    started_at real,
    finished_at real,
    updated_at real not null
) strict;

create index import_tasks_open on import_tasks (id)
    where status in ('queued', 'preparing', 'running', 'cancel_requested');
create index import_tasks_by_parent on import_tasks (parent) where parent is not null;

-- root: the name of a folder of the data directory, or the path of a configured one; path is below it. position: how far
-- it is read, as its reader counts; rest: 0 if only chunks that failed before are read again. options: what the outcome
-- depends on besides the content. seconds: time spent on it. notes: what was left out or is missing, by kind, how often.
create table import_files (
    id integer primary key autoincrement,
    task integer not null references import_tasks (id) on delete cascade,
    name text not null,
    root text not null,
    path text not null,
    format text not null,
    options text not null default '',
    size integer not null default 0,
    sha256 text not null default '',
    position integer not null default 0,
    share real not null default 0,
    rest integer not null default 1 check (rest in (0, 1)),
    status text not null check (status in ('queued', 'preparing', 'writing', 'completed', 'skipped', 'failed', 'cancelled')),
    records integer not null default 0,
    counts text not null default '{}' check (json_valid(counts)),
    seconds real not null default 0,
    error text not null default '',
    notes text not null default '{}' check (json_valid(notes))
) strict;

create index import_files_by_task on import_files (task);
create index import_files_by_content on import_files (sha256) where status = 'completed';

-- start and stop are positions of the file; errors: what cannot be stored, and why.
create table import_chunks (
    file integer not null references import_files (id) on delete cascade,
    number integer not null,
    start integer not null,
    stop integer not null,
    status text not null check (status in ('queued', 'completed', 'failed', 'cancelled')),
    records integer not null default 0,
    counts text not null default '{}' check (json_valid(counts)),
    errors text not null default '[]' check (json_valid(errors)),
    done_at real,
    primary key (file, number)
) strict, without rowid;

-- The sources that a file has told something of; not a reference, so that one that is gone is noticed.
create table import_sources (
    file integer not null references import_files (id) on delete cascade,
    source integer not null,
    primary key (file, source)
) strict, without rowid;

-- Where the reader of a long file is that is under way, so that it need not begin anew: digests of what it has met, no text.
create table import_marks (
    file integer primary key references import_files (id) on delete cascade,
    mark blob not null
) strict;

-- A search for better retrieval settings. A profile is an object of dotted settings and values.
create table tuning_tasks (
    id integer primary key autoincrement,
    status text not null check (status in ('queued', 'running', 'completed', 'failed', 'cancelled')),
    stage text not null default 'queries' check (stage in ('queries', 'rounds', 'comparison', 'done')),
    options text not null check (json_valid(options)),
    baseline text not null check (json_valid(baseline)),
    rounds_wanted integer not null check (rounds_wanted > 0),
    result text not null default '{}' check (json_valid(result)),
    reason text not null default '',
    error text not null default '',
    attempts integer not null default 0,
    leased_until real,
    worker text not null default '',
    created_at real not null,
    started_at real,
    finished_at real,
    updated_at real not null
) strict;

create index tuning_tasks_open on tuning_tasks (id) where status in ('queued', 'running');

-- A question of a tuning task; it goes with any paragraph that it was made from or is answered by.
create table tuning_queries (
    id integer primary key autoincrement,
    task integer not null references tuning_tasks (id) on delete cascade,
    split text not null check (split in ('train', 'validation', 'held_out')),
    kind text not null check (kind in ('reply', 'fact', 'relation', 'episode', 'asked', 'labelled')),
    chat_id text not null,
    text text not null
) strict;

create index tuning_queries_by_task on tuning_queries (task);

create table tuning_query_paragraphs (
    query integer not null references tuning_queries (id) on delete cascade,
    paragraph integer not null references paragraphs (id) on delete cascade,
    role text not null check (role in ('target', 'hidden')),
    primary key (query, paragraph)
) strict, without rowid;

create index tuning_query_paragraphs_by_paragraph on tuning_query_paragraphs (paragraph);

create trigger paragraphs_forget_tuning before delete on paragraphs begin
    delete from tuning_queries where id in (select query from tuning_query_paragraphs where paragraph = old.id);
end;

create table tuning_rounds (
    task integer not null references tuning_tasks (id) on delete cascade,
    round integer not null,
    params text not null check (json_valid(params)),
    profile text not null check (json_valid(profile)),
    score real not null,
    merit real not null,
    figures text not null check (json_valid(figures)),
    seconds real not null,
    created_at real not null,
    primary key (task, round)
) strict, without rowid;

-- Retrieval settings that were applied, and those that they took the place of.
create table retrieval_profiles (
    id integer primary key autoincrement,
    task integer references tuning_tasks (id) on delete set null,
    profile text not null check (json_valid(profile)),
    previous text not null check (json_valid(previous)),
    reason text not null default '',
    status text not null check (status in ('applying', 'applied', 'rolled_back')),
    created_at real not null,
    rolled_back_at real
) strict;

create unique index one_serving_generation on embedding_generations (status) where status = 'serving';

create table embeddings (
    generation integer not null references embedding_generations (id) on delete cascade,
    paragraph integer not null references paragraphs (id) on delete cascade,
    vector blob not null,
    primary key (generation, paragraph)
) strict, without rowid;

-- v: vectors of the paragraph's content tokens for late interaction, as many bytes a token as the model has dimensions
create table token_vectors (
    generation integer not null references embedding_generations (id) on delete cascade,
    paragraph integer not null references paragraphs (id) on delete cascade,
    v blob not null,
    primary key (generation, paragraph)
) strict, without rowid;

create index embeddings_by_paragraph on embeddings (paragraph);
create index token_vectors_by_paragraph on token_vectors (paragraph);

create table relation_embeddings (
    generation integer not null references embedding_generations (id) on delete cascade,
    relation integer not null references relations (id) on delete cascade,
    vector blob not null,
    primary key (generation, relation)
) strict, without rowid;

create index relation_embeddings_by_relation on relation_embeddings (relation);

create table embedding_failures (
    generation integer not null references embedding_generations (id) on delete cascade,
    paragraph integer not null references paragraphs (id) on delete cascade,
    attempts integer not null,
    next_at real not null,
    error text not null,
    primary key (generation, paragraph)
) strict, without rowid;

create index embedding_failures_by_paragraph on embedding_failures (paragraph);

-- stretch: the first paragraph of the stretch that the rules cut out; a model may have divided it into several episodes.
-- model_due: when the chat model may be asked about it, null if it is not to be.
create table episodes (
    id integer primary key autoincrement,
    source integer not null references sources (id),
    scope integer not null,
    stretch integer not null,
    title text not null,
    summary text not null,
    event_start real,
    event_end real,
    paragraph_count integer not null,
    participants text not null check (json_valid(participants)),
    keywords text not null check (json_valid(keywords)),
    revision integer not null default 1,
    segmented_by text not null default 'rules' check (segmented_by in ('rules', 'model')),
    model_due real,
    model_attempts integer not null default 0,
    derived_at real not null
) strict;

create index episodes_by_source on episodes (source, stretch);
create index episodes_by_scope on episodes (scope);
create index episodes_by_age on episodes (coalesce(event_start, derived_at));
create index episodes_by_model_due on episodes (model_due) where model_due is not null;

create table episode_paragraphs (
    paragraph integer primary key references paragraphs (id) on delete cascade,
    episode integer not null references episodes (id) on delete cascade,
    position integer not null
) strict;

create index episode_paragraphs_by_episode on episode_paragraphs (episode, position);

-- The words of an episode's title, keywords and, if a model wrote it, its summary.
create table episode_terms (
    term integer not null,
    scope integer not null,
    episode integer not null references episodes (id) on delete cascade,
    primary key (term, scope, episode)
) strict, without rowid;

create index episode_terms_by_episode on episode_terms (episode);

-- Stretches of time in which a source has changed since its episodes were made; anew: to be made again even if it has not.
create table episode_news (
    id integer primary key autoincrement,
    source integer not null references sources (id) on delete cascade,
    since real not null,
    upto real not null,
    anew integer not null default 0 check (anew in (0, 1)),
    check (upto >= since)
) strict;

create index episode_news_by_source on episode_news (source, since);

-- A paragraph that is removed takes the words of its episode with it; the others of it are grouped again.
create trigger paragraphs_leave_episodes before delete on paragraphs begin
    insert into changes (kind, id)
        select 'paragraph', o.paragraph from episode_paragraphs m join episode_paragraphs o on o.episode = m.episode
        where m.paragraph = old.id and o.paragraph <> old.id;
    delete from episodes where id = (select episode from episode_paragraphs where paragraph = old.id);
end;

create trigger paragraphs_inserted after insert on paragraphs begin
    insert into changes (kind, id) values ('paragraph', new.id);
end;

create trigger paragraphs_updated after update of scope, session, event_start, superseded_at, deleted_at, expires_at on paragraphs begin
    insert into changes (kind, id) values ('paragraph', new.id);
end;

create trigger paragraphs_removed after delete on paragraphs begin
    insert into changes (kind, id) values ('paragraph', old.id);
end;

create trigger embeddings_inserted after insert on embeddings begin
    insert into changes (kind, id) values ('embedding', new.paragraph);
end;

create trigger embeddings_updated after update on embeddings begin
    insert into changes (kind, id) values ('embedding', new.paragraph);
end;

create trigger embeddings_removed after delete on embeddings begin
    insert into changes (kind, id) values ('embedding', old.paragraph);
end;

create trigger relations_inserted after insert on relations begin
    insert into changes (kind, id) values ('relation', new.id);
end;

create trigger relations_back after update of deleted_at on relations when new.deleted_at is null and new.deleted_by <> '' begin
    update relations set deleted_by = '' where id = new.id;
end;

create trigger relations_updated after update on relations begin
    insert into changes (kind, id) values ('relation', new.id);
end;

create trigger relations_removed after delete on relations begin
    insert into changes (kind, id) values ('relation', old.id);
end;

create trigger relation_evidence_inserted after insert on relation_evidence begin
    insert into changes (kind, id) values ('relation', new.relation);
end;

create trigger relation_evidence_removed after delete on relation_evidence begin
    insert into changes (kind, id) values ('relation', old.relation);
end;

create trigger relation_embeddings_inserted after insert on relation_embeddings begin
    insert into changes (kind, id) values ('relation_embedding', new.relation);
end;

create trigger relation_embeddings_updated after update on relation_embeddings begin
    insert into changes (kind, id) values ('relation_embedding', new.relation);
end;

create trigger relation_embeddings_removed after delete on relation_embeddings begin
    insert into changes (kind, id) values ('relation_embedding', old.relation);
end;

create trigger persons_inserted after insert on persons begin
    insert into changes (kind, id) values ('person', new.id);
end;

create trigger chat_persons_inserted after insert on chat_persons begin
    insert into name_news (person, chat) values (new.person, new.chat);
    insert into changes (kind, id) values ('person', new.person);
end;

create trigger chat_persons_removed after delete on chat_persons begin
    insert into changes (kind, id) values ('person', old.person);
end;

create trigger person_aliases_inserted after insert on person_aliases begin
    insert into name_news (person, chat) values (new.person, new.chat);
    insert into changes (kind, id) values ('person', new.person);
end;

create trigger person_aliases_removed after delete on person_aliases begin
    insert into changes (kind, id) values ('person', old.person);
end;

create trigger persons_updated after update on persons begin
    insert into changes (kind, id) values ('person', new.id);
end;

create trigger persons_removed after delete on persons begin
    insert into changes (kind, id) values ('person', old.id);
end;

create trigger entities_inserted after insert on entities begin
    insert into name_news (entity) select new.id where length(new.norm) > 1;
    insert into changes (kind, id) values ('entity', new.id);
end;

create trigger entity_aliases_inserted after insert on entity_aliases begin
    insert into name_news (entity) select new.entity where length(new.norm) > 1;
end;

create trigger entities_renamed after update of norm on entities when new.norm <> old.norm begin
    insert into name_news (entity) values (new.id);
end;

create trigger entities_updated after update on entities begin
    insert into changes (kind, id) values ('entity', new.id);
end;

create trigger entities_removed after delete on entities begin
    insert into changes (kind, id) values ('entity', old.id);
end;

create trigger paragraphs_forget_retention after delete on paragraphs begin
    delete from retention where kind = 'paragraph' and id = old.id;
end;

create trigger relations_forget_retention after delete on relations begin
    delete from retention where kind = 'relation' and id = old.id;
end;

create trigger paragraphs_forget_profiles after delete on paragraphs begin
    insert into derive_tasks (kind, key, since, status, due_at, updated_at)
    select distinct 'profile', s.person, 0, 'pending', 0, 0
    from profile_evidence e join profile_snapshots s on s.id = e.snapshot where e.paragraph = old.id
    on conflict (kind, key) do update set
        revision = derive_tasks.revision + 1,
        since = 0,
        due_at = 0,
        status = case when derive_tasks.status = 'processing' then 'processing' else 'pending' end,
        attempts = case when derive_tasks.status = 'processing' then derive_tasks.attempts else 0 end;
    delete from profile_snapshots
    where id in (select e.snapshot from profile_evidence e where e.paragraph = old.id);
end;

-- A paragraph that is purged takes its words out of the facts it supported.
create trigger fact_evidence_removed after delete on fact_evidence begin
    delete from facts
    where id = old.fact and asserted_at is null
      and (merged or not exists (select 1 from fact_evidence e where e.fact = old.fact));
    update facts set value = (select e.value from fact_evidence e where e.fact = old.fact order by e.at, e.paragraph limit 1)
    where id = old.fact and asserted_at is null;
end;

-- What a fact had taken the place of is looked at again when it goes.
create trigger facts_removed before delete on facts begin
    update facts set pinned = 0 where superseded_by = old.id and status = 'superseded';
    insert into changes (kind, id)
    select 'paragraph', e.paragraph from facts f join fact_evidence e on e.fact = f.id
    where f.superseded_by = old.id or f.id = old.id;
end;

-- A new supporting paragraph makes a relation fresh, and wakes one that had faded.
create trigger relation_evidence_refreshes after insert on relation_evidence begin
    insert into retention (kind, id, strength, anchor_at)
    select 'relation', r.id, 1, p.recorded_at from relations r join paragraphs p on p.id = new.paragraph
    where r.id = new.relation and p.recorded_at > r.created_at
    on conflict (kind, id) do update set strength = 1, anchor_at = excluded.anchor_at
    where excluded.anchor_at >= retention.anchor_at;
    update relations set inactive_at = null, inactive_reason = ''
    where id = new.relation and inactive_reason = 'decay'
      and inactive_at <= (select recorded_at from paragraphs where id = new.paragraph);
end;
