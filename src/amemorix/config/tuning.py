"""The settings of the search for better retrieval settings."""

from __future__ import annotations

from typing import Literal

from .section import Section, live

__all__ = ["Tuning"]


class Tuning(Section):
    """The search for retrieval settings that suit what is stored; it runs when it is asked for."""

    enabled: bool = live(True, "Take and work on tuning tasks.")
    objective: Literal["precision_priority", "balanced", "recall_priority"] = live(
        "balanced", "What counts: that the first hit is right, that nothing is missing, or both."
    )
    intensity: Literal["quick", "standard", "deep"] = live("standard", "8, 20 or 32 rounds.")
    sample_size: int = live(200, "Questions that settings are judged by.", ge=20, le=500)
    top_k: int = live(10, "First hits that count.", ge=1, le=100)
    use_chat_model: bool = live(True, "Let the chat model, if there is one, write half of the questions.")
    max_queue_size: int = live(8, "Tasks that may wait or be under way.", ge=1, le=100)
    keep_tasks: int = live(50, "Tasks that are kept with their questions and rounds.", ge=1, le=1000)
    idle_share: float = live(1.0, "Seconds of rest for each second of work, so that calls go first.", ge=0, le=100)
    poll_interval_seconds: float = live(2.0, "Pause between looks for tasks.", gt=0, le=3600)
    lease_seconds: float = live(600.0, "After this long, a round that was begun may be taken over.", ge=10, le=86_400)
