-- name: facts_removed
-- Not by a trigger before the deletion: a statement may not delete a row that one of its triggers has changed. And before
-- the references to the fact are set null, which the order of the names decides.
create function facts_removed() returns trigger language plpgsql as $$
begin
    insert into changes (kind, id)
    select 'paragraph', e.paragraph from facts f join fact_evidence e on e.fact = f.id
    where f.superseded_by = old.id or f.doubted_by = old.id or f.id = old.id;
    return old;
end $$;
create trigger facts_removed before delete on facts for each row execute function facts_removed();
create or replace function facts_woken() returns trigger language plpgsql as $$
begin
    update facts set pinned = 0 where superseded_by = old.id and status = 'superseded';
    return null;
end $$;
create or replace trigger "A_facts_woken" after delete on facts for each row execute function facts_woken()
