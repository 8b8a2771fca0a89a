-- name: window_chat
-- the chat of a source, empty if it has none
select coalesce(c.chat_id, '') from sources s left join chats c on c.id = s.chat where s.id = :source;

-- name: window_persons
-- who is bound to these paragraphs, who said it first
select pp.paragraph, pp.person, pp.name, pp.role from paragraph_persons pp
where pp.paragraph in (select value from json_each(:ids)) order by pp.paragraph, pp.role, pp.person;

-- name: window_person_ids
select id, person_id from persons where id in (select value from json_each(:ids));

-- name: window_recorded
-- when these paragraphs were stored, and whether one is a quotation, which states nothing
select id, recorded_at, knowledge = 'quote' from paragraphs where id in (select value from json_each(:ids));

-- name: window_evidence
-- when what these facts rest on was last said, and whether one of those who said it is the person; live paragraphs only
select e.fact, max(coalesce(p.event_start, p.recorded_at)), max(case when p.speaker = f.person then 1 else 0 end)
from fact_evidence e join facts f on f.id = e.fact join paragraphs p on p.id = e.paragraph
where e.fact in (select value from json_each(:ids)) and e.stance = 'support'
  and p.deleted_at is null and p.superseded_at is null
group by e.fact;

-- name: window_fact
-- the fact that a paragraph was read as
select f.id from fact_evidence e join facts f on f.id = e.fact
where e.paragraph = :paragraph and f.person = :person and f.scope = :scope and f.attribute = :attribute
  and f.norm = :norm and f.polarity = :polarity and f.deleted_at is null;

-- name: window_sentences
-- facts of this attribute that rest on these paragraphs and on no others
select distinct f.id from fact_evidence e join facts f on f.id = e.fact
where e.paragraph in (select value from json_each(:ids)) and e.stance = 'support' and f.person = :person
  and f.scope = :scope and f.attribute = :attribute and f.deleted_at is null and f.asserted_at is null and not exists (
      select 1 from fact_evidence o join paragraphs p on p.id = o.paragraph
      where o.fact = f.id and o.stance = 'support' and p.deleted_at is null and p.superseded_at is null
        and o.paragraph not in (select value from json_each(:ids)))
order by f.id;
