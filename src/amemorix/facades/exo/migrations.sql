-- name: exo_migration_table
create table if not exists _memory_migrations (version bigint primary key, description text not null, applied_at text not null);

-- name: exo_migration_version
select max(version) as version from _memory_migrations;

-- name: exo_migration_record
-- In the words of both databases: its values are put into it.
insert into _memory_migrations (version, description, applied_at) values ({version}, '{description}', '{at}');
