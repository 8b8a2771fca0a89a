import os
import random
import signal
import stat
import subprocess
import sys
import time

import pytest

from amemorix.clock import FrozenClock
from amemorix.config import backups_of, write_text
from amemorix.errors import StorageFailure


def test_writes_a_new_file_by_the_umask_and_makes_no_copy(tmp_path):
    path, old = tmp_path / "a.toml", os.umask(0o027)
    try:
        assert write_text(path, "中 = 1\r\n", backups=3) is None
    finally:
        os.umask(old)
    assert path.read_bytes() == "中 = 1\r\n".encode()
    assert os.listdir(tmp_path) == ["a.toml"]
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_keeps_the_mode_and_copies_the_old_text(tmp_path):
    path = tmp_path / "a.toml"
    path.write_text("old")
    path.chmod(0o604)
    copy = write_text(path, "new", backups=3, clock=FrozenClock(0))
    assert (copy.name, copy.read_text()) == ("a.toml.backup.19700101T000000.000000Z.000", "old")
    assert path.read_text() == "new"
    assert [stat.S_IMODE(p.stat().st_mode) for p in (path, copy)] == [0o604, 0o604]


def test_only_the_newest_copies_are_kept(tmp_path):
    path, clock = tmp_path / "a.toml", FrozenClock()
    for number in range(6):
        write_text(path, str(number), backups=3, clock=clock)
        clock.advance(0.5 * (number % 2))
    assert [copy.read_text() for copy in backups_of(path)] == ["2", "3", "4"]
    assert write_text(path, "6", backups=0) is None
    assert [copy.read_text() for copy in backups_of(path)] == ["2", "3", "4"], "none is made, and old ones stay"
    before = path.stat()
    assert write_text(path, "6", backups=1) is None
    assert (path.stat().st_ino, path.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns), "it is the same text"


def test_a_symbolic_link_is_followed_and_kept(tmp_path):
    real, link = tmp_path / "real" / "r.toml", tmp_path / "a.toml"
    real.parent.mkdir()
    real.write_text("old")
    link.symlink_to(real)
    copy = write_text(link, "new", backups=1)
    assert link.is_symlink()
    assert (real.read_text(), copy.parent) == ("new", real.parent)
    assert backups_of(link) == [copy]


def test_names_with_wildcards_are_taken_literally(tmp_path):
    other = tmp_path / "ab.toml.backup.1"
    other.write_text("mine")
    path = tmp_path / "a[b].toml"
    for text in "123":
        write_text(path, text, backups=1)
    assert [copy.read_text() for copy in backups_of(path)] == ["2"]
    assert other.exists()


def test_a_refused_replacement_leaves_the_old_state(tmp_path):
    path = tmp_path / "a.toml"
    path.mkdir()
    (path / "x").touch()
    with pytest.raises(StorageFailure, match=r"a\.toml cannot be written"):
        write_text(path, "new", backups=1)
    assert os.listdir(tmp_path) == ["a.toml"]
    with pytest.raises(StorageFailure):
        write_text(tmp_path / "none" / "a.toml", "new", backups=1)


def test_leftovers_of_killed_processes_are_swept_up(tmp_path):
    stale, fresh = tmp_path / f".a.toml.{'1' * 16}.tmp", tmp_path / f".a.toml.{'2' * 16}.tmp"
    for leftover in (stale, fresh):
        leftover.touch()
    os.utime(stale, (0, 0))
    write_text(tmp_path / "a.toml", "1", backups=0)
    assert (stale.exists(), fresh.exists()) == (False, True)


KILLED = """
import sys
from itertools import cycle
from pathlib import Path
from amemorix.config import write_text
for letter in cycle("ab"):
    write_text(Path(sys.argv[1]), letter * 300_000, backups=1)
"""


def test_a_killed_writer_leaves_one_whole_text(tmp_path):
    paths = [tmp_path / str(number) / "a.toml" for number in range(3)]
    writers = []
    for path in paths:
        path.parent.mkdir()
        writers.append(subprocess.Popen([sys.executable, "-c", KILLED, str(path)]))
    deadline = time.monotonic() + 240
    while not all(map(backups_of, paths)) and time.monotonic() < deadline:
        time.sleep(0.02)
    for writer in writers:
        time.sleep(random.random() / 20)
        writer.send_signal(signal.SIGKILL)
        writer.wait()
    for path in paths:
        assert path.read_text() in {"a" * 300_000, "b" * 300_000}
