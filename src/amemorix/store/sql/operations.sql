-- name: deletable_paragraphs
-- those of the ids that are not deleted yet, within a chat if one is given
select id from paragraphs
where id in (select value from json_each(:ids)) and deleted_at is null and (:chat is null or chat = :chat);

-- name: paragraphs_in_chat
-- those of the ids that there are, deleted or not, within a chat if one is given
select id from paragraphs where id in (select value from json_each(:ids)) and (:chat is null or chat = :chat);

-- name: paragraphs_of_sources
select id from paragraphs where source in (select value from json_each(:ids));

-- name: paragraphs_of_chats
select p.id from sources s cross join paragraphs p on p.source = s.id
where s.chat in (select value from json_each(:ids));

-- name: paragraphs_of_persons
select p.id from paragraph_persons pp join paragraphs p on p.id = pp.paragraph
where pp.person in (select value from json_each(:ids)) and (:chat is null or p.chat = :chat);

-- name: paragraphs_of_entities
select p.id from paragraph_entities pe join paragraphs p on p.id = pe.paragraph
where pe.entity in (select value from json_each(:ids)) and (:chat is null or p.chat = :chat);

-- name: paragraphs_of_hashes
select id from paragraphs
where superseded_at is null and lower(hex(content_hash)) in (select value from json_each(:ids));

-- name: paragraphs_of_external_ids
select p.id from external_memory_refs r cross join paragraphs p on p.ref = r.id
where r.external_id in (select value from json_each(:ids));

-- name: texts_after
-- texts in the order they came, deleted ones too, a page at a time
select id, chat, content from paragraphs
where id > :after and (:chats is null or source in (
    select id from sources where chat in (select value from json_each(:chats))))
order by id limit :limit;

-- name: refs_left_empty
-- references of these paragraphs that keep no current paragraph without them
select distinct p.ref from paragraphs p
where p.id in (select value from json_each(:ids))
  and not exists (select 1 from paragraphs q where q.ref = p.ref and q.deleted_at is null and q.superseded_at is null
                    and q.id not in (select value from json_each(:ids)));

-- name: refs_alive
select id from external_memory_refs where id in (select value from json_each(:ids)) and deleted_at is null;

-- name: refs_kept
-- references that lose a paragraph and keep others
select distinct r.id, r.external_id from paragraphs p join external_memory_refs r on r.id = p.ref
where p.id in (select value from json_each(:ids)) and p.superseded_at is null
  and r.id not in (select value from json_each(:but)) limit :limit;

-- name: paragraphs_of_refs
select id from paragraphs where ref in (select value from json_each(:ids)) and deleted_at is null;

-- name: wordings_of_refs
-- every text that is or was stored under these references
select id from paragraphs where ref in (select value from json_each(:ids));

-- name: refs_deleted
select id from external_memory_refs where id in (select value from json_each(:ids)) and deleted_at is not null;

-- name: relations_losing
-- relations that rest on these paragraphs, and whether something else supports them, or a hand has asserted them
select r.id, r.origin = 'admin' or exists (select 1 from relation_evidence e join paragraphs p on p.id = e.paragraph
                     where e.relation = r.id and p.deleted_at is null and p.superseded_at is null
                       and p.id not in (select value from json_each(:ids)))
from relations r
where r.deleted_at is null and r.id in (
    select relation from relation_evidence where paragraph in (select value from json_each(:ids)));

-- name: relations_held_elsewhere
-- those of the relations that only another chat's paragraphs would support without these
select r.id from relations r
where r.id in (select value from json_each(:relations)) and r.origin <> 'admin' and not exists (
    select 1 from relation_evidence e join paragraphs p on p.id = e.paragraph
    where e.relation = r.id and p.deleted_at is null and p.superseded_at is null and (p.chat = :chat or p.scope = 0)
      and p.id not in (select value from json_each(:ids)));

-- name: relations_supported
-- relations that current words of these paragraphs support
select e.relation from relation_evidence e join paragraphs p on p.id = e.paragraph
where e.paragraph in (select value from json_each(:ids)) and p.deleted_at is null and p.superseded_at is null;

-- name: deletable_relations
select id from relations where id in (select value from json_each(:ids)) and deleted_at is null;

-- name: relations_in_chat
-- those of the relations that a paragraph of the chat supports, and whether one of another chat does
select r.id, exists (select 1 from relation_evidence e join paragraphs p on p.id = e.paragraph
                     where e.relation = r.id and p.chat <> :chat and p.deleted_at is null and p.superseded_at is null)
from relations r
where r.id in (select value from json_each(:ids)) and exists (
    select 1 from relation_evidence e join paragraphs p on p.id = e.paragraph where e.relation = r.id and p.chat = :chat);

-- name: entities_in_chat
select e.id, exists (select 1 from paragraph_entities l join paragraphs p on p.id = l.paragraph
                     where l.entity = e.id and p.chat <> :chat and p.deleted_at is null and p.superseded_at is null)
             or exists (select 1 from facts f where f.entity = e.id and f.asserted_at is not null and f.scope <> :chat
                          and f.deleted_at is null)
             or exists (select 1 from relations r where e.id in (r.subject, r.object) and r.deleted_at is null
                          and not exists (select 1 from relation_evidence v join paragraphs p on p.id = v.paragraph
                                          where v.relation = r.id and p.chat = :chat))
from entities e
where e.id in (select value from json_each(:ids)) and exists (
    select 1 from paragraph_entities l join paragraphs p on p.id = l.paragraph where l.entity = e.id and p.chat = :chat);

-- name: relations_of_entities
select id from relations
where deleted_at is null and (subject in (select value from json_each(:ids)) or object in (select value from json_each(:ids)));

-- name: relation_sentences
-- every live relation as its three words
select r.id, s.name, r.predicate, o.name
from relations r join entities s on s.id = r.subject join entities o on o.id = r.object
where r.deleted_at is null;

-- name: deletable_entities
select id from entities where id in (select value from json_each(:ids)) and deleted_at is null;

-- name: entities_unspoken
-- entities of these names that nothing alive speaks of but these paragraphs
select e.id from entities e
where (e.norm in (select value from json_each(:norms))
       or e.id in (select entity from entity_aliases where norm in (select value from json_each(:norms))))
  and e.deleted_at is null and e.merged_into is null
  and not exists (select 1 from paragraph_entities l join paragraphs p on p.id = l.paragraph
                  where l.entity = e.id and p.deleted_at is null and p.superseded_at is null
                    and p.id not in (select value from json_each(:ids)));

-- name: entities_deleted
-- entities of these names that were deleted before
select id from entities where norm in (select value from json_each(:ids)) and deleted_at is not null;

-- name: facts_of_entities
-- facts given by hand; the others go and come back with the paragraphs that state them
select id from facts where asserted_at is not null and entity in (select value from json_each(:ids))
  and (deleted_at is not null) = :dead and (:scope is null or scope = :scope);

-- name: facts_of_persons
select id from facts
where asserted_at is not null and person in (select value from json_each(:ids)) and (deleted_at is not null) = :dead
  and (:scope is null or scope = :scope);

-- name: facts_of_scopes
select id from facts where asserted_at is not null and scope in (select value from json_each(:ids))
  and (deleted_at is not null) = :dead;

-- name: persons_in_chat
-- those of the persons of whom the chat knows something
select p.id from persons p
where p.id in (select value from json_each(:ids)) and (
    exists (select 1 from chat_persons c where c.person = p.id and c.chat = :chat)
    or exists (select 1 from paragraph_persons l join paragraphs q on q.id = l.paragraph where l.person = p.id and q.chat = :chat)
    or exists (select 1 from person_aliases a where a.person = p.id and a.chat = :chat)
    or exists (select 1 from facts f where f.person = p.id and f.scope = :chat));

-- name: sources_of_names
select s.id, s.name from sources s
where s.name in (select value from json_each(:names))
  and (:chat is null or s.chat = :chat)
  and exists (select 1 from paragraphs p where p.source = s.id);

-- name: moved_profile_override
select person as id, person, text, updated_by, source, updated_at from profile_overrides
where person in (select value from json_each(:persons));

-- name: moved_person_alias
select person, chat, norm, alias, origin, created_at from person_aliases
where (:persons is not null and person in (select value from json_each(:persons)) and (:scope is null or chat = :scope))
   or (:scopes is not null and chat in (select value from json_each(:scopes)));

-- name: remove_profile_override
delete from profile_overrides where person = :person;

-- name: remove_person_alias
delete from person_aliases where person = :person and chat = :chat and norm = :norm;

-- name: remove_summary_cursor
delete from summary_cursors where chat = :chat;

-- name: put_back_profile_override
insert or ignore into profile_overrides (person, text, updated_by, source, updated_at)
select :person, :text, :updated_by, :source, :updated_at where exists (select 1 from persons where id = :person);

-- name: put_back_person_alias
insert or ignore into person_aliases (person, chat, norm, alias, origin, created_at)
select :person, :chat, :norm, :alias, :origin, :created_at where exists (select 1 from persons where id = :person);

-- name: delete_paragraphs
update paragraphs set deleted_at = :now where id in (select value from json_each(:ids)) and deleted_at is null;

-- name: erase_paragraphs
delete from paragraphs where id in (select value from json_each(:ids));

-- name: delete_refs
update external_memory_refs set deleted_at = :now where id in (select value from json_each(:ids)) and deleted_at is null;

-- name: delete_relations
update relations set deleted_at = :now where id in (select value from json_each(:ids)) and deleted_at is null;

-- name: delete_entities
update entities set deleted_at = :now where id in (select value from json_each(:ids)) and deleted_at is null;

-- name: delete_facts
update facts set deleted_at = :now where id in (select value from json_each(:ids)) and deleted_at is null;

-- name: restore_paragraphs
update paragraphs set deleted_at = null where id in (select value from json_each(:ids));

-- name: restore_refs
update external_memory_refs set deleted_at = null where id in (select value from json_each(:ids));

-- name: restore_relations
update relations set deleted_at = null where id in (select value from json_each(:ids));

-- name: restore_entities
update entities set deleted_at = null where id in (select value from json_each(:ids));

-- name: restore_facts
update facts set deleted_at = null where id in (select value from json_each(:ids));

-- name: paragraphs_to_restore
-- whether each is alive, and whether its reference has been given a newer text
select p.id, p.deleted_at is null, p.superseded_at is null and r.revision > p.revision, p.ref
from paragraphs p join external_memory_refs r on r.id = p.ref where p.id in (select value from json_each(:ids));

-- name: refs_to_restore
select id, deleted_at is null, 0, id from external_memory_refs where id in (select value from json_each(:ids));

-- name: entities_to_restore
select id, deleted_at is null, 0, id from entities where id in (select value from json_each(:ids));

-- name: relations_to_restore
-- whether each is alive, and whether it or an end was merged, or it has an end that is deleted or evidence of which
-- nothing lives
select r.id, r.deleted_at is null,
       r.merged_into is not null or s.merged_into is not null or o.merged_into is not null
       or s.deleted_at is not null or o.deleted_at is not null
       or (exists (select 1 from relation_evidence e where e.relation = r.id)
           and not exists (select 1 from relation_evidence e join paragraphs p on p.id = e.paragraph
                           where e.relation = r.id and p.deleted_at is null and p.superseded_at is null)),
       r.id
from relations r join entities s on s.id = r.subject join entities o on o.id = r.object
where r.id in (select value from json_each(:ids));

-- name: deleted_again
-- those of the rows that a later operation deleted, which has not been restored
select i.id from delete_operation_items i join delete_operations o on o.id = i.operation
where i.kind = :kind and i.id in (select value from json_each(:ids)) and i.operation > :operation
  and i.restored_at is null and o.status in ('executed', 'purging')
  and json_extract(i.detail, '$.why') is not 'deleted_before';

-- name: relations_resting_on
select relation from relation_evidence where paragraph in (select value from json_each(:ids));

-- name: first_without_vector
-- for each generation, the first of the paragraphs that has no vector of it
select g.id, min(p.id) from embedding_generations g, paragraphs p
where p.id in (select value from json_each(:ids)) and p.superseded_at is null
  and not exists (select 1 from embeddings e where e.generation = g.id and e.paragraph = p.id)
group by g.id;

-- name: watermark_lower
update meta set value = cast(:upto as text) where key = :key and cast(value as integer) > :upto;

-- name: operation_insert
insert into delete_operations (mode, selector, counts, stays, requested_by, reason, status, created_at)
values (:mode, :selector, :counts, :stays, :requested_by, :reason, :status, :now) returning id;

-- name: operation_stays
select stays from delete_operations where id = :id;

-- name: operation_item_insert
insert into delete_operation_items (operation, kind, id, detail) values (:operation, :kind, :id, :detail);

-- name: operation_get
select id, mode, selector, counts, requested_by, reason, status, created_at, restored_at, purged_at, receipt,
       (select count(*) from delete_operation_items i where i.operation = o.id),
       (select count(*) from delete_operation_items i where i.operation = o.id and i.restored_at is not null)
from delete_operations o where id = :id;

-- name: operations_list
select id, mode, selector, counts, requested_by, reason, status, created_at, restored_at, purged_at, receipt,
       (select count(*) from delete_operation_items i where i.operation = o.id),
       (select count(*) from delete_operation_items i where i.operation = o.id and i.restored_at is not null)
from delete_operations o
where (:mode is null or mode = :mode) and (:status is null or status = :status)
order by id desc limit :limit offset :offset;

-- name: operations_count
select count(*) from delete_operations where (:mode is null or mode = :mode) and (:status is null or status = :status);

-- name: binned_paragraphs
-- what was forgotten or has expired, and lies in the recycle bin since a time
select id from paragraphs indexed by paragraphs_in_bin where deleted_reason <> '' and deleted_at <= :until order by id;

-- name: binned_relations
select id from relations where inactive_reason = 'forgotten' and inactive_at is not null and deleted_at <= :until order by id;

-- name: operations_older
select id from delete_operations where status = 'executed' and created_at <= :until order by id limit :limit;

-- name: rotations_wanted
-- purges after which this key is to be retired; a keyring that was made anew since counts from k1 again
select id, receipt from delete_operations
where status = 'purged' and json_extract(receipt, '$.rotation.retired') = :key
  and (json_extract(receipt, '$.rotation.key') = '' or purged_at >= :made);

-- name: operations_purging
select id from delete_operations where status = 'purging' order by id;

-- name: operation_items
select kind, id, detail, restored_at from delete_operation_items where operation = :operation
order by kind, id limit :limit offset :offset;

-- name: operation_items_open
select kind, id, detail from delete_operation_items where operation = :operation and restored_at is null order by kind, id;

-- name: operation_items_restored
update delete_operation_items set restored_at = :now
where operation = :operation and kind = :kind and id in (select value from json_each(:ids));

-- name: operation_items_wanted
-- items that were asked back and wait for what another operation holds
update delete_operation_items set detail = json_set(detail, '$.wanted', json('true'))
where operation = :operation and kind = :kind and id in (select value from json_each(:ids));

-- name: operations_beneath
-- the operations that hold what this row rests on: its ends, its paragraphs
select distinct i.operation from delete_operation_items i join delete_operations o on o.id = i.operation
where i.operation <> :operation and i.restored_at is null and o.status = 'executed'
  and json_extract(i.detail, '$.why') is not 'deleted_before' and (
    i.kind = 'entity' and i.id in (
        select subject from relations where :kind = 'relation' and id = :id
        union select object from relations where :kind = 'relation' and id = :id
        union select entity from facts where :kind = 'fact' and id = :id)
    or i.kind = 'paragraph' and i.id in (
        select paragraph from relation_evidence where :kind = 'relation' and relation = :id
        union select id from paragraphs where :kind = 'ref' and ref = :id))
order by 1;

-- name: operations_wanted
-- operations of which something was asked back that still waited
select distinct o.id from delete_operations o join delete_operation_items i on i.operation = o.id
where o.status = 'executed' and json_extract(i.detail, '$.wanted')
order by o.id;

-- name: operation_restored
update delete_operations set status = :status, restored_at = :now where id = :id;

-- name: labels_of_paragraphs
select p.id, p.content, s.name, coalesce(c.chat_id, ''), p.superseded_at is not null
from paragraphs p join sources s on s.id = p.source left join chats c on c.id = p.chat
where p.id in (select value from json_each(:ids)) order by p.id;

-- name: labels_of_relations
select r.id, s.name || ' ' || r.predicate || ' ' || o.name
from relations r join entities s on s.id = r.subject join entities o on o.id = r.object
where r.id in (select value from json_each(:ids)) order by r.id;

-- name: labels_of_entities
select id, name from entities where id in (select value from json_each(:ids)) order by id;

-- name: labels_of_facts
select f.id, coalesce(p.name, e.name) || ' · ' || f.attribute || ': ' || f.value
from facts f left join persons p on p.id = f.person left join entities e on e.id = f.entity
where f.id in (select value from json_each(:ids)) order by f.id;

-- name: labels_of_persons
select id, name from persons where id in (select value from json_each(:ids)) order by id;

-- name: sources_of_paragraphs
select distinct s.name from paragraphs p join sources s on s.id = p.source
where p.id in (select value from json_each(:ids)) order by s.name;

-- name: count_current
select count(*) from paragraphs where id in (select value from json_each(:ids)) and superseded_at is null;

-- name: overrides_of_persons
select person from profile_overrides where person in (select value from json_each(:ids));

-- name: items_back_elsewhere
update delete_operation_items set restored_at = :now
where kind = :kind and id in (select value from json_each(:ids)) and restored_at is null;

-- name: refs_holding
-- references that hold a current paragraph, or one that was current when they were last revised: a correction took its
-- place without another text
select id from external_memory_refs r where id in (select value from json_each(:ids))
  and exists (select 1 from paragraphs p where p.ref = r.id and p.deleted_at is null
                and (p.superseded_at is null or p.revision = r.revision));

-- name: facts_to_restore
select f.id, f.deleted_at is null, coalesce((select e.deleted_at is not null from entities e where e.id = f.entity), false), f.id
from facts f where f.id in (select value from json_each(:ids));

-- name: moved_summary_cursor
select chat as id, chat, upto, wanted, attempts, due_at, updated_at from summary_cursors
where chat in (select value from json_each(:scopes));

-- name: put_back_summary_cursor
insert or ignore into summary_cursors (chat, upto, wanted, attempts, due_at, updated_at)
select :chat, :upto, :wanted, :attempts, :due_at, :updated_at where exists (select 1 from chats where id = :chat);

-- name: facts_losing
-- facts that these paragraphs support, and whether something that stays supports them
select f.id, f.asserted_at is not null or exists (
    select 1 from fact_evidence e cross join paragraphs p on p.id = e.paragraph
    where e.fact = f.id and e.stance = 'support' and p.scope = f.scope and p.deleted_at is null and p.superseded_at is null
      and p.id not in (select value from json_each(:ids)))
from facts f
where f.deleted_at is null and f.status <> 'retracted' and exists (
    select 1 from fact_evidence e cross join paragraphs p on p.id = e.paragraph
    where e.fact = f.id and e.stance = 'support' and p.scope = f.scope and p.deleted_at is null and p.superseded_at is null
      and p.id in (select value from json_each(:ids)))
  and f.id in (select fact from fact_evidence where paragraph in (select value from json_each(:ids)));

-- name: episodes_losing
-- episodes that tell of these paragraphs, and whether they tell of others that stay
select e.id, exists (
    select 1 from episode_paragraphs o join paragraphs p on p.id = o.paragraph
    where o.episode = e.id and p.deleted_at is null and p.superseded_at is null
      and p.id not in (select value from json_each(:ids)))
from episodes e
where e.id in (select m.episode from episode_paragraphs m join paragraphs p on p.id = m.paragraph
               where m.paragraph in (select value from json_each(:ids)) and p.deleted_at is null and p.superseded_at is null);

-- name: entities_of_names
-- living entities of these names
select e.id from entities e
where (e.norm in (select value from json_each(:ids))
       or e.id in (select entity from entity_aliases where norm in (select value from json_each(:ids))))
  and e.deleted_at is null and e.merged_into is null;

-- name: profiles_losing
-- persons of whom something is held true that rests on one of these paragraphs
select distinct f.person from fact_evidence e join facts f on f.id = e.fact
where e.paragraph in (select value from json_each(:ids)) and f.person is not null and f.deleted_at is null
  and f.status in ('active', 'conflicted');
