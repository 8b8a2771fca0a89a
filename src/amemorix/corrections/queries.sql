-- name: correction_insert
insert into correction_plans (request, person, chat, plan, status, requested_by, reason, created_at)
values (:request, :person, :chat, :plan, 'awaiting_confirmation', :requested_by, :reason, :now) returning id;

-- name: correction_get
select p.id, p.request, coalesce(c.chat_id, ''), coalesce(o.person_id, ''), p.plan, p.status, p.result, p.requested_by,
       p.reason, p.created_at, p.executed_at, p.rolled_back_at
from correction_plans p left join chats c on c.id = p.chat left join persons o on o.id = p.person where p.id = :id;

-- name: correction_list
select p.id, p.request, coalesce(c.chat_id, ''), coalesce(o.person_id, ''), p.plan, p.status, p.result, p.requested_by,
       p.reason, p.created_at, p.executed_at, p.rolled_back_at
from correction_plans p left join chats c on c.id = p.chat left join persons o on o.id = p.person
where (:statuses is null or p.status in (select value from json_each(:statuses)))
  and (:chat is null or p.chat = :chat)
order by p.id desc limit :limit offset :offset;

-- name: correction_count
select count(*) from correction_plans
where (:statuses is null or status in (select value from json_each(:statuses))) and (:chat is null or chat = :chat);

-- name: correction_executed
update correction_plans set status = 'executed', executed_at = :now, result = :result
where id = :id and status = 'awaiting_confirmation';

-- name: correction_rolled_back
update correction_plans set status = 'rolled_back', rolled_back_at = :now
where id = :id and status = 'executed';

-- name: correction_relations
-- live relations that these paragraphs support
select distinct r.id, r.subject, r.predicate, r.object from relation_evidence e join relations r on r.id = e.relation
where e.paragraph in (select value from json_each(:ids)) and r.deleted_at is null;

-- name: correction_scopes
select distinct scope from paragraphs where id in (select value from json_each(:ids));

-- name: correction_relations_alone
-- those of the relations that no live paragraph but these supports, and no hand has asserted
select r.id from relations r
where r.id in (select value from json_each(:relations)) and r.origin <> 'admin' and not exists (
    select 1 from relation_evidence e join paragraphs p on p.id = e.paragraph
    where e.relation = r.id and p.deleted_at is null and p.superseded_at is null
      and p.id not in (select value from json_each(:ids)));

-- name: correction_facts
-- facts held true that rest on these paragraphs, and whether another one states them too
select distinct f.id, f.value, exists (
    select 1 from fact_evidence o join paragraphs p on p.id = o.paragraph
    where o.fact = f.id and o.stance = 'support' and o.paragraph not in (select value from json_each(:ids))
      and p.deleted_at is null and p.superseded_at is null
) from fact_evidence e join facts f on f.id = e.fact
where e.paragraph in (select value from json_each(:ids)) and f.deleted_at is null and f.status in ('active', 'conflicted');

-- name: correction_held
-- the live paragraphs that state facts held true of these persons in these scopes, now or at a time
select e.paragraph
from facts f join fact_evidence e on e.fact = f.id join paragraphs p on p.id = e.paragraph and p.scope = f.scope
where f.person in (select value from json_each(:persons))
  and (:scopes is null or f.scope in (select value from json_each(:scopes)))
  and (f.status in ('active', 'conflicted') or f.status = 'superseded' and f.superseded_at > :held_at)
  and f.deleted_at is null and f.polarity = 1
  and e.stance = 'support' and p.deleted_at is null and p.superseded_at is null
  and (p.expires_at is null or p.expires_at > :now)
order by f.id desc limit :limit;

-- name: correction_newest
-- the newest paragraphs that are bound to these persons, in these scopes
select distinct l.paragraph from paragraph_persons l join paragraphs p on p.id = l.paragraph
where l.person in (select value from json_each(:persons)) and p.deleted_at is null and p.superseded_at is null
  and (:scopes is null or p.scope in (select value from json_each(:scopes)))
order by l.paragraph desc limit :limit;

-- name: correction_persons_of
-- who said paragraphs, and whom they are bound to
select paragraph, person, role from paragraph_persons where paragraph in (select value from json_each(:ids));

-- name: correction_supersede
update paragraphs set superseded_at = :now
where id in (select value from json_each(:ids)) and superseded_at is null and deleted_at is null;

-- name: correction_revive
update paragraphs set superseded_at = null
where id in (select value from json_each(:ids)) and superseded_at = :at and deleted_at is null;

-- name: correction_refs_revive
-- references of what is current again
update external_memory_refs set deleted_at = null
where deleted_at is not null and id in (
    select ref from paragraphs
    where id in (select value from json_each(:ids)) and superseded_at is null and deleted_at is null);

-- name: correction_relations_revive
update relations set deleted_at = null
where id in (select value from json_each(:ids)) and merged_into is null
  and not exists (select 1 from entities n where n.id in (subject, object) and (n.deleted_at is not null or n.merged_into is not null));

-- name: correction_copy_entities
insert into paragraph_entities (entity, paragraph)
select m.entity, :new from paragraph_entities m where m.paragraph = :old
  and m.entity not in (select value from json_each(:without)) on conflict do nothing;

-- name: correction_copy_evidence
insert into relation_evidence (relation, paragraph)
select m.relation, :new from relation_evidence m where m.paragraph = :old
  and m.relation not in (select value from json_each(:without)) on conflict do nothing;

-- name: correction_entity_names
select e.id, e.name from paragraph_entities m join entities e on e.id = m.entity
where m.paragraph in (select value from json_each(:ids));

-- name: correction_copy
-- the corrected copy stands where the paragraph stood, as the next revision of the same reference
insert into paragraphs (source, ref, revision, position, chat, scope, session, kind, knowledge, speaker, flags, event_start,
                        event_end, recorded_at, expires_at, content_hash, content, tags, metadata, derive)
select p.source, p.ref, (select r.revision + 1 from external_memory_refs r where r.id = p.ref), p.position, p.chat, p.scope,
       p.session, p.kind, p.knowledge, p.speaker, :flags, p.event_start, p.event_end, :now, p.expires_at, :content_hash,
       :content, p.tags, :metadata, p.derive
from paragraphs p where p.id = :old returning id;

-- name: correction_copy_persons
insert into paragraph_persons (person, paragraph, role, name)
select person, :new, role, name from paragraph_persons where paragraph = :old;

-- name: correction_refs_revised
-- the hash stays that of the caller's text: sent again it changes nothing
update external_memory_refs set revision = revision + :step, updated_at = :now
where id in (select ref from paragraphs where id in (select value from json_each(:ids)));

-- name: correction_entities_end
-- those of the entities that were only read, and that no text or relation is left of
update entities set deleted_at = :now
where id in (select value from json_each(:ids)) and deleted_at is null and merged_into is null and origin in ('rule', 'model')
  and not exists (select 1 from paragraph_entities l where l.entity = entities.id)
  and not exists (select 1 from relations r where r.subject = entities.id and r.deleted_at is null)
  and not exists (select 1 from relations r where r.object = entities.id and r.deleted_at is null)
  and not exists (select 1 from entities m where m.merged_into = entities.id);

-- name: correction_standing
-- what became of paragraphs: alive and current, or when superseded or deleted; and whether one that is neither among them nor
-- older than they are stands under the same reference
select p.id, p.superseded_at, p.deleted_at,
       exists (select 1 from paragraphs n where n.ref = p.ref and n.revision > p.revision and n.deleted_at is null
               and n.id not in (select value from json_each(:ids)))
from paragraphs p where p.id in (select value from json_each(:ids));

-- name: correction_withdraw_refs
update external_memory_refs set deleted_at = :now
where deleted_at is null and id in (select ref from paragraphs where id in (select value from json_each(:ids)));
