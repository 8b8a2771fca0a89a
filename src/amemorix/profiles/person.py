"""The person that an action on a profile names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import AliasChoices, Field

from ..errors import NotFound
from ..fields import RequiredName
from ..ops import Request
from ..store.ports import Connection

if TYPE_CHECKING:
    from ..host.kernel import SDKMemoryKernel

__all__ = ["Who", "person_found", "person_row"]


class Who(Request):
    """A person, by id, name or alias."""

    person_id: RequiredName = Field(
        validation_alias=AliasChoices("person_id", "person_keyword", "keyword"), description="Id, name or alias."
    )


async def person_found(kernel: SDKMemoryKernel, request: Who, chat_id: str = "") -> int:
    """The row of a person, by what the chat may see; names are looked up as they are stored, before anything is written."""
    return await kernel.store.read(lambda db: person_row(kernel, db, request.person_id, chat_id))


def person_row(kernel: SDKMemoryKernel, db: Connection, key: str, chat_id: str = "") -> int:
    """The row of a person, by id, name or alias. Raises NotFound."""
    row = kernel.profile_reader.row(db, key, chat_id)
    if row is None:
        raise NotFound(f"person_id: nobody is known as {key!r}.", field="person_id")
    return row
