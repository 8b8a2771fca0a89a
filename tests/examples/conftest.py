"""A folder for the memory of an example."""

from __future__ import annotations

from pathlib import Path

import pytest

from amemorix.testing import scratch_config


@pytest.fixture
def memory_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A memory that goes by words alone, for the example that reads `MEMORY_FOLDER`."""
    scratch_config(tmp_path, {"embedding.provider": "none"})
    monkeypatch.setenv("MEMORY_FOLDER", str(tmp_path))
    return tmp_path
