-- name: profile_facts
-- what is held true of a person, the weightiest first; the end of whatever was held (*) tells nothing here
select f.* from fact_rows f
where f.id in (
    select id from facts
    where person = :person and status in ('active', 'conflicted') and deleted_at is null
      and (:scopes is null or scope in (select value from json_each(:scopes)))
      and valid_from <= :now and (valid_to is null or valid_to > :now)
    order by importance desc, id desc limit :limit)
  and (f.asserted_at is not null or exists (
      select 1 from fact_evidence e cross join paragraphs p
      where e.fact = f.id and p.id = e.paragraph and e.stance = 'support' and p.scope = f.scope and p.deleted_at is null
        and p.superseded_at is null and (p.expires_at is null or p.expires_at > :now)))
  and (f.norm <> '*' or f.attribute = 'diet'
       or (f.attribute not in ('partner', 'spouse') and exists (select 1 from facts o where o.superseded_by = f.id)))
order by f.importance desc, f.id desc;

-- name: profile_said
-- what these facts rest on, live or as it was held at a time, the newest first; of messages of others who said it
select e.fact, e.paragraph, coalesce(p.event_start, p.recorded_at), e.sentence,
       case when p.kind = 'message' then coalesce((
           select b.name from paragraph_persons b
           where b.paragraph = p.id and b.role = 1 and b.person not in (select value from json_each(:persons))
           order by b.person limit 1), '') else '' end
from fact_evidence e join facts f on f.id = e.fact join paragraphs p on p.id = e.paragraph and p.scope = f.scope
where e.fact in (select value from json_each(:ids)) and e.stance = 'support' and p.deleted_at is null
  and e.paragraph in (select n.paragraph from fact_evidence n where n.fact = e.fact order by n.paragraph desc limit 24)
  and (p.expires_at is null or p.expires_at > :now) and p.recorded_at <= coalesce(:as_of, p.recorded_at)
  and (p.superseded_at is null or p.superseded_at > :as_of)
order by e.fact, coalesce(p.event_start, p.recorded_at) desc, e.paragraph desc;

-- name: profile_lines
-- what these persons said last, without what is no longer held of them
select p.id, coalesce(p.event_start, p.recorded_at), p.content
from paragraph_persons b join paragraphs p on p.id = b.paragraph
where b.person in (select value from json_each(:persons)) and b.role = 1 and p.kind = 'message' and p.derive = 1
  and p.deleted_at is null and p.superseded_at is null and (p.expires_at is null or p.expires_at > :now)
  and (:scopes is null or p.scope in (select value from json_each(:scopes)))
  and not exists (select 1 from fact_evidence e join facts f on f.id = e.fact
                  where e.paragraph = p.id and f.person = b.person and f.status in ('superseded', 'retracted'))
order by b.paragraph desc limit :limit;

-- name: profile_relations
-- the newest live relations that end at one of these entities, with the newest paragraph within sight that supports each
select t.id, t.subject, t.predicate, t.object, t.confidence, t.paragraph, coalesce(p.event_start, p.recorded_at) from (
    select r.id, r.subject, r.predicate, r.object, r.confidence,
           (select max(e.paragraph) from relation_evidence e join paragraphs p on p.id = e.paragraph
            where e.relation = r.id and p.deleted_at is null and p.superseded_at is null
              and (:scopes is null or p.scope in (select value from json_each(:scopes)))
              and (p.expires_at is null or p.expires_at > :now)) as paragraph
    from (select id, subject, predicate, object, confidence from relations
          where deleted_at is null and inactive_at is null and merged_into is null and id in (
              select id from relations where subject in (select value from json_each(:entities))
              union select id from relations where object in (select value from json_each(:entities)))
          order by id desc limit :looked_at) r) t
join paragraphs p on p.id = t.paragraph
order by t.confidence desc, t.id desc limit :limit;

-- name: profile_last_change
-- how often what is known of these persons changed, in one scope or another, and when it did last
select count(*), max(at) from (
    select distinct f.scope, t.at as at from facts f join fact_transitions t on t.fact = f.id
    where f.person in (select value from json_each(:persons)) and f.deleted_at is null
      and (:scopes is null or f.scope in (select value from json_each(:scopes)))) c;

-- name: profile_history
select scope, row_number() over (partition by scope order by at), at from (
    select distinct f.scope, t.at as at from facts f join fact_transitions t on t.fact = f.id
    where f.person in (select value from json_each(:persons)) and f.deleted_at is null) c
order by at desc, scope limit :limit offset :offset;

-- name: profile_evidence_of
-- whether a paragraph is bound to one of these persons, or a fact about them or a relation of one of these names rests on it
select exists (select 1 from paragraph_persons where paragraph = :paragraph and person in (select value from json_each(:persons)))
    or exists (select 1 from fact_evidence e join facts f on f.id = e.fact
               where e.paragraph = :paragraph and f.person in (select value from json_each(:persons)))
    or exists (select 1 from relation_evidence e join relations r on r.id = e.relation
               join entities n on n.id in (r.subject, r.object)
               where e.paragraph = :paragraph and n.norm in (select value from json_each(:names)));

-- name: profiles_list
-- persons of whom something was said or written by hand, the last changed first
select k.id, k.at from (
    select x.id, x.person_id, x.name, max(
        coalesce((select updated_at from profile_overrides where person = x.id), 0),
        coalesce((select p.recorded_at from paragraphs p
                  where p.id = (select max(b.paragraph) from paragraph_persons b where b.person = x.id)), 0)) as at
    from persons x) k
where (exists (select 1 from profile_overrides v where v.person = k.id)
       or exists (select 1 from person_aliases a where a.person = k.id)
       or exists (select 1 from paragraph_persons b join paragraphs p on p.id = b.paragraph
                  where b.person = k.id and p.deleted_at is null))
  and (:keyword is null
   or instr(lower(k.person_id), :keyword) > 0 or instr(lower(k.name), :keyword) > 0
   or exists (select 1 from chat_persons c where c.person = k.id and instr(lower(c.name), :keyword) > 0)
   or exists (select 1 from person_aliases a where a.person = k.id and (instr(a.norm, :folded) > 0 or instr(lower(a.alias), :keyword) > 0)))
order by k.at desc, k.id desc limit :limit offset :offset;

-- name: profiles_count
select count(*) from persons x
where (exists (select 1 from profile_overrides v where v.person = x.id)
       or exists (select 1 from person_aliases a where a.person = x.id)
       or exists (select 1 from paragraph_persons b join paragraphs p on p.id = b.paragraph
                  where b.person = x.id and p.deleted_at is null))
  and (:keyword is null
   or instr(lower(x.person_id), :keyword) > 0 or instr(lower(x.name), :keyword) > 0
   or exists (select 1 from chat_persons c where c.person = x.id and instr(lower(c.name), :keyword) > 0)
   or exists (select 1 from person_aliases a where a.person = x.id and (instr(a.norm, :folded) > 0 or instr(lower(a.alias), :keyword) > 0)));

-- name: profile_has_news
-- whether the changes that have not been taken up yet hold paragraphs of these persons
select exists (select 1 from (select id from changes where seq > :cursor and kind = 'paragraph' order by seq limit :limit) c
               join paragraph_persons pp on pp.paragraph = c.id
               where pp.person in (select value from json_each(:persons)));

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

-- name: profile_scopes_met
select distinct chat from chat_persons where person in (select value from json_each(:persons));

-- name: profile_is_met
-- an alias that counts everywhere, or one of a chat that may be seen, is enough
select exists (select 1 from paragraph_persons pp join paragraphs p on p.id = pp.paragraph
               where pp.person in (select value from json_each(:persons)) and p.deleted_at is null
                 and (:scopes is null or p.scope in (select value from json_each(:scopes))))
    or exists (select 1 from person_aliases a where a.person in (select value from json_each(:persons))
                 and (:scopes is null or a.chat = 0 or a.chat in (select value from json_each(:scopes))));

-- name: profile_override
select text, updated_by, source, updated_at from profile_overrides where person = :person;

-- name: profile_override_put
insert into profile_overrides (person, text, updated_by, source, updated_at)
values (:person, :text, :updated_by, :source, :now)
on conflict (person) do update set text = excluded.text, updated_by = excluded.updated_by, source = excluded.source,
                                   updated_at = excluded.updated_at;

-- name: person_alias_insert
insert into person_aliases (person, chat, norm, alias, origin, created_at)
values (:person, :chat, :norm, :alias, :origin, :now) on conflict do nothing returning person;

-- name: person_alias_delete
delete from person_aliases
where person = :person and norm = :norm and (:chat is null or chat = :chat) returning alias;

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

-- name: evidence_undo_paragraph
-- when it was deleted, whether its reference is, and whether that has been given a newer text
select p.deleted_at, r.deleted_at is not null, p.superseded_at is null and r.revision > p.revision
from paragraphs p join external_memory_refs r on r.id = p.ref where p.id = :id;

-- name: evidence_undo_relation
select deleted_at from relations where id = :id;

-- name: profile_chat
select chat_id, group_id, user_id from chats where id = :chat;
