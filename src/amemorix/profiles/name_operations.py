"""`memory_profile_admin`: the further names of a person."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import Field, field_validator

from ..errors import NotFound
from ..fields import Name, RequiredName
from ..language.normalise import normalise_name
from ..ops import Operations, Response
from ..store.ports import Connection
from ..store.rows import persons as person_rows
from ..store.rows.persons import EVERY_CHAT
from .person import Who, person_found

if TYPE_CHECKING:
    from ..host.kernel import SDKMemoryKernel

__all__ = ["ops"]

ops: Operations[SDKMemoryKernel] = Operations()


class Alias(Who):
    """A further name of a person."""

    alias: RequiredName
    chat_id: Name = Field("", description="The chat where it counts; everywhere when not given.")

    @field_validator("alias")
    @classmethod
    def _has_letters(cls, value: str) -> str:
        if not normalise_name(value):
            raise ValueError("has no letters or digits to be known by")
        return value


class Aliases(Response):
    """The names of a person as they are now."""

    changed: bool = Field(default=False, description="False if the alias was there already.")
    person_id: str = ""
    person_name: str = ""
    aliases: list[str] = Field(default_factory=list)


@ops.operation("memory_profile_admin", "add_alias", effect="write")
async def add_alias(kernel: SDKMemoryKernel, request: Alias) -> Aliases:
    """Let a further name mean a person, in one chat or everywhere."""
    row, now = await person_found(kernel, request, request.chat_id), kernel.surroundings.clock.now()

    def unit(db: Connection) -> tuple[bool, list[str]]:
        chat = _chat(kernel, db, request.chat_id) or EVERY_CHAT
        others = _others(kernel, db, row, request.alias, chat)
        alias = (request.alias, normalise_name(request.alias))
        added = person_rows.add_alias(db, row, chat, alias, "admin", now)
        if added:
            kernel.profiles.want(db, row)
        return added, others

    added, others = await kernel.store.write(unit)
    answer = await _aliases(kernel, row, request.chat_id, added)
    if not others:
        return answer
    told = f"alias: {request.alias!r} is also the name of {', '.join(others[:10])}; the name alone means several persons now."
    return answer.model_copy(update={"warnings": [told]})


@ops.operation("memory_profile_admin", "remove_alias", effect="write")
async def remove_alias(kernel: SDKMemoryKernel, request: Alias) -> Aliases:
    """Take a further name away from a person: in one chat, or wherever it counts."""
    row = await person_found(kernel, request, request.chat_id)

    def unit(db: Connection) -> None:
        chat = _chat(kernel, db, request.chat_id)
        if not person_rows.remove_alias(db, row, chat, normalise_name(request.alias)):
            raise NotFound(f"alias: {request.person_id!r} has no alias {request.alias!r} there.", field="alias")
        kernel.profiles.want(db, row)

    await kernel.store.write(unit)
    return await _aliases(kernel, row, request.chat_id, True)


def _others(kernel: SDKMemoryKernel, db: Connection, row: int, alias: str, chat: int) -> list[str]:
    """Ids of the others who have the name where the alias would count."""
    kernel.indexes.names.catch_up(db)
    directory = kernel.indexes.names.index
    owners = directory.owners(normalise_name(alias), None if chat == EVERY_CHAT else (chat, EVERY_CHAT))
    known = (person_rows.names(db, one) for one in sorted(owners - {row}))
    return [one.person_id for one in known if one is not None and not _is_same(db, row, one.row)]


def _is_same(db: Connection, row: int, other: int) -> bool:
    """Whether the other is the same person, known by a name alone."""
    person = person_rows.names(db, row)
    return person is not None and other in {one.row for one in person_rows.namesakes(db, person)}


def _chat(kernel: SDKMemoryKernel, db: Connection, chat_id: str) -> int | None:
    """The row of a chat; None if none is named."""
    if not chat_id:
        return None
    row = kernel.store.names.chat_row(db, chat_id)
    if row is None:
        raise NotFound(f"chat_id: there is no chat {chat_id!r}.", field="chat_id")
    return row


async def _aliases(kernel: SDKMemoryKernel, row: int, chat_id: str, changed: bool) -> Aliases:
    known = await kernel.store.read(lambda db: kernel.profile_reader.known(db, row, chat_id))
    return Aliases(changed=changed, person_id=known.person_id, person_name=known.name, aliases=list(known.aliases))
