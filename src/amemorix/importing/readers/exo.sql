-- name: exo_items
select * from memory_items order by rowid;
