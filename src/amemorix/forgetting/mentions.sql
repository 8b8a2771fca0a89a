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
