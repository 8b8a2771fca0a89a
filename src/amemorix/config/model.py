"""The settings: every one with its meaning, its bounds, its default and what changing it costs."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

__all__ = [
    "Advanced", "Chat", "Config", "Correction", "Embedding", "Episode", "Extraction", "Facts", "Feedback", "Filter", "Http",
    "Imports", "Ingest", "Lifecycle", "Noise", "Plugin", "Profile", "ReloadLevel", "Rerank", "RerankWeights", "Retrieval", "Section",
    "SharedGroup", "Sparse", "Storage", "Summary", "Weights",
]  # fmt: skip

ReloadLevel = Literal["live", "rebuild", "restart"]


class Section(BaseModel):
    """A table of settings: frozen, with unknown keys refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


def live(default: Any, meaning: str, **bounds: Any) -> Any:
    """A setting that applies to the next call."""
    return Field(default, description=meaning, json_schema_extra={"x-reload": "live"}, **bounds)


def rebuild(default: Any, meaning: str, **bounds: Any) -> Any:
    """A setting whose change builds a new model or index beside the old one, and then switches."""
    return Field(default, description=meaning, json_schema_extra={"x-reload": "rebuild"}, **bounds)


def restart(default: Any, meaning: str, **bounds: Any) -> Any:
    """A setting whose change opens a new store, or wants the process started again."""
    return Field(default, description=meaning, json_schema_extra={"x-reload": "restart"}, **bounds)


class Plugin(Section):
    """The master switch."""

    enabled: bool = live(True, "Off: every call answers `disabled`, nothing is stored or searched.")


class Storage(Section):
    """Where the rows are, and how they are kept."""

    data_dir: str = restart(
        "data/a-memorix", "Folder of the database and the indexes; relative to the project (the parent of config/).",
        min_length=1,
    )  # fmt: skip
    synchronous: Literal["full", "normal"] = restart(
        "full", "`full`: an acknowledged write survives a power cut. `normal`: it survives a crash of the process."
    )
    readers: int = restart(2, "Reader threads; as many as cores, not as callers.", ge=1, le=32)
    group_commit_max: int = restart(256, "Most writes that share one commit.", ge=1, le=10_000)


class Embedding(Section):
    """The model that turns texts into vectors."""

    provider: Literal["auto", "local", "openai", "host", "none"] = rebuild(
        "auto", "`auto`: the local model if it is installed, else none. `openai`: an OpenAI-compatible endpoint. "
        "`host`: the callable given to the host service. `none`: lexical and structure only.",
    )  # fmt: skip
    model_name: str = rebuild("", "Model to ask the endpoint for; with `local`, the name of an installed model.")
    base_url: str = rebuild("", "Endpoint, for example https://api.example.com/v1 (`/embeddings` is appended).")
    api_key_env: str = rebuild(
        "", "Name of the environment variable that holds the key; the key itself never goes here."
    )
    dimension: int = rebuild(0, "Expected dimension; 0 takes it from the model's answer.", ge=0, le=16_384)
    request_dimension: bool = rebuild(False, "Send `dimensions` with each request (models that can shorten vectors).")
    batch_size: int = live(32, "Texts per request or forward pass.", ge=1, le=2048)
    max_concurrent: int = rebuild(2, "Embedding threads, or requests in flight.", ge=1, le=32)
    timeout_seconds: float = rebuild(30.0, "Time given to one request.", gt=0, le=600)
    max_attempts: int = rebuild(3, "Tries of one request before its texts are put back.", ge=1, le=10)
    retry_seconds: float = live(
        5.0, "First pause after a failed batch; it doubles up to `retry_max_seconds`.", gt=0, le=3600
    )
    retry_max_seconds: float = live(
        300.0, "Longest pause between tries of a failing text or endpoint.", gt=0, le=86_400
    )
    query_timeout_seconds: float = live(
        5.0, "After this long without the query's vector, the other lanes answer.", gt=0, le=120
    )
    keep_generations: int = live(
        1, "Retired sets of vectors to keep, so that changing the model back costs nothing.", ge=0, le=10
    )
    glosses: bool = rebuild(
        True, "Read Chinese with the installed table of words and their English glosses; not with `openai` and `host`."
    )
    quantization_type: Literal["int8", "float16", "float32"] = rebuild(
        "int8", "Precision of the vectors held in memory; the rows keep float16."
    )


class Chat(Section):
    """The language model that background work may ask; no search and no ingest waits for it."""

    provider: Literal["auto", "openai", "host", "none"] = rebuild(
        "auto", "`auto`: the model given to the host service, else the endpoint if `base_url` and `model_name` are set, "
        "else none. `openai`: an OpenAI-compatible endpoint. `host`: the one given to the host service. `none`: rules only.",
    )  # fmt: skip
    base_url: str = rebuild("", "Endpoint, for example https://api.example.com/v1 (`/chat/completions` is appended).")
    model_name: str = rebuild("", "Model to ask the endpoint for.")
    api_key_env: str = rebuild(
        "", "Name of the environment variable that holds the key; the key itself never goes here."
    )
    timeout_seconds: float = rebuild(60.0, "Time given to one request.", gt=0, le=3600)
    max_attempts: int = rebuild(3, "Tries of one request that meets a passing fault.", ge=1, le=10)
    max_concurrent: int = live(2, "Questions under way at a time.", ge=1, le=64)
    temperature: float = rebuild(0.0, "How freely the model words its answers.", ge=0, le=2)
    max_output_tokens: int = rebuild(4096, "Longest answer; 0 leaves it to the endpoint.", ge=0, le=1_000_000)
    daily_token_budget: int = live(
        0, "Tokens that may be used in a day (UTC), question and answer together; 0 sets no limit.", ge=0
    )


class Weights(Section):
    """Weights of the fused signals, each scaled to 0..1 before; those of the first candidates are in `rerank.weights`."""

    person: float = live(0.4, "The one person named in the query said it.", ge=0, le=10)
    paragraph: float = live(0.25, "BM25 of the paragraph.", ge=0, le=10)
    window: float = live(0.4, "BM25 of the paragraph with two neighbours on each side.", ge=0, le=10)
    session: float = live(0.2, "BM25 of the whole session.", ge=0, le=10)
    coverage: float = live(0.1, "Share of the query's weighted words in the window.", ge=0, le=10)
    dense: float = live(0.75, "Cosine of the vectors.", ge=0, le=10)
    topic: float = live(0.2, "Highest cosine in the session.", ge=0, le=10)
    reply: float = live(0.2, "The paragraph before is a question like the query.", ge=0, le=10)
    graph: float = live(
        0.6, "Personalised PageRank from the query's entities, or a relation near the query.", ge=0, le=10
    )
    time: float = live(0.4, "It happened when the query says.", ge=0, le=10)
    chronology: float = live(0.05, "It lies before or after the event that the query names, as asked.", ge=0, le=10)
    linked: float = live(
        0.05, "It shares a rare entity with one of the first hits, or one that is related to it.", ge=0, le=10
    )
    when: float = live(0.3, "A question about time meets a paragraph that speaks of time.", ge=0, le=10)
    answer: float = live(0.2, "A question for a name or a number meets a paragraph that holds one.", ge=0, le=10)
    question: float = live(0.1, "Taken off when the paragraph is itself a question.", ge=0, le=10)
    retention: float = live(
        0.1, "Taken off, times how much more it has faded than the freshest candidate (`[lifecycle]`).", ge=0, le=10
    )


class RerankWeights(Weights):
    """Weights of the same signals in the head of the ranking, and of the word-by-word comparison."""

    paragraph: float = live(0.0, "BM25 of the paragraph.", ge=0, le=10)
    window: float = live(0.12, "BM25 of the paragraph with two neighbours on each side.", ge=0, le=10)
    session: float = live(0.1, "BM25 of the whole session.", ge=0, le=10)
    coverage: float = live(0.25, "Share of the query's weighted words in the window.", ge=0, le=10)
    dense: float = live(0.25, "Cosine of the vectors.", ge=0, le=10)
    topic: float = live(0.22, "Highest cosine in the session.", ge=0, le=10)
    reply: float = live(0.12, "The paragraph before is a question like the query.", ge=0, le=10)
    answer: float = live(0.2, "A question for a name or a number meets a paragraph that holds one.", ge=0, le=10)
    question: float = live(0.13, "Taken off when the paragraph is itself a question.", ge=0, le=10)
    tokens: float = live(0.32, "Late interaction with the paragraph's words.", ge=0, le=10)
    words: float = live(0.6, "Likeness of the Chinese words, by the vectors of their glosses.", ge=0, le=10)
    token_window: float = live(0.3, "Late interaction with the words of it and its neighbours.", ge=0, le=10)


class Rerank(Section):
    """The second look at the head of the ranking, with the vectors of single words."""

    enabled: bool = live(True, "Compare word by word, if the model gives word vectors.")
    depth: int = live(64, "How many of the first candidates are looked at again.", ge=1, le=1000)
    budget_ms: float = live(50.0, "After this long the head ends where it is.", gt=0, le=10_000)
    weights: RerankWeights = RerankWeights()


class Sparse(Section):
    """The lexical index."""

    enabled: bool = live(True, "Search by words at all.")
    backend: Literal["native", "fts5"] = rebuild("native", "`native`: in memory. `fts5`: a SQLite file, no memory.")


class Noise(Section):
    """When nothing relevant is stored, nothing is returned."""

    enabled: bool = live(True, "Return nothing rather than the least bad.")
    min_relevance: float = live(
        0.5,
        "With vectors: cosine plus 0.6 times the share of the query's weighted words that a paragraph and its neighbours hold. Half of it is enough when the query names a person the memory knows.",
        ge=0,
        le=2,
    )
    min_coverage: float = live(
        0.4, "Without vectors: the share of words alone; half of it when a known person is named.", ge=0, le=1
    )


class Retrieval(Section):
    """How search finds and ranks."""

    candidates: int = live(80, "Candidates each lane may put forward.", ge=10, le=2000)
    lane_budget_ms: float = live(
        1000.0, "A lane whose statements run longer is left out and named in `degraded`.", gt=0, le=60_000
    )
    session_gap_minutes: float = live(360.0, "A pause this long begins a new session.", gt=0, le=100_000)
    session_max_paragraphs: int = live(200, "A session is closed at this length.", ge=10, le=2000)
    weights: Weights = Weights()
    rerank: Rerank = Rerank()
    sparse: Sparse = Sparse()
    noise: Noise = Noise()


Root = Annotated[str, Field(min_length=1, max_length=4096, pattern=r"^(/|~|[A-Za-z]:[\\/])")]
Target = Annotated[str, Field(min_length=1, max_length=512, pattern=r"\S")]


class Filter(Section):
    """Which chats the memory serves."""

    enabled: bool = live(True, "Apply the list below.")
    mode: Literal["blacklist", "whitelist"] = live("blacklist", "`whitelist`: only the chats listed are served.")
    chats: tuple[Target, ...] = live(
        (), "Entries `group:ID`, `user:ID`, `private:ID`, `stream:ID`, or an id alone that matches any."
    )


class SharedGroup(Section):
    """Chats that see each other's memories."""

    targets: tuple[Target, ...] = live((), "Chat ids, or entries `group:ID`, `private:ID`, `stream:ID`.")


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
    model_enabled: bool = live(True, "Let the chat model, if there is one, divide and describe finished episodes.")
    model_quiet_minutes: float = live(
        30.0, "Without news for so long an episode counts as finished even if nothing follows.", ge=0, le=10_000
    )
    model_min_paragraphs: int = live(3, "Shorter episodes are left to the rules.", ge=1, le=500)
    model_paragraphs: int = live(60, "Most paragraphs shown to the model at once.", ge=2, le=500)
    model_chars: int = live(6_000, "Most characters shown to the model at once.", ge=500, le=200_000)
    model_retry_minutes: float = live(
        10.0, "First pause after the model gave no usable answer; it doubles each time.", gt=0, le=10_000
    )
    model_max_attempts: int = live(4, "Times that the model is asked about one state of an episode.", ge=1, le=20)
    disabled_source_types: tuple[str, ...] = live(("person_fact",), "Source types that get no episodes.")


class Extraction(Section):
    """What is read out of texts in the background: entities, and relations between them."""

    enabled: bool = live(True, "Read new paragraphs for entities and relations.")
    rules: bool = live(True, "Read by rules: patterns and parts of speech, Chinese and English.")
    model: bool = live(True, "Read by the chat model as well, if there is one.")
    disabled_source_types: tuple[str, ...] = live(("person_fact",), "Source types that are not read.")
    max_relations: int = live(8, "Most relations taken from one paragraph.", ge=0, le=100)
    max_entities: int = live(16, "Most entities taken from one paragraph.", ge=0, le=200)
    model_messages: bool = live(
        False,
        "Show the chat model single chat messages too, and not only texts and summaries; it costs tokens for each.",
    )
    model_batch: int = live(12, "Paragraphs shown to the chat model in one call.", ge=1, le=100)
    model_chars: int = live(6_000, "Most characters shown to the chat model in one call.", ge=500, le=200_000)
    poll_interval_seconds: float = live(1.0, "Pause between looks for news.", gt=0, le=3600)
    model_retry_seconds: float = live(60.0, "Pause after the chat model could not answer.", gt=0, le=86_400)


class Profile(Section):
    """What is known of each person, in short statements with their evidence."""

    enabled: bool = live(True, "Keep profiles up to date. Off: each one asked for is made from the newest lines.")
    use_chat_model: bool = live(True, "Let the chat model, if there is one, sort and word the statements.")
    share_private: bool = live(False, "Let what a person told in private chats show in every chat.")
    debounce_seconds: float = live(30.0, "Pause after news of a person before the profile follows.", ge=0, le=86_400)
    poll_interval_seconds: float = live(1.0, "Pause between looks for persons with news.", gt=0, le=3600)
    items_per_section: int = live(6, "Most statements of a section.", ge=1, le=50)
    max_lines: int = live(2_000, "Most paragraphs read for one profile; the newest count.", ge=50, le=100_000)
    max_evidence: int = live(40, "Most paragraphs shown to the chat model.", ge=5, le=200)
    max_history: int = live(10, "Versions kept of what is known of a person from one chat.", ge=1, le=1000)


class Facts(Section):
    """What is known of persons, as statements with a time."""

    enabled: bool = live(True, "Read facts out of what is stored.")
    poll_interval_seconds: float = live(1.0, "Pause between looks for news.", gt=0, le=3600)
    dedup_threshold: float = live(
        0.75, "Statements of a person this alike are compared: one may repeat or complete the other.", ge=0, le=1
    )
    dedup_top_k: int = live(5, "How many of them are compared.", ge=1, le=50)
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


class Ingest(Section):
    """What may be stored."""

    max_text_chars: int = live(1_000_000, "Longest text of one call.", ge=100, le=50_000_000)
    max_messages: int = live(5_000, "Most messages of one call.", ge=1, le=100_000)
    chunk_chars: int = live(1_200, "A longer text is cut into paragraphs of about this size.", ge=100, le=20_000)
    max_metadata_bytes: int = live(65_536, "Most bytes of metadata (as JSON) of one text.", ge=256, le=10_000_000)


class Lifecycle(Section):
    """How memories fade, and what use and hand do against it; fading changes ranking, never what exists."""

    enabled: bool = live(
        True,
        "Put relations to rest that have faded, and later into the recycle bin. What expires goes there either way.",
    )
    relation_half_life_days: float = live(
        180.0, "Time after which half of a relation is left if nothing refreshes it.", gt=0, le=100_000
    )
    paragraph_half_life_days: float = live(
        730.0, "The same for a paragraph; it only ever ranks lower, and is never put to rest.", gt=0, le=100_000
    )
    freeze_threshold: float = live(
        0.1, "A relation of which no more is left leaves the graph; untouched ones after about 600 days.", gt=0, lt=1
    )
    revive_threshold: float = live(
        0.15, "A reinforcement that brings a faded relation to so much takes it up again.", gt=0, le=1
    )
    recycle_after_days: float = live(
        30.0, "A relation that has faded goes to the recycle bin after so long.", ge=0, le=100_000
    )
    access_gain: float = live(0.05, "Share of what is missing that a use gives back.", ge=0, le=1)
    access_cooldown_minutes: float = live(60.0, "Uses within this time count once.", ge=0, le=1_000_000)
    access_top: int = live(3, "First hits that a search with `used` counts as used.", ge=1, le=200)
    reinforce_gain: float = live(
        0.5, "Share of what is missing that a reinforcement of strength 1 gives back.", ge=0, le=1
    )
    weaken_gain: float = live(0.5, "Share that a weakening of strength 1 takes away.", ge=0, le=1)
    interval_minutes: float = live(
        60.0, "Time between two rounds over what has faded or expired.", gt=0, le=100_000_000
    )
    batch: int = live(500, "Most memories that one transaction of a round moves.", ge=1, le=10_000)


class Correction(Section):
    """Corrections said in words."""

    model_timeout_seconds: float = live(
        20.0, "How long a preview that asks for it waits for the chat model's reading.", gt=0, le=300
    )


class Feedback(Section):
    """What users say of an answer some time after it was given."""

    enabled: bool = live(False, "Take feedback tasks, and correct what users later say is wrong.")
    window_hours: float = live(12.0, "So long after the answer the chat is looked at.", ge=0, le=720)
    most_messages: int = live(30, "Messages after the answer that are looked at.", ge=1, le=200)
    min_confidence: float = live(0.85, "Below this nothing is changed, only noted.", ge=0, le=1)
    poll_interval_seconds: float = live(60.0, "Pause between looks for tasks that are due.", gt=0, le=86_400)
    most_attempts: int = live(3, "Tries of a task that stumbles.", ge=1, le=100)


class Imports(Section):
    """The import of files in the background."""

    enabled: bool = live(True, "Take import tasks, and work on them.")
    roots: tuple[Root, ...] = live(
        (), "Folders from which files may be imported, absolute, besides those below `imports/` in the data directory."
    )
    max_queue_size: int = live(20, "Most tasks that wait or are under way.", ge=1, le=10_000)
    max_files_per_task: int = live(200, "Most files of one task.", ge=1, le=100_000)
    max_file_size_mb: float = live(0.0, "Largest file; 0 sets no limit.", ge=0, le=10_000_000)
    max_paste_chars: int = live(200_000, "Longest text handed over within a call.", ge=1, le=50_000_000)
    chunk_records: int = live(
        200, "Records stored in one transaction; smaller ones let other writes in sooner.", ge=1, le=5_000
    )
    idle_share: float = live(0.25, "Seconds of rest for each second of work, so that calls go first.", ge=0, le=100)
    poll_interval_seconds: float = live(1.0, "Pause between looks for tasks.", gt=0, le=3600)
    lease_seconds: float = live(
        60.0, "After this long without a sign, a task that was begun is taken over.", ge=1, le=86_400
    )
    retry_seconds: float = live(5.0, "First pause after a failure of the store; it doubles each time.", gt=0, le=3600)
    max_attempts: int = live(5, "Tries in a row before a task is given up.", ge=1, le=100)
    keep_staged_hours: float = live(
        72.0, "Uploaded files that nothing has used, or that failed and may be tried again, go after so long.",
        gt=0, le=100_000,
    )  # fmt: skip


class Http(Section):
    """The HTTP front door of the daemon."""

    host: str = restart("127.0.0.1", "Address to listen on; beyond loopback a token is required.", min_length=1)
    port: int = restart(7400, "Port to listen on.", ge=0, le=65_535)
    token_env: str = restart("AMEMORIX_TOKEN", "Name of the environment variable that holds the bearer token.")
    max_body_bytes: int = live(16_000_000, "Largest request body.", ge=1024, le=1_000_000_000)


class Advanced(Section):
    """Housekeeping."""

    enable_auto_save: bool = live(True, "Write snapshots of the indexes in the background.")
    auto_save_interval_minutes: float = live(5.0, "Pause between snapshots.", gt=0, le=1440)
    config_backups: int = live(10, "Copies of the config file kept when it is written.", ge=0, le=1000)
    debug: bool = live(False, "Log what happens inside.")


class Config(Section):
    """The whole of `config/a_memorix.toml`."""

    plugin: Plugin = Plugin()
    storage: Storage = Storage()
    embedding: Embedding = Embedding()
    chat: Chat = Chat()
    retrieval: Retrieval = Retrieval()
    filter: Filter = Filter()
    global_memory_sharing_enabled: bool = live(False, "Every chat sees every memory.")
    shared_memory_groups: tuple[SharedGroup, ...] = live(
        (), 'Groups of chats that share memories, such as [{ targets = ["group:1", "private:2"] }].'
    )  # fmt: skip
    episode: Episode = Episode()
    extraction: Extraction = Extraction()
    facts: Facts = Facts()
    profile: Profile = Profile()
    summary: Summary = Summary()
    ingest: Ingest = Ingest()
    lifecycle: Lifecycle = Lifecycle()
    correction: Correction = Correction()
    feedback: Feedback = Feedback()
    imports: Imports = Imports()
    http: Http = Http()
    advanced: Advanced = Advanced()
