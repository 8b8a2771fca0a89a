-- name: integrity
pragma quick_check(1);

-- name: foreign_keys
pragma foreign_key_check;

-- name: expected_rows
select 'sparse', (select count(*) from paragraphs where deleted_at is null and superseded_at is null)
union all
select 'graph', (select count(*) from relations where deleted_at is null and inactive_at is null)
union all
select 'names', (select count(*) from persons);
