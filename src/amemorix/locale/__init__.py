"""What the memory says to people, in their language: English as it stands in the source, Chinese by a catalogue.

The program makes English sentences; a door (shell, HTTP, the host) hands them to `told` before somebody reads them.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from contextvars import ContextVar
from typing import Any, Literal, TypeVar

__all__ = ["Language", "accepted", "joined", "language_of", "localised", "speaking", "spoken", "told", "word"]

Language = Literal["en", "zh"]
Answer = TypeVar("Answer", bound=Mapping[str, Any])
_VARIABLES = ("LC_ALL", "LC_MESSAGES", "LANG")
_TAGS: dict[str, Language] = {"en": "en", "zh": "zh"}
_CHINESE_ON_WINDOWS = 0x04
_spoken: ContextVar[Language | None] = ContextVar("amemorix_language", default=None)


class speaking(AbstractContextManager[None]):
    """Speak a language within the block, and in the tasks and threads that it begins; None leaves it as it is."""

    def __init__(self, language: Language | None) -> None:
        self._language: Language | None = language

    def __enter__(self) -> None:
        self._before = _spoken.set(self._language or _spoken.get())

    def __exit__(self, *exc: object) -> None:
        _spoken.reset(self._before)


def spoken() -> Language | None:
    """The language that somebody has chosen for what is running; None if nobody has."""
    return _spoken.get()


def told(text: str, language: Language | None = None) -> str:
    """An English sentence of ours in a language, or in the one spoken; what is no sentence of ours stays as it is."""
    if (language or _spoken.get()) != "zh":
        return text
    from .catalogue import catalogue

    return catalogue("zh").translated(text)


def word(text: str, language: Language | None = None) -> str:
    """The heading of a column, or a state that is counted, likewise."""
    if (language or _spoken.get()) != "zh":
        return text
    from .catalogue import catalogue

    return catalogue("zh").word(text)


def joined(parts: Iterable[str]) -> str:
    """Remarks after each other, in the language spoken."""
    return ("；" if _spoken.get() == "zh" else "; ").join(parts)


def localised(answer: Answer, language: Language | None = None) -> Answer | dict[str, Any]:
    """An answer with its sentences in a language: `error`, `warnings`, `notice`, the findings of a check, the errors of reloads.

    What is stored, `error_code` and `details` stay as they are.
    """
    if (language or _spoken.get()) != "zh" or "success" not in answer:
        return answer
    new = dict(answer)
    for key in ("error", "notice"):
        if isinstance(new.get(key), str):
            new[key] = told(new[key], "zh")
    if isinstance(new.get("warnings"), list):
        new["warnings"] = [told(str(one), "zh") for one in new["warnings"]]
    for key in ("last", "last_error"):  # of a reload
        if isinstance(one := new.get(key), dict):
            new[key] = {**one, "error": told(str(one.get("error", "")), "zh")}
    report = new.get("report")
    if isinstance(report, dict) and isinstance(report.get("findings"), list):
        findings = [
            {key: told(value, "zh") if key in ("detail", "mend") else value for key, value in one.items()}
            for one in report["findings"]
        ]
        new["report"] = {**report, "message": told(str(report.get("message", "")), "zh"), "findings": findings}
    return new


def language_of(environ: Mapping[str, str]) -> Language:
    """The language of a process's locale, by the rules of gettext; on Windows of the user, where no variable says another."""
    locale = next((environ[name] for name in _VARIABLES if environ.get(name)), "")
    if locale.partition(".")[0] in ("C", "POSIX"):
        return "en"
    if locale:
        locale = environ.get("LANGUAGE", "").partition(":")[0] or locale
    elif sys.platform == "win32" and environ is os.environ:
        import ctypes

        return "zh" if ctypes.windll.kernel32.GetUserDefaultUILanguage() & 0x3FF == _CHINESE_ON_WINDOWS else "en"
    return "zh" if locale.lower().startswith("zh") else "en"


def accepted(header: str) -> Language | None:
    """The language that an `Accept-Language` header likes best of ours; None if it names neither."""
    best = 0.0
    liked: Language | None = None
    for one in header.split(","):
        name, _, weight = one.partition(";")
        tag = name.strip().lower().partition("-")[0]
        try:
            quality = float(weight.strip().removeprefix("q=") or 1)
        except ValueError:
            continue
        if tag in _TAGS and quality > best:
            best, liked = quality, _TAGS[tag]
    return liked
