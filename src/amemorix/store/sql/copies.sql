-- name: tables_listed
-- only: sqlite
-- the tables that hold rows, in the order in which they were made
select name from sqlite_schema
where type = 'table' and name not like 'sqlite\_%' escape '\' order by rowid;

-- name: statements_counting
-- only: sqlite
-- for each table the statement that counts its rows
select name, printf('select count(*) from "%w"', name) from sqlite_schema
where type = 'table' and name not like 'sqlite\_%' escape '\' order by name;

-- name: table_columns
-- only: sqlite
select name from pragma_table_info(:table) order by cid;

-- name: statement_reading
-- only: sqlite
-- the statement that reads these columns of every row of a table
select printf('select %s from "%w"', group_concat(printf('"%w"', value), ', '), :table)
from (select value from json_each(:columns) order by key);

-- name: columns_required
-- only: sqlite
-- columns that every row has to bring
select name from pragma_table_info(:table) where "notnull" and dflt_value is null and not pk order by cid;

-- name: statement_writing
-- only: sqlite
-- the statement that writes a row of a table, with these columns in order
select printf('insert into "%w" (%s) values (%s)', :table, group_concat(printf('"%w"', value), ', '), group_concat('?', ', '))
from (select value from json_each(:columns) order by key);

-- name: triggers_listed
-- only: sqlite
-- the statements that make the triggers and those that drop them
select sql, printf('drop trigger "%w"', name) from sqlite_schema where type = 'trigger' order by rowid;

-- name: number_counters
-- only: sqlite
-- how far each table has given out numbers
select name, seq from sqlite_sequence;

-- name: number_counter_raise
-- only: sqlite
update sqlite_sequence set seq = max(seq, :seq) where name = :name;

-- name: number_counter_add
-- only: sqlite
insert into sqlite_sequence (name, seq)
select :name, :seq where not exists (select 1 from sqlite_sequence where name = :name);

-- name: meta_all
select key, value from meta;

-- name: changes_after
select seq, kind, id from changes where seq > :cursor;

-- name: operations_purged
select id from delete_operations where status = 'purged' order by id;

-- name: operations_forget
delete from delete_operations where id in (select value from json_each(:ids));

-- name: paragraphs_gone
-- those of the paragraphs that have no row
select value from json_each(:ids)
where value not in (select id from paragraphs where id in (select value from json_each(:ids)));

-- name: integrity_whole
-- only: sqlite
pragma integrity_check(5);
