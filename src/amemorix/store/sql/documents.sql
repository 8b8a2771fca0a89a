-- name: ref_find
select id, content_hash, revision, deleted_at from external_memory_refs
where source = :source and external_id = :external_id;

-- name: ref_insert
insert into external_memory_refs (source, external_id, content_hash, recorded_at, created_at, updated_at)
values (:source, :external_id, :content_hash, :now, :now, :now) returning id;

-- name: ref_revise
update external_memory_refs
set content_hash = :content_hash, revision = :revision, recorded_at = :now, updated_at = :now,
    created_at = case when deleted_at is null then created_at else :now end, deleted_at = null
where id = :id;

-- name: ref_words
-- what the paragraphs of a wording say, and its original
select p.content, o.content from paragraphs p left join originals o on o.ref = p.ref and o.revision = p.revision
where p.ref = :ref and p.revision = :revision order by p.position;

-- name: ref_touch
update external_memory_refs set updated_at = :now where id = :ref;

-- name: original_put
insert into originals (ref, revision, content) values (:ref, :revision, :content)
on conflict (ref, revision) do update set content = excluded.content;

-- name: original_remove
delete from originals where ref = :ref and revision = :revision;

-- name: ref_revive
update external_memory_refs set deleted_at = null where id = :ref;

-- name: ref_current
-- the paragraphs of a reference that answer, whatever became of the reference itself
select id from paragraphs where ref = :ref and superseded_at is null and deleted_at is null order by position;

-- name: ref_paragraphs
select id from paragraphs where ref = :ref and revision = :revision order by position;

-- name: ref_has_expired
select exists (select 1 from paragraphs where ref = :ref and revision = :revision and deleted_at is null and expires_at <= :now);

-- name: ref_set_expiry
update paragraphs set expires_at = :expires_at
where ref = :ref and revision = :revision and deleted_at is null and expires_at is not :expires_at;

-- name: ref_set_metadata
update paragraphs set metadata = :metadata
where ref = :ref and revision = :revision and deleted_at is null and metadata <> :metadata;

-- name: ref_set_tags
update paragraphs set tags = :tags
where ref = :ref and revision = :revision and deleted_at is null and tags <> :tags;

-- name: paragraphs_supersede
update paragraphs set superseded_at = :now where ref = :ref and superseded_at is null and deleted_at is null;

-- name: session_last
select max(s.id), max(coalesce(p.event_start, p.recorded_at)), count(p.id)
from sessions s join paragraphs p on p.session = s.id
where s.id = (select max(id) from sessions where source = :source and scope = :scope);

-- name: session_near
-- the session of the source's turn that is nearest in time, within the gap, with its latest turn and its length
select n.session, (select max(p.event_start) from paragraphs p where p.session = n.session),
       (select count(*) from paragraphs p where p.session = n.session)
from (select session, event_start from paragraphs
      where source = :source and scope = :scope and kind = 'message' and event_start is not null
        and coalesce(event_start, recorded_at) between :at - :gap and :at + :gap
      order by abs(event_start - :at) limit 1) n;

-- name: session_of
select session from paragraphs where id = :id and scope = :scope;

-- name: session_insert
insert into sessions (source, scope) values (:source, :scope) returning id;

-- name: paragraph_insert
insert into paragraphs (source, ref, revision, position, chat, scope, session, kind, knowledge, speaker, flags, event_start,
                        event_end, recorded_at, expires_at, content_hash, content, tags, metadata, derive)
values (:source, :ref, :revision, :position, :chat, :scope, :session, :kind, :knowledge, :speaker, :flags, :event_start,
        :event_end, :now, :expires_at, :content_hash, :content, :tags, :metadata, :derive) returning id;

-- name: terms_insert
insert into terms (id, v) values (:id, :v);

-- name: paragraph_person_insert
insert into paragraph_persons (paragraph, person, role, name) values (:paragraph, :person, :role, :name)
on conflict do nothing;

-- name: relation_upsert
-- what is said again is alive again, unless it was forgotten
insert into relations (subject, predicate, object, confidence, origin, created_at)
values (:subject, :predicate, :object, :confidence, :origin, :now)
on conflict (subject, predicate, object) do update
set confidence = max(relations.confidence, excluded.confidence),
    deleted_at = case when relations.inactive_reason = 'forgotten' then relations.deleted_at end,
    origin = case when excluded.origin = 'admin' or relations.deleted_at is not null or relations.origin in ('rule', 'model')
                  then excluded.origin else relations.origin end
returning id;

-- name: relations_unsupported
-- relations of these paragraphs that no live paragraph supports; what was asserted by hand needs no support
update relations set deleted_at = :now
where deleted_at is null and origin <> 'admin'
  and id in (select e.relation from relation_evidence e where e.paragraph in (select value from json_each(:paragraphs)))
  and not exists (
      select 1 from relation_evidence e join paragraphs p on p.id = e.paragraph
      where e.relation = relations.id and p.deleted_at is null and p.superseded_at is null);
