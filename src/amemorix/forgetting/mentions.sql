-- name: mention_names
-- every name of these persons; an alias that was given for one chat counts there only
select person, 0, name from chat_persons where person in (select value from json_each(:ids))
union select id, 0, name from persons where id in (select value from json_each(:ids))
union select id, 0, person_id from persons where id in (select value from json_each(:ids))
union select person, chat, alias from person_aliases where person in (select value from json_each(:ids));

-- name: mention_lines_by_term
-- a hash may be met by chance across two others: whoever asks reads the text
select p.id, p.chat, p.content, p.deleted_at is null and p.superseded_at is null
from terms t cross join paragraphs p on p.id = t.id
where t.id > :after
  and (instr(t.v, :k0) or instr(t.v, :k1) or instr(t.v, :k2) or instr(t.v, :k3)
       or instr(t.v, :k4) or instr(t.v, :k5) or instr(t.v, :k6) or instr(t.v, :k7))
  and (:chats is null or p.chat in (select value from json_each(:chats)))
  and not exists (select 1 from paragraph_persons pp
                  where pp.person in (select value from json_each(:persons)) and pp.paragraph = p.id)
order by p.id;

-- name: mention_lines_by_word
select p.id, p.chat, p.content, p.deleted_at is null and p.superseded_at is null
from paragraphs p
where p.id > :after
  and (instr(p.content, :k0) or instr(p.content, :k1) or instr(p.content, :k2) or instr(p.content, :k3)
       or instr(p.content, :k4) or instr(p.content, :k5) or instr(p.content, :k6) or instr(p.content, :k7))
  and (:chats is null or p.chat in (select value from json_each(:chats)))
  and not exists (select 1 from paragraph_persons pp
                  where pp.person in (select value from json_each(:persons)) and pp.paragraph = p.id)
order by p.id;

-- name: by_hand_profiles
select person, text, updated_by, source, updated_at from profile_overrides
where person not in (select value from json_each(:persons)) order by person;

-- name: by_hand_fact
-- facts given by hand about others, of one scope or all
select id, scope, value from facts
where asserted_at is not null and deleted_at is null and coalesce(person, 0) not in (select value from json_each(:persons))
  and (:scope is null or scope = :scope) order by id;

-- name: by_hand_relation
select id, 0, replace(predicate, '_', ' ') from relations where origin = 'admin' and deleted_at is null order by id;

-- name: by_hand_entities
-- entities that stay and hold one of these names in their own, an alias or what is noted of them
select e.id, e.name || char(10) || e.metadata || char(10) || coalesce(
    (select group_concat(a.alias, char(10)) from entity_aliases a where a.entity = e.id), '')
from entities e
where e.deleted_at is null and e.merged_into is null and e.id not in (select value from json_each(:but))
  and exists (select 1 from json_each(:names) n
              where instr(e.norm, n.value) or (e.metadata <> '{}' and instr(lower(e.metadata), n.value))
                 or exists (select 1 from entity_aliases a where a.entity = e.id and instr(a.norm, n.value)))
  and (e.origin = 'admin' or exists (select 1 from relations r where r.origin = 'admin' and r.deleted_at is null
                                       and (r.subject = e.id or r.object = e.id))
       or exists (select 1 from paragraph_entities l join paragraphs p on p.id = l.paragraph
                  where l.entity = e.id and p.deleted_at is null and p.superseded_at is null
                    and p.id not in (select value from json_each(:paragraphs))))
order by e.id limit 1000;

-- name: by_hand_aliases
-- persons with an alias that holds one of these names
select a.person, group_concat(a.alias, char(10)) from person_aliases a
where a.person not in (select value from json_each(:persons))
  and exists (select 1 from json_each(:names) n where instr(a.norm, n.value))
group by a.person order by a.person;
