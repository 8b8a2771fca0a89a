-- name: profile_news_upto
select max(seq), coalesce(max(id) filter (where kind = 'paragraph'), 0)
from (select seq, kind, id from changes where seq > :cursor order by seq limit :limit);

-- name: profile_news
-- persons whom the changed paragraphs, relations and names concern, each with the first paragraph that is news; where one up to
-- :seen went or came back, everything is; a name that becomes known concerns those too who have it already, and whom the
-- lines name in which it stands
with touched as materialized (
    select c.id as paragraph, case when c.id <= :seen then 0 else c.id end as since from changes c
    where c.seq > :cursor and c.seq <= :upto and c.kind = 'paragraph'
    union
    select e.paragraph, e.paragraph from changes c join relation_evidence e on e.relation = c.id
    where c.seq > :cursor and c.seq <= :upto and c.kind = 'relation'),
bound as materialized (
    select n.id as person, n.name, n.person_id = n.name as by_name, p.chat, min(t.since) as since
    from touched t join paragraphs p on p.id = t.paragraph join paragraph_persons pp on pp.paragraph = t.paragraph
    join persons n on n.id = pp.person group by n.id, p.chat),
met as materialized (
    select n.chat, n.name from changes c join chat_persons n on n.person = c.id
    where c.seq > :cursor and c.seq <= :upto and c.kind = 'person'
    union
    select a.chat, a.alias from changes c join person_aliases a on a.person = c.id
    where c.seq > :cursor and c.seq <= :upto and c.kind = 'person'),
told as materialized (
    select e.name, e.norm, p.chat, min(t.since) as since
    from (select paragraph, since from touched
          union all
          select c.id, 0 from changes c where c.seq > :cursor and c.seq <= :upto and c.kind in ('naming', 'mention')) t
    join paragraphs p on p.id = t.paragraph join paragraph_entities pe on pe.paragraph = t.paragraph
    join entities e on e.id = pe.entity group by e.id, p.chat)
select f.person, min(f.since) from (
    select person, since from bound
    union all
    select c.person, b.since from bound b join chat_persons c on c.name = b.name and c.chat = b.chat where b.by_name
    union all
    select a.person, b.since from bound b join person_aliases a on a.alias = b.name and a.chat in (0, b.chat) where b.by_name
    union all
    select c.person, t.since from told t join chat_persons c on c.name = t.name and c.chat = t.chat
    union all
    select a.person, t.since from told t join person_aliases a on a.norm = t.norm and a.chat in (0, t.chat)
    union all
    select c.person, 0 from met m join chat_persons c on c.name = m.name and (c.chat = m.chat or m.chat = 0)
    union all
    select a.person, 0 from met m join person_aliases a on a.alias = m.name and (a.chat in (0, m.chat) or m.chat = 0)
    union all
    select c.id, 0 from changes c where c.seq > :cursor and c.seq <= :upto and c.kind = 'person') f
join persons x on x.id = f.person group by f.person;

-- name: profile_has_news
-- whether the changes that have not been taken up yet hold paragraphs of these persons
select exists (select 1 from (select id from changes where seq > :cursor and kind = 'paragraph' order by seq limit :limit) c
               join paragraph_persons pp on pp.paragraph = c.id
               where pp.person in (select value from json_each(:persons)));

-- name: profile_tasks_open
select exists (select 1 from tasks where kind = 'profile' and key in (select value from json_each(:persons))
               and status in ('pending', 'processing', 'failed'));

-- name: profile_all_persons
select id from persons where id > :after order by id limit :limit;

-- name: profile_person
select id, person_id, name from persons where id = :person;

-- name: profile_person_names
-- every name with the chat it belongs to; of aliases chat 0 is every chat
select chat, name, '' from chat_persons where person = :person
union all
select chat, alias, origin from person_aliases where person = :person;

-- name: profile_known_as
-- who has this name, and where: chat null is everywhere
select c.person, c.chat from chat_persons c where c.name in (select value from json_each(:names))
union all
select a.person, nullif(a.chat, 0) from person_aliases a where a.alias in (select value from json_each(:names));

-- name: profile_by_name_alone
select id, name from persons where person_id in (select value from json_each(:names)) and person_id = name;

-- name: profile_material_newest
select p.id, p.scope, p.chat, p.kind, s.source_type, pp.role, coalesce(p.event_start, p.recorded_at), p.content,
       p.deleted_at is null and p.superseded_at is null and (p.expires_at is null or p.expires_at > :now)
from (select paragraph, role from paragraph_persons where person = :person and paragraph >= :since
      order by paragraph desc limit :looked_at) pp
join paragraphs p on p.id = pp.paragraph join sources s on s.id = p.source
where (:scopes is null or p.scope in (select value from json_each(:scopes)))
order by pp.paragraph desc limit :limit;

-- name: profile_material_first
select p.id, p.scope, p.chat, p.kind, s.source_type, pp.role, coalesce(p.event_start, p.recorded_at), p.content,
       p.deleted_at is null and p.superseded_at is null and (p.expires_at is null or p.expires_at > :now)
from (select paragraph, role from paragraph_persons where person = :person and paragraph >= :since
      order by paragraph limit :looked_at) pp
join paragraphs p on p.id = pp.paragraph join sources s on s.id = p.source
where (:scopes is null or p.scope in (select value from json_each(:scopes)))
order by pp.paragraph limit :limit;

-- name: profile_material_told
-- what names the person without being bound to them
select p.id, p.scope, p.chat, p.kind, s.source_type, 0, coalesce(p.event_start, p.recorded_at), p.content,
       p.deleted_at is null and p.superseded_at is null and (p.expires_at is null or p.expires_at > :now)
from paragraph_entities pe join paragraphs p on p.id = pe.paragraph join sources s on s.id = p.source
where pe.entity = :entity and pe.paragraph >= :since and (:scopes is null or p.scope in (select value from json_each(:scopes)))
order by pe.paragraph desc limit :limit;

-- name: profile_relations
-- the newest live relations that end at one of these entities, with the newest paragraph of the scope that supports each
select id, subject, predicate, object, confidence, paragraph from (
    select r.id, r.subject, r.predicate, r.object, r.confidence,
           (select max(e.paragraph) from relation_evidence e join paragraphs p on p.id = e.paragraph
            where e.relation = r.id and p.scope = :scope and p.deleted_at is null and p.superseded_at is null
              and (p.expires_at is null or p.expires_at > :now)) as paragraph
    from (select id, subject, predicate, object, confidence from relations
          where deleted_at is null and inactive_at is null and merged_into is null and id in (
              select id from relations where subject in (select value from json_each(:entities))
              union select id from relations where object in (select value from json_each(:entities)))
          order by id desc limit :looked_at) r) told
where paragraph is not null order by confidence desc, id desc limit :limit;

-- name: profile_fact_scopes
select distinct scope from facts where person in (select value from json_each(:persons)) limit :limit;

-- name: profile_facts
-- facts of a scope, those that hold or are contested first; the others tell which sentences are out of date
select * from (
    select f.id, f.attribute, f.value, f.polarity, f.confidence, coalesce(f.valid_from, f.recorded_at),
           f.status = 'active' and f.superseded_at is null and (f.valid_to is null or f.valid_to > :now) as holds,
           (select group_concat(e.paragraph) from fact_evidence e where e.fact = f.id),
           f.status = 'conflicted' and (f.valid_to is null or f.valid_to > :now) as contested, f.authority
    from facts f
    where f.person in (select value from json_each(:persons)) and f.scope = :scope and f.deleted_at is null
      and (f.norm <> '*' or f.attribute = 'diet'
           or (f.attribute not in ('partner', 'spouse') and exists (select 1 from facts o where o.superseded_by = f.id)))) told
order by holds or contested desc, confidence desc, id desc limit :limit;

-- name: profile_facts_alive
select id from facts
where id in (select value from json_each(:ids)) and status in ('active', 'conflicted') and deleted_at is null and superseded_at is null
  and (valid_to is null or valid_to > :now);

-- name: profile_scopes_met
select distinct chat from chat_persons where person in (select value from json_each(:persons));

-- name: profile_is_met
-- an alias that counts everywhere, or one of a chat that may be seen, is enough
select exists (select 1 from paragraph_persons pp join paragraphs p on p.id = pp.paragraph
               where pp.person in (select value from json_each(:persons)) and p.deleted_at is null
                 and (:scopes is null or p.scope in (select value from json_each(:scopes))))
    or exists (select 1 from person_aliases a where a.person in (select value from json_each(:persons))
                 and (:scopes is null or a.chat = 0 or a.chat in (select value from json_each(:scopes))));

-- name: profile_newest
-- the newest snapshot of each scope, the last derived first
select s.scope, s.version, s.content, s.confidence, s.derived_at
from profile_snapshots s
where s.person = :person and (:scopes is null or s.scope in (select value from json_each(:scopes)))
  and s.version = (select max(n.version) from profile_snapshots n where n.person = s.person and n.scope = s.scope)
order by s.derived_at desc, s.scope limit :limit;

-- name: profile_history
select s.scope, s.version, s.content, s.confidence, s.derived_at
from profile_snapshots s
where s.person = :person order by s.derived_at desc, s.id desc limit :limit offset :offset;

-- name: profile_history_count
select count(*) from profile_snapshots where person = :person;

-- name: profile_snapshot_insert
insert into profile_snapshots (person, scope, version, text, content, confidence, derived_at)
select :person, :scope, coalesce(max(version), 0) + 1, :text, :content, :confidence, :now
from profile_snapshots where person = :person and scope = :scope
returning id;

-- name: profile_evidence_insert
insert into profile_evidence (paragraph, snapshot) select value, :snapshot from json_each(:paragraphs) where true
on conflict do nothing;

-- name: profile_snapshots_prune
delete from profile_snapshots where person = :person and scope = :scope and version <= (
    select max(version) - :keep from profile_snapshots where person = :person and scope = :scope);

-- name: profile_override
select text, updated_by, source, updated_at from profile_overrides where person = :person;

-- name: profile_override_put
insert into profile_overrides (person, text, updated_by, source, updated_at)
values (:person, :text, :updated_by, :source, :now)
on conflict (person) do update set text = excluded.text, updated_by = excluded.updated_by, source = excluded.source,
                                   updated_at = excluded.updated_at;

-- name: profile_override_delete
delete from profile_overrides where person = :person;

-- name: profiles_list
-- persons with a snapshot or an override of whom something is left, the last changed first
with held as (
    select person, max(derived_at) as at from profile_snapshots group by person),
known as (
    select person, max(at) as at from (
        select person, at from held union all select person, updated_at as at from profile_overrides) group by person)
select x.id, k.at from known k join persons x on x.id = k.person
where (exists (select 1 from profile_overrides v where v.person = x.id)
       or exists (select 1 from person_aliases a where a.person = x.id)
       or exists (select 1 from profile_snapshots s where s.person = x.id and json_array_length(s.content, '$.items') > 0)
       or exists (select 1 from paragraph_persons pp join paragraphs p on p.id = pp.paragraph
                  where pp.person = x.id and p.deleted_at is null))
  and (:keyword is null
   or instr(lower(x.person_id), :keyword) > 0 or instr(lower(x.name), :keyword) > 0
   or exists (select 1 from chat_persons c where c.person = x.id and instr(lower(c.name), :keyword) > 0)
   or exists (select 1 from person_aliases a where a.person = x.id and (instr(a.norm, :folded) > 0 or instr(lower(a.alias), :keyword) > 0)))
order by k.at desc, x.id desc limit :limit offset :offset;

-- name: profiles_count
select count(*) from persons x
where (exists (select 1 from profile_snapshots s where s.person = x.id)
       or exists (select 1 from profile_overrides v where v.person = x.id))
  and (exists (select 1 from profile_overrides v where v.person = x.id)
       or exists (select 1 from person_aliases a where a.person = x.id)
       or exists (select 1 from profile_snapshots s where s.person = x.id and json_array_length(s.content, '$.items') > 0)
       or exists (select 1 from paragraph_persons pp join paragraphs p on p.id = pp.paragraph
                  where pp.person = x.id and p.deleted_at is null))
  and (:keyword is null
   or instr(lower(x.person_id), :keyword) > 0 or instr(lower(x.name), :keyword) > 0
   or exists (select 1 from chat_persons c where c.person = x.id and instr(lower(c.name), :keyword) > 0)
   or exists (select 1 from person_aliases a where a.person = x.id and (instr(a.norm, :folded) > 0 or instr(lower(a.alias), :keyword) > 0)));

-- name: person_alias_insert
insert into person_aliases (person, chat, norm, alias, origin, created_at)
values (:person, :chat, :norm, :alias, :origin, :now) on conflict do nothing returning person;

-- name: person_alias_delete
delete from person_aliases
where person = :person and norm = :norm and (:chat is null or chat = :chat) returning alias;

-- name: profile_evidence_of
-- whether a paragraph is bound to one of these persons, names them, or stands behind their newest profiles
select exists (select 1 from paragraph_persons where paragraph = :paragraph and person in (select value from json_each(:persons)))
    or exists (select 1 from profile_evidence e join profile_snapshots s on s.id = e.snapshot
               where e.paragraph = :paragraph and s.person in (select value from json_each(:persons)));

-- name: profile_paragraph_state
select deleted_at is not null, superseded_at is not null from paragraphs where id = :id;

-- name: profile_paragraph_delete
update paragraphs set deleted_at = :now where id = :id and deleted_at is null;

-- name: profile_relation_state
select r.deleted_at is not null, s.norm, o.norm from relations r
join entities s on s.id = r.subject join entities o on o.id = r.object where r.id = :id;

-- name: profile_relation_delete
update relations set deleted_at = :now where id = :id and deleted_at is null;

-- name: profile_relations_by
select e.relation from relation_evidence e join relations r on r.id = e.relation
where e.paragraph = :id and r.deleted_at is null;

-- name: profile_chat
select chat_id, group_id, user_id from chats where id = :chat;

-- name: profile_named_by
-- those of the paragraphs that are bound to one of these persons, or speak of one of these entities
select p.value from json_each(:ids) p
where exists (select 1 from paragraph_persons b where b.paragraph = p.value and b.person in (select value from json_each(:persons)))
   or exists (select 1 from paragraph_entities l where l.paragraph = p.value and l.entity in (select value from json_each(:entities)));

-- name: evidence_undo_paragraph
-- when it was deleted, whether its reference is, and whether that has been given a newer text
select p.deleted_at, r.deleted_at is not null, p.superseded_at is null and r.revision > p.revision
from paragraphs p join external_memory_refs r on r.id = p.ref where p.id = :id;

-- name: evidence_undo_relation
select deleted_at from relations where id = :id;
