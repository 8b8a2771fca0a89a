"""Public ids of rows: a letter for the kind, and the row's number (`p12`)."""

from __future__ import annotations

import re
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from .lazy_regex import lazy_regex

__all__ = [
    "HIGHEST", "KINDS", "LETTERS", "OperationId", "episode_key", "fact_key", "operation_key",
    "paragraph_key", "plan_key", "row_key", "row_number",
]  # fmt: skip

HIGHEST = 2**62
"""No row has a higher number."""


def paragraph_key(row: int) -> str:
    """The public id of a paragraph."""
    return f"p{row}"


def episode_key(row: int) -> str:
    """The public id of an episode."""
    return f"e{row}"


def fact_key(row: int) -> str:
    """The public id of a fact."""
    return f"f{row}"


def plan_key(row: int) -> str:
    """The public id of a correction's plan."""
    return f"c{row}"


LETTERS = {"paragraph": "p", "relation": "r", "entity": "n", "fact": "f"}
KINDS = {letter: kind for kind, letter in LETTERS.items()}
_OPERATION = lazy_regex(r"d?([0-9]{1,18})")


def operation_key(row: int) -> str:
    """The public id of a deletion."""
    return f"d{row}"


def _operation(value: Any) -> Any:
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    if not isinstance(value, str) or not (found := _OPERATION.fullmatch(value.strip())):
        raise ValueError("is no id of a deletion: expected one such as d12")
    return int(found[1])


OperationId = Annotated[int, BeforeValidator(_operation), Field(json_schema_extra={"type": ["string", "integer"]})]


def row_key(kind: str, row: int) -> str:
    """The public id of a row: `p12`."""
    return f"{LETTERS.get(kind, '')}{row}"


def row_number(said: str, letter: str, *, bare: bool = True) -> int | None:
    """The number of an id such as `r12`, or of bare digits; None for anything else."""
    found = re.fullmatch(rf"{letter}{'?' if bare else ''}([0-9]{{1,19}})", said.strip(), re.IGNORECASE | re.ASCII)
    number = int(found.group(1)) if found else 0
    return number if 0 < number < HIGHEST else None
