# Made from the table of operations; edit that, then run `scripts/generate`.
# fmt: off
"""Arguments and answers of the operations, as typed dictionaries named as in the reference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any, Literal, Required, TypedDict

__all__ = [
    "Moment",
    "AddFact",
    "AddVectors",
    "Alias",
    "AliasEdit",
    "Aliases",
    "AppliedItem",
    "ApplyBest",
    "ApplyProfile",
    "AskProfile",
    "AutoSave",
    "AutoSaved",
    "BackupItem",
    "BackupVerdict",
    "Backups",
    "Bin",
    "BinItem",
    "CandidateItem",
    "Change",
    "ChangeConfig",
    "ChangeItem",
    "ChangeSecret",
    "Changed",
    "ChangedSecret",
    "Changes",
    "ChatCounts",
    "ChatItem",
    "ChatState",
    "Chats",
    "CheckNow",
    "Checked",
    "ChunkItem",
    "Chunks",
    "ConfigChange",
    "ConfigChanged",
    "ConfigPreview",
    "ConfigText",
    "ConflictGroup",
    "Conflicts",
    "Context",
    "ContextLine",
    "ContextMessage",
    "CopyProgress",
    "CorrectEvidence",
    "Corrected",
    "CorrectionPlan",
    "CorrectionPlans",
    "CorrectionPreview",
    "CountDocuments",
    "CreateBackfill",
    "CreateEdge",
    "CreateLpmmConvert",
    "CreateLpmmOpenie",
    "CreateMaiBotMigration",
    "CreateNode",
    "CreatePaste",
    "CreateRawScan",
    "CreateSpace",
    "CreateTask",
    "CreateUpload",
    "DeleteDocuments",
    "DeleteItem",
    "DeleteNode",
    "DeletePlan",
    "DeleteSource",
    "DeleteSources",
    "DeleteVectors",
    "DeletedBackup",
    "DeletedDocuments",
    "Deletion",
    "Described",
    "Document",
    "DocumentChange",
    "DocumentChangesSince",
    "DocumentCount",
    "DocumentPage",
    "DocumentRef",
    "Documents",
    "EdgeAnswer",
    "EdgeDetail",
    "EdgeEdit",
    "EdgeItem",
    "EmbedTexts",
    "Embedded",
    "EmbeddingProgress",
    "EnqueueFeedback",
    "EntityInput",
    "EpisodeItem",
    "EpisodeParagraph",
    "EpisodeStatus",
    "EpisodeStatusRequest",
    "Episodes",
    "EpisodesProcessed",
    "EvidenceGraph",
    "EvidenceLink",
    "EvidenceList",
    "EvidenceNode",
    "Execute",
    "ExecuteCorrection",
    "Executed",
    "Export",
    "ExportMemory",
    "ExportProfile",
    "Exported",
    "ExportedMemory",
    "FactDetail",
    "FactEvidence",
    "FactItem",
    "FactStatus",
    "FactStatusRequest",
    "Facts",
    "FactsProcessed",
    "FailedSource",
    "FeedbackId",
    "FeedbackItem",
    "FeedbackProcessed",
    "FeedbackQueued",
    "FeedbackStatus",
    "FeedbackTaskFound",
    "FeedbackTasks",
    "FileInput",
    "FileItem",
    "FindingItem",
    "FollowChanges",
    "FormatItem",
    "Found",
    "FoundItem",
    "FoundTexts",
    "FoundVector",
    "FoundVectors",
    "FullProfile",
    "GenerationItem",
    "GetChunks",
    "GetContext",
    "GetDocuments",
    "GetEpisode",
    "GetFact",
    "GetGraph",
    "GetImport",
    "GetOperation",
    "GetPersonProfile",
    "GetReport",
    "GetRetrievalProfile",
    "GetRounds",
    "GetTexts",
    "GetTuningTask",
    "GetVectors",
    "GivenBack",
    "GraphPage",
    "History",
    "Hit",
    "HitTime",
    "ImportExport",
    "ImportItem",
    "ImportedExport",
    "InSpace",
    "IngestMessages",
    "IngestResult",
    "IngestSummary",
    "IngestText",
    "IngestTexts",
    "KernelSearchRequest",
    "KeyItem",
    "KeyRotation",
    "KeyStatus",
    "KeyVerdict",
    "KindItem",
    "LabelledQuery",
    "LifecycleConfig",
    "LifecycleStatus",
    "LifecycleStatusRequest",
    "ListBin",
    "ListChanges",
    "ListChats",
    "ListConflicts",
    "ListCorrections",
    "ListDocuments",
    "ListEpisodes",
    "ListFacts",
    "ListFeedback",
    "ListImports",
    "ListOperations",
    "ListProfiles",
    "ListSources",
    "ListTexts",
    "ListTuningTasks",
    "ListUndo",
    "ListVectors",
    "Made",
    "Maintained",
    "MaintainedItem",
    "Maintenance",
    "MakeBackup",
    "MergeNodes",
    "MergeSuggestion",
    "MergeSuggestions",
    "Message",
    "MessageResult",
    "MessagesResult",
    "NoArguments",
    "NodeAnswer",
    "NodeDetail",
    "NodeItem",
    "NotRestored",
    "OneEpisode",
    "OperationItem",
    "OperationList",
    "OperationResult",
    "OverrideDeleted",
    "Overrides",
    "ParagraphItem",
    "PathAliases",
    "PersonProfile",
    "PlanItem",
    "PlanRequest",
    "Preview",
    "PreviewCorrection",
    "Process",
    "ProcessFacts",
    "ProcessFeedback",
    "ProcessProfiles",
    "ProfileApplied",
    "ProfileEntry",
    "ProfileEvidence",
    "ProfileExported",
    "ProfileFound",
    "ProfileStatus",
    "ProfileStatusRequest",
    "ProfileTask",
    "Profiles",
    "ProfilesProcessed",
    "Protect",
    "Purge",
    "PurgeProgress",
    "PurgeResult",
    "QueryFacts",
    "QuestionCount",
    "RebuildEpisodes",
    "RebuildStatus",
    "RebuildVectors",
    "Rebuilding",
    "Receipt",
    "Recovered",
    "RefItem",
    "Refreshed",
    "RelationInput",
    "RelationItem",
    "ReloadReport",
    "ReloadStatus",
    "RenameNode",
    "RepairDone",
    "ReplacementItem",
    "Report",
    "ReportFound",
    "Resolve",
    "ResolvePath",
    "ResolvedPath",
    "Restore",
    "RestoreResult",
    "RestoredBackup",
    "Retract",
    "Retried",
    "RetrievalResult",
    "RetryFailed",
    "RollbackFeedback",
    "RollbackProfile",
    "RotatedKey",
    "RoundItem",
    "RoundReport",
    "RoundsFound",
    "RuntimeConfig",
    "Saved",
    "SearchGraph",
    "SearchVectors",
    "SetDocuments",
    "SetOverride",
    "Settings",
    "Settle",
    "Settled",
    "ShownVectors",
    "Snapshot",
    "Snapshots",
    "SourceItem",
    "Sources",
    "SpaceDropped",
    "SpaceItem",
    "SpaceMade",
    "Spaces",
    "Statement",
    "Statistics",
    "StatusItem",
    "StayItem",
    "StoredText",
    "Strengthened",
    "SuggestMerges",
    "Supersede",
    "Task",
    "TaskFound",
    "TaskId",
    "TaskList",
    "Tasks",
    "TextHistory",
    "Texts",
    "TextsResult",
    "TouchedItem",
    "TransitionItem",
    "TuningSettings",
    "TuningTaskItem",
    "UndoEvidence",
    "UndoFactChange",
    "UndoGraphEdit",
    "UndoItem",
    "UndoList",
    "UndoRef",
    "Undone",
    "Used",
    "VectorInput",
    "VectorItem",
    "VectorPage",
    "VectorRebuild",
    "VectorsAdded",
    "VectorsDeleted",
    "WeighEdge",
    "Which",
    "WhichBackup",
    "Who",
    "WholeProfile",
    "Wording",
    "Wordings",
]

Moment = float | str | date | None
"""Epoch seconds, a date, ISO 8601, or words such as `yesterday` and `上周三`."""


class AddFact(TypedDict, total=False):
    """A fact to be vouched for; its subject is a person or an entity."""
    requested_by: str
    reason: str
    person_id: str
    entity: str
    attribute: Required[str]
    value: Required[str]
    denied: bool
    chat_id: str
    valid_from: Moment


class AddVectors(TypedDict, total=False):
    """What to store."""
    space: Required[str]
    create: bool
    items: Required[Sequence[VectorInput]]


class Alias(TypedDict, total=False):
    """A further name of a person."""
    person_id: Required[str]
    alias: Required[str]
    chat_id: str


class AliasEdit(TypedDict, total=False):
    """Another name of a node."""
    requested_by: str
    reason: str
    node: str
    alias: Required[str]


class Aliases(TypedDict):
    """The names of a person as they are now."""
    success: bool
    warnings: list[str]
    changed: bool
    person_id: str
    person_name: str
    aliases: list[str]


class AppliedItem(TypedDict):
    """A profile that was applied; times in epoch seconds."""
    id: int
    task_id: int | None
    profile: dict[str, Any]
    previous: dict[str, Any]
    reason: str
    status: str
    created_at: float
    rolled_back_at: float | None


class ApplyBest(TypedDict, total=False):
    """The task whose best settings to apply."""
    task_id: Required[str | int]
    strict: bool
    reason: str


class ApplyProfile(TypedDict, total=False):
    """Settings to apply."""
    profile: Required[Mapping[str, Any]]
    reason: str
    task_id: int | None
    strict: bool


class AskProfile(TypedDict, total=False):
    """Whose profile to show."""
    person_id: Required[str]
    limit: int


class AutoSave(TypedDict, total=False):
    """Whether snapshots are written by themselves."""
    enabled: Required[bool]


class AutoSaved(TypedDict):
    """The switch as it stands now."""
    success: bool
    warnings: list[str]
    auto_save: bool


class BackupItem(TypedDict):
    """One backup: a folder with a copy of the database and what seals it."""
    id: str
    path: str
    created_at: float
    reason: str
    bytes: int
    database_id: str
    schema_version: int
    change_seq: int
    counts: dict[str, int]
    sound: bool
    purged: int


class BackupVerdict(TypedDict):
    """Whether a backup can be restored."""
    success: bool
    warnings: list[str]
    sound: bool
    problems: list[str]
    backup: BackupItem


class Backups(TypedDict):
    """What there is, the newest first."""
    success: bool
    warnings: list[str]
    backups: list[BackupItem]
    every_hours: float
    keep: int


class Bin(TypedDict):
    """What was forgotten, has faded or has expired, the last first."""
    success: bool
    warnings: list[str]
    scope: Literal['chat', 'all']
    timezone: str
    items: list[BinItem]
    count: int
    total: int


class BinItem(TypedDict):
    """A memory in the recycle bin; times in epoch seconds."""
    id: str
    kind: str
    text: str
    reason: str
    deleted_at: float | None
    restorable: bool


class CandidateItem(TypedDict):
    """A paragraph that was looked at."""
    id: str
    content: str
    score: float
    chosen: bool
    why: str


class Change(TypedDict):
    """What a change by hand came to."""
    success: bool
    warnings: list[str]
    changed: bool
    created: bool
    node: NodeItem | None
    relations: list[RelationItem]
    relation_ids: list[str]
    count: int
    undo_id: str


class ChangeConfig(TypedDict, total=False):
    """A change of the configuration."""
    settings: Mapping[str, Any]
    toml: str
    base: str


class ChangeItem(TypedDict):
    """What one call did, or like calls within a minute; times in epoch seconds."""
    id: str
    at: float
    until: float
    when: str
    component: str
    action: str
    requested_by: str
    door: str
    calls: int
    rows: int
    target: str
    undo: list[UndoRef]


class ChangeSecret(TypedDict, total=False):
    """Where the new secret is."""
    key_env: str
    key_file: str


class Changed(TypedDict):
    """What the change came to."""
    success: bool
    warnings: list[str]
    fact: FactItem | None
    facts: list[FactItem]
    undo_id: str


class ChangedSecret(TypedDict):
    """The secret that opens the memory from now on."""
    success: bool
    warnings: list[str]
    changed: bool
    secret: str


class Changes(TypedDict):
    """A page of changes, the newest first."""
    success: bool
    warnings: list[str]
    items: list[ChangeItem]
    next: str


class ChatCounts(TypedDict):
    """What a task asked of the chat model, on all days."""
    calls: int
    failures: int
    prompt_tokens: int
    completion_tokens: int


class ChatItem(TypedDict):
    """A chat; times in epoch seconds."""
    chat_id: str
    group_id: str
    user_id: str
    texts: int
    first: float
    last: float


class ChatState(TypedDict):
    """The chat model, and what it was asked."""
    state: str
    provider: str
    model: str
    daily_token_budget: int
    tokens_today: int
    tasks: dict[str, ChatCounts]
    error: str
    notice: str


class Chats(TypedDict):
    """Chats that hold something, the one talked in last first."""
    success: bool
    warnings: list[str]
    scope: Literal['chat', 'all']
    timezone: str
    items: list[ChatItem]
    count: int


class CheckNow(TypedDict, total=False):
    """How thoroughly."""
    deep: bool
    probe: bool


class Checked(TypedDict):
    """The last report."""
    success: bool
    warnings: list[str]
    report: Report


class ChunkItem(TypedDict):
    """A stretch of a file."""
    index: int
    status: str
    start: int
    stop: int
    records: int
    counts: dict[str, int]
    errors: list[dict[str, str]]
    done_at: float | None


class Chunks(TypedDict):
    """Chunks of a file, in their order."""
    success: bool
    warnings: list[str]
    task_id: str
    file_id: str
    items: list[ChunkItem]
    count: int
    total: int


class ConfigChange(TypedDict):
    """A setting that differs."""
    name: str
    before: Any
    after: Any
    cost: str


class ConfigChanged(TypedDict):
    """What was changed."""
    success: bool
    warnings: list[str]
    changes: list[ConfigChange]
    level: str
    needs_restart: list[str]


class ConfigPreview(TypedDict):
    """What a change would come to; the costliest of the settings is its `level`."""
    success: bool
    warnings: list[str]
    changes: list[ConfigChange]
    level: str


class ConfigText(TypedDict):
    """The configuration file."""
    success: bool
    warnings: list[str]
    toml: str
    base: str
    config_file: str
    in_file_only: list[str]


class ConflictGroup(TypedDict):
    """Facts of one subject that cannot all be true."""
    attribute: str
    person_id: str
    entity: str
    chat_id: str
    facts: list[FactItem]


class Conflicts(TypedDict):
    """Contradictions that nothing has decided."""
    success: bool
    warnings: list[str]
    scope: Literal['chat', 'all']
    timezone: str
    items: list[ConflictGroup]
    count: int


class Context(TypedDict):
    """What the next answer should know."""
    success: bool
    warnings: list[str]
    scope: Literal['chat', 'all']
    timezone: str
    text: str
    tokens: int
    lines: list[ContextLine]
    language: Literal['zh', 'en']
    truncated: bool
    weak: bool
    degraded: list[str]
    filtered: bool
    disabled: bool


class ContextLine(TypedDict):
    """A line of the text."""
    id: str
    section: Literal['persons', 'facts', 'memories', 'plans']
    text: str
    time: float | None
    speaker: str
    confidence: float
    evidence: list[str]


class ContextMessage(TypedDict, total=False):
    """One of the last turns, as `ingest_messages` takes them; one whose role or speaker is a bot's is the answering side."""
    text: Required[str]
    speaker: str
    person_id: str
    aliases: list[str]
    external_id: str
    time: Moment
    tags: list[str]
    metadata: Mapping[str, Any]
    role: str


class CopyProgress(TypedDict):
    """What is under way: a backup, a check, a restore, an export or an import; `doing` is empty if nothing is."""
    success: bool
    warnings: list[str]
    doing: str
    step: str
    done: int
    total: int
    seconds: float


class CorrectEvidence(TypedDict, total=False):
    """Which piece of evidence is wrong."""
    person_id: Required[str]
    evidence_id: Required[str]
    requested_by: str
    reason: str
    refresh: bool
    limit: int


class Corrected(TypedDict):
    """What was deleted, and the profile without it."""
    success: bool
    warnings: list[str]
    operation_id: int
    deleted_paragraphs: list[str]
    deleted_relations: list[str]
    profile: WholeProfile


class CorrectionPlan(TypedDict):
    """One plan."""
    success: bool
    warnings: list[str]
    plan: PlanItem | None


class CorrectionPlans(TypedDict):
    """Plans, the newest first."""
    success: bool
    warnings: list[str]
    scope: Literal['chat', 'all']
    timezone: str
    items: list[PlanItem]
    count: int
    total: int


class CorrectionPreview(TypedDict):
    """A plan; nothing is changed yet."""
    success: bool
    warnings: list[str]
    plan_id: str
    requires_confirmation: bool
    confidence: float
    action: str
    wrong: str
    right: str
    subject: str
    replacements: list[ReplacementItem]
    note: str
    relations: list[str]
    facts: list[str]
    candidates: list[CandidateItem]


class CountDocuments(TypedDict, total=False):
    """Which documents to count."""
    source: str
    external_ids: list[str]
    source_type: str
    tags: list[str]
    metadata: Mapping[str, Any]
    since: Moment
    until: Moment
    scope: Literal['', 'all']
    chat_id: str
    group_id: str
    user_id: str
    include_private: bool | None
    chat_pattern: str | None
    only_own: bool
    respect_filter: bool


class CreateBackfill(TypedDict, total=False):
    """What to date."""
    limit: int
    dry_run: bool
    no_created_fallback: bool
    requested_by: str


class CreateEdge(TypedDict, total=False):
    """The relation to make; its ends are made if they are new."""
    requested_by: str
    reason: str
    subject: Required[str]
    predicate: Required[str]
    object: Required[str]
    confidence: float
    weight: float | None
    paragraphs: list[str]


class CreateLpmmConvert(TypedDict, total=False):
    """The folder of a store of LPMM."""
    alias: str
    relative_path: str
    path: str
    chat_id: str
    scope_type: Literal['', 'chat', 'global']
    strategy_override: Literal['auto', 'factual', 'narrative', 'quote']
    dedupe_policy: Literal['manifest', 'content_hash', 'none']
    force: bool
    chat_log: bool
    chat_reference_time: Moment
    columns: Mapping[str, str]
    skip_bad: bool
    dry_run: bool
    respect_filter: bool
    requested_by: str


class CreateLpmmOpenie(TypedDict, total=False):
    """The OpenIE files below a folder, or one of them."""
    alias: str
    relative_path: str
    path: str
    chat_id: str
    scope_type: Literal['', 'chat', 'global']
    strategy_override: Literal['auto', 'factual', 'narrative', 'quote']
    dedupe_policy: Literal['manifest', 'content_hash', 'none']
    force: bool
    chat_log: bool
    chat_reference_time: Moment
    columns: Mapping[str, str]
    skip_bad: bool
    dry_run: bool
    respect_filter: bool
    requested_by: str
    include_all_json: bool


class CreateMaiBotMigration(TypedDict, total=False):
    """A database of MaiBot, and which of its messages."""
    chat_id: str
    scope_type: Literal['', 'chat', 'global']
    strategy_override: Literal['auto', 'factual', 'narrative', 'quote']
    dedupe_policy: Literal['manifest', 'content_hash', 'none']
    force: bool
    chat_log: bool
    chat_reference_time: Moment
    columns: Mapping[str, str]
    skip_bad: bool
    dry_run: bool
    respect_filter: bool
    requested_by: str
    source_db: Required[str]
    time_from: Moment
    time_to: Moment
    stream_ids: list[str]
    group_ids: list[str]
    user_ids: list[str]
    start_id: int | None
    end_id: int | None


class CreateNode(TypedDict, total=False):
    """The node to make."""
    requested_by: str
    reason: str
    name: Required[str]
    type: str
    aliases: list[str]
    metadata: Mapping[str, Any]


class CreatePaste(TypedDict, total=False):
    """A text."""
    chat_id: str
    scope_type: Literal['', 'chat', 'global']
    strategy_override: Literal['auto', 'factual', 'narrative', 'quote']
    dedupe_policy: Literal['manifest', 'content_hash', 'none']
    force: bool
    chat_log: bool
    chat_reference_time: Moment
    columns: Mapping[str, str]
    skip_bad: bool
    dry_run: bool
    respect_filter: bool
    requested_by: str
    format: str
    input_mode: Literal['', 'text', 'json']
    content: Required[str]
    name: str


class CreateRawScan(TypedDict, total=False):
    """The files below a folder."""
    alias: str
    relative_path: str
    path: str
    chat_id: str
    scope_type: Literal['', 'chat', 'global']
    strategy_override: Literal['auto', 'factual', 'narrative', 'quote']
    dedupe_policy: Literal['manifest', 'content_hash', 'none']
    force: bool
    chat_log: bool
    chat_reference_time: Moment
    columns: Mapping[str, str]
    skip_bad: bool
    dry_run: bool
    respect_filter: bool
    requested_by: str
    format: str
    input_mode: Literal['', 'text', 'json']
    glob: str
    recursive: bool


class CreateSpace(TypedDict, total=False):
    """Which space to make."""
    space: Required[str]
    dimension: int | None
    metric: Literal['cosine']
    replace_empty: bool


class CreateTask(TypedDict, total=False):
    """What to search for. What is left out is as the configuration says."""
    objective: Literal['precision_priority', 'balanced', 'recall_priority'] | None
    intensity: Literal['quick', 'standard', 'deep'] | None
    rounds: int | None
    sample_size: int | None
    top_k: int | None
    seed: int
    use_chat_model: bool | None
    queries: Sequence[LabelledQuery]
    own_questions: bool | None
    try_shipped: bool
    reason: str


class CreateUpload(TypedDict, total=False):
    """Files that were uploaded, or are handed over here."""
    chat_id: str
    scope_type: Literal['', 'chat', 'global']
    strategy_override: Literal['auto', 'factual', 'narrative', 'quote']
    dedupe_policy: Literal['manifest', 'content_hash', 'none']
    force: bool
    chat_log: bool
    chat_reference_time: Moment
    columns: Mapping[str, str]
    skip_bad: bool
    dry_run: bool
    respect_filter: bool
    requested_by: str
    format: str
    input_mode: Literal['', 'text', 'json']
    files: Required[Sequence[FileInput]]


class DeleteDocuments(TypedDict, total=False):
    """Which documents to delete."""
    source: str
    external_ids: list[str]
    source_type: str
    tags: list[str]
    metadata: Mapping[str, Any]
    since: Moment
    until: Moment
    chat_id: str
    only_own: bool
    purge: bool


class DeleteItem(TypedDict):
    """A row that a deletion touches, or leaves alone."""
    item_type: str
    item_key: str
    label: str
    source: str
    why: str


class DeleteNode(TypedDict, total=False):
    """The node to delete, with its relations."""
    requested_by: str
    reason: str
    node: Required[str]


class DeletePlan(TypedDict):
    """Everything that would go, and what stays."""
    success: bool
    warnings: list[str]
    mode: str
    counts: dict[str, int]
    items: list[DeleteItem]
    stays: list[DeleteItem]
    sources: list[str]
    requested_source_count: int
    matched_source_count: int
    missing: list[str]
    plan_token: str


class DeleteSource(TypedDict, total=False):
    """The source to delete."""
    source: Required[str]
    chat_id: str


class DeleteSources(TypedDict, total=False):
    """The sources to delete."""
    sources: Required[list[str]]
    chat_id: str


class DeleteVectors(TypedDict, total=False):
    """Which vectors to delete."""
    space: Required[str]
    ids: list[str]
    filters: Mapping[str, Any]
    drop_empty: bool


class DeletedBackup(TypedDict):
    """The backup that is gone."""
    success: bool
    warnings: list[str]
    deleted: bool
    backup: BackupItem


class DeletedDocuments(TypedDict):
    """What was deleted."""
    success: bool
    warnings: list[str]
    deleted_count: int
    missing: list[str]
    operation_id: str
    receipt: Receipt | None
    error: str
    error_code: str


class Deletion(TypedDict):
    """What was asked, what matched, what is gone."""
    success: bool
    warnings: list[str]
    operation_id: str
    requested_source_count: int
    matched_source_count: int
    deleted_paragraph_count: int
    deleted_count: int
    sources: list[str]
    error: str
    error_code: str


class Described(TypedDict):
    """Of how many documents it is said now."""
    success: bool
    warnings: list[str]
    count: int
    missing: list[str]


class Document(TypedDict):
    """What one call stored under an id; times in epoch seconds."""
    id: str
    external_id: str
    text: str
    metadata: dict[str, Any]
    tags: list[str]
    source: str
    source_type: str
    chat_id: str
    created_at: float
    updated_at: float
    revision: int
    expires_at: float | None
    time: float | None
    derive: bool
    paragraph_ids: list[str]


class DocumentChange(TypedDict):
    """What became of a document."""
    number: int
    kind: Literal['added', 'revised', 'metadata', 'deleted', 'restored', 'expired', 'purged']
    document: int
    external_id: str | None
    source: str | None
    chat_id: str


class DocumentChangesSince(TypedDict):
    """What happened, in order; a change may be told more than once, and one that the next takes up not at all."""
    success: bool
    warnings: list[str]
    scope: Literal['chat', 'all']
    timezone: str
    items: list[DocumentChange]
    next: int
    more: bool
    reset: bool


class DocumentCount(TypedDict):
    """How many documents there are."""
    success: bool
    warnings: list[str]
    scope: Literal['chat', 'all']
    timezone: str
    count: int


class DocumentPage(TypedDict):
    """Documents in the order asked for."""
    success: bool
    warnings: list[str]
    scope: Literal['chat', 'all']
    timezone: str
    items: list[Document]
    count: int
    next: str


class DocumentRef(TypedDict, total=False):
    """A stored text, by the caller's id."""
    source: Required[str]
    external_id: Required[str]
    chat_id: str


class Documents(TypedDict):
    """The documents asked for, in that order."""
    success: bool
    warnings: list[str]
    scope: Literal['chat', 'all']
    timezone: str
    items: list[Document]
    missing: list[str]


class EdgeAnswer(TypedDict):
    """The relations from one node to another, with what supports them."""
    success: bool
    warnings: list[str]
    scope: Literal['chat', 'all']
    timezone: str
    edge: EdgeItem | None
    relations: list[RelationItem]
    paragraphs: list[ParagraphItem]
    evidence_graph: EvidenceGraph


class EdgeDetail(TypedDict, total=False):
    """The edge: a relation by its id, or all relations from a source to a target."""
    scope: Literal['', 'all']
    chat_id: str
    group_id: str
    user_id: str
    include_private: bool | None
    respect_filter: bool
    relation_limit: int
    paragraph_limit: int
    evidence_node_limit: int
    relation: str
    source: str
    target: str
    predicate: str


class EdgeEdit(TypedDict, total=False):
    """An edge: a relation by its id, or all relations from a source to a target."""
    requested_by: str
    reason: str
    relation: str
    source: str
    target: str
    predicate: str


class EdgeItem(TypedDict):
    """All relations from one node to another."""
    source: str
    target: str
    weight: float
    label: str
    predicates: list[str]
    relation_ids: list[str]
    relation_count: int
    evidence_count: int
    ended_at: float | None


class EmbedTexts(TypedDict, total=False):
    """Texts, and what they are embedded for."""
    texts: Required[list[str]]
    kind: Literal['passage', 'query']


class Embedded(TypedDict):
    """The vectors of the texts, in their order."""
    success: bool
    warnings: list[str]
    vectors: list[list[float]]
    dimension: int
    model: str


class EmbeddingProgress(TypedDict):
    """How far the vectors are."""
    state: str
    provider: str
    model: str
    dimension: int
    generation: int
    serving_generation: int
    done: int
    pending: int
    failed: int
    rate: float
    error: str


class EnqueueFeedback(TypedDict, total=False):
    """An answer that was given."""
    query_tool_id: Required[str]
    session_id: Required[str]
    query: str
    query_timestamp: Moment
    structured_content: list[str]


class EntityInput(TypedDict, total=False):
    """A named thing; a bare string is its name."""
    name: Required[str]
    type: str
    aliases: list[str]


class EpisodeItem(TypedDict):
    """An episode; times in epoch seconds."""
    episode_id: str
    title: str
    summary: str
    keywords: list[str]
    participants: list[str]
    source: str
    source_type: str
    chat_id: str
    time_start: float | None
    time_end: float | None
    paragraph_count: int
    revision: int
    segmented_by: str
    prompt: str
    derived_at: float
    score: float
    explain: dict[str, Any]


class EpisodeParagraph(TypedDict):
    """A paragraph of an episode; times in epoch seconds."""
    id: str
    content: str
    speaker: str
    person_ids: list[str]
    external_id: str
    time_start: float | None
    time_end: float | None
    recorded_at: float


class EpisodeStatus(TypedDict):
    """How far episodes are behind what they are made of."""
    success: bool
    warnings: list[str]
    enabled: bool
    episodes: int
    pending: int
    processing: int
    completed: int
    failed: int
    lag: int
    model: bool
    model_waiting: int
    failures: list[FailedSource]


class EpisodeStatusRequest(TypedDict, total=False):
    """How many failed sources to name."""
    limit: int


class Episodes(TypedDict):
    """Episodes, the best first with a query, else the newest."""
    success: bool
    warnings: list[str]
    scope: Literal['chat', 'all']
    timezone: str
    items: list[EpisodeItem]
    count: int
    more: bool
    filtered: bool
    degraded: list[str]
    disabled: bool


class EpisodesProcessed(TypedDict):
    """What was done."""
    success: bool
    warnings: list[str]
    processed: int
    rebuilt: int
    failed: int
    remaining: int


class EvidenceGraph(TypedDict):
    """Paragraphs, what they support, and the entities that are joined by it."""
    nodes: list[EvidenceNode]
    edges: list[EvidenceLink]


class EvidenceLink(TypedDict):
    """`subject`, `object`: an entity at an end of a relation; `supports`: a paragraph behind a relation; `mentions`: a
paragraph that is linked to an entity."""
    source: str
    target: str
    kind: str


class EvidenceList(TypedDict):
    """The evidence of a profile."""
    success: bool
    warnings: list[str]
    person_id: str
    person_name: str
    evidence: list[ProfileEvidence]
    count: int


class EvidenceNode(TypedDict):
    """An entity, a relation or a paragraph."""
    id: str
    type: str
    label: str


class Execute(TypedDict, total=False):
    """What to delete, and how."""
    mode: Required[Literal['relation', 'paragraph', 'entity', 'source', 'person', 'chat', 'mixed']]
    selector: Any
    chat_id: str
    mentions: Literal['delete', 'keep']
    include_paragraphs: bool
    plan_token: str
    purge: bool
    rotate: bool
    wait: bool
    reason: str
    requested_by: str


class ExecuteCorrection(TypedDict, total=False):
    """The plan to carry out."""
    plan_id: Required[str | int]
    confirmed: bool


class Executed(TypedDict):
    """What was deleted."""
    success: bool
    warnings: list[str]
    mode: str
    counts: dict[str, int]
    items: list[DeleteItem]
    stays: list[DeleteItem]
    sources: list[str]
    requested_source_count: int
    matched_source_count: int
    missing: list[str]
    plan_token: str
    operation_id: str
    status: str
    deleted_count: int
    deleted_paragraph_count: int
    deleted_relation_count: int
    deleted_entity_count: int
    deleted_source_count: int
    receipt: Receipt | None
    error: str
    error_code: str


class Export(TypedDict, total=False):
    """What to export, and where to."""
    scope: Literal['', 'all']
    chat_id: str
    group_id: str
    user_id: str
    include_private: bool | None
    respect_filter: bool
    format: Literal['graphml', 'json']
    node: str
    depth: int
    path: str
    plain: bool


class ExportMemory(TypedDict, total=False):
    """What to write, and where to."""
    path: str
    vectors: bool
    recipients: list[str]
    passphrase_env: str
    plain: bool


class ExportProfile(TypedDict, total=False):
    """Whose settings to export."""
    task_id: int | None


class Exported(TypedDict):
    """The graph, in the answer or in a file."""
    success: bool
    warnings: list[str]
    scope: Literal['chat', 'all']
    timezone: str
    format: str
    nodes: int
    edges: int
    path: str
    bytes: int
    graphml: str
    graph: dict[str, Any]


class ExportedMemory(TypedDict):
    """The file."""
    success: bool
    warnings: list[str]
    path: str
    bytes: int
    sha256: str
    rows: int
    lines: int
    vectors: bool
    counts: dict[str, int]


class FactDetail(TypedDict):
    """A fact with what supports it and what became of it."""
    success: bool
    warnings: list[str]
    scope: Literal['chat', 'all']
    timezone: str
    fact: FactItem | None
    evidence: list[FactEvidence]
    transitions: list[TransitionItem]


class FactEvidence(TypedDict):
    """A paragraph that states the fact; times in epoch seconds."""
    paragraph_id: str
    stance: str
    at: float
    authority: str
    confidence: float


class FactItem(TypedDict):
    """What is known of a person or an entity; times in epoch seconds."""
    id: str
    person_id: str
    person: str
    entity: str
    attribute: str
    value: str
    sentence: str
    kind: str
    denied: bool
    status: str
    doubted_by: str
    conflicts_with: list[str]
    authority: str
    stability: str
    confidence: float
    importance: float
    valid_from: float
    valid_to: float | None
    recorded_at: float
    superseded_at: float | None
    superseded_by: str
    chat_id: str
    evidence_ids: list[str]


class FactStatus(TypedDict):
    """How many facts there are, and how current they are."""
    success: bool
    warnings: list[str]
    counts: dict[str, int]
    total: int
    lag: int
    enabled: bool


class FactStatusRequest(TypedDict, total=False):
    """Nothing to say."""


class Facts(TypedDict):
    """Facts, the newest first."""
    success: bool
    warnings: list[str]
    scope: Literal['chat', 'all']
    timezone: str
    items: list[FactItem]
    count: int


class FactsProcessed(TypedDict):
    """What was read."""
    success: bool
    warnings: list[str]
    steps: int
    lag: int


class FailedSource(TypedDict):
    """A source whose episodes could not be made; times in epoch seconds."""
    source: str
    chat_id: str
    error: str
    attempts: int
    given_up: bool
    next_at: float
    failed_at: float


class FeedbackId(TypedDict, total=False):
    """A task."""
    task_id: Required[int]


class FeedbackItem(TypedDict):
    """A task; times in epoch seconds."""
    task_id: int
    query_tool_id: str
    session_id: str
    query: str
    query_timestamp: float
    hit_ids: list[str]
    status: str
    due_at: float
    attempts: int
    decision: str
    confidence: float
    said: str
    plan_id: str
    rollback_status: str
    error: str
    updated_at: float


class FeedbackProcessed(TypedDict):
    """How many tasks came to which end."""
    success: bool
    warnings: list[str]
    processed: int
    ends: dict[str, int]


class FeedbackQueued(TypedDict):
    """Whether it was taken."""
    success: bool
    warnings: list[str]
    queued: bool
    task_id: int
    reason: str


class FeedbackStatus(TypedDict):
    """How the tasks stand."""
    success: bool
    warnings: list[str]
    enabled: bool
    counts: dict[str, int]
    due: int


class FeedbackTaskFound(TypedDict):
    """One task."""
    success: bool
    warnings: list[str]
    task: FeedbackItem | None


class FeedbackTasks(TypedDict):
    """Tasks, the newest first."""
    success: bool
    warnings: list[str]
    items: list[FeedbackItem]
    count: int


class FileInput(TypedDict, total=False):
    """A file: staged before, or its content."""
    staged: str
    name: str
    content: str
    format: str


class FileItem(TypedDict):
    """A file of a task."""
    file_id: str
    name: str
    format: str
    status: str
    size: int
    progress: float
    records: int
    counts: dict[str, int]
    chunks: dict[str, int]
    error: str
    warnings: list[str]
    chunk_list: list[ChunkItem]


class FindingItem(TypedDict):
    """One thing that was looked at."""
    name: str
    ok: bool
    detail: str
    mend: str
    repairable: bool


class FollowChanges(TypedDict, total=False):
    """Since when, and what of it."""
    scope: Literal['', 'all']
    chat_id: str
    since: int | None
    kinds: Sequence[Literal['added', 'revised', 'metadata', 'deleted', 'restored', 'expired', 'purged']]
    limit: int
    wait_seconds: float


class FormatItem(TypedDict):
    """A format that can be imported."""
    format: str
    what: str
    fields: str
    example: str


class Found(TypedDict):
    """What was found, exact matches first, then those that begin like it, then those that hold it."""
    success: bool
    warnings: list[str]
    scope: Literal['chat', 'all']
    timezone: str
    items: list[FoundItem]
    count: int
    more: bool


class FoundItem(TypedDict):
    """An entity or a relation."""
    type: str
    id: str
    name: str
    matched_field: str
    matched_text: str
    match: str
    entity_type: str
    relation: RelationItem | None


class FoundTexts(TypedDict):
    """The texts asked for, in that order."""
    success: bool
    warnings: list[str]
    scope: Literal['chat', 'all']
    timezone: str
    items: list[StoredText]
    missing: list[str]


class FoundVector(TypedDict):
    """A vector that was found."""
    id: str
    vector: list[float] | None
    attributes: dict[str, Any]
    ref: RefItem | None
    expires_at: float | None
    score: float


class FoundVectors(TypedDict):
    """The nearest, the best first."""
    success: bool
    warnings: list[str]
    items: list[FoundVector]
    count: int


class FullProfile(TypedDict):
    """All that is known of a person."""
    success: bool
    warnings: list[str]
    scope: Literal['chat', 'all']
    timezone: str
    known: bool
    person_id: str
    person_name: str
    aliases: list[str]
    summary: str
    traits: list[str]
    items: list[Statement]
    evidence: list[ProfileEvidence]
    profile_source: str
    has_manual_override: bool
    version: int
    updated_at: float
    stale: bool
    filtered: bool
    disabled: bool
    auto_summary: str
    manual_override_text: str
    override_updated_by: str


class GenerationItem(TypedDict):
    """One set of vectors."""
    id: int
    provider: str
    model: str
    dimension: int
    status: str
    vectors: int


class GetChunks(TypedDict, total=False):
    """Which chunks to show."""
    task_id: Required[str]
    file_id: Required[str]
    offset: int
    limit: int
    status: Literal['', 'queued', 'completed', 'failed', 'cancelled']


class GetContext(TypedDict, total=False):
    """The last turns of a chat, who is there, and how much room there is."""
    scope: Literal['', 'all']
    chat_id: str
    group_id: str
    user_id: str
    include_private: bool | None
    messages: Sequence[ContextMessage] | Sequence[Mapping[str, Any]]
    query: str
    persons: list[str]
    budget: int
    language: Literal['auto', 'zh', 'en']
    limit: int
    min_confidence: float | None
    respect_filter: bool


class GetDocuments(TypedDict, total=False):
    """Which documents to show."""
    source: str
    external_ids: list[str]
    ids: list[str] | Sequence[int]
    scope: Literal['', 'all']
    chat_id: str
    group_id: str
    user_id: str
    include_private: bool | None
    chat_pattern: str | None
    only_own: bool
    respect_filter: bool


class GetEpisode(TypedDict, total=False):
    """The episode to read."""
    scope: Literal['', 'all']
    chat_id: str
    group_id: str
    user_id: str
    include_private: bool | None
    respect_filter: bool
    episode_id: Required[str | int]
    paragraph_limit: int


class GetFact(TypedDict, total=False):
    """The fact to show."""
    scope: Literal['', 'all']
    chat_id: str
    group_id: str
    user_id: str
    include_private: bool | None
    fact_id: Required[str | int]


class GetGraph(TypedDict, total=False):
    """Which part of the graph."""
    scope: Literal['', 'all']
    chat_id: str
    group_id: str
    user_id: str
    include_private: bool | None
    respect_filter: bool
    limit: int
    offset: int
    order: Literal['importance', 'recent', 'name']
    edges: Literal['among', 'before']
    edge_limit: int


class GetImport(TypedDict, total=False):
    """Which task to show."""
    task_id: Required[str]
    include_chunks: bool


class GetOperation(TypedDict, total=False):
    """Which deletion to show."""
    operation_id: Required[str | int]
    limit: int
    offset: int


class GetPersonProfile(TypedDict, total=False):
    """Whose profile, for whom."""
    scope: Literal['', 'all']
    chat_id: str
    group_id: str
    user_id: str
    include_private: bool | None
    person_id: Required[str]
    limit: int
    respect_filter: bool
    query: str
    messages: Sequence[Message] | Sequence[Mapping[str, Any]]
    max_tokens: int


class GetReport(TypedDict, total=False):
    """How to tell it."""
    task_id: Required[str | int]
    format: Literal['md', 'json']
    plots: bool


class GetRetrievalProfile(TypedDict, total=False):
    """How much history to show."""
    limit: int


class GetRounds(TypedDict, total=False):
    """Which rounds."""
    task_id: Required[str | int]
    limit: int
    offset: int


class GetTexts(TypedDict, total=False):
    """Which texts to show."""
    scope: Literal['', 'all']
    chat_id: str
    group_id: str
    user_id: str
    include_private: bool | None
    chat_pattern: str | None
    only_own: bool
    ids: list[str] | Sequence[int]
    external_ids: list[str]
    source: str


class GetTuningTask(TypedDict, total=False):
    """A task, with its rounds if they are wanted."""
    task_id: Required[str | int]
    include_rounds: bool


class GetVectors(TypedDict, total=False):
    """Which vectors to show."""
    space: Required[str]
    ids: Required[list[str]]
    vectors: bool


class GivenBack(TypedDict):
    """What is there again, and the profile with it."""
    success: bool
    warnings: list[str]
    restored_paragraphs: list[str]
    restored_relations: list[str]
    profile: WholeProfile


class GraphPage(TypedDict):
    """A page of nodes in order, and the edges among them."""
    success: bool
    warnings: list[str]
    scope: Literal['chat', 'all']
    timezone: str
    nodes: list[NodeItem]
    edges: list[EdgeItem]
    total_nodes: int
    total_edges: int
    total_relations: int
    offset: int
    limit: int
    next_offset: int | None
    edges_left_out: int


class History(TypedDict, total=False):
    """Of whom to tell how it was."""
    person_id: Required[str]
    limit: int
    offset: int


class Hit(TypedDict):
    """One memory that answers."""
    id: str
    hash: str
    type: Literal['paragraph', 'episode']
    content: str
    score: float
    confidence: float
    similarity: float | None
    external_id: str
    chat_id: str
    source: str
    source_type: str
    speaker: str
    person_ids: list[str]
    tags: list[str]
    time: HitTime
    title: str
    metadata: dict[str, Any]
    explain: dict[str, Any]


class HitTime(TypedDict):
    """When it happened (None: not dated) and when it was stored, in epoch seconds."""
    start: float | None
    end: float | None
    recorded_at: float
    text: str


class ImportExport(TypedDict, total=False):
    """An export."""
    path: Required[str]
    identity_env: str
    passphrase_env: str


class ImportItem(TypedDict):
    """An import; times in epoch seconds."""
    task_id: str
    kind: str
    status: str
    progress: float
    records: int
    counts: dict[str, int]
    bytes_total: int
    bytes_done: int
    rate: float
    seconds_left: float | None
    params: dict[str, Any]
    error: str
    warnings: list[str]
    retry_parent_task_id: str
    requested_by: str
    created_at: float
    started_at: float | None
    finished_at: float | None
    updated_at: float
    files: list[FileItem]


class ImportedExport(TypedDict):
    """What the memory was filled with."""
    success: bool
    warnings: list[str]
    imported: bool
    rows: int
    vectors: bool
    fingerprint: str
    counts: dict[str, int]


class InSpace(TypedDict, total=False):
    """Of which space."""
    space: Required[str]


class IngestMessages(TypedDict, total=False):
    """Arguments of `ingest_messages`."""
    chat_id: str
    user_id: str
    group_id: str
    metadata: Mapping[str, Any]
    respect_filter: bool
    derive: bool
    expires_at: Moment
    ttl_seconds: float | None
    messages: Required[Sequence[Message] | Sequence[Mapping[str, Any]]]
    source: str
    same_text: Literal['store', 'keep']
    wait: Literal['', 'stored', 'indexed', 'searchable', 'vectors']


class IngestResult(TypedDict):
    """What became of the text."""
    success: bool
    warnings: list[str]
    stored_ids: list[str]
    relation_ids: list[str]
    superseded_ids: list[str]
    skipped_ids: list[str]
    reason: str
    external_id: str
    queued: bool
    wait_error: str


class IngestSummary(TypedDict, total=False):
    """Arguments of `ingest_summary`."""
    chat_id: Required[str]
    user_id: str
    group_id: str
    metadata: Mapping[str, Any]
    respect_filter: bool
    derive: bool
    expires_at: Moment
    ttl_seconds: float | None
    external_id: Required[str]
    text: str
    participants: list[str]
    person_ids: list[str]
    time_start: Moment
    time_end: Moment
    tags: list[str]
    messages: Sequence[Message] | Sequence[Mapping[str, Any]]
    wait: Literal['', 'stored', 'indexed', 'searchable', 'vectors']


class IngestText(TypedDict, total=False):
    """Arguments of `ingest_text`."""
    chat_id: str
    user_id: str
    group_id: str
    metadata: Mapping[str, Any]
    respect_filter: bool
    derive: bool
    expires_at: Moment
    ttl_seconds: float | None
    source_type: str
    text: Required[str]
    source: str
    scope: Literal['chat', 'global']
    person_ids: list[str]
    participants: list[str]
    person_aliases: Mapping[str, list[str]]
    timestamp: Moment
    time_start: Moment
    time_end: Moment
    tags: list[str]
    knowledge_type: Literal['auto', 'factual', 'narrative', 'quote']
    entities: Sequence[EntityInput] | list[str]
    relations: Sequence[RelationInput]
    external_id: str
    same_text: Literal['store', 'keep', 'merge']
    wait: Literal['', 'stored', 'indexed', 'searchable', 'vectors']


class IngestTexts(TypedDict, total=False):
    """Arguments of `ingest_texts`."""
    items: Required[Sequence[IngestText]]
    wait: Literal['', 'stored', 'indexed', 'searchable', 'vectors']


class KernelSearchRequest(TypedDict, total=False):
    """Arguments of `search_memory`."""
    scope: Literal['', 'all']
    chat_id: str
    group_id: str
    user_id: str
    include_private: bool | None
    chat_pattern: str | None
    only_own: bool
    query: str
    messages: Sequence[ContextMessage] | Sequence[Mapping[str, Any]]
    limit: int
    mode: Literal['search', 'time', 'hybrid', 'episode', 'aggregate']
    person_id: str
    source: str
    source_type: str
    tags: list[str]
    time_start: Moment
    time_end: Moment
    as_of: Moment
    respect_filter: bool
    min_score: float
    min_similarity: float | None
    gate: bool
    fusion: Literal['weighted', 'rrf']
    rrf_k: int
    stage1: int | None
    used: bool


class KeyItem(TypedDict):
    """A data key; the key itself is never told."""
    id: str
    created_at: float
    retired_at: float | None
    files: int
    backups: list[str]


class KeyRotation(TypedDict):
    """The data key that is retired after a purge, so that copies made before cannot be read with the keys that are left."""
    retired: str
    key: str
    needed_by: list[str]


class KeyStatus(TypedDict):
    """Whether the memory is encrypted, and with what."""
    success: bool
    warnings: list[str]
    encrypted: bool
    secret: str
    keys: list[KeyItem]
    plain: list[str]
    unreadable: list[str]


class KeyVerdict(TypedDict):
    """Whether everything that is encrypted can be read."""
    success: bool
    warnings: list[str]
    sound: bool
    problems: list[str]


class KindItem(TypedDict):
    """A way to create a task."""
    action: str
    what: str


class LabelledQuery(TypedDict, total=False):
    """A question with what should be found."""
    query: Required[str]
    chat_id: str
    expected: Required[list[str]]


class LifecycleConfig(TypedDict):
    """The settings behind the numbers."""
    half_life_hours: float
    paragraph_half_life_hours: float
    prune_threshold: float
    revive_threshold: float
    freeze_duration_hours: float
    base_decay_interval_hours: float
    access_cooldown_minutes: float


class LifecycleStatus(TypedDict):
    """How memories stand."""
    success: bool
    warnings: list[str]
    scope: Literal['chat', 'all']
    timezone: str
    items: list[StatusItem]
    count: int
    config: LifecycleConfig
    last_maintenance_at: float | None


class LifecycleStatusRequest(TypedDict, total=False):
    """Which memories; without a target those that use or a hand has touched last."""
    scope: Literal['', 'all']
    chat_id: str
    target: str | None
    kind: Literal['', 'paragraph', 'relation']
    limit: int


class ListBin(TypedDict, total=False):
    """Which part of the recycle bin."""
    scope: Literal['', 'all']
    chat_id: str
    limit: int
    offset: int


class ListChanges(TypedDict, total=False):
    """Which changes."""
    of_component: str
    of_action: str
    requested_by: str
    since: Moment
    until: Moment
    before: str
    limit: int


class ListChats(TypedDict, total=False):
    """Which chats to list."""
    scope: Literal['', 'all']
    chat_id: str
    group_id: str
    user_id: str
    include_private: bool | None
    chat_pattern: str | None
    only_own: bool
    text: str
    limit: int
    offset: int


class ListConflicts(TypedDict, total=False):
    """Whose contradictions to list."""
    scope: Literal['', 'all']
    chat_id: str
    group_id: str
    user_id: str
    include_private: bool | None
    person_id: str
    limit: int


class ListCorrections(TypedDict, total=False):
    """Which plans to list."""
    scope: Literal['', 'all']
    statuses: Sequence[Literal['awaiting_confirmation', 'executed', 'rolled_back']]
    chat_id: str
    limit: int
    offset: int


class ListDocuments(TypedDict, total=False):
    """Which documents to list, and in which order."""
    source: str
    external_ids: list[str]
    source_type: str
    tags: list[str]
    metadata: Mapping[str, Any]
    since: Moment
    until: Moment
    scope: Literal['', 'all']
    chat_id: str
    group_id: str
    user_id: str
    include_private: bool | None
    chat_pattern: str | None
    only_own: bool
    respect_filter: bool
    order: Literal['created', 'updated']
    descending: bool
    limit: int
    cursor: str


class ListEpisodes(TypedDict, total=False):
    """Which episodes to list."""
    scope: Literal['', 'all']
    chat_id: str
    group_id: str
    user_id: str
    include_private: bool | None
    respect_filter: bool
    query: str
    person_id: str
    time_start: Moment
    time_end: Moment
    source: str
    limit: int
    offset: int


class ListFacts(TypedDict, total=False):
    """Which facts to list."""
    scope: Literal['', 'all']
    chat_id: str
    group_id: str
    user_id: str
    include_private: bool | None
    person_id: str
    entity: str
    attribute: str
    kind: Literal['', 'identity', 'home', 'work', 'relation', 'possession', 'health', 'preference', 'skill', 'habit', 'plan', 'event', 'opinion']
    status: Sequence[Literal['active', 'maybe_outdated', 'conflicted', 'superseded', 'retracted']]
    limit: int
    offset: int


class ListFeedback(TypedDict, total=False):
    """Which tasks to list."""
    statuses: Sequence[Literal['pending', 'running', 'applied', 'skipped', 'failed']]
    rollback_statuses: Sequence[Literal['none', 'rolled_back', 'failed']]
    query: str
    limit: int
    offset: int


class ListImports(TypedDict, total=False):
    """Which tasks to list."""
    limit: int
    offset: int
    status: Literal['', 'queued', 'preparing', 'running', 'cancel_requested', 'cancelled', 'completed', 'completed_with_errors', 'failed']


class ListOperations(TypedDict, total=False):
    """Which deletions to list."""
    mode: Literal['relation', 'paragraph', 'entity', 'source', 'person', 'chat', 'mixed'] | None
    status: Literal['executed', 'restored', 'purging', 'purged'] | None
    limit: int
    offset: int


class ListProfiles(TypedDict, total=False):
    """Which profiles to list."""
    keyword: str
    limit: int
    offset: int


class ListSources(TypedDict, total=False):
    """Which sources to list."""
    scope: Literal['', 'all']
    chat_id: str
    limit: int
    offset: int


class ListTexts(TypedDict, total=False):
    """Which texts to list."""
    scope: Literal['', 'all']
    chat_id: str
    group_id: str
    user_id: str
    include_private: bool | None
    chat_pattern: str | None
    only_own: bool
    person_id: str
    source: str
    time_start: Moment
    time_end: Moment
    before: str | int | None
    order: Literal['stored', 'said']
    limit: int


class ListTuningTasks(TypedDict, total=False):
    """Which tasks to list."""
    statuses: Sequence[Literal['queued', 'running', 'completed', 'failed', 'cancelled']]
    limit: int
    offset: int


class ListUndo(TypedDict, total=False):
    """Which changes to list."""
    limit: int
    offset: int
    include_undone: bool


class ListVectors(TypedDict, total=False):
    """Which vectors to list."""
    space: Required[str]
    filters: Mapping[str, Any]
    cursor: str | None
    limit: int
    vectors: bool


class Made(TypedDict):
    """The backup; with `check`, what is wrong with it."""
    success: bool
    warnings: list[str]
    backup: BackupItem
    checked: bool
    problems: list[str]


class Maintained(TypedDict):
    """What was done, in one transaction."""
    success: bool
    warnings: list[str]
    operation_id: int
    action: str
    detail: str
    ids: list[str]
    count: int
    retention_scores: dict[str, float]
    statuses: dict[str, str]
    items: list[MaintainedItem]
    skipped: list[str]


class MaintainedItem(TypedDict):
    """A memory before and after; times in epoch seconds."""
    id: str
    kind: str
    before: dict[str, Any]
    after: dict[str, Any]


class Maintenance(TypedDict, total=False):
    """Which memories, and who asks."""
    target: Required[str]
    kind: Literal['', 'paragraph', 'relation']
    chat_id: str
    reason: str
    requested_by: str


class MakeBackup(TypedDict, total=False):
    """Where to."""
    path: str
    check: bool


class MergeNodes(TypedDict, total=False):
    """Nodes that are one and the same."""
    requested_by: str
    reason: str
    sources: Required[list[str]]
    target: Required[str]


class MergeSuggestion(TypedDict):
    """Two nodes that may be one and the same."""
    source: NodeItem
    target: NodeItem
    score: float
    reasons: list[str]


class MergeSuggestions(TypedDict):
    """Pairs, the likeliest first; nothing is merged by itself."""
    success: bool
    warnings: list[str]
    scope: Literal['chat', 'all']
    timezone: str
    items: list[MergeSuggestion]
    total: int


class Message(TypedDict, total=False):
    """One chat turn, in these words or as platforms spell it.

`role` and `content` (a text, or parts of one), `senderId`, `author: {id, name}`, events of OneBot, Discord, Telegram,
Slack and Matrix, messages of OpenAI, LangChain and MaiBot are understood too."""
    text: Required[str]
    speaker: str
    person_id: str
    aliases: list[str]
    external_id: str
    time: Moment
    tags: list[str]
    metadata: Mapping[str, Any]


class MessageResult(TypedDict):
    """What became of one turn."""
    external_id: str
    status: str
    ids: list[str]


class MessagesResult(TypedDict):
    """What became of the turns, in their order."""
    success: bool
    warnings: list[str]
    stored_ids: list[str]
    superseded_ids: list[str]
    skipped_ids: list[str]
    reason: str
    results: list[MessageResult]
    wait_error: str


class NoArguments(TypedDict, total=False):
    """No arguments."""


class NodeAnswer(TypedDict):
    """A node with what is known of it."""
    success: bool
    warnings: list[str]
    scope: Literal['chat', 'all']
    timezone: str
    node: NodeItem | None
    aliases: list[str]
    former_names: list[str]
    metadata: dict[str, Any]
    relations: list[RelationItem]
    relation_count: int
    known: list[RelationItem]
    paragraphs: list[ParagraphItem]
    paragraph_count: int
    evidence_graph: EvidenceGraph


class NodeDetail(TypedDict, total=False):
    """The node."""
    scope: Literal['', 'all']
    chat_id: str
    group_id: str
    user_id: str
    include_private: bool | None
    respect_filter: bool
    relation_limit: int
    paragraph_limit: int
    evidence_node_limit: int
    node: Required[str]


class NodeItem(TypedDict):
    """A node; `weight` is its importance."""
    id: str
    name: str
    type: str
    weight: float
    degree: int
    evidence_count: int
    created_at: float


class NotRestored(TypedDict):
    """A row that could not come back."""
    item_type: str
    item_key: str
    reason: str


class OneEpisode(TypedDict):
    """An episode with its paragraphs in order."""
    success: bool
    warnings: list[str]
    scope: Literal['chat', 'all']
    timezone: str
    episode: EpisodeItem | None
    paragraphs: list[EpisodeParagraph]
    names: dict[str, str]
    stale: bool
    disabled: bool


class OperationItem(TypedDict):
    """A deletion as it was recorded; times in epoch seconds."""
    operation_id: str
    mode: str
    status: str
    selector: Any
    counts: dict[str, int]
    requested_by: str
    reason: str
    created_at: float
    restored_at: float | None
    purged_at: float | None
    items: int
    restored: int
    receipt: Receipt | None
    progress: PurgeProgress | None


class OperationList(TypedDict):
    """Deletions, the newest first."""
    success: bool
    warnings: list[str]
    items: list[OperationItem]
    count: int
    total: int


class OperationResult(TypedDict):
    """A deletion with a page of its items."""
    success: bool
    warnings: list[str]
    operation: OperationItem
    items: list[TouchedItem]


class OverrideDeleted(TypedDict):
    """The override is gone."""
    success: bool
    warnings: list[str]
    deleted: bool
    profile: WholeProfile


class Overrides(TypedDict, total=False):
    """What the new task is told differently."""
    skip_bad: bool | None
    chat_id: str | None
    strategy_override: Literal['auto', 'factual', 'narrative', 'quote'] | None


class ParagraphItem(TypedDict):
    """A paragraph that supports what was asked for."""
    id: str
    content: str
    source: str
    chat_id: str
    external_id: str
    time_start: float | None
    time_end: float | None
    recorded_at: float


class PathAliases(TypedDict):
    """Folders from which files may be imported."""
    success: bool
    warnings: list[str]
    aliases: dict[str, str]
    roots: list[str]


class PersonProfile(TypedDict):
    """What is known of a person."""
    success: bool
    warnings: list[str]
    scope: Literal['chat', 'all']
    timezone: str
    known: bool
    person_id: str
    person_name: str
    aliases: list[str]
    summary: str
    traits: list[str]
    items: list[Statement]
    evidence: list[ProfileEvidence]
    profile_source: str
    has_manual_override: bool
    version: int
    updated_at: float
    stale: bool
    filtered: bool
    disabled: bool


class PlanItem(TypedDict):
    """A plan; times in epoch seconds."""
    plan_id: str
    text: str
    chat_id: str
    person_id: str
    status: str
    action: str
    wrong: str
    right: str
    superseded_ids: list[str]
    stored_ids: list[str]
    requested_by: str
    reason: str
    created_at: float
    executed_at: float | None
    rolled_back_at: float | None


class PlanRequest(TypedDict, total=False):
    """A plan."""
    plan_id: Required[str | int]


class Preview(TypedDict, total=False):
    """What to delete."""
    mode: Required[Literal['relation', 'paragraph', 'entity', 'source', 'person', 'chat', 'mixed']]
    selector: Any
    chat_id: str
    mentions: Literal['delete', 'keep']
    include_paragraphs: bool


class PreviewCorrection(TypedDict, total=False):
    """What is wrong, in words."""
    text: Required[str]
    chat_id: str
    group_id: str
    user_id: str
    person_id: str
    allow_global: bool
    use_model: bool
    authority: Literal['direct_user', 'manual']
    requested_by: str
    reason: str


class Process(TypedDict, total=False):
    """How much to do."""
    limit: int


class ProcessFacts(TypedDict, total=False):
    """Nothing to say."""


class ProcessFeedback(TypedDict, total=False):
    """How much to do now."""
    limit: int


class ProcessProfiles(TypedDict, total=False):
    """How much to read."""
    limit: int


class ProfileApplied(TypedDict):
    """What was changed."""
    success: bool
    warnings: list[str]
    changed: bool
    history_id: int
    profile: dict[str, Any]
    previous: dict[str, Any]


class ProfileEntry(TypedDict):
    """A person with a profile."""
    person_id: str
    person_name: str
    aliases: list[str]
    summary: str
    has_manual_override: bool
    version: int
    updated_at: float


class ProfileEvidence(TypedDict):
    """Something that the profile stands on."""
    id: str
    type: str
    content: str
    metadata: dict[str, Any]
    time: float
    score: float
    confidence: float
    section: str
    source: str
    source_type: str
    deletable: bool


class ProfileExported(TypedDict):
    """Settings as the text of a configuration file."""
    success: bool
    warnings: list[str]
    toml: str
    profile: dict[str, Any]


class ProfileFound(TypedDict):
    """The settings at work."""
    success: bool
    warnings: list[str]
    profile: dict[str, Any]
    differs_from_shipped: dict[str, Any]
    history: list[AppliedItem]


class ProfileStatus(TypedDict):
    """How far profiles are behind; nothing of them is derived, so there are no tasks."""
    success: bool
    warnings: list[str]
    enabled: bool
    by_chat_model: bool
    lag: int
    pending: int
    processing: int
    completed: int
    failed: int
    tasks: list[ProfileTask]


class ProfileStatusRequest(TypedDict, total=False):
    """Which tasks to list."""
    status: Literal['', 'pending', 'processing', 'completed', 'failed']
    limit: int
    offset: int


class ProfileTask(TypedDict):
    """The deriving of one profile, as versions that kept profiles told of it."""
    person_id: str
    status: str
    attempts: int
    due_at: float
    error: str
    updated_at: float


class Profiles(TypedDict):
    """Profiles, the last changed first."""
    success: bool
    warnings: list[str]
    items: list[ProfileEntry]
    count: int
    total: int


class ProfilesProcessed(TypedDict):
    """What was read."""
    success: bool
    warnings: list[str]
    processed: int
    failed: int
    remaining: int


class Protect(TypedDict, total=False):
    """Which memories, and for how long."""
    target: Required[str]
    kind: Literal['', 'paragraph', 'relation']
    chat_id: str
    reason: str
    requested_by: str
    hours: float


class Purge(TypedDict, total=False):
    """What to erase for good: one deletion, or all that are old enough."""
    operation_id: str | int | None
    older_than_days: float | None
    grace_hours: float | None
    limit: int
    rotate: bool
    wait: bool


class PurgeProgress(TypedDict):
    """How far a purge under way has come."""
    phase: str
    done: int
    total: int


class PurgeResult(TypedDict):
    """What is gone for good."""
    success: bool
    warnings: list[str]
    operations: list[OperationItem]
    purged_count: int
    error: str
    error_code: str
    left: list[str]


class QueryFacts(TypedDict, total=False):
    """What to look for; at least one of text, person, entity, attribute, kind, status or a time."""
    scope: Literal['', 'all']
    chat_id: str
    group_id: str
    user_id: str
    include_private: bool | None
    person_id: str
    entity: str
    attribute: str
    kind: Literal['', 'identity', 'home', 'work', 'relation', 'possession', 'health', 'preference', 'skill', 'habit', 'plan', 'event', 'opinion']
    status: Sequence[Literal['active', 'maybe_outdated', 'conflicted', 'superseded', 'retracted']]
    limit: int
    offset: int
    text: str
    as_of: Moment
    valid_at: Moment


class QuestionCount(TypedDict):
    """How many questions a part has of a kind."""
    split: str
    kind: str
    count: int


class RebuildEpisodes(TypedDict, total=False):
    """What to make anew."""
    source: str
    sources: list[str]
    chat_id: str
    all: bool
    wait: float


class RebuildStatus(TypedDict):
    """How far the vectors are."""
    success: bool
    warnings: list[str]
    embedding: EmbeddingProgress
    generations: list[GenerationItem]
    total: int
    progress: float


class RebuildVectors(TypedDict, total=False):
    """How to rebuild."""
    dry_run: bool


class Rebuilding(TypedDict):
    """What was queued, and how it stands."""
    success: bool
    warnings: list[str]
    requested: int
    queued: int
    unknown: list[str]
    finished: bool
    pending: int
    failed: int


class Receipt(TypedDict):
    """What a purge erased, and what was looked at to be sure of it."""
    erased: dict[str, int]
    scrubbed: dict[str, int]
    unnamed: dict[str, int]
    copies: list[dict[str, Any]]
    indexes: list[str]
    needles: int
    held_elsewhere: int
    too_short: int
    incoming: list[str]
    complete: bool
    warnings: list[str]
    files: int
    bytes: int
    found: dict[str, int]
    unread: dict[str, str]
    rotation: KeyRotation | None
    rewritten: int
    log_emptied: bool
    seconds: float
    stays: list[StayItem]


class Recovered(TypedDict):
    """Failed paragraphs that are tried again now."""
    success: bool
    warnings: list[str]
    retried: int
    embedding: EmbeddingProgress


class RefItem(TypedDict):
    """The text that a vector is of."""
    source: str
    external_id: str
    chat_id: str


class Refreshed(TypedDict):
    """Whether there is news that has not been read yet."""
    success: bool
    warnings: list[str]
    person_id: str
    queued: bool


class RelationInput(TypedDict, total=False):
    """Subject, predicate, object."""
    subject: Required[str]
    predicate: Required[str]
    object: Required[str]
    confidence: float


class RelationItem(TypedDict):
    """A relation."""
    id: str
    subject: str
    subject_id: str
    predicate: str
    object: str
    object_id: str
    text: str
    confidence: float
    weight: float
    origin: str
    evidence_count: int
    created_at: float
    ended_at: float | None


class ReloadReport(TypedDict):
    """One reload: what changed, how deep it went, or why it was refused."""
    at: float
    ok: bool
    level: str
    changed: list[str]
    error: str
    problems: list[dict[str, Any]]
    seconds: float


class ReloadStatus(TypedDict):
    """What became of config changes."""
    success: bool
    warnings: list[str]
    config_file: str
    reloads: int
    refused: int
    last: ReloadReport | None
    last_error: ReloadReport | None
    needs_restart: list[str]


class RenameNode(TypedDict, total=False):
    """The node and its new name; the old one becomes an alias."""
    requested_by: str
    reason: str
    node: Required[str]
    new_name: Required[str]
    merge: bool


class RepairDone(TypedDict):
    """What was mended, and how everything is afterwards."""
    success: bool
    warnings: list[str]
    report: Report
    done: list[str]


class ReplacementItem(TypedDict):
    """A paragraph that search no longer gives, and what stands in its place (empty: nothing)."""
    id: str
    content: str
    becomes: str


class Report(TypedDict):
    """What a check found."""
    ok: bool
    checked_at: float
    message: str
    findings: list[FindingItem]


class ReportFound(TypedDict):
    """What a task did."""
    success: bool
    warnings: list[str]
    task_id: int
    format: str
    content: str
    plots: dict[str, str]


class Resolve(TypedDict, total=False):
    """Which of several facts is true."""
    requested_by: str
    reason: str
    winner: Required[str | int]


class ResolvePath(TypedDict, total=False):
    """What to resolve."""
    alias: str
    relative_path: str
    path: str
    must_exist: bool


class ResolvedPath(TypedDict):
    """Where it is, and what."""
    success: bool
    warnings: list[str]
    alias: str
    relative_path: str
    resolved_path: str
    exists: bool
    is_file: bool
    is_dir: bool
    size: int


class Restore(TypedDict, total=False):
    """The deletion to undo."""
    operation_id: Required[str | int]
    items: list[str] | None


class RestoreResult(TypedDict):
    """What came back."""
    success: bool
    warnings: list[str]
    operation_id: str
    status: str
    error: str
    error_code: str
    counts: dict[str, int]
    not_restored: list[NotRestored]


class RestoredBackup(TypedDict):
    """What was put back, and where the rows that were there before are."""
    success: bool
    warnings: list[str]
    restored: bool
    backup: BackupItem
    set_aside: BackupItem | None
    erased: int


class Retract(TypedDict, total=False):
    """The fact that was never true."""
    requested_by: str
    reason: str
    fact_id: Required[str | int]


class Retried(TypedDict):
    """A new task that reads again what failed."""
    success: bool
    warnings: list[str]
    task: ImportItem
    retry_summary: dict[str, int]


class RetrievalResult(TypedDict):
    """Hits, best first."""
    success: bool
    warnings: list[str]
    scope: Literal['chat', 'all']
    timezone: str
    mode: str
    hits: list[Hit]
    facts: list[FactItem]
    corrected: dict[str, str]
    weak: bool
    summary: str
    filtered: bool
    degraded: list[str]
    disabled: bool


class RetryFailed(TypedDict, total=False):
    """The task whose failures are read again."""
    task_id: Required[str]
    overrides: Overrides


class RollbackFeedback(TypedDict, total=False):
    """The task to undo."""
    task_id: Required[int]
    requested_by: str
    reason: str


class RollbackProfile(TypedDict, total=False):
    """How careful to be."""
    strict: bool


class RotatedKey(TypedDict):
    """The key that is used from now on."""
    success: bool
    warnings: list[str]
    rotated: bool
    key: str
    retired: str
    needed_by: list[str]


class RoundItem(TypedDict):
    """What one set of settings came to on the training questions."""
    round: int
    score: float
    merit: float
    params: dict[str, Any]
    figures: dict[str, Any]
    profile: dict[str, Any]
    seconds: float
    created_at: float


class RoundReport(TypedDict):
    """How many memories a round moved."""
    success: bool
    warnings: list[str]
    expired: int
    faded: int
    recycled: int
    last_maintenance_at: float


class RoundsFound(TypedDict):
    """Rounds in their order."""
    success: bool
    warnings: list[str]
    items: list[RoundItem]
    count: int
    total: int


class RuntimeConfig(TypedDict):
    """The configuration at work, and what it amounts to."""
    success: bool
    warnings: list[str]
    config: dict[str, Any]
    config_file: str
    data_dir: str
    auto_save: bool
    embedding: EmbeddingProgress
    retrieval_mode: str
    notice: str


class Saved(TypedDict):
    """Snapshots written."""
    success: bool
    warnings: list[str]
    saved: bool
    indexes: list[str]
    data_dir: str


class SearchGraph(TypedDict, total=False):
    """What to look for."""
    scope: Literal['', 'all']
    chat_id: str
    group_id: str
    user_id: str
    include_private: bool | None
    respect_filter: bool
    query: Required[str]
    limit: int
    offset: int
    kind: Literal['', 'entity', 'relation']


class SearchVectors(TypedDict, total=False):
    """What to look for."""
    space: Required[str]
    vector: Required[Sequence[float]]
    limit: int
    filters: Mapping[str, Any]
    min_score: float
    vectors: bool


class SetDocuments(TypedDict, total=False):
    """Which documents, and what is to be said of them."""
    source: str
    external_ids: list[str]
    ids: list[str] | Sequence[int]
    metadata: Mapping[str, Any] | None
    tags: list[str] | None
    expires_at: Moment
    ttl_seconds: float | None
    merge: bool


class SetOverride(TypedDict, total=False):
    """What to show in the place of the profile."""
    person_id: Required[str]
    text: Required[str]
    updated_by: str
    source: str


class Settings(TypedDict):
    """The settings of imports, what can be imported, and how."""
    success: bool
    warnings: list[str]
    enabled: bool
    limits: dict[str, Any]
    kinds: list[KindItem]
    formats: list[FormatItem]
    statuses: list[str]
    data_dir: str


class Settle(TypedDict, total=False):
    """How long to wait."""
    seconds: float


class Settled(TypedDict):
    """Whether the background has caught up with what was written."""
    success: bool
    warnings: list[str]
    settled: bool
    waiting: dict[str, int]


class ShownVectors(TypedDict):
    """The vectors asked for, in that order."""
    success: bool
    warnings: list[str]
    items: list[VectorItem]
    missing: list[str]


class Snapshot(TypedDict):
    """What was known of a person from one chat after a change, as far as it still stands."""
    chat_id: str
    version: int
    summary: str
    items: list[Statement]
    confidence: float
    updated_at: float


class Snapshots(TypedDict):
    """What was known after each change, the last first."""
    success: bool
    warnings: list[str]
    person_id: str
    items: list[Snapshot]
    count: int
    total: int


class SourceItem(TypedDict):
    """A source; times in epoch seconds."""
    source: str
    source_type: str
    chat_id: str
    count: int
    last_updated: float
    event_start: float | None
    event_end: float | None


class Sources(TypedDict):
    """Sources, the last written first."""
    success: bool
    warnings: list[str]
    scope: Literal['chat', 'all']
    timezone: str
    items: list[SourceItem]
    count: int
    total: int


class SpaceDropped(TypedDict):
    """What is gone."""
    success: bool
    warnings: list[str]
    deleted_count: int


class SpaceItem(TypedDict):
    """A space; times in epoch seconds."""
    space: str
    dimension: int | None
    metric: str
    count: int
    created_at: float


class SpaceMade(TypedDict):
    """The space as it is now."""
    success: bool
    warnings: list[str]
    space: str
    dimension: int | None
    metric: str
    created: bool


class Spaces(TypedDict):
    """Every space, by name."""
    success: bool
    warnings: list[str]
    items: list[SpaceItem]
    count: int


class Statement(TypedDict):
    """One thing that is known of a person."""
    section: str
    statement: str
    kind: str
    evidence: list[str]
    confidence: float
    score: float
    time: float


class Statistics(TypedDict):
    """Counts of live rows, unless their name says otherwise; persons and chats are all that ever were."""
    success: bool
    warnings: list[str]
    paragraphs: int
    superseded: int
    deleted: int
    relations: int
    entities: int
    persons: int
    chats: int
    episodes: int
    sources: int
    external_refs: int
    space_vectors: int
    lag: dict[str, int]
    embedding: EmbeddingProgress
    chat: ChatState
    summaries_waiting: int
    notice: str
    data_dir: str
    version: str
    commit: str
    disabled: bool


class StatusItem(TypedDict):
    """How a memory stands; times in epoch seconds."""
    id: str
    kind: str
    text: str
    state: str
    is_pinned: bool
    temp_protected: bool
    protected_until: float | None
    last_reinforced: float | None
    last_access_reinforced_at: float | None
    confidence: float
    retention_score: float
    retention_anchor_at: float
    next_lifecycle_at: float | None
    reinforcement_count: int
    inactive_reason: str
    deleted_at: float | None
    expires_at: float | None


class StayItem(TypedDict):
    """A row that one might have expected to go with a deletion."""
    item_type: str
    item_key: str
    why: str


class StoredText(TypedDict):
    """A text as it is stored; times in epoch seconds."""
    id: str
    text: str
    chat_id: str
    source: str
    source_type: str
    kind: str
    speaker: str
    person_ids: list[str]
    time: float | None
    recorded_at: float
    expires_at: float | None
    derive: bool
    external_id: str
    part: int
    tags: list[str]
    metadata: dict[str, Any]


class Strengthened(TypedDict, total=False):
    """Which memories, and how strongly."""
    target: Required[str]
    kind: Literal['', 'paragraph', 'relation']
    chat_id: str
    reason: str
    requested_by: str
    strength: float


class SuggestMerges(TypedDict, total=False):
    """Where to look for nodes that may be one and the same."""
    scope: Literal['', 'all']
    chat_id: str
    group_id: str
    user_id: str
    include_private: bool | None
    respect_filter: bool
    node: str
    limit: int
    offset: int
    min_score: float


class Supersede(TypedDict, total=False):
    """The fact that is no longer true, and what is true instead: another fact, or a new value."""
    requested_by: str
    reason: str
    fact_id: Required[str | int]
    superseded_by: str | int | None
    value: str
    valid_from: Moment


class Task(TypedDict):
    """A task as it stands."""
    success: bool
    warnings: list[str]
    task: ImportItem


class TaskFound(TypedDict):
    """One task."""
    success: bool
    warnings: list[str]
    task: TuningTaskItem | None
    questions: list[QuestionCount]
    rounds: list[RoundItem]


class TaskId(TypedDict, total=False):
    """A task."""
    task_id: Required[str | int]


class TaskList(TypedDict):
    """Tasks, the newest first."""
    success: bool
    warnings: list[str]
    items: list[TuningTaskItem]
    count: int
    total: int


class Tasks(TypedDict):
    """Tasks, the newest first."""
    success: bool
    warnings: list[str]
    items: list[ImportItem]
    count: int
    total: int


class TextHistory(TypedDict, total=False):
    """Of which text to tell the wordings: by its id, or by the caller's id and the source."""
    id: str | int | None
    external_id: str
    source: str


class Texts(TypedDict):
    """Texts, the last stored or said first."""
    success: bool
    warnings: list[str]
    scope: Literal['chat', 'all']
    timezone: str
    items: list[StoredText]
    count: int
    next: str


class TextsResult(TypedDict):
    """What became of the texts, in their order."""
    success: bool
    warnings: list[str]
    results: list[IngestResult]
    wait_error: str


class TouchedItem(TypedDict):
    """A row of a deletion."""
    item_type: str
    item_key: str
    why: str
    restored_at: float | None


class TransitionItem(TypedDict):
    """A change of the fact's status."""
    was: str
    became: str
    cause: str
    undo_id: str
    requested_by: str
    reason: str
    at: float


class TuningSettings(TypedDict):
    """How tuning is set, and what it may change."""
    success: bool
    warnings: list[str]
    enabled: bool
    objective: str
    intensity: str
    rounds: dict[str, int]
    sample_size: int
    top_k: int
    max_queue_size: int
    chat_model: bool
    tunable: list[str]


class TuningTaskItem(TypedDict):
    """How a task stands; times in epoch seconds."""
    task_id: int
    status: str
    stage: str
    objective: str
    sample_size: int
    top_k: int
    seed: int
    rounds: int
    rounds_done: int
    progress: float
    rate: float
    seconds_left: float | None
    recommended: bool
    best_round: int | None
    result: dict[str, Any]
    reason: str
    error: str
    created_at: float
    started_at: float | None
    finished_at: float | None


class UndoEvidence(TypedDict, total=False):
    """Which correction to undo."""
    operation_id: Required[int]
    refresh: bool
    limit: int


class UndoFactChange(TypedDict, total=False):
    """The change to take back."""
    requested_by: str
    reason: str
    undo_id: Required[str | int]


class UndoGraphEdit(TypedDict, total=False):
    """The change to undo."""
    requested_by: str
    reason: str
    undo_id: Required[str]


class UndoItem(TypedDict):
    """A change by hand."""
    undo_id: str
    kind: str
    summary: str
    requested_by: str
    reason: str
    created_at: float
    undone_at: float | None
    undo_first: str


class UndoList(TypedDict):
    """Changes by hand, the newest first."""
    success: bool
    warnings: list[str]
    items: list[UndoItem]
    count: int
    total: int


class UndoRef(TypedDict):
    """A record from which a change can be looked up or undone."""
    kind: str
    id: str
    how: str


class Undone(TypedDict):
    """What was undone."""
    success: bool
    warnings: list[str]
    undo_id: str
    kind: str
    undone_at: float | None


class Used(TypedDict, total=False):
    """What a caller has really used."""
    targets: Required[list[str]]
    chat_id: str
    reason: str
    requested_by: str


class VectorInput(TypedDict, total=False):
    """A vector to store."""
    vector: Required[Sequence[float]]
    id: str
    attributes: Mapping[str, Any]
    ref: DocumentRef | None
    expires_at: Moment
    ttl_seconds: float | None


class VectorItem(TypedDict):
    """A vector, or what is kept beside it."""
    id: str
    vector: list[float] | None
    attributes: dict[str, Any]
    ref: RefItem | None
    expires_at: float | None


class VectorPage(TypedDict):
    """Vectors in the order in which they were stored."""
    success: bool
    warnings: list[str]
    items: list[VectorItem]
    count: int
    next: str


class VectorRebuild(TypedDict):
    """A rebuild, planned or begun; `rebuild_status` tells how far it is."""
    success: bool
    warnings: list[str]
    started: bool
    dry_run: bool
    paragraphs: int
    generation: int
    embedding: EmbeddingProgress


class VectorsAdded(TypedDict):
    """What was stored."""
    success: bool
    warnings: list[str]
    ids: list[str]
    count: int
    replaced: int
    dimension: int


class VectorsDeleted(TypedDict):
    """What is gone."""
    success: bool
    warnings: list[str]
    deleted_count: int
    missing: list[str]


class WeighEdge(TypedDict, total=False):
    """An edge and its weight."""
    requested_by: str
    reason: str
    relation: str
    source: str
    target: str
    predicate: str
    weight: Required[float]


class Which(TypedDict, total=False):
    """A task."""
    task_id: Required[str]


class WhichBackup(TypedDict, total=False):
    """One backup."""
    backup: Required[str]


class Who(TypedDict, total=False):
    """A person, by id, name or alias."""
    person_id: Required[str]


class WholeProfile(TypedDict):
    """A profile with what stands behind an override: its statements and evidence are those that are derived."""
    success: bool
    warnings: list[str]
    scope: Literal['chat', 'all']
    timezone: str
    known: bool
    person_id: str
    person_name: str
    aliases: list[str]
    summary: str
    traits: list[str]
    items: list[Statement]
    evidence: list[ProfileEvidence]
    profile_source: str
    has_manual_override: bool
    version: int
    updated_at: float
    stale: bool
    filtered: bool
    disabled: bool
    auto_summary: str
    manual_override_text: str
    override_updated_by: str


class Wording(TypedDict):
    """A wording of a text, in epoch seconds from when until when it stood."""
    ids: list[str]
    text: str
    recorded_at: float
    superseded_at: float | None
    deleted_at: float | None
    metadata: dict[str, Any]


class Wordings(TypedDict):
    """What a text has said, the first wording first; where several chats have a text of that id, one after the other."""
    success: bool
    warnings: list[str]
    items: list[Wording]
    count: int
