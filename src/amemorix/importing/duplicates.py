"""Names for records that have none: what they say, and how often that was said before in the file."""

from __future__ import annotations

import hashlib

__all__ = ["Occurrences"]

_BITS = 27
_MASK = (1 << _BITS) - 1


class Occurrences:
    """Counts how often each digest came, in 16 MiB whatever the length of the file.

    A filter after Bloom (1970) tells those that came for the first time; only the others are held. One in about 100,000 of
    a million counts too many, always the same.
    """

    def __init__(self) -> None:
        self._seen = bytearray()
        self._again: dict[str, int] = {}

    def external_id(self, kind: str, text: str) -> str:
        """`KIND:DIGEST:COUNT`, of which the count tells the same texts of a file apart."""
        key = hashlib.sha256(text.encode()).hexdigest()[:32]
        return f"{kind}:{key}:{self.count(key)}"

    def count(self, key: str) -> int:
        """How often the digest has come, this time included."""
        if not self._seen:
            self._seen = bytearray(1 << (_BITS - 3))
        number = int(key, 16)
        met = True
        for shift in (0, 32, 64):
            bit = (number >> shift) & _MASK
            if not self._seen[bit >> 3] >> (bit & 7) & 1:
                met = False
                self._seen[bit >> 3] |= 1 << (bit & 7)
        if not met:
            return 1
        self._again[key] = self._again.get(key, 1) + 1
        return self._again[key]
