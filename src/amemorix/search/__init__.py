"""Search: what is stored, ranked by how likely it answers."""

__all__ = ["LIKELY"]

LIKELY = 0.1
"""From this confidence on a hit is worth showing to somebody who asks."""
