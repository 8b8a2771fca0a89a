-- Statements of ../../sqlite/queries that are worded a second time, since no rule translates them.

-- name: changes_bounds
-- the last number given out is that of the last change only while there is one writer, as with SQLite
select cast((select value from meta where key = 'changes_floor') as bigint),
       coalesce(pg_sequence_last_value(pg_get_serial_sequence('changes', 'seq')::regclass), 0);

-- name: naming_last_news
select coalesce(pg_sequence_last_value(pg_get_serial_sequence('name_news', 'id')::regclass), 0);

-- name: operation_items_wanted
update delete_operation_items set detail = jsonb_set(detail::jsonb, '{wanted}', 'true')::text
where operation = :operation and kind = :kind and id = any(:ids);

-- name: operations_wanted
select distinct o.id from delete_operations o join delete_operation_items i on i.operation = o.id
where o.status = 'executed' and i.detail::jsonb -> 'wanted' = 'true'
order by o.id;

-- name: changes_of_entities
select u.id from undo_records u
where (u.kind like 'entity\_%' or u.kind like 'relation\_%')
  and (exists (select 1 from jsonb_path_query(u.detail::jsonb, '$.** ? (@.type() == "object").keyvalue()
                   ? (@.key == "entity" || @.key == "target" || @.key == "exchanged").value ? (@.type() == "number")') v
               where v::bigint = any(:ids))
       or exists (select 1 from jsonb_array_elements_text(u.detail::jsonb -> 'touches') t
                  where t in (select 'n' || id from unnest(:ids::bigint[]) id)));

-- name: graph_names_from
-- of several names that fit equally well that of an entity comes before an alias, as SQLite meets them
select * from (
    select distinct on (t.id) t.id, t.name, t.kind, t.created_at, case when n.norm <> :first then 1 else 0 end as tier,
           n.field, n.said
    from (select coalesce(e.merged_into, e.id) as id, case when e.merged_into is null then 'name' else 'alias' end as field,
                 e.norm as norm, e.name as said, 0 as part
          from entities e where e.norm >= :first and e.norm < :last
          union all
          select a.entity, 'alias', a.norm, a.alias, 1 from entity_aliases a where a.norm >= :first and a.norm < :last) n
    join entities t on t.id = n.id
    where t.deleted_at is null and t.id not in (select id from entities_unheard)
      and (:scopes::bigint[] is null or exists (
          select 1 from paragraph_entities m join paragraphs p on p.id = m.paragraph
          where m.entity = t.id and p.deleted_at is null and p.superseded_at is null
            and (p.expires_at is null or p.expires_at > :now) and p.scope = any(:scopes)))
    order by t.id, tier, n.part, n.norm)
order by tier, length(said), said, id limit nullif(:limit::bigint, -1);

-- name: graph_names_with
select * from (
    select distinct on (t.id) t.id, t.name, t.kind, t.created_at, length(n.norm) as tier, n.field, n.said
    from (select coalesce(e.merged_into, e.id) as id, case when e.merged_into is null then 'name' else 'alias' end as field,
                 e.norm as norm, e.name as said, 0 as part
          from entities e where strpos(e.norm, :text) > 1
          union all
          select a.entity, 'alias', a.norm, a.alias, 1 from entity_aliases a where strpos(a.norm, :text) > 1) n
    join entities t on t.id = n.id
    where t.deleted_at is null and t.id <> all(:but) and t.id not in (select id from entities_unheard)
      and (:scopes::bigint[] is null or exists (
          select 1 from paragraph_entities m join paragraphs p on p.id = m.paragraph
          where m.entity = t.id and p.deleted_at is null and p.superseded_at is null
            and (p.expires_at is null or p.expires_at > :now) and p.scope = any(:scopes)))
    order by t.id, tier, n.part, n.norm)
order by tier, said, id limit nullif(:limit::bigint, -1);

-- name: session_near
select n.session, (select max(p.event_start) from paragraphs p where p.session = n.session),
       (select count(*) from paragraphs p where p.session = n.session)
from (select session, event_start from paragraphs
      where source = :source and scope = :scope and kind = 'message' and event_start is not null
        and coalesce(event_start, recorded_at)
            between :at::double precision - :gap::double precision and :at::double precision + :gap::double precision
      order by abs(event_start - :at) limit 1) n;

-- name: quoting_import_texts
select t.id, w.error, json_build_object('columns', t.params::jsonb -> 'columns')::text
from import_tasks t join tasks w on w.kind = 'import' and w.key = t.id
where w.error <> '' or t.params::jsonb -> 'columns' is not null;
