"""A call that a page of MaiBot's dashboard makes: what it gives, and the memory as its caller may see it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from ...audit_context import Grant
from ...errors import fault_of
from ...host.service import AMemorixHostService
from ..transport import LocalMemory

__all__ = ["Answer", "Handler", "PageCall", "asks"]

Answer = dict[str, Any]


class PageCall:
    """The arguments of the address and of the body are one; a field that a page leaves empty is not given."""

    def __init__(
        self,
        host: AMemorixHostService,
        grant: Grant,
        given: Mapping[str, Any],
        staged: Sequence[Mapping[str, str]] = (),
    ) -> None:
        """`staged`: files that came with it, as `memory_import_admin create_upload` takes them."""
        self.given = {key: value for key, value in given.items() if value not in ("", None)}
        self.grant = grant
        self.staged = staged
        self._memory = LocalMemory(host, "http", grant)

    async def ask(self, component: str, action: str = "", /, **args: Any) -> Answer:
        """The answer of an operation. Raises the MemoryFault that it answers."""
        answer = await self._memory.invoke(component, {**args, "action": action} if action else args)
        if fault := fault_of(answer):
            raise fault
        return answer

    def take(self, *same: str, **renamed: str) -> dict[str, Any]:
        """What is given of these; `renamed` says under which name the page gives an argument."""
        names = {**dict(zip(same, same, strict=True)), **renamed}
        return {argument: self.given[name] for argument, name in names.items() if name in self.given}

    def text(self, name: str) -> str:
        """A field as text, without space around it."""
        return str(self.given.get(name, "")).strip()

    def listed(self, name: str) -> list[str]:
        """A field that names several, with commas between them."""
        return [one.strip() for one in self.text(name).split(",") if one.strip()]

    @property
    def chat(self) -> str:
        """The chat that is named, else the first of a token that is bound; empty for every chat."""
        return self.text("chat_id") or next(iter(self.grant.chats), "")

    @property
    def scope(self) -> dict[str, Any]:
        """Of whom is read."""
        return {"chat_id": self.chat} if self.chat else {"scope": "all"}


Handler = Callable[[PageCall], Awaitable[Answer]]


def asks(
    component: str,
    action: str = "",
    *same: str,
    scoped: bool = False,
    shape: Callable[[Answer], Answer] | None = None,
    **renamed: str,
) -> Handler:
    """A call that is one operation: with these arguments (see `take`), and what `shape` makes of the answer put over it.

    `scoped`: it reads of a chat, or of all.
    """

    async def answer(call: PageCall) -> Answer:
        scope = call.scope if scoped else {}
        found = await call.ask(component, action, **scope, **call.take(*same, **renamed))
        return {**found, **shape(found)} if shape else found

    return answer
