"""What a search of vectors sees at one moment."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .block import Ids, VectorBlock
from .codec import BATCH, VectorCodec, parts

__all__ = ["LiveRows", "VectorState"]


@dataclass(frozen=True, slots=True)
class VectorState:
    """A base (built, loaded or compacted) and the rows added since."""

    base: VectorBlock
    recent: VectorBlock

    @classmethod
    def empty(cls, codec: VectorCodec) -> VectorState:
        """A state without rows."""
        return cls(VectorBlock.empty(codec), VectorBlock.empty(codec))

    @property
    def blocks(self) -> tuple[VectorBlock, VectorBlock]:
        """Both blocks; an id is alive in one of them at most."""
        return self.base, self.recent

    @property
    def dead(self) -> int:
        """Tombstones."""
        return self.base.dead_count + self.recent.dead_count

    def __len__(self) -> int:
        return self.base.size + self.recent.size - self.dead

    def without(self, ids: Ids) -> VectorState:
        """The state with these distinct ids turned into tombstones."""
        return VectorState(self.base.without(ids), self.recent.without(ids))

    def put(self, ids: Ids, codes: NDArray[Any], bits: NDArray[np.uint8]) -> VectorState:
        """The state with rows inserted or replaced, ids ascending and distinct."""
        kept = self.without(ids)
        return replace(kept, recent=kept.recent.append(ids, codes, bits))

    def sealed(self, codec: VectorCodec) -> VectorState:
        """The same content as one block without tombstones."""
        live = LiveRows(self)
        codes = np.empty((len(live.ids), codec.dimension), codec.dtype)
        bits = np.empty((len(live.ids), codec.bytes), np.uint8)
        _fill(codes, live.codes())
        _fill(bits, live.bits())
        return VectorState(VectorBlock.sealed(live.ids, codes, bits), VectorBlock.empty(codec))


class LiveRows:
    """The live rows of a state by ascending id, to be copied in parts."""

    def __init__(self, state: VectorState) -> None:
        rows = [block.live for block in state.blocks]
        ids = np.concatenate([block.ids[live] for block, live in zip(state.blocks, rows, strict=True)])
        order = np.argsort(ids, kind="stable")
        self.ids: Ids = ids[order]
        self._rows = np.concatenate(rows)[order]
        self._recent = order >= len(rows[0])
        self._blocks = state.blocks

    def codes(self) -> Iterator[NDArray[Any]]:
        """All codes, in parts."""
        return self._copy(self._blocks[0].codes, self._blocks[1].codes)

    def bits(self) -> Iterator[NDArray[np.uint8]]:
        """All signatures, in parts."""
        return self._copy(self._blocks[0].bits, self._blocks[1].bits)

    def _copy(self, base: NDArray[Any], recent: NDArray[Any]) -> Iterator[NDArray[Any]]:
        for rows, newer in zip(parts(self._rows, 4 * BATCH), parts(self._recent, 4 * BATCH), strict=True):
            part = np.empty((len(rows), *base.shape[1:]), base.dtype)
            part[~newer], part[newer] = base[rows[~newer]], recent[rows[newer]]
            yield part


def _fill(array: NDArray[Any], slices: Iterable[NDArray[Any]]) -> None:
    end = 0
    for part in slices:
        array[end : end + len(part)] = part
        end += len(part)
