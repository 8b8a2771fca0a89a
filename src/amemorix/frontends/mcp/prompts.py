"""What a user can ask a model to do with the memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

__all__ = ["PROMPTS", "Prompt"]


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt; `{name}` in its text is an argument."""

    name: str
    description: str
    text: str
    arguments: Mapping[str, str] = field(default_factory=dict[str, str])
    """Name -> what it is."""


PROMPTS = {
    one.name: one
    for one in (
        Prompt(
            "use_what_you_remember",
            "Answer with what the memory knows.",
            "Call get_context with this message, and recall where that leaves a question open. Then answer it; say which "
            "parts you remember and since when, and say so if the memory knows nothing of it.\n\n{message}",
            {"message": "What you want to ask or say."},
        ),
        Prompt(
            "who_is",
            "Tell all that is known of a person.",
            "Who is {person}? Call who_is and facts, tell it in a few sentences with dates, name what contradicts or may "
            "be outdated, and give the ids of the texts that say so.",
            {"person": "A name or an id."},
        ),
        Prompt(
            "remember_this",
            "Keep what matters of this conversation.",
            "Look through this conversation for what will matter later: who people are, what they like, have and plan, "
            "decisions, dates. recall what is known already. Then remember what is new, each in a sentence that stands "
            "alone, and correct what has changed. Tell me what you stored.",
        ),
        Prompt(
            "clean_up",
            "Find what is wrong or outdated and put it right.",
            "Look through what is remembered with facts (status conflicted and maybe_outdated) and timeline. List what "
            "contradicts, is outdated or stored twice, and what you would do: correct or forget. Carry nothing out "
            "before I have agreed to its preview.",
        ),
    )
}
