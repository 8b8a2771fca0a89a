"""What a person should know of an imported file although nothing of it failed."""

from __future__ import annotations

from collections.abc import Mapping

from .readers.foreign_values import LONGEST_NAME

__all__ = ["BEYOND", "MOST_OF_A_TEXT", "sentences"]

MOST_OF_A_TEXT = 5_000
"""Entities, relations, persons or tags of one text that an import takes over."""
BEYOND = "beyond:"
"""Before the name of an argument of which a text had too many."""
_SENTENCES = {
    "no_speaker": "{count} messages do not say who speaks; they are stored without a speaker.",
    "no_speaker_column": "{count} rows are stored as texts of nobody: no column says who speaks. If this is a chat, name the "
    'column, `columns` {{"speaker": HEADING}} (`--columns speaker=HEADING`), and import it again.',
    "looks_like_chat": "it looks like a saved chat and is stored as a text that nobody says: with `chat_log` (`--chat-log`) it "
    "is stored turn by turn.",
    "day_or_month": "{count} messages have dates such as 03/04/2025, of which nothing in the file tells the day from the month; "
    "they are read as its country most likely writes them.",
    "long_name": "{count} names or ids are cut to {longest} characters.",
    "nothing": "there is nothing in it that somebody says or writes: nothing is stored.",
    "own_chat": "{count} records name a group or a private chat of their own; they are stored there, and not in the chat "
    "that the import names.",
    "put_here": "{count} records name a group or a private chat of their own; they are stored in the chat that the import "
    "names, as `scope_type` `chat` asks for.",
    "no_words": "{count} messages are left out: pictures, stickers and notices without a word that somebody wrote.",
    "relations": "{count} relations are left out: without a subject, a predicate and another object.",
    "records": "{count} further copies of texts are left out: they belong to more chats than can be taken over.",
    "metadata": "of {count} texts metadata is left out: there is too much of it, or it cannot be stored.",
}


def sentences(notes: Mapping[str, int]) -> list[str]:
    """The notes of a file, in words."""
    return [_sentence(kind, count) for kind, count in sorted(notes.items()) if count]


def _sentence(kind: str, count: int) -> str:
    if kind.startswith(BEYOND):
        of = kind.removeprefix(BEYOND)
        return f"{count:,} {of} are left out: one text has at most {MOST_OF_A_TEXT:,}."
    return _SENTENCES.get(kind, f"{kind}: {{count}}").format(count=f"{count:,}", longest=LONGEST_NAME)
