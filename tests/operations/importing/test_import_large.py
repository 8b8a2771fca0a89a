"""A file of a hundred megabytes is imported in the memory that a small one takes: by option only."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from amemorix_bench.importing import run

ROWS = int(os.environ.get("AMEMORIX_IMPORT_ROWS", "0"))
"""About 240 bytes each: 420,000 make 100 MB."""
QUIET = {"embedding.provider": "none", "extraction.enabled": False, "episode.enabled": False, "facts.enabled": False,
         "profile.enabled": False}  # fmt: skip


@pytest.mark.soak
@pytest.mark.skipif(not ROWS, reason="set AMEMORIX_IMPORT_ROWS to the number of records")
async def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    small = await run(5_000, config=QUIET, data_dir=tmp_path / "small")
    large = await run(ROWS, config=QUIET, data_dir=tmp_path / "large")
    assert (small.problems, large.problems) == ((), ())
    index = ROWS * 400 / 1024**2
    assert large.peak_mib < small.peak_mib + 100 + index, "what grows is the index of words, not what is read"
