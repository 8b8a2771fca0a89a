"""A process that is killed in the middle of any change, whatever component it was asked of."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from amemorix.host.operations import OPERATIONS

READING = {"search_memory", "memory_stats", "get_person_profile", "memory_feedback_admin"}


@pytest.mark.skipif(sys.platform == "win32", reason="processes are forked")
@pytest.mark.parametrize("seed", [1])
def test_what_was_acknowledged_before_a_kill_in_any_change_holds(seed: int, tmp_path: Path) -> None:
    program = Path(__file__).parents[1] / "admin_life.py"
    done = subprocess.run(
        [sys.executable, str(program), str(tmp_path), str(seed)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout.splitlines()[-1])
    assert not told["wrong"], told["wrong"]
    print(f"\nkilled in {len(told['killed'])} calls; {told['acknowledged']} changes were acknowledged")
    assert {call.split("/")[0] for call in told["killed"]} >= set(OPERATIONS.components()) - READING
