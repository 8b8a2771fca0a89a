create table meta (
    key text primary key,
    value text not null
) strict, without rowid;

insert into meta (key, value) values ('database_id', lower(hex(randomblob(16)))), ('changes_floor', '0');

create table changes (
    seq integer primary key autoincrement,
    kind text not null check (kind in ('paragraph', 'embedding', 'relation', 'relation_embedding', 'person')),
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

-- scope: the chat that may see the row, 0 for everyone. An undated row has no event times.
-- flags: 1 the text is a question, 2 it speaks of time, 4 it gives a number, 8 it holds a proper name, 16 it is Chinese,
-- Japanese or Korean.
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
    speaker integer not null default 0,
    flags integer not null default 0,
    event_start real,
    event_end real check ((event_end is null) = (event_start is null) and (event_end is null or event_end >= event_start)),
    recorded_at real not null,
    superseded_at real,
    deleted_at real,
    expires_at real,
    content_hash blob not null,
    content text not null,
    tags text not null default '[]' check (json_valid(tags)),
    metadata text not null default '{}' check (json_valid(metadata))
) strict;

create unique index paragraphs_by_ref on paragraphs (ref, revision, position);
create index paragraphs_by_source on paragraphs (source, event_start);
create index paragraphs_by_session on paragraphs (session);
create index paragraphs_by_scope on paragraphs (scope);
create index paragraphs_in_cjk on paragraphs (scope) where flags & 16;
create index paragraphs_by_time on paragraphs (scope, event_start) where event_start is not null;
create index paragraphs_by_event on paragraphs (event_start) where event_start is not null;
create index paragraphs_by_interval on paragraphs (event_end) where event_end > event_start;

create table terms (
    id integer primary key references paragraphs (id) on delete cascade,
    v blob not null
) strict;

create table paragraph_persons (
    person integer not null references persons (id),
    paragraph integer not null references paragraphs (id) on delete cascade,
    role integer not null check (role in (1, 2)),
    name text not null,
    primary key (person, paragraph)
) strict, without rowid;

create index paragraph_persons_by_paragraph on paragraph_persons (paragraph);

create table entities (
    id integer primary key autoincrement,
    name text not null,
    norm text not null unique,
    kind text not null default '',
    created_at real not null
) strict;

create table paragraph_entities (
    entity integer not null references entities (id),
    paragraph integer not null references paragraphs (id) on delete cascade,
    primary key (entity, paragraph)
) strict, without rowid;

create index paragraph_entities_by_paragraph on paragraph_entities (paragraph);

create table relations (
    id integer primary key autoincrement,
    subject integer not null references entities (id),
    predicate text not null,
    object integer not null references entities (id),
    confidence real not null check (confidence between 0 and 1),
    created_at real not null,
    deleted_at real,
    check (subject <> object),
    unique (subject, predicate, object)
) strict;

create table relation_evidence (
    relation integer not null references relations (id) on delete cascade,
    paragraph integer not null references paragraphs (id) on delete cascade,
    primary key (relation, paragraph)
) strict, without rowid;

create index relation_evidence_by_paragraph on relation_evidence (paragraph);

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

create table relation_embeddings (
    generation integer not null references embedding_generations (id) on delete cascade,
    relation integer not null references relations (id) on delete cascade,
    vector blob not null,
    primary key (generation, relation)
) strict, without rowid;

create table embedding_failures (
    generation integer not null references embedding_generations (id) on delete cascade,
    paragraph integer not null references paragraphs (id) on delete cascade,
    attempts integer not null,
    next_at real not null,
    error text not null,
    primary key (generation, paragraph)
) strict, without rowid;

create table episodes (
    id integer primary key autoincrement,
    source integer not null references sources (id),
    scope integer not null,
    title text not null,
    summary text not null,
    event_start real,
    event_end real,
    paragraph_count integer not null,
    participants text not null check (json_valid(participants)),
    keywords text not null check (json_valid(keywords)),
    derived_at real not null
) strict;

create index episodes_by_source on episodes (source, id);

create table episode_paragraphs (
    paragraph integer primary key references paragraphs (id) on delete cascade,
    episode integer not null references episodes (id) on delete cascade,
    position integer not null
) strict;

create index episode_paragraphs_by_episode on episode_paragraphs (episode, position);

create trigger paragraphs_inserted after insert on paragraphs begin
    insert into changes (kind, id) values ('paragraph', new.id);
end;

create trigger paragraphs_updated after update of scope, session, event_start, superseded_at, deleted_at on paragraphs begin
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

create trigger relations_updated after update on relations begin
    insert into changes (kind, id) values ('relation', new.id);
end;

create trigger relations_removed after delete on relations begin
    insert into changes (kind, id) values ('relation', old.id);
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
    insert into changes (kind, id) values ('person', new.person);
end;
