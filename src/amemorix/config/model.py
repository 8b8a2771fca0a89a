"""The whole of the settings."""

from __future__ import annotations

from typing import Annotated, Literal
from zoneinfo import ZoneInfo

from pydantic import AfterValidator, Field, model_validator

from ..location import DATA_DIR, TOKEN_ENV
from .deriving import Episode, Extraction, Facts, Profile, Summary
from .ranking import Retrieval, Weights
from .section import ReloadLevel, Section, VariableName, live, rebuild, restart

__all__ = [
    "Advanced", "Chat", "Config", "Embedding", "Encryption", "Episode", "Extraction", "Facts", "Feedback", "Filter", "General",
    "Http", "Imports", "Lifecycle", "Observability", "OneBot", "Profile", "Proxy", "ReloadLevel", "Retrieval", "Section", "SharedGroup",
    "Weights",
]  # fmt: skip


class Plugin(Section):
    """The master switch."""

    enabled: bool = live(True, "Off: every call answers `disabled`, nothing is stored or searched.")


def _known_zone(name: str) -> str:
    try:
        if name:
            ZoneInfo(name)
    except (LookupError, ValueError, OSError) as exc:
        raise ValueError(
            f"{name[:80]!r} is no time zone; give a name of the IANA database such as Asia/Shanghai"
        ) from exc
    return name


Target = Annotated[str, Field(min_length=1, max_length=512, pattern=r"\S")]
ZoneName = Annotated[str, AfterValidator(_known_zone)]


class ChatTimezone(Section):
    """A chat whose people live by another clock."""

    chat: Target = live(..., "The chat's id; `group:ID` or `private:ID` if calls name only its group or user.")
    timezone: ZoneName = live(..., "A name of the IANA database.", min_length=1)


class General(Section):
    """What holds for the whole memory."""

    language: Literal["auto", "en", "zh"] = live(
        "auto",
        "Language of errors, warnings, the command line and the comments of a configuration that is written. `auto`: of the "
        "terminal's locale, over HTTP of `Accept-Language`, else English.",
    )
    timezone: ZoneName = live(
        "", "Zone of the people it serves, such as Asia/Shanghai: in it `yesterday` and dates are read, and times shown. Empty: the "
        "machine's.",
    )  # fmt: skip
    chat_timezones: tuple[ChatTimezone, ...] = live(
        (), 'Chats with a zone of their own, such as [{ chat = "qq:42", timezone = "Europe/Berlin" }].'
    )


class Encryption(Section):
    """Whether the data directory is encrypted, and where its secret comes from."""

    enabled: bool = restart(
        False, "A new memory is encrypted from its first start; `amemorix key enable` encrypts one that is there. Wants `amemorix[encryption]`.",
    )  # fmt: skip
    key_env: VariableName = restart(
        "AMEMORIX_KEY",
        "Name of the environment variable that holds the secret: 32 bytes as hex or base64, or a passphrase.",
    )
    key_file: str = restart(
        "", "A file with the secret instead: outside of the data directory, readable by nobody else."
    )
    key_command: tuple[str, ...] = restart(
        (), 'A program that prints the secret instead, such as ["pass", "show", "amemorix"].'
    )
    cache_mb: int = restart(
        64, "Page cache of each connection (readers + 1), in which pages are decrypted already.", ge=2, le=4096
    )


class Storage(Section):
    """Where the rows are, and how they are kept."""

    data_dir: str = restart(
        DATA_DIR, "Folder of the database and the indexes; relative to the project (the parent of config/).",
        min_length=1,
    )  # fmt: skip
    synchronous: Literal["full", "normal"] = restart(
        "full", "`full`: an acknowledged write survives a power cut. `normal`: it survives a crash of the process."
    )
    readers: int = restart(2, "Reader threads; as many as cores, not as callers.", ge=1, le=32)
    group_commit_max: int = restart(256, "Most writes that share one commit.", ge=1, le=10_000)
    encryption: Encryption = Encryption()


class Embedding(Section):
    """The model that turns texts into vectors."""

    provider: Literal["auto", "local", "openai", "host", "none"] = rebuild(
        "auto", "`auto`: the callable given to the host service, else the local model if it is installed, else none. `openai`: an OpenAI-compatible endpoint. "
        "`host`: the callable given to the host service. `none`: lexical and structure only.",
    )  # fmt: skip
    model_name: str = rebuild(
        "",
        "Model to ask the endpoint for; with `local` and `auto` multilingual-e5-small or all-MiniLM-L6-v2 (English, lighter), empty for the first of them that is installed.",
    )
    base_url: str = rebuild("", "Endpoint, for example https://api.example.com/v1 (`/embeddings` is appended).")
    api_key_env: VariableName = rebuild(
        "", "Name of the environment variable that holds the key; the key itself never goes here."
    )
    dimension: int = rebuild(0, "Expected dimension; 0 takes it from the model's answer.", ge=0, le=16_384)
    request_dimension: bool = rebuild(False, "Send `dimensions` with each request (models that can shorten vectors).")
    batch_size: int = live(32, "Texts per request or forward pass.", ge=1, le=2048)
    max_concurrent: int = rebuild(2, "Embedding threads, or requests in flight.", ge=1, le=32)
    timeout_seconds: float = rebuild(
        30.0, "Time given to one request, and to a call that waits for its vectors.", gt=0, le=600
    )
    max_attempts: int = rebuild(3, "Tries of one request before its texts are put back.", ge=1, le=10)
    retry_seconds: float = live(
        5.0, "First pause after a failed batch; it doubles up to `retry_max_seconds`.", gt=0, le=3600
    )
    retry_max_seconds: float = live(
        300.0, "Longest pause between tries of a failing text or endpoint.", gt=0, le=86_400
    )
    query_timeout_seconds: float = live(
        5.0,
        "After the model has worked at a query for so long, the other lanes answer; waiting for its turn does not count.",
        gt=0,
        le=120,
    )
    keep_generations: int = live(
        1, "Retired sets of vectors to keep, so that changing the model back costs nothing.", ge=0, le=10
    )
    glosses: bool = live(True, "No effect any more: the default local model reads Chinese itself.")
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
    api_key_env: VariableName = rebuild(
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


class Filter(Section):
    """Which chats the memory serves."""

    enabled: bool = live(True, "Apply the list below.")
    mode: Literal["blacklist", "whitelist"] = live("blacklist", "`whitelist`: only the chats listed are served.")
    chats: tuple[Target, ...] = live(
        (), "Entries `group:ID`, `user:ID`, `private:ID`, `stream:ID`, or an id alone that matches any."
    )


class Privacy(Section):
    """What a call may read."""

    require_scope: Literal["never", "http", "always"] = live(
        "http",
        "Where a read has to name a chat, group or user, or say `scope`: `all`: `http`: everywhere but in the process "
        "that holds the memory, and but for lists and status that an administrator asks for over HTTP on loopback.",
    )


class SharedGroup(Section):
    """Chats that see each other's memories."""

    targets: tuple[Target, ...] = live((), "Chat ids, or entries `group:ID`, `private:ID`, `stream:ID`.")


class Ingest(Section):
    """What may be stored."""

    max_text_chars: int = live(1_000_000, "Longest text of one call.", ge=100, le=50_000_000)
    max_messages: int = live(5_000, "Most messages of one call.", ge=1, le=100_000)
    max_call_chars: int = live(5_000_000, "Most characters of all messages of one call.", ge=1_000, le=1_000_000_000)
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


Folder = Annotated[str, Field(min_length=1, max_length=4096, pattern=r"^(/|~|[A-Za-z]:)")]


class Backup(Section):
    """Copies of the whole memory."""

    every_hours: float = live(
        0.0, "Time between two backups that are made by themselves; 0 makes none.", ge=0, le=100_000
    )
    keep: int = live(
        7, "So many are kept of those made by themselves, and of those set aside by restores.", ge=1, le=1000
    )
    roots: tuple[Folder, ...] = live(
        (),
        "Further folders, absolute, that backups and exports may be written to and read from. A purge looks through them.",
    )


class Http(Section):
    """The HTTP front door of the daemon."""

    host: str = restart("127.0.0.1", "Address to listen on; beyond loopback a token is required.", min_length=1)
    port: int = restart(7400, "Port to listen on.", ge=0, le=65_535)
    token_env: VariableName = restart(
        TOKEN_ENV, "Name of the environment variable that holds the bearer token that may do everything."
    )
    tokens_env: VariableName = restart(
        "AMEMORIX_TOKENS",
        'Name of the variable that holds further tokens: [{"token": "…", "role": "read", "chats": ["qq:42"]}], with the '
        "role `read`, `write` or `admin`; `chats` binds it to some.",
    )
    tokens_file: str = restart(
        "",
        "File of further tokens, a line of `amemorix token` each; it holds their SHA-256 alone. Read again when it is saved. "
        "Relative to the project.",
    )
    connections_per_peer: int = restart(
        100, "Most connections that one address beyond this machine may hold; more are closed.", ge=1, le=100_000
    )
    idle_seconds: float = restart(
        10.0,
        "A request whose head is not there by then, or whose body stands still for so long, is closed.",
        gt=0,
        le=3600,
    )
    max_body_bytes: int = live(16_000_000, "Largest request body.", ge=1024, le=1_000_000_000)


class Proxy(Section):
    """A proxy before a chat model, at `/v1` of the daemon: it puts what is known before the turns, and stores what is said."""

    base_url: str = live(
        "",
        "The OpenAI-compatible endpoint that it asks, for example https://api.example.com/v1; empty: there is no proxy.",
    )
    api_key_env: VariableName = live(
        "",
        "Name of the environment variable that holds the endpoint's key; where it is empty the caller's own key is passed "
        "on, unless that is a token of this daemon.",
    )
    timeout_seconds: float = live(600.0, "Longest silence of the endpoint.", gt=0, le=3600)
    context_budget: int = live(800, "Most tokens of what is put before the turns; 0 puts nothing.", ge=0, le=20_000)
    context_timeout_ms: float = live(
        500.0, "How long an answer may wait for the memory; it is asked for without it then.", gt=0, le=60_000
    )
    remember: bool = live(True, "Store what the user says and what the model answers.")

    @model_validator(mode="after")
    def _has_room(self) -> Proxy:
        if 0 < self.context_budget < 50:
            raise ValueError("context_budget must be 0, or at least 50 tokens")
        return self


class OneBot(Section):
    """What `amemorix onebot` does: it stores the chats of QQ bots that speak OneBot v11 (NapCat, LLOneBot, go-cqhttp)."""

    url: str = restart(
        "",
        "Websocket address of the bot that it connects to, such as ws://127.0.0.1:3001; empty: the bot connects to `host` and "
        "`port`.",
        pattern=r"^(wss?://\S+)?$",
    )
    host: str = restart("127.0.0.1", "Address on which it waits for bots; beyond this machine they need a token.")
    port: int = restart(7401, "Port on which it waits for bots.", ge=0, le=65_535)
    token_env: VariableName = restart(
        "ONEBOT_TOKEN",
        "Name of the environment variable that holds the token of the bot; where it is empty none is asked for.",
    )
    commands: bool = restart(True, "Answer /记得, /忘了, /你记得我什么, /纠正 and the same in English.")
    batch_seconds: float = restart(
        0.5, "Messages that follow each other sooner are stored in one transaction.", ge=0, le=60
    )


class Observability(Section):
    """What is kept of calls."""

    audit_days: float = live(
        365.0, "How long it is remembered who changed what; 0 keeps it for ever.", ge=0, le=100_000
    )
    slow_call_ms: float = live(
        1000.0, "A call that takes longer is logged as a warning; 0 warns of none.", ge=0, le=1e9
    )


class Advanced(Section):
    """Housekeeping."""

    enable_auto_save: bool = live(True, "Write snapshots of the indexes in the background.")
    auto_save_interval_minutes: float = live(5.0, "Pause between snapshots.", gt=0, le=1440)
    integrity_check_days: float = live(
        7.0, "Days between two slow looks through every page of the database for damage; 0 makes none.", ge=0, le=10_000
    )
    config_backups: int = live(10, "Copies of the config file kept when it is written.", ge=0, le=1000)
    debug: bool = live(False, "Log what happens inside.")


Root = Annotated[str, Field(min_length=1, max_length=4096, pattern=r"^(/|~|[A-Za-z]:[\\/])")]


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


class Config(Section):
    """The whole of `config/a_memorix.toml`."""

    plugin: Plugin = Plugin()
    general: General = General()
    storage: Storage = Storage()
    embedding: Embedding = Embedding()
    chat: Chat = Chat()
    retrieval: Retrieval = Retrieval()
    filter: Filter = Filter()
    privacy: Privacy = Privacy()
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
    tuning: Tuning = Tuning()
    imports: Imports = Imports()
    backup: Backup = Backup()
    http: Http = Http()
    proxy: Proxy = Proxy()
    onebot: OneBot = OneBot()
    observability: Observability = Observability()
    advanced: Advanced = Advanced()
