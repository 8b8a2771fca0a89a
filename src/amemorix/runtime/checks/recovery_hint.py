"""The way back to rows that were lost: the backups that can be restored."""

from __future__ import annotations

from datetime import datetime, tzinfo

from ...copies.backup_folder import ON_PURPOSE, Backup, BackupFolder
from ...copies.backups import examined
from ...copies.worker import CopyThread
from ...store.migrations import migrations
from .finding import Finding

__all__ = ["WayBack"]

SHOWN = 5


class WayBack:
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

    def findings(self) -> list[Finding]:
        """The newest backups, and why those that were looked through cannot be restored."""
        best, problems = self._looked_through()
        found = [self._finding(backup, problems) for backup in self._mine()[:SHOWN]]
        if best is None:
            found.append(
                Finding("backup", False, "there is no sound backup", "Mend the file, or begin anew elsewhere.")
            )
        return found

    def _beside(self) -> list[Backup]:
        return [one for one in self._backups.all() if one.folder.parent == self._backups.home]

    def _mine(self) -> list[Backup]:
        """Folders within `backup.roots` may hold backups of other memories."""
        mine = {one.manifest.database_id for one in self._beside()}
        return [one for one in self._backups.all() if not mine or one.manifest.database_id in mine]

    def _looked_through(self) -> tuple[Backup | None, dict[str, str]]:
        """The sound backup to restore, and of those that would go before it, by id, what is wrong with them."""
        problems: dict[str, str] = {}
        for backup in sorted(self._mine(), key=lambda one: one.manifest.reason not in ON_PURPOSE):
            wrong = _problem(backup)
            if not wrong:
                return backup, problems
            problems[backup.manifest.id] = wrong
        return None, problems

    def _finding(self, backup: Backup, problems: dict[str, str]) -> Finding:
        id_ = backup.manifest.id
        wrong = problems.get(id_) or _known_problem(backup)
        why = "" if backup.manifest.reason in ON_PURPOSE else "; set aside when another took its place"
        detail = f"{id_}: {self._told(backup)}{why}" + (f"; {wrong}" if wrong else "")
        return Finding("backup", not wrong, detail, "" if wrong else f"`amemorix restore {id_}`")

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


def _problem(backup: Backup) -> str:
    known = _known_problem(backup)
    if known:
        return known
    thread = CopyThread()
    try:
        return "; ".join(examined(backup, thread).problems[:1])
    finally:
        thread.close()
