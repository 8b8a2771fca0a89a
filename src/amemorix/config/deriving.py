"""The settings of what is derived in the background."""

from __future__ import annotations

from .section import Section, live

__all__ = ["Episode", "Extraction", "Facts", "Profile", "Summary"]

NO_EFFECT = "No effect any more: a profile is read from the facts when it is asked for."


class Episode(Section):
    """How paragraphs are grouped into episodes."""

    enabled: bool = live(True, "Keep episodes up to date.")
    gap_hours: float = live(24.0, "A pause this long ends an episode.", gt=0, le=10_000)
    topic_shift: float = live(
        0.05, "Lexical similarity below which the talk has moved on; 0 never splits by topic.", ge=0, le=1
    )
    max_paragraphs: int = live(60, "Longest episode.", ge=2, le=500)
    poll_interval_seconds: float = live(1.0, "Pause between looks for sources with news.", gt=0, le=3600)
    debounce_seconds: float = live(
        2.0,
        "A source is grouped again so long after its first news: talk in full flow comes in between.",
        ge=0,
        le=3600,
    )
    lease_seconds: float = live(300.0, "After this long, work that was begun may be taken over.", ge=1, le=86_400)
    retry_seconds: float = live(
        5.0, "First pause after a failure; it doubles up to `retry_max_seconds`.", gt=0, le=3600
    )
    retry_max_seconds: float = live(300.0, "Longest pause between tries.", gt=0, le=86_400)
    max_attempts: int = live(5, "Tries before a source is left alone until somebody asks for it.", ge=1, le=100)
    model_enabled: bool = live(
        True,
        "Let the chat model, if there is one, read finished episodes: it divides and describes them, and says what is to be kept of the people and things in them.",
    )
    model_quiet_minutes: float = live(
        30.0, "Without news for so long an episode counts as finished even if nothing follows.", ge=0, le=10_000
    )
    model_min_paragraphs: int = live(1, "Shorter episodes are left to the rules.", ge=1, le=500)
    model_paragraphs: int = live(30, "Most paragraphs shown to the model at once.", ge=2, le=500)
    model_chars: int = live(6_000, "Most characters shown to the model at once.", ge=500, le=200_000)
    model_retry_minutes: float = live(
        10.0, "First pause after the model gave no usable answer; it doubles each time.", gt=0, le=10_000
    )
    model_max_attempts: int = live(4, "Times that the model is asked about one state of an episode.", ge=1, le=20)
    disabled_source_types: tuple[str, ...] = live(("person_fact",), "Source types that get no episodes.")


class Extraction(Section):
    """What is read out of texts in the background: names, and by the chat model the relations between them."""

    enabled: bool = live(True, "Read new paragraphs for names and relations.")
    rules: bool = live(True, "Read names: English ones by how they are written, Chinese ones by `chinese_names`.")
    chinese_names: bool = live(True, "Read Chinese names with the local model `lac`, if it is installed.")
    model: bool = live(True, "Keep the relations that the chat model reads in episodes, if there is one.")
    disabled_source_types: tuple[str, ...] = live(("person_fact",), "Source types that are not read.")
    max_relations: int = live(8, "Most relations taken from one paragraph.", ge=0, le=100)
    max_entities: int = live(16, "Most entities taken from one paragraph.", ge=0, le=200)
    model_messages: bool = live(False, "No effect any more: the chat model reads whole episodes.")
    model_batch: int = live(12, "No effect any more: `episode.model_paragraphs` counts.", ge=1, le=100)
    model_chars: int = live(6_000, "No effect any more: `episode.model_chars` counts.", ge=500, le=200_000)
    poll_interval_seconds: float = live(1.0, "Pause between looks for news.", gt=0, le=3600)
    model_retry_seconds: float = live(
        60.0, "No effect any more: `episode.model_retry_minutes` counts.", gt=0, le=86_400
    )


class Profile(Section):
    """What is known of each person, in short statements with their evidence; read from the facts when it is asked for."""

    enabled: bool = live(True, NO_EFFECT)
    use_chat_model: bool = live(True, NO_EFFECT)
    share_private: bool = live(False, "Let what a person told in private chats show in every chat.")
    debounce_seconds: float = live(30.0, NO_EFFECT, ge=0, le=86_400)
    poll_interval_seconds: float = live(1.0, NO_EFFECT, gt=0, le=3600)
    max_tokens: int = live(500, "Most tokens of the text of a profile.", ge=50, le=20_000)
    items_per_section: int = live(12, "Most statements of a section.", ge=1, le=50)
    max_lines: int = live(2_000, NO_EFFECT, ge=50, le=100_000)
    max_evidence: int = live(40, NO_EFFECT, ge=5, le=200)
    max_history: int = live(100, "Most changes that the history of a profile tells at a time.", ge=1, le=1000)


class Facts(Section):
    """What is known of persons, as statements with a time."""

    enabled: bool = live(True, "Read facts out of what is stored.")
    poll_interval_seconds: float = live(1.0, "Pause between looks for news.", gt=0, le=3600)
    dedup_threshold: float = live(
        0.75,
        "Statements of a person this alike are shown to a chat model, which says what becomes of the older.",
        ge=0,
        le=1,
    )
    dedup_top_k: int = live(5, "How many of them.", ge=1, le=50)
    search_limit: int = live(5, "Most facts that come with a search; 0 for none.", ge=0, le=50)


class Summary(Section):
    """How the messages of a chat are summarised when `ingest_summary` is called without a text."""

    enabled: bool = live(True, "Let the chat model write summaries; off: the messages alone are the memory.")
    window_messages: int = live(40, "Most messages that one summary covers.", ge=2, le=500)
    window_chars: int = live(12_000, "Most characters that one summary covers.", ge=500, le=200_000)
    poll_interval_seconds: float = live(1.0, "Pause between looks for chats that wait.", gt=0, le=3600)
    retry_seconds: float = live(
        30.0, "First pause after a failed summary; it doubles up to `retry_max_seconds`.", gt=0, le=3600
    )
    retry_max_seconds: float = live(1800.0, "Longest pause between tries of a summary.", gt=0, le=86_400)
    max_attempts: int = live(8, "Failed tries after which a stretch of messages is left as it is.", ge=1, le=100)
