"""The text that a model can be given."""

from __future__ import annotations

__all__ = ["encodable"]


def encodable(text: str) -> str:
    """`text` with a question mark for each lone surrogate, which neither a tokenizer nor JSON in UTF-8 can carry."""
    return text.encode("utf-8", "replace").decode("utf-8")
