"""The README's example does what it shows."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from amemorix.testing import scratch_config

README = Path(__file__).parents[2] / "README.md"


@pytest.mark.parametrize("place", [0, 1], ids=["Memory", "AMemorixHostService"])
def test_the_first_lines_find_what_they_stored(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, place: int
) -> None:
    code = re.findall(r"```python\n(.*?)```", README.read_text("utf-8"), re.S)[place]
    config = scratch_config(tmp_path, {"embedding.provider": "none"})
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory" / "a_memorix.toml").write_bytes(config.read_bytes())
    monkeypatch.chdir(tmp_path)

    names: dict[str, Any] = {}
    exec(compile(code, "README.md", "exec"), names)
    if memory := names.get("memory"):
        memory.close()

    assert "我对花生过敏" in capsys.readouterr().out
