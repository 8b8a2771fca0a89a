"""Small group chats with questions that their lines answer, and others that have nothing to do with them."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from typing import Any

from amemorix.errors import InvalidRequest

from .probe import UNANSWERABLE
from .recall.chinese import Language

__all__ = ["read_small_chats"]

SAID, ASKED = "2025-10-20T19:00:00+00:00", "2025-11-09T12:00:00+00:00"


def read_small_chats(language: Language, *, blind: bool = False) -> list[dict[str, Any]]:
    """The chats of a language as probes, in the order of `data/answers/<language>.tsv` and `<language>_hard.tsv`.

    `README.md` there tells the format. `blind`: those of `<language>_blind.tsv`, by which nothing is ever fitted. Raises
    InvalidRequest for a file that is not in the format.
    """
    names = [f"{language}_blind.tsv"] if blind else [f"{language}.tsv", f"{language}_hard.tsv"]
    return [chat for name in names for chat in _read(name, language)]


def _read(name: str, language: Language) -> list[dict[str, Any]]:
    file = files("amemorix_bench").joinpath("data", "answers", name)
    chats: list[dict[str, Any]] = []
    for number, row in enumerate(file.read_text("utf-8").splitlines(), 1):
        try:
            kind, first, *rest = row.split("\t")
            if kind == "chat":
                session = {"id": "s1", "start": SAID, "messages": list[list[str]]()}
                chats.append({"id": f"{first}_{language}", "asked": ASKED, "sessions": [session], "questions": []})
            elif kind == "line":
                lines = chats[-1]["sessions"][0]["messages"]
                lines.append([f"m{len(lines) + 1}", first, rest[0]])
            else:
                chats[-1]["questions"].append(_question(kind, first, rest[0]))
        except (ValueError, IndexError) as exc:
            raise InvalidRequest(f"{name}, line {number} is not in the format: {exc}.", field="file") from exc
    return chats


def _question(kind: str, numbers: str, text: str) -> Mapping[str, Any]:
    evidence = [f"m{int(number)}" for number in numbers.split(",")] if numbers else []
    if (kind, bool(evidence)) not in (("ask", True), ("none", False)):
        raise ValueError(f"{kind!r} with {len(evidence)} lines that answer")
    return {"kind": "question" if evidence else UNANSWERABLE, "text": text, "evidence": evidence}
