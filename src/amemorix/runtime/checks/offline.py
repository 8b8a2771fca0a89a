"""The examination of a memory that cannot be opened."""

from __future__ import annotations

from ...errors import StorageFailure
from .finding import Finding
from .recovery_hint import WayBack
from .service import Examined

__all__ = ["examined_closed"]


def examined_closed(fault: StorageFailure, way_back: WayBack, now: float) -> Examined:
    """What there is to say of the database that refused, and the backups that could take its place. Blocking."""
    kind, mend = _kind(fault)
    told = Finding("database", False, f"{kind}: {fault}", f"{mend} {way_back.sentence()}".strip())
    return Examined(now, (told, *way_back.findings()))


def _kind(fault: StorageFailure) -> tuple[str, str]:
    """What is wrong in a word, and what to do beside restoring."""
    if fault.details.get("damaged"):
        return "damaged", ""
    if "known" in fault.details:
        return "newer", "Upgrade the program, or go back:"
    if "tables" in fault.details:
        return "other tables", "Move the file away if it is another program's."
    return "refused", "Mend what it names: room on the disk, or leave to read and write. If the rows are lost:"
