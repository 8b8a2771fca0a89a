"""The settings of imports."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from .section import Section, live

__all__ = ["Imports"]

Root = Annotated[str, Field(min_length=1, max_length=4096, pattern=r"^(/|~|[A-Za-z]:[\\/])")]


class Imports(Section):
    """The import of files in the background."""

    enabled: bool = live(True, "Take import tasks, and work on them.")
    roots: tuple[Root, ...] = live(
        (), "Folders from which files may be imported, absolute, besides those below `imports/` in the data directory."
    )
    max_queue_size: int = live(20, "Most tasks that wait or are under way.", ge=1, le=10_000)
    max_files_per_task: int = live(200, "Most files of one task.", ge=1, le=100_000)
    max_file_size_mb: float = live(0.0, "Largest file; 0 sets no limit.", ge=0, le=10_000_000)
    max_paste_chars: int = live(200_000, "Longest text handed over within a call.", ge=1, le=50_000_000)
    chunk_records: int = live(
        200, "Records stored in one transaction; smaller ones let other writes in sooner.", ge=1, le=5_000
    )
    idle_share: float = live(0.25, "Seconds of rest for each second of work, so that calls go first.", ge=0, le=100)
    poll_interval_seconds: float = live(1.0, "Pause between looks for tasks.", gt=0, le=3600)
    lease_seconds: float = live(
        60.0, "After this long without a sign, a task that was begun is taken over.", ge=1, le=86_400
    )
    retry_seconds: float = live(5.0, "First pause after a failure of the store; it doubles each time.", gt=0, le=3600)
    max_attempts: int = live(5, "Tries in a row before a task is given up.", ge=1, le=100)
    keep_staged_hours: float = live(
        72.0, "Uploaded files that nothing has used, or that failed and may be tried again, go after so long.",
        gt=0, le=100_000,
    )  # fmt: skip
