"""`memory_correction_admin`: say in words what is wrong, see what would change, confirm, undo."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import AliasChoices, BaseModel, BeforeValidator, Field, model_validator

from ..fields import Name, Offset, OneOrMore
from ..ids import HIGHEST, paragraph_key, plan_key
from ..ops import Operations, Request, Response, ScopedRequest, ScopedResponse
from ..store.access import chat_key
from .matcher import MOST_CANDIDATES, Wish
from .rows import Plan

if TYPE_CHECKING:
    from ..host.kernel import SDKMemoryKernel

__all__ = ["ops"]

ops: Operations[SDKMemoryKernel] = Operations()
Status = Literal["awaiting_confirmation", "executed", "rolled_back"]
SHOWN_CHARS = 420


def _plan_number(value: Any) -> Any:
    if isinstance(value, bool):
        raise ValueError("must be the id of a plan")
    if isinstance(value, str) and value.strip().removeprefix("c").isdecimal():
        return int(value.strip().removeprefix("c"))
    return value


PlanId = Annotated[int, Field(ge=1, le=HIGHEST), BeforeValidator(_plan_number, json_schema_input_type=str | int)]


class PreviewCorrection(Request):
    """What is wrong, in words."""

    text: str = Field(
        min_length=1, max_length=2000, validation_alias=AliasChoices("text", "request_text"),
        description="Such as `林澈不住在上海，他住在杭州`, `Mia doesn't work at Google any more, she works at Stripe`, "
        "`忘掉我喜欢咖啡`.",
    )  # fmt: skip
    chat_id: Name = Field("", description="The chat whose own memories it may correct; needed unless `allow_global`.")
    group_id: Name = Field("", description="The group; stands for its chat when `chat_id` is not given.")
    user_id: Name = Field("", description="The user; stands for their private chat when neither is given.")
    person_id: Name = Field(
        "",
        description="Whom it is about (id or name), where the words say `I`, `he`, `我`, or nobody, or a name that several "
        "persons have.",
    )
    allow_global: bool = Field(False, description="Correct memories of every chat, and those that all share.")
    use_model: bool = Field(False, description="Let the chat model read the sentence, and wait for it.")
    authority: Literal["direct_user", "manual"] = Field(
        "direct_user",
        description="How much the right statement counts as a fact: `direct_user` as the person's own words, which later "
        "ones outweigh; `manual` as an administrator's, which only another such one outweighs.",
    )
    requested_by: Name = ""
    reason: Annotated[str, Field(max_length=2000)] = ""

    @model_validator(mode="after")
    def _has_a_scope(self) -> PreviewCorrection:
        if not (self.chat or self.allow_global):
            raise ValueError("chat_id is required (or group_id, or user_id, or allow_global for every chat).")
        return self

    @property
    def chat(self) -> str:
        """The id of the chat that is meant, empty for none."""
        key = chat_key(self.chat_id, self.group_id, self.user_id)
        return key.chat_id if key else ""


class ReplacementItem(BaseModel):
    """A paragraph that search no longer gives, and what stands in its place (empty: nothing)."""

    id: str
    content: str
    becomes: str


class CandidateItem(BaseModel):
    """A paragraph that was looked at."""

    id: str
    content: str
    score: float
    chosen: bool
    why: str


class CorrectionPreview(Response):
    """A plan; nothing is changed yet."""

    plan_id: str = ""
    requires_confirmation: bool = True
    confidence: float = Field(default=0.0, description="0 if nothing stored says what is wrong.")
    action: str = Field(default="", description="`replace` or `remove`.")
    wrong: str = ""
    right: str = ""
    subject: str = ""
    replacements: list[ReplacementItem] = Field(default_factory=list)
    note: str = Field(
        default="",
        description="The sentence that will be stored as it was said, where no line is corrected in its own words.",
    )
    relations: list[str] = Field(default_factory=list, description="Relations that end, as sentences.")
    facts: list[str] = Field(default_factory=list, description="Facts that are held true no longer.")
    candidates: list[CandidateItem] = Field(default_factory=list, description="What was looked at, and why it stays.")


class PlanRequest(Request):
    """A plan."""

    plan_id: PlanId


class ExecuteCorrection(PlanRequest):
    """The plan to carry out."""

    confirmed: bool = Field(False, description="True after the preview was read.")


class ListCorrections(ScopedRequest):
    """Which plans to list."""

    statuses: Annotated[list[Status], OneOrMore] = Field(
        default_factory=list, validation_alias=AliasChoices("statuses", "status")
    )
    chat_id: Name = ""
    limit: int = Field(50, ge=1, le=1000)
    offset: Offset = 0


class PlanItem(BaseModel):
    """A plan; times in epoch seconds."""

    plan_id: str
    text: str
    chat_id: str
    person_id: str
    status: str
    action: str
    wrong: str
    right: str
    superseded_ids: list[str] = Field(description="Paragraphs that it takes out of search.")
    stored_ids: list[str] = Field(description="Paragraphs that it stored, once it is carried out.")
    requested_by: str
    reason: str
    created_at: float
    executed_at: float | None
    rolled_back_at: float | None


class CorrectionPlan(Response):
    """One plan."""

    plan: PlanItem | None = None


class CorrectionPlans(ScopedResponse):
    """Plans, the newest first."""

    items: list[PlanItem] = Field(default_factory=list)
    count: int = 0
    total: int = 0


@ops.operation("memory_correction_admin", "preview", "plan", effect="write")
async def preview_correction(kernel: SDKMemoryKernel, request: PreviewCorrection) -> CorrectionPreview:
    """Work out what a correction in words would change; nothing is changed until it is executed."""
    wish = Wish(
        text=request.text, chat_id=request.chat, person_id=request.person_id, requested_by=request.requested_by,
        reason=request.reason, authority=request.authority, use_model=request.use_model, allow_global=request.allow_global,
    )  # fmt: skip
    plan = await kernel.corrections.preview(wish)
    found = plan.found
    return CorrectionPreview(
        plan_id=plan_key(plan.plan), confidence=plan.confidence, action=plan.action, wrong=plan.wrong,
        right=plan.right, subject=plan.subject, note=plan.note, relations=plan.relations, facts=plan.facts,
        replacements=[
            ReplacementItem(id=paragraph_key(one.target.id), content=one.target.content, becomes=one.becomes or plan.note)
            for one in found.chosen
        ],
        candidates=[
            CandidateItem(
                id=paragraph_key(one.target.id), content=one.target.content[:SHOWN_CHARS], score=round(one.score, 6),
                chosen=not one.why, why=one.why or "says what is wrong",
            )
            for one in found.judged[:MOST_CANDIDATES]
        ],
    )  # fmt: skip


@ops.operation("memory_correction_admin", "execute", effect="destructive")
async def execute_correction(kernel: SDKMemoryKernel, request: ExecuteCorrection) -> CorrectionPlan:
    """Carry out a plan, in one transaction that can be rolled back."""
    return CorrectionPlan(plan=_item(await kernel.corrections.execute(request.plan_id, confirmed=request.confirmed)))


@ops.operation("memory_correction_admin", "rollback", effect="write")
async def rollback_correction(kernel: SDKMemoryKernel, request: PlanRequest) -> CorrectionPlan:
    """Undo a plan that was carried out."""
    return CorrectionPlan(plan=_item(await kernel.corrections.rollback(request.plan_id)))


@ops.operation("memory_correction_admin", "get")
async def get_correction(kernel: SDKMemoryKernel, request: PlanRequest) -> CorrectionPlan:
    """Show a plan and what became of it."""
    return CorrectionPlan(plan=_item(await kernel.corrections.get(request.plan_id)))


@ops.operation("memory_correction_admin", "list")
async def list_corrections(kernel: SDKMemoryKernel, request: ListCorrections) -> CorrectionPlans:
    """List plans, the newest first."""
    plans, total = await kernel.corrections.list(
        request.statuses, request.chat_id, limit=request.limit, offset=request.offset
    )
    return CorrectionPlans(items=[_item(plan) for plan in plans], count=len(plans), total=total)


def _item(plan: Plan) -> PlanItem:
    details, result = json.loads(plan.plan), json.loads(plan.result)
    reading = details.get("reading", {})
    return PlanItem(
        plan_id=plan_key(plan.id), text=plan.request, chat_id=plan.chat_id, person_id=plan.person_id, status=plan.status,
        action=reading.get("action", ""), wrong=reading.get("wrong", ""), right=reading.get("right", ""),
        superseded_ids=[paragraph_key(item["id"]) for item in details.get("paragraphs", ())],
        stored_ids=[paragraph_key(row) for row in (*result.get("stored", ()), *result.get("notes", ()))], requested_by=plan.requested_by,
        reason=plan.reason, created_at=plan.created_at, executed_at=plan.executed_at,
        rolled_back_at=plan.rolled_back_at,
    )  # fmt: skip
