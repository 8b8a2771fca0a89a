"""`memory_key_admin`: the keys of an encrypted memory, while it is in use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import BaseModel, Field

from ..fields import Name, PathInput
from ..ops import NoArguments, Operations, Request, Response

if TYPE_CHECKING:
    from ..host.kernel import SDKMemoryKernel

ops: Operations[SDKMemoryKernel] = Operations()


class KeyItem(BaseModel):
    """A data key; the key itself is never told."""

    id: str = ""
    created_at: float = 0.0
    retired_at: float | None = Field(default=None, description="None for the key that is used.")
    files: int = Field(default=0, description="Files that are encrypted with it, beside the database.")
    backups: list[str] = Field(default_factory=list, description="Files of backups that need it.")


class KeyStatus(Response):
    """Whether the memory is encrypted, and with what."""

    encrypted: bool = False
    secret: str = Field(default="", description="`raw` (32 bytes) or `passphrase`.")
    keys: list[KeyItem] = Field(default_factory=list, description="The one that is used first.")
    plain: list[str] = Field(default_factory=list, description="Files in the clear, such as exports and older backups.")
    unreadable: list[str] = Field(
        default_factory=list, description="Files whose key is not there, or that are damaged."
    )


class ChangeSecret(Request):
    """Where the new secret is."""

    key_env: Name = Field(default="", description="Environment variable of the memory's process that holds it.")
    key_file: PathInput = Field(default="", description="A file of its machine that holds it.")


class ChangedSecret(Response):
    """The secret that opens the memory from now on."""

    changed: bool = False
    secret: str = ""


class RotatedKey(Response):
    """The key that is used from now on."""

    rotated: bool = False
    key: str = ""
    retired: str = Field(default="", description="The key before it.")
    needed_by: list[str] = Field(
        default_factory=list, description="Files that are encrypted with that still, which keep it in `memory.keys`."
    )


class KeyVerdict(Response):
    """Whether everything that is encrypted can be read."""

    sound: bool = True
    problems: list[str] = Field(default_factory=list)


@ops.operation("memory_key_admin", "status")
async def status(kernel: SDKMemoryKernel, request: NoArguments) -> KeyStatus:  # noqa: ARG001
    """Tell whether the memory is encrypted, with which keys, and what needs each of them."""
    if kernel.store.keys is None:
        return KeyStatus()
    keys, found = kernel.store.keys, await kernel.keys.files()
    items = [
        KeyItem(
            id=key.id, created_at=key.created_at, retired_at=key.retired_at, files=len(found.of_key.get(key.id, ())),
            backups=[name for name in found.of_key.get(key.id, ()) if name.endswith("/memory.db")],
        )
        for key in keys.all
    ]  # fmt: skip
    return KeyStatus(
        encrypted=True, secret=keys.kind, keys=items, plain=found.plain, unreadable=found.of_key.get("", [])
    )


@ops.operation("memory_key_admin", "change", effect="write")
async def change(kernel: SDKMemoryKernel, request: ChangeSecret) -> ChangedSecret:
    """Wrap the keys by another secret; no page is written. The settings have to name it before the next start."""
    await kernel.keys.change(request.key_env, request.key_file)
    return ChangedSecret(changed=True, secret=kernel.keys.keys.kind)


@ops.operation("memory_key_admin", "rotate", effect="write")
async def rotate(kernel: SDKMemoryKernel, request: NoArguments) -> RotatedKey:  # noqa: ARG001
    """Encrypt everything with a new random key while the memory is in use; backups keep theirs."""
    done = await kernel.keys.rotate(kernel.status, kernel)
    return RotatedKey(rotated=True, key=done.key.id, retired=done.retired.id, needed_by=done.needed_by)


@ops.operation("memory_key_admin", "verify")
async def verify(kernel: SDKMemoryKernel, request: NoArguments) -> KeyVerdict:  # noqa: ARG001
    """Read the database and every encrypted file from end to end."""
    problems = await kernel.keys.verify()
    return KeyVerdict(sound=not problems, problems=problems)
