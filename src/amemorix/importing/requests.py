"""What `memory_import_admin` may be asked."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AliasChoices, Field, model_validator

from ..errors import InvalidRequest, NotFound
from ..fields import Count, Name, RequiredName, TimeInput
from ..ops import Request
from .readers.formats import FORMATS, SUFFIXES

__all__ = [
    "Common",
    "CreateBackfill",
    "CreateLpmmConvert",
    "CreateLpmmOpenie",
    "CreateMaiBotMigration",
    "CreatePaste",
    "CreateRawScan",
    "CreateUpload",
    "FileInput",
    "Formatted",
    "GetChunks",
    "GetTask",
    "ListTasks",
    "MOST_CHUNKS",
    "Nothing",
    "Overrides",
    "ResolvePath",
    "RetryFailed",
    "Where",
    "Which",
]

LARGEST_OFFSET = 2**62
RowNumber = Annotated[int, Field(ge=0, le=LARGEST_OFFSET)]
MOST_CHUNKS = 500


class Nothing(Request):
    """No arguments."""


class Where(Request):
    """A file or folder, by an alias and the path below it, or by a path below one of `imports.roots`."""

    alias: Name = Field("", description="One of `raw`, `lpmm`, `maibot`, `converted`.")
    relative_path: str = Field("", max_length=4096, description="Below the alias; empty for the folder itself.")
    path: str = Field("", max_length=4096, description="Instead: an absolute path below one of `imports.roots`.")

    @model_validator(mode="after")
    def _one_of_both(self) -> Where:
        if self.path and (self.alias or self.relative_path):
            raise ValueError("give path, or alias with relative_path, not both")
        return self


class ResolvePath(Where):
    """What to resolve."""

    must_exist: bool = Field(True, description="Whether it is an error if nothing is there.")


class Common(Request):
    """What every import may be told."""

    chat_id: Name = Field(
        "", description="The chat of whatever names none of its own; without one everybody may find it."
    )
    scope_type: Literal["", "chat", "global"] = Field(
        "",
        description="`global`: every chat may find the texts, whatever they say of themselves; `chat`: only `chat_id`, "
        "which has to be given: what calls itself global stays in that chat, and what names another chat, or is shown "
        "in every chat as the text of a profile is, counts as bad, but for the groups of OneBot and the users of mem0, "
        "which are put into it; empty: as each says, else `chat_id`.",
    )
    strategy_override: Literal["auto", "factual", "narrative", "quote"] = Field(
        "auto",
        validation_alias=AliasChoices("strategy_override", "knowledge_type"),
        description="What kind of text the texts are; `auto` tells by their form.",
    )
    dedupe_policy: Literal["manifest", "content_hash", "none"] = Field(
        "manifest",
        description="`none`: read a file again that was imported before; what it told already stays as it is.",
    )
    force: bool = Field(False, description="The same as `dedupe_policy` `none`.")
    chat_log: bool = Field(False, description="Plain texts are saved chats: `name: text` a line. Wants `chat_id`.")
    chat_reference_time: TimeInput = Field(None, description="The time of turns of a chat log that have none.")
    columns: dict[str, str] = Field(
        default_factory=dict, description='For tables: what is in which column, {"text": "comment"}.'
    )
    skip_bad: bool = Field(False, description="Store the good records of a chunk that holds bad ones.")
    dry_run: bool = Field(False, description="Read and check everything, store nothing.")
    respect_filter: bool = Field(True, description="Apply the chat filter of the configuration.")
    requested_by: Name = ""

    @model_validator(mode="after")
    def _has_its_chat(self) -> Common:
        if self.scope_type == "chat" and not self.chat_id:
            raise ValueError("chat_id is required with scope_type `chat`")
        if self.chat_log and not self.chat_id:
            raise ValueError("chat_id is required with chat_log")
        return self

    def params(self) -> dict[str, Any]:
        """As the task keeps them."""
        names = set(Common.model_fields) - {"requested_by", "dedupe_policy"}
        kept = self.model_dump(include=names, exclude_defaults=True)
        return {**kept, "force": True} if self.dedupe_policy == "none" else kept


Format = Name


class Formatted(Common):
    """An import of files whose format may be said."""

    format: Format = Field("auto", description="One of the formats of `settings`; `auto`: by name and content.")
    input_mode: Literal["", "text", "json"] = Field("", description="Older: `json` is format `json`, `text` is `txt`.")

    def format_of(self, name: str, own: str = "") -> str:
        """The format said for a file of this name; empty to find it out. Raises InvalidRequest for an unknown one."""
        said = own or ("" if self.format == "auto" else self.format)
        said = said or {"json": "json", "text": "txt"}.get(self.input_mode, "")
        if said and said not in FORMATS:
            raise InvalidRequest(
                f"format: there is no {said!r}. Known: {', '.join(FORMATS)}.", field="format", allowed=list(FORMATS)
            )
        suffix = f".{name.rpartition('.')[2].lower()}" if "." in name else ""
        plain = said == "txt" or (not said and SUFFIXES.get(suffix, "txt") == "txt")
        return "chat_log" if self.chat_log and plain else said


class CreateLpmmOpenie(Common, Where):
    """The OpenIE files below a folder, or one of them."""

    include_all_json: bool = Field(False, description="All `.json` files, not only those that end in `-openie.json`.")


class CreateLpmmConvert(Common, Where):
    """The folder of a store of LPMM."""


class CreateMaiBotMigration(Common):
    """A database of MaiBot, and which of its messages."""

    source_db: str = Field(
        min_length=1, max_length=4096,
        description="Its path below the alias `maibot`, or an absolute one below one of `imports.roots`.",
    )  # fmt: skip
    time_from: TimeInput = Field(None, description="Only messages from then on.")
    time_to: TimeInput = Field(None, description="Only messages until then.")
    stream_ids: list[RequiredName] = Field(default_factory=list, max_length=10_000, description="Only of these chats.")
    group_ids: list[RequiredName] = Field(default_factory=list, max_length=10_000, description="Only of these groups.")
    user_ids: list[RequiredName] = Field(default_factory=list, max_length=10_000, description="Only by these users.")
    start_id: RowNumber | None = Field(None, description="Only from this row of the table on.")
    end_id: RowNumber | None = Field(None, description="Only up to this row.")

    def filters(self) -> dict[str, Any]:
        """As the reader takes them."""
        names = {"time_from", "time_to", "stream_ids", "group_ids", "user_ids", "start_id", "end_id"}
        return self.model_dump(include=names, exclude_defaults=True)


class FileInput(Request):
    """A file: staged before, or its content."""

    staged: Name = Field(
        "", validation_alias=AliasChoices("staged", "staged_id", "id", "path"), description="Id of an uploaded file."
    )
    name: Name = Field("", description="Its name; with `content` it tells the format.")
    content: str = Field("", description="Its text, instead of `staged`.")
    format: Format = Field("", description="Its format, if it differs from the task's.")

    @model_validator(mode="after")
    def _one_of_both(self) -> FileInput:
        if bool(self.staged) == bool(self.content):
            raise ValueError("give staged or content, one of them")
        if self.content and not self.name:
            raise ValueError("name is required with content")
        return self


class CreateUpload(Formatted):
    """Files that were uploaded, or are handed over here."""

    files: list[FileInput] = Field(min_length=1, max_length=100_000)


class CreatePaste(Formatted):
    """A text."""

    content: str = Field(description="The text, of any format.")
    name: Name = Field("paste.txt", description="What to call it; its source is `import:NAME`.")


class CreateRawScan(Formatted, Where):
    """The files below a folder."""

    glob: str = Field("*", min_length=1, max_length=512, description="Only files whose name or path fits.")
    recursive: bool = Field(True, description="Folders within it as well.")


class CreateBackfill(Request):
    """What to date."""

    limit: Count = Field(100_000, ge=1, le=1_000_000_000, description="Most paragraphs looked at.")
    dry_run: bool = Field(False, description="Only count.")
    no_created_fallback: bool = Field(
        False, description="Leave those whose text names no time as they are; else they get the time they were stored."
    )
    requested_by: Name = ""


class ListTasks(Request):
    """Which tasks to list."""

    limit: Count = Field(50, ge=1, le=1000)
    offset: Count = Field(0, ge=0, le=LARGEST_OFFSET)
    status: Literal[
        "",
        "queued",
        "preparing",
        "running",
        "cancel_requested",
        "cancelled",
        "completed",
        "completed_with_errors",
        "failed",
    ] = ""


class Which(Request):
    """A task."""

    task_id: RequiredName = Field(description="Such as `i12`.")

    def row(self) -> int:
        """Its row. Raises NotFound."""
        digits = self.task_id.removeprefix("i")
        if not (digits.isascii() and digits.isdecimal() and len(digits) < 19):
            raise NotFound(f"task_id: there is no import {self.task_id!r}.", field="task_id")
        return int(digits)


class GetTask(Which):
    """Which task to show."""

    include_chunks: bool = Field(False, description=f"With the first {MOST_CHUNKS} chunks of each file.")


class GetChunks(Which):
    """Which chunks to show."""

    file_id: RequiredName
    offset: Count = Field(0, ge=0, le=LARGEST_OFFSET)
    limit: Count = Field(50, ge=1, le=MOST_CHUNKS)
    status: Literal["", "queued", "completed", "failed", "cancelled"] = ""


class Overrides(Request):
    """What the new task is told differently."""

    skip_bad: bool | None = Field(default=None, description="Store the good records of chunks that hold bad ones.")
    chat_id: Name | None = None
    strategy_override: Literal["auto", "factual", "narrative", "quote"] | None = None


class RetryFailed(Which):
    """The task whose failures are read again."""

    overrides: Overrides = Field(default_factory=Overrides)
