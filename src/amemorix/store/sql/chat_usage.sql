-- name: chat_usage_add
insert into chat_usage (day, task, calls, failures, prompt_tokens, completion_tokens)
values (:day, :task, :calls, :failures, :prompt_tokens, :completion_tokens)
on conflict (day, task) do update set
    calls = chat_usage.calls + excluded.calls,
    failures = chat_usage.failures + excluded.failures,
    prompt_tokens = chat_usage.prompt_tokens + excluded.prompt_tokens,
    completion_tokens = chat_usage.completion_tokens + excluded.completion_tokens;

-- name: chat_usage_tokens
select coalesce(sum(prompt_tokens + completion_tokens), 0) from chat_usage where day = :day;

-- name: chat_usage_by_task
select task, sum(calls), sum(failures), sum(prompt_tokens), sum(completion_tokens)
from chat_usage group by task order by task;
