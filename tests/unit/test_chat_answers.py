"""Objects read out of what a chat model says."""

from __future__ import annotations

from typing import Any

import pytest

from amemorix.models.chat_answers import Misfit, read_object
from amemorix.models.structured_chat import tokens_about

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "age": {"type": "integer"}},
    "required": ["name"],
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    "text",
    [
        '{"name": "林澈"}',
        '  {"name": "林澈"}\n',
        '```json\n{"name": "林澈"}\n```',
        '```\n{"name": "林澈"}\n```\n',
        '好的，这是结果：\n```json\n{"name": "林澈"}\n```\n希望有用。',
        'Sure! Here it is: {"name": "林澈"} Anything else?',
        '<think>The name could be {"name": "wrong"}.</think>{"name": "林澈"}',
    ],
)
def test_the_object_is_found(text: str) -> None:
    assert read_object(text, SCHEMA) == {"name": "林澈"}


def test_an_object_is_taken_as_it_is() -> None:
    assert read_object({"name": "Ada", "age": 36}, SCHEMA) == {"name": "Ada", "age": 36}


@pytest.mark.parametrize("text", ["", "no idea", "[1, 2]", '"Ada"', '{"name": ', "{" * 100_000, '{"age": NaN}'])
def test_what_is_no_object_is_a_misfit(text: str) -> None:
    with pytest.raises(Misfit, match="no JSON object"):
        read_object(text, SCHEMA)


def test_what_breaks_the_schema_is_a_misfit_that_quotes_nothing() -> None:
    with pytest.raises(Misfit) as caught:
        read_object('{"name": "Ada", "age": "secret"}', SCHEMA)

    assert "$.age" in str(caught.value)
    assert "secret" not in str(caught.value)
    assert "'secret' is not of type 'integer'" in caught.value.problem


def test_tokens_are_estimated_for_both_scripts() -> None:
    assert 90 <= tokens_about("word " * 80) <= 110
    assert 70 <= tokens_about("记忆" * 50) <= 80
