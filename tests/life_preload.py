"""What every process of a test would work out again: the shape of the database, and one without rows."""

from __future__ import annotations

import tempfile
from pathlib import Path

from amemorix.testing import lay_empty_database

with tempfile.TemporaryDirectory() as folder:
    lay_empty_database(Path(folder))
