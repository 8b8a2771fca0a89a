"""A recorded chat with test cases, in the format of MaiBot's long-term memory fixtures: of group chats, and of a novel."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta, timezone
from pathlib import Path
from typing import Any

from amemorix.errors import InvalidRequest
from amemorix.lazy_regex import lazy_regex

__all__ = ["CHINA", "Case", "Fixture", "read_fixture"]

CHINA = timezone(timedelta(hours=8))
"""The time zone of the chat and of its host."""
_TURN = lazy_regex(r"\[(\d{4}-\d\d-\d\d \d\d:\d\d)\]\s*([^：:]+)[：:](.*)", re.S)
_ENOUGH = 0.75
"""The share of keywords that a case needs where it does not say."""


@dataclass(frozen=True, slots=True)
class Case:
    """A call, and the words that its answer has to hold; without keywords it has to find nothing.

    `component` is a search, or `get_person_profile`. `enough` is the share of the keywords that makes it a success; with a `day` (YYYY/MM/DD) hits have to be of it.
    """

    group: str
    args: Mapping[str, Any]
    keywords: tuple[str, ...]
    enough: float = _ENOUGH
    day: str = ""
    component: str = "search_memory"


@dataclass(frozen=True, slots=True)
class Fixture:
    """What a host would have stored, as (component, arguments), and the cases; `required` are figures by group."""

    writes: tuple[tuple[str, dict[str, Any]], ...]
    cases: tuple[Case, ...]
    required: Mapping[str, Mapping[str, float]] = field(default_factory=dict)


def read_fixture(file: Path) -> Fixture:
    """Read the file. Raises InvalidRequest if it is not in the format."""
    try:
        data = json.loads(file.read_text("utf-8"))
        chat = {"chat_id": data["session"]["session_id"], "group_id": data["session"]["group_id"]}
        writes = (*_talk(data, chat), *_summaries(data, chat), *_knowledge(data, chat), *_facts(data, chat))
        cases = tuple(_cases(data, chat))
        required = _required(data.get("meta", {}).get("quantitative_targets", {}), {case.group for case in cases})
        return Fixture(writes, cases, required)
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as exc:
        raise InvalidRequest(f"{file} is not a group chat fixture: {exc!r}.", field="file") from exc


Write = tuple[str, dict[str, Any]]


def _talk(data: Mapping[str, Any], chat: Mapping[str, str]) -> Iterator[Write]:
    """What was said where the bot took part: a host passes over the rest."""
    for batch in data.get("simulated_stream_batches", ()):
        if batch["bot_participated"]:
            id_ = batch["batch_id"]
            turns = [_turn(f"{id_}:{n}", line) for n, line in enumerate(batch["messages"], 1)]
            yield "ingest_messages", {**chat, "messages": turns}


def _turn(id_: str, line: str) -> dict[str, Any]:
    found = _TURN.fullmatch(line)
    if found is None:
        raise ValueError(f"{line!r} is not `[time] speaker：text`")
    when, speaker, text = found.groups()
    return {"external_id": id_, "speaker": speaker.strip(), "text": text.strip(), "time": f"{when}:00+08:00"}


def _summaries(data: Mapping[str, Any], chat: Mapping[str, str]) -> Iterator[Write]:
    for record in data["chat_history_records"]:
        yield (
            "ingest_summary",
            {
                **chat,
                "external_id": f"record-{record['record_id']}",
                "text": f"{record['theme']}：{record['summary']}",
                "participants": record["participants"],
                "time_start": record["start_time"],
                "time_end": record["end_time"],
            },
        )


def _knowledge(data: Mapping[str, Any], chat: Mapping[str, str]) -> Iterator[Write]:
    """Imported paragraphs, each with the relations whose two ends it names."""
    payload = data["import_payload"]
    for n, paragraph in enumerate(payload["paragraphs"], 1):
        text = paragraph["content"]
        relations = [r for r in payload.get("relations", ()) if r["subject"] in text and r["object"] in text]
        yield (
            "ingest_text",
            {
                **chat,
                "external_id": f"import-{n}",
                "source_type": "knowledge",
                "text": text,
                "entities": paragraph["entities"],
                "relations": relations,
            },
        )


def _facts(data: Mapping[str, Any], chat: Mapping[str, str]) -> Iterator[Write]:
    for n, fact in enumerate(data["person_writebacks"], 1):
        yield (
            "ingest_text",
            {
                **chat,
                "external_id": f"fact-{n}",
                "source_type": "person_fact",
                "text": fact["memory_content"],
                "person_ids": [fact["person_id"]],
                "participants": [fact["person_name"]],
                "person_aliases": {fact["person_id"]: [fact["person_name"]]},
            },
        )


def _cases(data: Mapping[str, Any], chat: Mapping[str, str]) -> Iterator[Case]:
    asked = {"search": data["search_cases"], "knowledge_fetcher": data["knowledge_fetcher_cases"]}
    for group, cases in asked.items():
        yield from (_case(group, case, {**chat, "query": case["query"]}) for case in cases)
    for case in (case for cases in asked.values() for case in cases):
        yield _case("aggregate", case, {**chat, "query": case["query"], "mode": "aggregate"})
    for mode in ("time", "hybrid"):
        yield from (_dated(mode, case, chat) for case in data.get("time_cases", ()))
    for case in data["episode_cases"]:
        yield _case("episode", case, {**chat, "query": case["query"], "mode": "episode"})
    for case in data["profile_cases"]:
        yield replace(_case("profile", case, {**chat, "person_id": case["person_id"]}), component="get_person_profile")
    for case in data["person_writebacks"]:
        yield _case("writeback", case, {**chat, "query": case["person_name"]})
    for case in data.get("negative_control_cases", ()):
        yield Case("negative_control", {**chat, "query": case["query"]}, ())


def _required(targets: Mapping[str, Any], groups: Collection[str]) -> dict[str, dict[str, float]]:
    """By kind of case, also where the names of the figures begin with it: `search_recall_at_5`."""
    found = {name: dict(value) for name, value in targets.items() if isinstance(value, Mapping)}
    for name, value in targets.items():
        if (group := next((one for one in groups if name.startswith(f"{one}_")), "")) and name not in found:
            found.setdefault(group, {})[name.removeprefix(f"{group}_")] = value
    return found


def _dated(mode: str, case: Mapping[str, Any], chat: Mapping[str, str]) -> Case:
    day = case["time_expression"]
    args = {**chat, "query": case["query"], "mode": mode, "time_start": day, "time_end": day}
    return _case(mode, case, args, day)


def _case(group: str, case: Mapping[str, Any], args: Mapping[str, Any], day: str = "") -> Case:
    keywords = tuple(case["expected_keywords"])
    enough = case.get("minimum_keyword_recall")
    if enough is None and "minimum_keyword_hits" in case:
        enough = case["minimum_keyword_hits"] / len(keywords)
    return Case(group, args, keywords, _ENOUGH if enough is None else enough, day)
