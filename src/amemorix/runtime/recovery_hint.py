"""Which backup to restore when rows are lost, or when the memory cannot be opened."""

from __future__ import annotations

from contextlib import closing
from datetime import datetime, tzinfo

from ..copies.backup_folder import ON_PURPOSE, Backup, BackupFolder
from ..copies.backups import examined
from ..copies.worker import CopyThread
from ..errors import StorageFailure
from ..store.migrations import migrations
from .checks import FindingItem

__all__ = ["RecoveryHint", "closed_findings"]

SHOWN = 5


class RecoveryHint:
    """Tells which backup to restore; everything here is blocking, and reads backups from end to end."""

    def __init__(self, backups: BackupFolder, zone: tzinfo) -> None:
        self._backups = backups
        self._zone = zone

    def sentence(self) -> str:
        """What to do: the newest sound backup that was made on purpose, else the newest that was set aside."""
        best, _ = self._looked_through()
        if best is None:
            return "There is no sound backup to restore."
        return f"`amemorix restore {best.manifest.id}` puts back {self._told(best)}."

    def findings(self) -> list[FindingItem]:
        """The newest backups, and why those that were looked through cannot be restored."""
        best, problems = self._looked_through()
        found: list[FindingItem] = []
        for backup in self._mine()[:SHOWN]:
            id_, wrong = backup.manifest.id, problems.get(backup.manifest.id) or _known_problem(backup)
            why = "" if backup.manifest.reason in ON_PURPOSE else "; set aside when another took its place"
            detail = f"{id_}: {self._told(backup)}{why}" + (f"; {wrong}" if wrong else "")
            found.append(FindingItem("backup", not wrong, detail, "" if wrong else f"`amemorix restore {id_}`"))
        if best is None:
            found.append(
                FindingItem("backup", False, "there is no sound backup", "Mend the file, or begin anew elsewhere.")
            )
        return found

    def _mine(self) -> list[Backup]:
        """Folders within `backup.roots` may hold backups of other memories."""
        every = self._backups.all()
        mine = {one.manifest.database_id for one in every if one.folder.parent == self._backups.home}
        return [one for one in every if not mine or one.manifest.database_id in mine]

    def _looked_through(self) -> tuple[Backup | None, dict[str, str]]:
        """The sound backup to restore, and of those that would go before it, by id, what is wrong with them."""
        problems: dict[str, str] = {}
        for backup in sorted(self._mine(), key=lambda one: one.manifest.reason not in ON_PURPOSE):
            wrong = _known_problem(backup)
            if not wrong:
                with closing(CopyThread()) as thread:
                    wrong = "; ".join(examined(backup, self._backups.keys, thread)[:1])
            if not wrong:
                return backup, problems
            problems[backup.manifest.id] = wrong
        return None, problems

    def _told(self, backup: Backup) -> str:
        made = datetime.fromtimestamp(backup.manifest.created_at, self._zone)
        return (
            f"what there was on {made:%Y-%m-%d %H:%M:%S} ({backup.manifest.counts.get('paragraphs', 0):,} paragraphs)"
        )


def _known_problem(backup: Backup) -> str:
    """What can be told without reading its files."""
    if backup.manifest.schema > migrations()[-1][0]:
        return "a newer version of the program made it"
    if not backup.manifest.sound:
        return "damaged when it was set aside"
    return "" if backup.whole else "damaged: a file has another size"


def closed_findings(fault: StorageFailure, recovery: RecoveryHint) -> list[FindingItem]:
    """What there is to say of the database that refused, and the backups that could take its place. Blocking."""
    kind, mend = "refused", "Mend what it names: room on the disk, or leave to read and write. If the rows are lost:"
    if fault.details.get("damaged"):
        kind, mend = "damaged", ""
    elif "known" in fault.details:
        kind, mend = "newer", "Upgrade the program, or go back:"
    elif "tables" in fault.details:
        kind, mend = "other tables", "Move the file away if it is another program's."
    told = FindingItem("database", False, f"{kind}: {fault}", f"{mend} {recovery.sentence()}".strip())
    return [told, *recovery.findings()]
