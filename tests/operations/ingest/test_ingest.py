"""What is stored, once, whole, and with everything that was said about it."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from amemorix import AMemorixHostService
from amemorix.testing import FrozenClock, memory_host
from entrance import contents, found, hits, refused, said, stats, told

MAY_8 = datetime(2023, 5, 8, 13, 56, tzinfo=UTC).timestamp()


async def test_a_text_comes_back_with_all_that_was_said_about_it(host: AMemorixHostService) -> None:
    result = await told(
        host,
        "周枝把折叠伞放在值班柜第二层。",
        external_id="n-1",
        source_type="note",
        chat_id="c1",
        person_ids=["u-zhou"],
        participants=["秦昭"],
        tags=["柜子", "物资"],
        metadata={"by": "bot", "深": {"n": [1, None, 2.5]}},
        time_start="2023-05-08T13:56:00Z",
        time_end="2023-05-08T14:00:00Z",
        entities=["折叠伞", {"name": "值班柜", "type": "place"}],
        relations=[{"subject": "折叠伞", "predicate": "在", "object": "值班柜", "confidence": 0.8}],
    )
    (hit,) = await hits(host, "折叠伞", chat_id="c1")

    assert result["stored_ids"] == [hit["id"]]
    assert len(result["relation_ids"]) == 1
    assert hit["type"] == "paragraph"
    assert hit["content"] == "周枝把折叠伞放在值班柜第二层。"
    assert (hit["external_id"], hit["chat_id"], hit["source"]) == ("n-1", "c1", "note:c1")
    assert hit["person_ids"] == ["u-zhou", "秦昭"]
    assert hit["tags"] == ["柜子", "物资"]
    assert hit["metadata"] == {"by": "bot", "深": {"n": [1, None, 2.5]}}
    assert (hit["time"]["start"], hit["time"]["end"]) == (MAY_8, MAY_8 + 240)
    assert hit["time"]["recorded_at"] == FrozenClock().now()
    assert len(hit["hash"]) == 64
    assert 0 < hit["score"] <= 1


async def test_a_summary_is_stored_under_its_chat(host: AMemorixHostService) -> None:
    args = {
        "external_id": "s-1", "chat_id": "c1", "text": "They planned the picnic at the lake.",
        "participants": ["Ada", "Bob"], "time_start": MAY_8, "time_end": MAY_8 + 60, "tags": ["plan"],
        "metadata": {"rounds": 3}, "person_ids": ["u-ada"],
    }  # fmt: skip
    result = await host.invoke("ingest_summary", args)
    (hit,) = await hits(host, "picnic", chat_id="c1")

    assert result["stored_ids"] == [hit["id"]]
    assert hit["source"] == "chat_summary:c1"
    assert hit["external_id"] == "s-1"
    assert set(hit["person_ids"]) == {"u-ada", "Ada", "Bob"}
    assert (hit["tags"], hit["metadata"]) == (["plan"], {"rounds": 3})
    assert (hit["time"]["start"], hit["time"]["end"]) == (MAY_8, MAY_8 + 60)


async def test_turns_keep_their_speaker_their_time_and_their_order(host: AMemorixHostService) -> None:
    messages = [
        {"external_id": "m1", "speaker": "Ada", "person_id": "u1", "text": "The picnic is on Sunday.", "time": MAY_8},
        {"external_id": "m2", "speaker": "Bob", "text": "   ", "time": MAY_8 + 1},
        {"external_id": "m3", "speaker": "Bob", "text": "I bring the picnic basket.", "time": MAY_8 + 2, "tags": ["food"],
         "metadata": {"n": 2}},
    ]  # fmt: skip
    args = {"chat_id": "c1", "messages": messages, "source": "stream", "metadata": {"from": "qq", "n": 1}}
    result = await host.invoke("ingest_messages", args)
    first, second = sorted(await hits(host, "picnic", chat_id="c1"), key=lambda hit: hit["external_id"])

    assert [one["status"] for one in result["results"]] == ["stored", "empty_text", "stored"]
    assert result["skipped_ids"] == ["m2"]
    assert result["stored_ids"] == [first["id"], second["id"]]
    assert (first["speaker"], first["person_ids"], first["source"]) == ("Ada", ["u1"], "stream")
    assert (second["speaker"], second["person_ids"], second["tags"]) == ("Bob", ["Bob"], ["food"])
    assert first["metadata"] == {"from": "qq", "n": 1}
    assert second["metadata"] == {"from": "qq", "n": 2}
    assert (first["time"]["start"], second["time"]["start"]) == (MAY_8, MAY_8 + 2)


async def test_turns_without_a_time_are_of_now_and_without_an_id_get_one(host: AMemorixHostService) -> None:
    result = await said(host, "c1", ("Ada", "hello lighthouse"), ("Ada", "hello lighthouse"))
    found_ = await hits(host, "lighthouse", chat_id="c1")

    assert len({one["external_id"] for one in result["results"]}) == 2
    assert [hit["time"]["start"] for hit in found_] == [FrozenClock().now()] * 2


async def test_the_same_again_is_skipped(host: AMemorixHostService) -> None:
    first = await told(host, "The parcel is in the hall.", external_id="p")
    again = await told(host, "  The parcel is in the hall.\n", external_id="p")

    assert first["stored_ids"]
    assert (again["stored_ids"], again["skipped_ids"], again["reason"]) == ([], ["p"], "exists")
    assert (await stats(host))["paragraphs"] == 1


@pytest.mark.parametrize("component", ["ingest_text", "ingest_summary"])
async def test_changed_text_is_a_new_revision(host: AMemorixHostService, component: str) -> None:
    args = {"external_id": "x", "chat_id": "c1", "text": "The parcel is in the hall."}
    args |= {"source_type": "note"} if component == "ingest_text" else {}
    first = await host.invoke(component, args)
    second = await host.invoke(component, {**args, "text": "The parcel is in the attic."})
    third = await host.invoke(component, args)

    assert second["superseded_ids"] == first["stored_ids"]
    assert third["superseded_ids"] == second["stored_ids"]
    assert await contents(host, "parcel", chat_id="c1") == ["The parcel is in the hall."]
    counts = await stats(host)
    assert (counts["paragraphs"], counts["superseded"], counts["external_refs"]) == (1, 2, 1)


async def test_a_turn_can_be_revised_within_its_own_batch(host: AMemorixHostService) -> None:
    messages = [{"external_id": "m", "speaker": "Ada", "text": text} for text in ("red kite", "blue kite", "blue kite")]
    result = await host.invoke("ingest_messages", {"chat_id": "c", "messages": messages})

    assert [one["status"] for one in result["results"]] == ["stored", "revised", "existing"]
    assert await contents(host, "kite", chat_id="c") == ["blue kite"]


async def test_a_turn_said_by_somebody_else_is_another_text(host: AMemorixHostService) -> None:
    for speaker in ("Ada", "Bob"):
        await host.invoke(
            "ingest_messages",
            {"chat_id": "c", "messages": [{"external_id": "m", "speaker": speaker, "text": "a kite"}]},
        )
    assert [hit["speaker"] for hit in await hits(host, "kite", chat_id="c")] == ["Bob"]


async def test_a_revision_takes_its_relations_along(host: AMemorixHostService) -> None:
    relation = {"subject": "parcel", "predicate": "is in", "object": "hall"}
    await told(host, "The parcel is in the hall.", external_id="x", relations=[relation])
    await told(host, "The parcel is lost.", external_id="x")
    assert (await stats(host))["relations"] == 0

    await told(host, "The parcel is in the hall again.", external_id="x", relations=[relation])
    assert (await stats(host))["relations"] == 1


async def test_a_relation_lives_as_long_as_one_text_supports_it(host: AMemorixHostService) -> None:
    relation = {"subject": "parcel", "predicate": "is in", "object": "hall"}
    await told(host, "The parcel is in the hall.", external_id="x", source="a", relations=[relation])
    await told(host, "It is still in the hall.", external_id="y", source="b", relations=[relation])
    await host.invoke("memory_source_admin", {"action": "delete", "source": "a"})
    assert (await stats(host))["relations"] == 1

    await host.invoke("memory_source_admin", {"action": "delete", "source": "b"})
    assert (await stats(host))["relations"] == 0


async def test_many_at_once_under_one_id_leave_one(host: AMemorixHostService) -> None:
    texts = [f"kite number {n}" for n in range(20)]
    await asyncio.gather(*(told(host, text, external_id="same") for text in texts))
    counts = await stats(host)

    assert (counts["paragraphs"], counts["superseded"], counts["external_refs"]) == (1, 19, 1)
    assert len(await contents(host, "kite", limit=50)) == 1


async def test_a_batch_is_stored_whole_or_not_at_all(host: AMemorixHostService) -> None:
    good = {"speaker": "Ada", "text": "fine"}
    error = await refused(
        host,
        "ingest_messages",
        {"chat_id": "c", "messages": [good, {**good, "time": "no time at all"}]},
        "messages.1.time",
    )
    assert "no time at all" in error


async def test_a_long_text_becomes_paragraphs_in_their_order(host: AMemorixHostService) -> None:
    text = "\n\n".join(f"Chapter {n}. " + f"The walrus number{n} sleeps. " * 20 for n in range(30))
    result = await told(host, text, external_id="book", tags=["long"])
    found_ = await hits(host, "walrus", limit=200)

    assert len(result["stored_ids"]) > 10
    assert {hit["id"] for hit in found_} == set(result["stored_ids"])
    assert {hit["external_id"] for hit in found_} == {"book"}
    by_id = {hit["id"]: hit["content"] for hit in found_}
    assert "".join("".join(by_id[id_] for id_ in result["stored_ids"]).split()) == "".join(text.split())


async def test_the_shortest_revision_replaces_every_part_of_a_long_text(host: AMemorixHostService) -> None:
    first = await told(host, "The walrus sleeps. " * 500, external_id="book")
    second = await told(host, "The walrus left.", external_id="book")

    assert second["superseded_ids"] == first["stored_ids"]
    assert await contents(host, "walrus", limit=200) == ["The walrus left."]


async def test_line_ends_and_nul_are_cleaned_and_the_rest_is_kept(host: AMemorixHostService) -> None:
    await told(host, "\r\n one\x00 walrus\r\ntwo\rthree 👩‍👩‍👧 ｆｕｌｌ 漢字  \n")
    assert await contents(host, "walrus") == ["one walrus\ntwo\nthree 👩‍👩‍👧 ｆｕｌｌ 漢字"]


async def test_numbers_serve_as_ids(host: AMemorixHostService) -> None:
    """Chat platforms have numeric ids for chats, users and messages."""
    message = {"external_id": 77, "speaker": "Ada", "person_id": 10086, "text": "the kite is red"}
    await host.invoke("ingest_messages", {"chat_id": 424242, "group_id": 9, "messages": [message]})
    (hit,) = await hits(host, "kite", chat_id=424242, group_id=9, person_id=10086)

    assert (hit["chat_id"], hit["external_id"], hit["person_ids"]) == ("424242", "77", ["10086"])


async def test_ids_are_cleaned_alike_wherever_they_are_given(host: AMemorixHostService) -> None:
    odd = " c1\t"
    await told(host, "the kite is red", chat_id=odd, source=odd, person_ids=[odd])

    assert len(await hits(host, "kite", chat_id=odd, person_id=odd)) == 1
    deleted = await host.invoke("memory_source_admin", {"action": "delete", "source": odd, "chat_id": odd})
    assert deleted["deleted_count"] == 1


BAD_TEXT: list[tuple[dict[str, Any], str]] = [
    ({"external_id": ""}, "external_id"),
    ({"external_id": "x" * 513}, "external_id"),
    ({"source_type": ""}, "source_type"),
    ({"text": None}, "text"),
    ({"text": ""}, "text"),
    ({"text": " \n\t\u3000"}, "text"),
    ({"text": "\x00"}, "text"),
    ({"text": 5}, "text"),
    ({"text": ["a"]}, "text"),
    ({"scope": "everyone"}, "scope"),
    ({"tags": "one"}, "tags"),
    ({"tags": [""]}, "tags.0"),
    ({"person_ids": [None]}, "person_ids.0"),
    ({"metadata": "no object"}, "metadata"),
    ({"metadata": {"n": float("nan")}}, "metadata"),
    ({"metadata": {"big": "x" * 70_000}}, "metadata"),
    ({"metadata": {"s": {1, 2}}}, "metadata"),
    ({"timestamp": float("nan")}, "timestamp"),
    ({"timestamp": float("inf")}, "timestamp"),
    ({"timestamp": 1e20}, "timestamp"),
    ({"timestamp": -1}, "timestamp"),
    ({"timestamp": True}, "timestamp"),
    ({"timestamp": "soon-ish"}, "timestamp"),
    ({"timestamp": "2023-02-30"}, "timestamp"),
    ({"time_start": "2023-05-09", "time_end": "2023-05-08"}, "time_start"),
    ({"entities": [""]}, "entities.0.name"),
    ({"entities": ["\u0301"]}, "entities.0.name"),
    ({"entities": [7]}, "entities.0"),
    ({"relations": [{"subject": "a", "predicate": "likes"}]}, "relations.0.object"),
    ({"relations": [{"subject": "a", "predicate": "likes", "object": "Ａ"}]}, "relations.0"),
    ({"relations": [{"subject": "a", "predicate": "likes", "object": "b", "confidence": 99}]}, "relations.0.confidence"),
    ({"relations": [{"subject": "a", "predicate": "", "object": "b"}]}, "relations.0.predicate"),
    ({"relations": ["a likes b"]}, "relations.0"),
    ({"respect_filter": "perhaps"}, "respect_filter"),
]  # fmt: skip


async def test_what_does_not_fit_is_refused_by_name(host: AMemorixHostService) -> None:
    good = {"external_id": "x", "source_type": "note", "text": "A kite.", "chat_id": "c"}
    for change, field in BAD_TEXT:
        await refused(host, "ingest_text", {**good, **change}, field)


async def test_metadata_too_deep_for_the_database_is_refused(host: AMemorixHostService) -> None:
    deep: dict[str, Any] = {}
    for _ in range(1_500):
        deep = {"d": deep}
    await refused(
        host, "ingest_text", {"external_id": "x", "source_type": "n", "text": "A", "metadata": deep}, "metadata"
    )


async def test_a_misspelt_argument_is_told_at_every_depth(host: AMemorixHostService) -> None:
    args = {"chat_id": "c", "mesages": [], "messages": [{"speaker": "Ada", "text": "kite", "tme": 5}]}
    result = await host.invoke("ingest_messages", args)

    assert result["success"]
    assert any("mesages" in warning and "messages" in warning for warning in result["warnings"])
    assert any("messages.0.tme" in warning and "time" in warning for warning in result["warnings"])


async def test_null_means_default_and_strings_are_stripped(host: AMemorixHostService) -> None:
    args = {
        "external_id": " a ",
        "source_type": " note ",
        "text": "kite",
        "tags": None,
        "metadata": None,
        "scope": None,
    }
    assert (await host.invoke("ingest_text", args))["external_id"] == "a"


async def test_limits_come_from_the_configuration(tmp_path: Path) -> None:
    async with memory_host(tmp_path, ingest={"max_text_chars": 100, "max_messages": 2}) as host:
        long = {"external_id": "x", "source_type": "n", "text": "k" * 101}
        assert "100" in await refused(host, "ingest_text", long, "text")
        turns = [{"speaker": "Ada", "text": "kite"}] * 3
        assert "2" in await refused(host, "ingest_messages", {"chat_id": "c", "messages": turns}, "messages")


async def test_messages_need_a_chat(host: AMemorixHostService) -> None:
    error = await refused(host, "ingest_messages", {"messages": [{"speaker": "Ada", "text": "kite"}]})
    assert "chat_id" in error


async def test_no_messages_is_an_error(host: AMemorixHostService) -> None:
    await refused(host, "ingest_messages", {"chat_id": "c", "messages": []}, "messages")


async def test_sessions_end_at_pauses(host: AMemorixHostService) -> None:
    """The session's words help a turn: only those of its own sitting do."""
    await said(host, "c", ("Ada", "my volcano book arrived", MAY_8), ("Ada", "it is great", MAY_8 + 60))
    await said(host, "c", ("Ada", "it is great", MAY_8 + 86_400))
    scores = {hit["time"]["start"]: hit["score"] for hit in await hits(host, "volcano great", chat_id="c", limit=10)}

    assert scores[MAY_8 + 60] > scores[MAY_8 + 86_400]


async def test_nothing_is_stored_or_found_while_the_memory_is_switched_off(tmp_path: Path) -> None:
    async with memory_host(tmp_path, plugin={"enabled": False}) as host:
        result = await told(host, "kite")
        assert (result["stored_ids"], result["reason"]) == ([], "disabled")
        assert (await said(host, "c", ("Ada", "kite")))["reason"] == "disabled"
        answer = await found(host, "kite")
        assert (answer["hits"], answer["disabled"]) == ([], True)
