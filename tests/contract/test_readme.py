"""The first examples do what they show."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from amemorix.testing import scratch_config

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("page", ["README.md", "docs/host.md"])
def test_the_first_lines_find_what_they_stored(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, page: str
) -> None:
    code = re.findall(r"```python\n(.*?)```", (ROOT / page).read_text("utf-8"), re.S)[0]
    config = scratch_config(tmp_path, {"embedding.provider": "none"})
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory" / "a_memorix.toml").write_bytes(config.read_bytes())
    monkeypatch.chdir(tmp_path)

    names: dict[str, Any] = {}
    exec(compile(code, page, "exec"), names)
    if memory := names.get("memory"):
        memory.close()

    assert "我对花生过敏" in capsys.readouterr().out


def test_no_link_of_the_pages_is_dead() -> None:
    for page in (*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")):
        for target in re.findall(r"\]\(([^)#\s]+)", page.read_text("utf-8")):
            assert "://" in target or (page.parent / target).exists(), f"{page}: {target}"
