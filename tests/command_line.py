"""Commands of the shell, run in this process."""

from __future__ import annotations

from typer.testing import CliRunner, Result

from amemorix.frontends.cli.main import app

__all__ = ["run", "words"]


def run(*command: str, given: str | None = None) -> Result:
    """What a command did; `given` stands on its input."""
    return CliRunner().invoke(app, command, input=given)


def words(result: Result) -> str:
    """All that it said, on one line."""
    return " ".join(result.output.split())
