"""The README's example does what it shows."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from amemorix.testing import scratch_config

README = Path(__file__).parents[2] / "README.md"


def test_the_ten_lines_find_what_they_stored(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    code = re.search(r"```python\n(.*?)```", README.read_text("utf-8"), re.S)
    assert code is not None
    scratch_config(tmp_path, {"embedding.provider": "none"})
    monkeypatch.chdir(tmp_path)

    exec(compile(code[1], "README.md", "exec"), {})

    assert "我对花生过敏" in capsys.readouterr().out
