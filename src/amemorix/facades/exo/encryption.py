"""`EncryptedMemoryStore`: a store around another that sees the contents as ciphertext alone."""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Literal

from ...extras import require
from .base import MemoryError, MemoryItem, MemoryMetadata, MemoryStatus, MemoryStore, checked_item, inner_stores

require("exo", "Encrypting memories")

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from cryptography.hazmat.primitives.kdf.argon2 import Argon2id

__all__ = ["EncryptedMemoryStore", "derive_key"]

EVERYTHING = 2**31 - 1


def derive_key(secret: str, salt: bytes) -> bytes:
    """The Fernet key of a secret: one that is such a key as it is, else by Argon2id (64 MiB, 3 passes, 4 lanes).

    `salt` has at least 8 bytes, and is no secret.
    """
    try:
        if len(secret) == 44 and len(base64.urlsafe_b64decode(secret)) == 32:
            return secret.encode()
    except ValueError:
        pass
    derived = Argon2id(salt=salt, length=32, iterations=3, lanes=4, memory_cost=64 * 1024).derive(secret.encode())
    return base64.urlsafe_b64encode(derived)


class EncryptedMemoryStore:
    """A `MemoryStore` around another: Fernet (AES-128-CBC, HMAC-SHA256) over the content of the items.

    Ids, times, metadata and categories stay readable, to be filtered by. Words of a ciphertext cannot be found: a search
    with a `query` needs `embed`, which makes vectors of texts *before* they are encrypted (`KernelStore.embed`, or a function
    of yours), and a store that takes them; note that such vectors tell much of the text. Of several secrets the first
    encrypts, all decrypt; `rotate` encrypts anew what is there. Without `salt` the store's namespace is it. What cannot be
    decrypted is a MemoryError, or left out with `on_undecryptable="skip"`.
    """

    def __init__(
        self, store: MemoryStore, secret: str | Sequence[str], *, salt: bytes | None = None,
        embed: Callable[[str], Awaitable[Sequence[float]]] | None = None,
        on_undecryptable: Literal["raise", "skip"] = "raise",
    ) -> None:  # fmt: skip
        if any(isinstance(inner, EncryptedMemoryStore) for inner in inner_stores(store)):
            raise MemoryError("store: is encrypted already.")
        if embed and not getattr(store, "takes_vectors", False):
            raise MemoryError("embed: the store takes no vectors.")
        secrets = [secret] if isinstance(secret, str) else list(secret)
        if not secrets or not all(secrets):
            raise MemoryError("secret: must not be empty.")
        if on_undecryptable not in ("raise", "skip"):
            raise MemoryError(f"on_undecryptable: {on_undecryptable!r} is neither 'raise' nor 'skip'.")
        salt = salt or hashlib.sha256(f"exo:{getattr(store, 'namespace', '')}".encode()).digest()[:16]
        keys = [derive_key(one, salt) for one in secrets]
        self._store: Any = store
        self._embed, self._skips = embed, on_undecryptable == "skip"
        self._fernet = MultiFernet([Fernet(key) for key in keys])
        self._digest_key = keys[0]

    @property
    def namespace(self) -> str | None:
        """That of the store within."""
        return getattr(self._store, "namespace", None)

    async def add(self, item: MemoryItem) -> None:
        """Keep an item, its content encrypted."""
        item = checked_item(item)
        sealed = self._sealed(item)
        if self._embed:
            sealed = sealed.model_copy(update={"embedding": list(await self._embed(item.content))})
        await self._store.add(sealed)

    async def get(self, item_id: str) -> MemoryItem | None:
        """The item of that id, None if there is none. Raises MemoryError if it is of another secret."""
        item = await self._store.get(item_id)
        return None if item is None else self._opened(item)

    async def search(self, *, query: str = "", **filters: Any) -> list[MemoryItem]:
        """What the store finds, decrypted."""
        if query and self._embed:
            filters["vector"] = list(await self._embed(query))
        elif query:
            filters["query"] = query
        found = [self._opened(item) for item in await self._store.search(**filters)]
        return [item for item in found if item is not None]

    async def clear(self, *, metadata: MemoryMetadata | None = None) -> int:
        """Remove the items of this metadata, without it all; how many those were."""
        return await self._store.clear(metadata=metadata)

    async def delete(self, item_id: str) -> bool:
        """Remove an item, where the store can; whether it was there."""
        return await self._store.delete(item_id)

    async def same(self, item: MemoryItem) -> MemoryItem | None:
        """Another item of the same content, type, status and user; None too if the store cannot tell."""
        same: Callable[[MemoryItem], Awaitable[MemoryItem | None]] | None = getattr(self._store, "same", None)
        found = await same(self._sealed(item)) if same else None
        return None if found is None else self._opened(found)

    async def changes(self, since: int | None, *, wait_seconds: float = 0.0) -> tuple[list[MemoryItem], int, int]:
        """What the store within tells of changes, decrypted."""
        changes: Callable[..., Awaitable[tuple[list[MemoryItem], int, int]]] = self._store.changes
        items, removed, last = await changes(since, wait_seconds=wait_seconds)
        return [one for one in map(self._opened, items) if one is not None], removed, last

    async def rotate(self) -> int:
        """Encrypt every item anew with the first secret; how many those were."""
        items = [item for status in MemoryStatus for item in await self.search(status=status, limit=EVERYTHING)]
        for item in items:
            await self.add(item)
        return len(items)

    def _sealed(self, item: MemoryItem) -> MemoryItem:
        digest = hmac.new(self._digest_key, f"{item.memory_type}\0{item.content}".encode(), hashlib.sha256)
        content = self._fernet.encrypt(item.content.encode()).decode()
        return item.model_copy(update={"content": content, "encrypted": True, "digest": digest.hexdigest()})

    def _opened(self, item: MemoryItem) -> MemoryItem | None:
        try:
            content = self._fernet.decrypt(item.content.encode()).decode()
        except InvalidToken as exc:
            if self._skips:
                return None
            raise MemoryError(f"The item {item.id!r} cannot be decrypted by this secret.") from exc
        opened = item.model_copy(update={"content": content})
        for name in ("encrypted", "digest", "embedding"):
            (opened.model_extra or {}).pop(name, None)
        return opened
