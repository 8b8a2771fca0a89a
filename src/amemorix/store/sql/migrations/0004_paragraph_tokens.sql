-- The token vectors of a paragraph, in a table with row numbers: in one without, a value of a thousand bytes has a page of
-- four thousand for what does not fit beside its key, and each reading of it reads two pages.
-- v: vectors of the paragraph's content tokens for late interaction, as many bytes a token as the model has dimensions
create table paragraph_tokens (
    generation integer not null references embedding_generations (id) on delete cascade,
    paragraph integer not null references paragraphs (id) on delete cascade,
    v blob not null,
    primary key (generation, paragraph)
) strict;

create index paragraph_tokens_by_paragraph on paragraph_tokens (paragraph);

insert into paragraph_tokens (generation, paragraph, v)
select generation, paragraph, v from token_vectors order by generation, paragraph;

drop table token_vectors;
