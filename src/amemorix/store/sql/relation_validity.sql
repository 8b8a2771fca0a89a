-- name: relations_ended
-- when each of the relations that were read from texts was over: the facts that the same paragraphs tell of the same ends have
-- all ended, and nothing has been read as saying it again since; first those are sifted out of which no such fact has ended
with meanings (predicate, attribute, polarity) as materialized (
    select json_extract(value, '$[0]'), json_extract(value, '$[1]'), cast(json_extract(value, '$[2]') as integer) from json_each(:meanings)),
doubted (id) as materialized (
    select distinct e.relation
    from json_each(:ids) j
    cross join relation_evidence e on e.relation = j.value
    cross join fact_evidence v on v.paragraph = e.paragraph
    cross join facts f indexed by facts_over on f.id = v.fact
    where f.status in ('superseded', 'retracted') or f.valid_to is not null),
ended (id, at, known) as materialized (
    select r.id, max(coalesce(f.valid_to, f.superseded_at, (select max(t.at) from fact_transitions t where t.fact = f.id))),
           max(coalesce(f.superseded_at, (select max(t.at) from fact_transitions t where t.fact = f.id)))
    from doubted d
    cross join relations r on r.id = d.id and r.origin in ('rule', 'model')
    cross join meanings m on m.predicate = replace(r.predicate, '_', ' ')
    cross join relation_evidence e on e.relation = r.id
    cross join fact_evidence v on v.paragraph = e.paragraph
    cross join facts f on f.id = v.fact and f.attribute = m.attribute and f.polarity = m.polarity and f.deleted_at is null
    cross join paragraphs p on p.id = e.paragraph and p.scope = f.scope
    cross join entities s on s.id = r.subject
    cross join entities o on o.id = r.object
    where p.deleted_at is null and p.superseded_at is null and (p.expires_at is null or p.expires_at > :now)
      and (:scopes is null or p.scope in (select value from json_each(:scopes)))
      and (instr(f.norm, o.norm) or instr(o.norm, f.norm))
      and (exists (select 1 from chat_persons n where n.person = f.person and lower(n.name) = s.norm)
           or exists (select 1 from persons n where n.id = f.person and lower(n.name) = s.norm)
           or exists (select 1 from person_aliases n where n.person = f.person and n.norm = s.norm)
           or exists (select 1 from chat_persons n join entity_aliases a on a.norm = lower(n.name) where n.person = f.person and a.entity = s.id))
    group by r.id
    having count(*) filter (where f.status in ('active', 'conflicted') and (f.valid_to is null or f.valid_to > :now)) = 0)
select id, at from ended
where at <= :now and not exists (
    select 1 from relation_evidence e join paragraphs p on p.id = e.paragraph
    where e.relation = ended.id and p.deleted_at is null and p.superseded_at is null and p.recorded_at > ended.known
      and (p.expires_at is null or p.expires_at > :now)
      and (:scopes is null or p.scope in (select value from json_each(:scopes))));
