-- name: integrity
-- only: sqlite
pragma quick_check(20);

-- name: integrity_of_table
-- only: sqlite
-- of a table with its indexes
select * from pragma_integrity_check(:table) limit 20;

-- name: reindex
-- only: sqlite
reindex;

-- name: foreign_keys
-- only: sqlite
pragma foreign_key_check;

-- name: expected_rows
select 'sparse', (select count(*) from paragraphs where deleted_at is null and superseded_at is null)
union all
select 'graph', (select count(*) from relations where deleted_at is null and inactive_at is null)
union all
select 'names', (select count(*) from persons);

-- name: terms_missing_count
select count(*) from paragraphs p where p.deleted_at is null and p.superseded_at is null
  and not exists (select 1 from terms t where t.id = p.id);

-- name: terms_missing
select p.id, p.content, p.event_start, coalesce((select chat_id from chats where id = p.chat), '')
from paragraphs p where p.deleted_at is null and p.superseded_at is null
  and not exists (select 1 from terms t where t.id = p.id) limit :limit;

-- name: paragraph_changed
insert into changes (kind, id) values ('paragraph', :id);

-- name: vectors_misshapen
-- an empty vector is that of a text which the model does not read
select paragraph from embeddings where generation = :generation and length(vector) not in (0, :bytes);

-- name: space_vectors_misshapen
-- how many vectors callers have brought, and how many of them cannot be read
select count(*), count(*) filter (where o.dimension is null or length(v.vector) <> 2 * o.dimension)
from space_vectors v join vector_spaces o on o.id = v.space;

-- name: vectors_page
select paragraph, vector from embeddings where generation = :generation and paragraph > :after
order by paragraph limit :limit;

-- name: vectors_forget
delete from embeddings where generation = :generation and paragraph in (select value from json_each(:ids));

-- name: work_failed
select count(*), max(error) from tasks where kind = :kind and status = 'failed';

-- name: work_failed_by_kind
select kind, count(*) filter (where status = 'failed') from tasks where kind = 'episodes' group by kind;

-- name: work_retry
update tasks set status = 'pending', attempts = 0, due_at = :now, error = '', updated_at = :now
where kind = 'episodes' and status = 'failed';
