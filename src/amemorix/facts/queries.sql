-- name: fact_changes
-- the paragraphs named in the next changes, live or not, and how far that reads; and whether a name in one became known
select seq, id, kind = 'naming' from changes where seq > :cursor and kind in ('paragraph', 'naming') order by seq limit :limit;

-- name: fact_hearsay_of
-- facts of persons that these paragraphs only name
select e.paragraph, f.id, f.person from fact_evidence e join facts f on f.id = e.fact join paragraphs p on p.id = e.paragraph
where e.paragraph in (select value from json_each(:ids)) and f.person is not null and f.deleted_at is null
  and e.authority = case p.kind when 'summary' then 'summary' else 'rule' end
order by e.paragraph, f.id;

-- name: fact_evidence_drop
delete from fact_evidence where fact = :fact and paragraph = :paragraph;

-- name: fact_paragraphs_after
select id from paragraphs where id > :after order by id limit :limit;

-- name: fact_material
select p.id, p.scope, p.kind, p.speaker, s.source_type, p.event_start, p.recorded_at, p.content, p.metadata,
       p.deleted_at is null and p.superseded_at is null and p.derive = 1, coalesce(c.chat_id, '')
from paragraphs p join sources s on s.id = p.source left join chats c on c.id = p.chat
where p.id in (select value from json_each(:ids)) order by p.id;

-- name: fact_just_before
-- the messages before one in its chat, the newest first, as far as they are no older than so many seconds
select b.content, b.speaker, b.id from paragraphs n join paragraphs b on b.id in (
    select id from paragraphs where scope = n.scope and id < n.id order by id desc limit :limit)
where n.id = :id and b.kind = 'message' and b.derive = 1 and b.deleted_at is null
  and coalesce(b.event_start, b.recorded_at) > coalesce(n.event_start, n.recorded_at) - :seconds
order by b.id desc;

-- name: fact_just_after
-- the messages after one in its chat, the oldest first, as far as they are no later than so many seconds
select b.content, b.speaker, b.id from paragraphs n join paragraphs b on b.id in (
    select id from paragraphs where scope = n.scope and id > n.id order by id limit :limit)
where n.id = :id and b.kind = 'message' and b.derive = 1 and b.deleted_at is null
  and coalesce(b.event_start, b.recorded_at) < coalesce(n.event_start, n.recorded_at) + :seconds
order by b.id;

-- name: fact_is_late
-- whether its speaker said something later that was stored before it
select 1 from paragraphs where scope = :scope and event_start > :at and id < :id and speaker = :speaker limit 1;

-- name: fact_lines_of
-- a message, and of the last ones of its speaker up to a row those of its chat that were said before it, or later
select p.id, p.content, e.vector from paragraphs p
left join embeddings e on e.generation = :generation and e.paragraph = p.id
where p.id in (select paragraph from paragraph_persons
               where person = :speaker and paragraph <= :upto and role = 1 order by paragraph desc limit :limit)
  and p.scope = :scope and p.kind = 'message' and p.derive = 1 and p.deleted_at is null and p.superseded_at is null
  and (p.id = :id or :later = case when (coalesce(p.event_start, p.recorded_at), p.id) > (:at, :id) then 1 else 0 end)
order by p.id desc;

-- name: facts_with_vectors
select e.fact, v.vector from fact_evidence e cross join embeddings v on v.generation = :generation and v.paragraph = e.paragraph
where e.fact in (select value from json_each(:ids)) and e.stance = 'support' and length(v.vector) > 0;

-- name: fact_vectors
-- the vectors of a generation that these paragraphs have, nothing for those that the model failed on
select v.value, e.vector from json_each(:ids) v
left join embeddings e on e.generation = :generation and e.paragraph = v.value
where e.vector is not null
   or exists (select 1 from embedding_failures f where f.generation = :generation and f.paragraph = v.value);

-- name: fact_persons_of
select paragraph, person, role from paragraph_persons
where paragraph in (select value from json_each(:ids)) order by paragraph, role, person;

-- name: fact_groups_of
-- the groups of the facts that rest on these paragraphs, and of those that such a fact has taken the place of, each with
-- the first time at which that may change anything
select f.person, f.entity, f.scope, f.attribute, case f.cardinality when 'set' then f.norm end, min(coalesce(j.at, f.valid_from)) from (
    select e.fact as id, e.at from fact_evidence e where e.paragraph in (select value from json_each(:ids))
    union all
    select b.id, null from fact_evidence e join facts b on b.superseded_by = e.fact
    where e.paragraph in (select value from json_each(:ids))) j
join facts f on f.id = j.id where f.deleted_at is null
group by 1, 2, 3, 4, 5 order by min(f.id);

-- name: facts_in_group
select f.* from fact_rows f
where f.id in (select id from facts where person = :person and scope = :scope and attribute = :attribute
               union all
               select id from facts where entity = :entity and scope = :scope and attribute = :attribute)
order by f.id;

-- name: facts_in_group_of_norm
select f.* from fact_rows f
where f.id in (select id from facts where person = :person and scope = :scope and attribute = :attribute and norm = :norm
               union all
               select id from facts where entity = :entity and scope = :scope and attribute = :attribute and norm = :norm)
order by f.id;

-- name: facts_open
-- the facts of a group and polarity that nothing puts an end to, or something from a time on: the first of these and the
-- newest of those, up to a limit; and all that a hand decides
select f.* from fact_rows f where f.id in (
    select id from (select id from facts where person = :person and scope = :scope and attribute = :attribute
                      and polarity = :polarity and outdone_at is null order by id desc limit :limit)
    union
    select id from (select id from facts where person = :person and scope = :scope and attribute = :attribute
                      and polarity = :polarity and outdone_at >= :since order by outdone_at limit :limit)
    union
    select id from facts indexed by facts_by_hand where person = :person and scope = :scope and attribute = :attribute
      and polarity = :polarity and (pinned or asserted_at is not null))
order by f.id;

-- name: facts_open_of_norms
-- the same, of some values only
select f.* from fact_rows f where f.id in (
    select id from (select n.id from json_each(:norms) v cross join facts n
                    where n.norm = v.value and n.person = :person and n.scope = :scope and n.attribute = :attribute and n.polarity = :polarity
                      and n.outdone_at is null order by n.id desc limit :limit)
    union
    select id from (select n.id from json_each(:norms) v cross join facts n
                    where n.norm = v.value and n.person = :person and n.scope = :scope and n.attribute = :attribute and n.polarity = :polarity
                      and n.outdone_at >= :since order by n.outdone_at limit :limit)
    union
    select id from facts indexed by facts_by_hand where person = :person and scope = :scope and attribute = :attribute
      and polarity = :polarity and (pinned or asserted_at is not null)
      and norm in (select value from json_each(:norms)))
order by f.id;

-- name: fact_points
-- what live paragraphs say of these facts; refuted ones say nothing
select e.fact, e.paragraph, e.at, f.norm, f.polarity, e.value, e.authority, e.confidence, e.until, e.told, e.sentence
from fact_evidence e join facts f on f.id = e.fact join paragraphs p on p.id = e.paragraph and p.scope = f.scope
where e.fact in (select value from json_each(:ids)) and e.stance = 'support'
  and p.deleted_at is null and p.superseded_at is null
order by e.fact, e.paragraph;

-- name: fact_points_newest
-- the same, of each fact those that were said last
select e.fact, e.paragraph, e.at, f.norm, f.polarity, e.value, e.authority, e.confidence, e.until, e.told, e.sentence
from json_each(:ids) v join facts f on f.id = v.value
join fact_evidence e on e.fact = f.id and e.paragraph in (
    select n.paragraph from fact_evidence n join paragraphs p on p.id = n.paragraph and p.scope = f.scope
    where n.fact = f.id and n.stance = 'support' and p.deleted_at is null and p.superseded_at is null
    order by coalesce(n.told, n.at) desc limit :most)
order by e.fact, e.paragraph;

-- name: facts_refuted
select distinct fact from fact_evidence where fact in (select value from json_each(:ids)) and stance = 'refute';

-- name: facts_given_up_for
select min(outdone_at) from facts
where superseded_by in (select value from json_each(:ids)) and status = 'superseded' and not pinned
  and deleted_at is null and outdone_at < :before;

-- name: facts_standing
-- those that a hand or a live paragraph supports and that nobody retracted
select f.id from facts f
where f.id in (select value from json_each(:ids)) and f.deleted_at is null and f.status <> 'retracted'
  and (f.asserted_at is not null or exists (
      select 1 from fact_evidence e cross join paragraphs p on p.id = e.paragraph
      where e.fact = f.id and e.stance = 'support' and p.scope = f.scope and p.deleted_at is null and p.superseded_at is null));

-- name: fact_insert
insert into facts (person, entity, scope, attribute, value, norm, polarity, cardinality, stability, authority, status,
                   confidence, asserted_at, merged, valid_from, valid_to, recorded_at, kind, importance)
values (:person, :entity, :scope, :attribute, :value, :norm, :polarity, :cardinality, :stability, :authority, 'active',
        :confidence, :asserted_at, :merged, :valid_from, :valid_to, :now, :kind, :importance) returning id;

-- name: fact_update
update facts set value = :value, authority = :authority, status = :status, confidence = :confidence,
                 valid_from = :valid_from, valid_to = :valid_to, superseded_at = :superseded_at,
                 superseded_by = :superseded_by, outdone_at = :outdone_at, doubted_by = :doubted_by,
                 kind = :kind, importance = :importance
where id = :id;

-- name: fact_decide
-- what a hand, or the dedup checker, says of a fact
update facts set status = :status, pinned = :pinned, asserted_at = :asserted_at, deleted_at = :deleted_at,
                 valid_to = :valid_to, superseded_at = :superseded_at, superseded_by = :superseded_by, doubted_by = :doubted_by
where id = :id;

-- name: fact_evidence_put
insert into fact_evidence (fact, paragraph, value, at, until, told, authority, confidence, sentence)
values (:fact, :paragraph, :value, :at, :until, :told, :authority, :confidence, :sentence) on conflict (fact, paragraph) do nothing;

-- name: fact_evidence_move
update fact_evidence set fact = :to where fact = :fact and paragraph = :paragraph
  and not exists (select 1 from fact_evidence o where o.fact = :to and o.paragraph = :paragraph);

-- name: fact_evidence_refute
update fact_evidence set stance = :stance where fact = :fact and paragraph = :paragraph;

-- name: fact_said_before
-- whether the paragraph has been read as saying this
select 1 from fact_evidence e join facts f on f.id = e.fact
where e.paragraph = :paragraph and f.attribute = :attribute and f.norm = :norm and f.polarity = :polarity
  and f.scope = :scope and (f.person = :person or f.entity = :entity);

-- name: fact_statements
-- what is or was held of a person in a scope, the newest first, each with the newest sentence in which it was said
select f.attribute, f.norm, f.polarity, coalesce(
    (select e.sentence from fact_evidence e where e.fact = f.id and e.sentence <> '' order by e.at desc, e.paragraph desc limit 1),
    f.value), f.kind, f.valid_from,
  coalesce((select e.at from fact_evidence e where e.fact = f.id order by e.at, e.paragraph limit 1), f.valid_from),
  coalesce((select e.paragraph from fact_evidence e where e.fact = f.id order by e.at, e.paragraph limit 1), 0)
from fact_rows f where f.person = :person and f.scope = :scope and f.status <> 'retracted' and f.norm <> '*'
order by f.id desc limit :limit;

-- name: fact_rows_of_key
-- the newest facts that state this
select id from facts
where person = :person and scope = :scope and attribute = :attribute and norm = :norm and polarity = :polarity
  and deleted_at is null order by id desc limit 8;

-- name: fact_link_put
insert into fact_links (fact, later, outcome, reason) values (:fact, :later, :outcome, :reason)
on conflict (fact, later) do update set outcome = excluded.outcome, reason = excluded.reason;

-- name: fact_links_to
-- what these facts may have taken the place of, or put in doubt
select distinct fact from fact_links where later in (select value from json_each(:ids)) order by fact;

-- name: fact_links_of
select l.fact, l.later, l.outcome, l.reason from fact_links l
where l.fact in (select value from json_each(:ids)) order by l.fact, l.later;

-- name: fact_last_said
-- when each fact was said, as far as live paragraphs tell, or vouched for by a hand
select e.fact, coalesce(p.event_start, p.recorded_at), p.id from fact_evidence e
join facts f on f.id = e.fact join paragraphs p on p.id = e.paragraph and p.scope = f.scope
where e.fact in (select value from json_each(:ids)) and e.stance = 'support' and p.deleted_at is null and p.superseded_at is null
  and (:as_of is null or p.recorded_at <= :as_of)
union all
select id, asserted_at, 0 from facts where id in (select value from json_each(:ids)) and asserted_at is not null;

-- name: fact_statement_read
-- the statement that this paragraph was read as, if it was
select e.fact from fact_evidence e join facts f on f.id = e.fact
where e.paragraph = :paragraph and f.person = :person and f.attribute = :attribute;

-- name: fact_gave_way
-- when this fact first gave way to that one, if what said so then counts today: it may have been deleted meanwhile
select t.at from fact_transitions t
where t.fact = :fact and t.cause = :successor and t.became = 'superseded' and exists (
    select 1 from fact_evidence e join paragraphs p on p.id = e.paragraph
    where e.fact = :successor and e.stance = 'support' and p.deleted_at is null and p.superseded_at is null
      and p.recorded_at <= t.at)
order by t.id limit 1;

-- name: fact_transition_insert
insert into fact_transitions (fact, was, became, cause, undo, requested_by, reason, at)
values (:fact, :was, :became, :cause, :undo, :requested_by, :reason, :at);

-- name: facts_of_subjects
-- the end of whatever was held (*) tells something only where it ended what was known
-- what is known now of persons and entities, or with :past what is known today of what was true :at a time
select f.* from fact_rows f
where f.id in (select id from facts where person in (select value from json_each(:persons))
               union all
               select id from facts where entity in (select value from json_each(:entities)))
  and f.status <> 'retracted' and (:past or f.status <> 'superseded') and f.valid_from <= :at and (f.valid_to is null or f.valid_to > :at)
  and (:scopes is null or f.scope in (select value from json_each(:scopes)))
  and (f.asserted_at is not null or exists (
      select 1 from fact_evidence e cross join paragraphs p on p.id = e.paragraph
      where e.fact = f.id and e.stance = 'support' and p.scope = f.scope and p.deleted_at is null and p.superseded_at is null
        and (p.expires_at is null or p.expires_at > :now)))
  and (f.norm <> '*' or f.attribute = 'diet' or exists (select 1 from facts o where o.superseded_by = f.id))
order by exists (select 1 from fact_evidence e where e.fact = f.id and e.paragraph in (select value from json_each(:paragraphs))) desc,
  f.attribute = 'statement', f.valid_from desc, f.id desc limit :limit;

-- name: facts_as_of
-- what the memory held true at a time, by the words it had then; deleted words say nothing
select f.*, held.became from fact_rows f
join fact_transitions held on held.id = (
    select t.id from fact_transitions t where t.fact = f.id and t.at <= :as_of order by t.id desc limit 1)
where f.id in (select id from facts where person in (select value from json_each(:persons))
               union all
               select id from facts where entity in (select value from json_each(:entities)))
  and held.became in ('active', 'conflicted')
  and f.valid_from <= :as_of and (f.valid_to is null or f.valid_to > :as_of or f.superseded_at > :as_of)
  and (:scopes is null or f.scope in (select value from json_each(:scopes)))
  and (f.asserted_at is not null or exists (
      select 1 from fact_evidence e cross join paragraphs p on p.id = e.paragraph
      where e.fact = f.id and e.stance = 'support' and p.scope = f.scope and p.deleted_at is null and p.recorded_at <= :as_of
        and (p.superseded_at is null or p.superseded_at > :as_of) and (p.expires_at is null or p.expires_at > :now)
        and not exists (select 1 from paragraphs n
                        where n.ref = p.ref and n.revision > p.revision and n.deleted_at is not null)))
  and (f.norm <> '*' or f.attribute = 'diet' or exists (select 1 from facts o where o.superseded_by = f.id))
order by exists (select 1 from fact_evidence e where e.fact = f.id and e.paragraph in (select value from json_each(:paragraphs))) desc,
  f.attribute = 'statement', f.valid_from desc, f.id desc limit :limit;

-- name: facts_given_way
-- what gave way to these facts
select f.* from fact_rows f
where f.id in (select id from facts where superseded_by in (select value from json_each(:ids))) and f.status = 'superseded'
order by f.id desc limit :limit;

-- name: facts_resting_on
-- the facts that these paragraphs support
select e.fact, e.paragraph from fact_evidence e
where e.fact in (select value from json_each(:ids)) and e.paragraph in (select value from json_each(:paragraphs))
  and e.stance = 'support' order by e.fact, e.paragraph;

-- name: fact_lines_said
-- who said these messages, what and when
select m.id, p.person_id, m.content, coalesce(m.event_start, m.recorded_at)
from paragraphs m join persons p on p.id = m.speaker
where m.id in (select value from json_each(:ids)) and m.kind = 'message' and m.derive = 1 and m.deleted_at is null and m.superseded_at is null;

-- name: facts_listed
select f.* from fact_rows f
where (:persons is null or f.person in (select value from json_each(:persons)))
  and (:entity is null or f.entity = :entity)
  and (:attribute is null or f.attribute = :attribute or f.attribute like :attribute || ':%')
  and (:kind is null or f.kind = :kind)
  and (:statuses is null or case when f.status = 'active' and f.doubted_by is not null then 'maybe_outdated' else f.status end
                            in (select value from json_each(:statuses)))
  and (:text is null or instr(lower(f.value), :text) or instr(f.norm, :text))
  and (:scopes is null or f.scope in (select value from json_each(:scopes)))
  and (f.asserted_at is not null or exists (
      select 1 from fact_evidence e cross join paragraphs p on p.id = e.paragraph
      where e.fact = f.id and (e.stance = 'support' or f.status = 'retracted')
        and p.scope = f.scope and p.deleted_at is null and p.superseded_at is null and (p.expires_at is null or p.expires_at > :now)))
  and (f.norm <> '*' or f.attribute = 'diet' or exists (select 1 from facts o where o.superseded_by = f.id))
order by f.id desc limit :limit offset :offset;

-- name: fact_some
select f.* from fact_rows f where f.id in (select value from json_each(:ids)) order by f.id;

-- name: fact_one
select f.* from fact_rows f where f.id = :id;

-- name: fact_transitions_of
select was, became, cause, undo, requested_by, reason, at from fact_transitions where fact = :fact order by id;

-- name: fact_evidence_of
-- live paragraphs only
select e.fact, e.paragraph, e.stance, e.at, e.authority, e.confidence,
       coalesce(nullif(e.sentence, ''), e.value), coalesce(p.event_start, p.recorded_at), p.kind, coalesce(p.speaker, 0), p.scope
from fact_evidence e join facts f on f.id = e.fact join paragraphs p on p.id = e.paragraph and p.scope = f.scope
where e.fact in (select value from json_each(:ids)) and p.deleted_at is null and p.superseded_at is null
  and (p.expires_at is null or p.expires_at > :now)
order by e.fact, e.at, e.paragraph;

-- name: fact_evidence_then
-- the paragraphs that the memory held at a time
select e.fact, e.paragraph, e.stance, e.at, e.authority, e.confidence,
       coalesce(nullif(e.sentence, ''), e.value), coalesce(p.event_start, p.recorded_at), p.kind, coalesce(p.speaker, 0), p.scope
from fact_evidence e join facts f on f.id = e.fact cross join paragraphs p on p.id = e.paragraph and p.scope = f.scope
where e.fact in (select value from json_each(:ids)) and p.deleted_at is null and p.recorded_at <= :as_of
  and (p.superseded_at is null or p.superseded_at > :as_of) and (p.expires_at is null or p.expires_at > :now)
  and not exists (select 1 from paragraphs n
                  where n.ref = p.ref and n.revision > p.revision and n.deleted_at is not null)
order by e.fact, e.at, e.paragraph;

-- name: fact_counts
select case when status = 'active' and doubted_by is not null then 'maybe_outdated' else status end, count(*)
from facts where deleted_at is null group by 1;

-- name: fact_entities_named
-- entities that a fact is about and whose name the text holds
select e.id, e.name from entities e
where e.id in (select distinct entity from facts where entity is not null) and instr(:text, e.norm) limit 20;

-- name: fact_person_names_seen
-- every name by which these persons go in these chats, those by which they were met there first
select c.person, c.name from chat_persons c
where c.person in (select value from json_each(:ids)) and c.chat in (select value from json_each(:scopes))
union all
select a.person, a.alias from person_aliases a
where a.person in (select value from json_each(:ids)) and (a.chat = 0 or a.chat in (select value from json_each(:scopes)));

-- name: fact_person_name_newest
-- the one of these names by which a person was met last in these chats, as far as their newest paragraphs tell
select n.name from (select paragraph, name from paragraph_persons where person = :person order by paragraph desc limit 2000) n
join paragraphs p on p.id = n.paragraph
where p.chat in (select value from json_each(:scopes)) and n.name in (select value from json_each(:names))
  and p.deleted_at is null
order by n.paragraph desc limit 1;

-- name: fact_entity_by_norm
select coalesce(e.merged_into, e.id) from entities e where e.norm = :norm
union all
select coalesce(e.merged_into, e.id) from entity_aliases a join entities e on e.id = a.entity where a.norm = :norm limit 1;

-- name: fact_scope_chats
select id, chat_id from chats where id in (select value from json_each(:ids));

-- name: fact_lone_speakers
-- who speaks in these chats, two of them at most: of the newest messages of each
select distinct p.speaker from json_each(:scopes) s join paragraphs p on p.id in (
    select id from paragraphs where scope = s.value order by id desc limit 200)
where p.speaker <> 0 and p.kind = 'message' and p.deleted_at is null limit 2;
