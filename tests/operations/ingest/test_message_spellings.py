"""Chat turns as bots and platforms spell them: stored under the right person, name, time and id, or refused by the field."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from typing import Any

import jsonschema
import pytest

from amemorix import AMemorixHostService
from amemorix.host.operations import OPERATIONS
from amemorix.ingest.messages import read_message
from entrance import found, hits, refused, told
from import_entrance import pasted
from pace import assert_linear

AT = 1_772_366_400
"""2026-03-01 12:00:00 UTC."""
ISO = "2026-03-01T12:00:00+00:00"
TEXT = "I adopted a corgi named Biscuit."
ONEBOT = {
    "post_type": "message", "message_type": "group", "sub_type": "normal", "self_id": 900, "group_id": 42, "user_id": 10001,
    "message_id": -77, "time": AT, "font": 14, "sender": {"user_id": 10001, "nickname": "mia_01", "card": "Mia", "role": "member"},
    "raw_message": f"{TEXT}[CQ:face,id=14]",
    "message": [{"type": "text", "data": {"text": TEXT}}, {"type": "face", "data": {"id": "14"}}],
}  # fmt: skip
DISCORD = {
    "id": "1100", "channel_id": "55", "type": 0, "timestamp": ISO, "edited_timestamp": None, "content": TEXT,
    "author": {"id": "91", "username": "mia_01", "global_name": "Mia", "bot": False}, "mentions": [], "attachments": [],
}  # fmt: skip
DISCORD_NOISE: dict[str, Any] = {
    "tts": False, "pinned": False, "mention_everyone": False, "mentions": [{"id": "4"}], "mention_roles": [], "flags": 4,
    "components": [{"type": 1}], "edited_timestamp": ISO, "embeds": [{"title": "A"}], "attachments": [{"id": "1"}],
}  # fmt: skip
TELEGRAM = {
    "update_id": 3,
    "message": {
        "message_id": 7, "date": AT, "text": TEXT, "chat": {"id": -100, "type": "supergroup", "title": "Dogs"},
        "from": {"id": 91, "is_bot": False, "first_name": "Mia", "last_name": "Lin", "username": "mia_01"},
    },
}  # fmt: skip
SLACK = {
    "type": "message", "channel": "C1", "user": "U91", "text": TEXT, "ts": f"{AT}.000000", "client_msg_id": "a-1", "team": "T1",
}  # fmt: skip
MATRIX = {
    "type": "m.room.message", "sender": "@mia:example.org", "event_id": "$7", "origin_server_ts": AT * 1000,
    "room_id": "!r:example.org", "content": {"msgtype": "m.text", "body": TEXT},
}  # fmt: skip
MAIM = {
    "message_info": {
        "platform": "qq", "message_id": "77", "time": float(AT), "group_info": {"group_id": "42", "group_name": "Dogs"},
        "user_info": {"platform": "qq", "user_id": "10001", "user_nickname": "mia_01", "user_cardname": "Mia"},
    },
    "message_segment": {"type": "seglist", "data": [{"type": "text", "data": TEXT}, {"type": "emoji", "data": "aGk="}]},
}  # fmt: skip
MAIBOT = {
    "message_id": "77", "time": float(AT), "user_id": "10001", "user_nickname": "mia_01", "user_cardname": "Mia",
    "processed_plain_text": TEXT, "user_platform": "qq", "is_mentioned": False,
}  # fmt: skip
SPELLINGS: list[tuple[str, dict[str, Any], tuple[str, str, str]]] = [
    ("OneBot", ONEBOT, ("10001", "Mia", "-77")),
    ("Discord", DISCORD, ("91", "Mia", "1100")),
    ("Telegram", TELEGRAM, ("91", "Mia Lin", "7")),
    ("OpenAI", {"role": "user", "name": "Mia", "content": [{"type": "text", "text": TEXT}], "created_at": AT, "id": "x1"},
     ("Mia", "Mia", "x1")),
    ("LangChain", {"type": "human", "data": {"content": TEXT, "type": "human", "name": "Mia", "id": "x1", "example": False,
                                             "additional_kwargs": {}}, "time": AT}, ("Mia", "Mia", "x1")),
    ("Slack", SLACK, ("U91", "U91", "a-1")),
    ("Matrix", MATRIX, ("@mia:example.org", "@mia:example.org", "$7")),
    ("MaiBot, of its adapters", MAIM, ("10001", "Mia", "77")),
    ("MaiBot, of its database", MAIBOT, ("10001", "Mia", "77")),
    ("camel case", {"messageId": "7", "senderId": 91, "senderName": "Mia", "text": TEXT, "createdAt": ISO}, ("91", "Mia", "7")),
]  # fmt: skip


async def stored(host: AMemorixHostService, message: Any, **args: Any) -> dict[str, Any]:
    answer = await host.invoke("ingest_messages", {"chat_id": "c", "messages": [message], **args})
    assert answer["success"], answer
    (hit,) = await hits(host, "corgi", chat_id="c")
    return {**hit, "warnings": answer["warnings"]}


@pytest.mark.parametrize(("message", "expected"), [one[1:] for one in SPELLINGS], ids=[one[0] for one in SPELLINGS])
async def test_a_turn_is_stored_as_its_platform_means_it(
    host: AMemorixHostService, message: dict[str, Any], expected: tuple[str, str, str]
) -> None:
    hit = await stored(host, message)

    assert (hit["person_ids"], hit["speaker"], hit["external_id"]) == ([expected[0]], expected[1], expected[2])
    assert hit["time"]["start"] == AT
    assert hit["content"].startswith(TEXT)


@pytest.mark.parametrize("key", ["speaker_id", "author_id", "user_id", "uid", "sender_id", "from_id", "userId"])
async def test_an_id_of_the_speaker_has_many_spellings(host: AMemorixHostService, key: str) -> None:
    hit = await stored(host, {"text": TEXT, "speaker": "Mia", key: 91})

    assert (hit["person_ids"], hit["speaker"], hit["warnings"]) == (["91"], "Mia", [])


@pytest.mark.parametrize(
    "key", ["speaker", "sender", "author", "user", "from", "name", "nickname", "display_name", "username"]
)
async def test_so_has_a_name(host: AMemorixHostService, key: str) -> None:
    hit = await stored(host, {"text": TEXT, "person_id": "91", key: "Mia"})

    assert (hit["person_ids"], hit["speaker"], hit["warnings"]) == (["91"], "Mia", [])


async def test_beside_a_name_the_sender_is_an_id_and_further_names_find_the_person(host: AMemorixHostService) -> None:
    hit = await stored(host, {"text": TEXT, "sender": "wxid_7", "nickname": "Mia", "username": "Bumblebee"})

    assert (hit["person_ids"], hit["speaker"]) == (["wxid_7"], "Mia")
    assert (await found(host, "corgi", chat_id="c", person_id="Bumblebee"))["hits"]


UNKNOWN_PARTS: list[Any] = [
    ({"text": TEXT, "speaker": "Mia", "member_uid": "91"}, "messages.0.member_uid"),
    ({"text": TEXT, "posterName": "Mia"}, "messages.0.posterName"),
    ({"text": TEXT, "speaker": "Mia", "said_at": AT}, "messages.0.said_at"),
    ({"text": TEXT, "speaker": "Mia", "turn_id": "7"}, "messages.0.turn_id"),
    ({"utterance": TEXT, "speaker": "Mia"}, "messages.0.utterance"),
    ({"text": TEXT, "author": {"karma": 3}}, "messages.0.author"),
    ({"text": TEXT, "sender": ["Mia"]}, "messages.0.sender"),
    ({"speaker": "Mia"}, "messages.0.text"),
    ({"text": TEXT, "sendr": "Mia"}, "messages.0.sendr"),
    ({"text": TEXT, "sendrId": "91"}, "messages.0.sendrId"),
    ({"text": TEXT, "speaker": "Mia", "tiem": AT}, "messages.0.tiem"),
    ({"text": TEXT, "speaker": "Mia", "timestmap": AT}, "messages.0.timestmap"),
    ({"text": TEXT, "speaker": "Mia", "sent": AT}, "messages.0.sent"),
    ({"text": TEXT, "speaker": "Mia", "mesage_id": "7"}, "messages.0.mesage_id"),
    ({"mesage": TEXT, "speaker": "Mia"}, "messages.0.mesage"),
    ({"text": TEXT, "speaker": {"id": True}}, "messages.0.speaker"),
    ({"text": {"html": TEXT}, "speaker": "Mia"}, "messages.0.text"),
    ({"text": TEXT, "speaker": "Mia", "date": "some day"}, "messages.0.time"),
]


async def test_what_looks_like_a_part_of_a_turn_and_is_not_known_is_refused(host: AMemorixHostService) -> None:
    for wrong, field in UNKNOWN_PARTS:
        await refused(host, "ingest_messages", {"chat_id": "c", "messages": [wrong]}, field)


async def test_what_else_a_platform_says_is_passed_over_with_a_warning(host: AMemorixHostService) -> None:
    hit = await stored(
        host, {"text": TEXT, "speaker": "Mia", "reactions": ["👍"], "reply_to_message_id": "3", "edited_at": AT}
    )

    assert [warning.split("'")[1] for warning in hit["warnings"]] == [
        "messages.0.reactions", "messages.0.reply_to_message_id", "messages.0.edited_at",
    ]  # fmt: skip


async def test_what_a_platform_says_with_every_message_is_passed_over_in_silence(host: AMemorixHostService) -> None:
    for chat_id, message in (("c", ONEBOT), ("d", {**DISCORD, **DISCORD_NOISE})):
        answer = await host.invoke("ingest_messages", {"chat_id": chat_id, "messages": [message]})
        assert (answer["success"], answer["warnings"]) == (True, [])


@pytest.mark.parametrize("key", ["item", "next", "test", "rate", "game", "topic", "language", "pid", "emotion", "表情"])
async def test_a_word_of_its_own_is_no_slip(host: AMemorixHostService, key: str) -> None:
    hit = await stored(host, {"text": TEXT, key: "x"})

    assert [warning.split("'")[1] for warning in hit["warnings"]] == [f"messages.0.{key}"]


def test_the_work_grows_with_the_unknown_keys() -> None:
    def read(size: int) -> None:
        read_message({"text": TEXT, **{f"topic{n}": n for n in range(size)}})

    assert_linear(read, 1_000, 10_000)


def within(key: str, value: Any, times: int) -> Any:
    for _ in range(times):
        value = {key: value}
    return value


@pytest.mark.parametrize(
    "odd",
    [
        {1: 2, "text": TEXT, "speaker": "Mia"}, {**within("message_info", {}, 400), "text": TEXT, "speaker": "Mia"},
        {"text": TEXT, "author": {"name": "Mia", 3: 4}}, {"text": TEXT, "speaker": "Mia", "data": within("data", {}, 400)},
        {"content": [{"type": "text", "data": TEXT}, {"type": "seglist", "data": [within("data", [], 400)]}], "name": "Mia"},
    ],
)  # fmt: skip
async def test_odd_objects_do_no_harm(host: AMemorixHostService, odd: dict[Any, Any]) -> None:
    hit = await stored(host, odd)

    assert (hit["speaker"], hit["content"][: len(TEXT)]) == ("Mia", TEXT)


async def test_a_call_of_a_tool_says_nothing(host: AMemorixHostService) -> None:
    call = {"role": "assistant", "content": None, "tool_calls": [{"id": "t", "function": {"name": "look_up"}}]}
    answer = await host.invoke("ingest_messages", {"chat_id": "c", "messages": [call]})

    assert [one["status"] for one in answer["results"]] == ["empty_text"]


async def test_turns_of_two_groups_are_not_stored_in_one_chat(host: AMemorixHostService) -> None:
    other = {**ONEBOT, "group_id": 43, "message_id": 78}
    await refused(host, "ingest_messages", {"chat_id": "c", "messages": [ONEBOT, other]}, "messages.1.group_id")
    await refused(host, "ingest_messages", {"group_id": 41, "messages": [ONEBOT]}, "messages.0.group_id")


@pytest.mark.parametrize(
    "where", [{"user_id": "u1"}, {"user_id": "u1", "chat_id": "c"}, {"user_id": "u1", "group_id": "g"}]
)
async def test_the_user_of_the_call_is_who_speaks_where_a_turn_does_not_say(
    host: AMemorixHostService, where: dict[str, str]
) -> None:
    messages = [
        {"role": "user", "content": "I like plum jam."}, {"text": "And plum cake."}, {"speaker": "Bob", "text": "No plums for me."},
        {"role": "assistant", "content": "Plum noted."},
    ]  # fmt: skip
    await host.invoke("ingest_messages", {**where, "messages": messages})

    heard = {hit["content"]: hit["person_ids"] for hit in await hits(host, "plum", **where)}
    assert heard == {
        "I like plum jam.": ["u1"], "And plum cake.": ["u1"], "No plums for me.": ["Bob"], "Plum noted.": ["assistant"],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (datetime(2026, 3, 1, 12, tzinfo=UTC), AT),
        (datetime.fromtimestamp(AT + 0.25), AT + 0.25),
        (datetime.fromtimestamp(AT, UTC).astimezone(), AT),
    ],
)
async def test_objects_of_python_are_times(host: AMemorixHostService, given: datetime, expected: float) -> None:
    hit = await stored(host, {"text": TEXT, "speaker": "Mia", "time": given})
    await told(host, "The corgi ate a shoe.", chat_id="d", timestamp=given)

    assert hit["time"]["start"] == pytest.approx(expected, abs=0.001)
    assert (await hits(host, "shoe", mode="time", time_start=given, time_end=given))[0][
        "content"
    ] == "The corgi ate a shoe."


async def test_a_day_of_python_is_a_whole_day(host: AMemorixHostService) -> None:
    day = datetime.fromtimestamp(AT).date()
    await stored(host, {"text": TEXT, "speaker": "Mia", "time": AT})

    assert await hits(host, "corgi", mode="time", chat_id="c", time_start=day, time_end=day)
    assert not await hits(
        host, "corgi", mode="time", chat_id="c", time_start=date(2026, 3, 3), time_end=date(2026, 3, 4)
    )


async def test_a_text_needs_no_id_and_no_type_and_the_same_again_changes_nothing(host: AMemorixHostService) -> None:
    first, again, other = [
        await host.invoke("ingest_text", {"text": text, "chat_id": "c"}) for text in (TEXT, TEXT, f"{TEXT} Twice.")
    ]
    hit = next(hit for hit in await hits(host, "corgi", chat_id="c") if hit["content"] == TEXT)

    assert first["success"]
    assert hit["external_id"] == first["external_id"]
    assert hit["source"] == "note:c"
    assert (again["stored_ids"], again["skipped_ids"]) == ([], [first["external_id"]])
    assert other["external_id"] != first["external_id"]


@pytest.mark.parametrize("key", ["timestamp", "time", "event_time", "date", "created_at", "sent_at"])
async def test_the_time_of_a_text_has_other_names(host: AMemorixHostService, key: str) -> None:
    answer = await host.invoke("ingest_text", {"text": TEXT, "chat_id": "c", key: ISO})
    (hit,) = await hits(host, "corgi", chat_id="c")

    assert (answer["warnings"], hit["time"]["start"]) == ([], AT)
    await refused(host, "ingest_text", {"text": TEXT, "chat_id": "c", key: "some day"}, "timestamp")


@pytest.mark.parametrize("key", ["speaker", "speaker_id", "sender", "person"])
async def test_a_text_has_no_speaker(host: AMemorixHostService, key: str) -> None:
    error = await refused(host, "ingest_text", {"text": TEXT, "chat_id": "c", key: "Mia"}, key)

    assert "`person_ids`" in error
    assert "ingest_messages" in error


@pytest.mark.parametrize("key", ["top_k", "k"])
async def test_the_number_of_hits_has_other_names(host: AMemorixHostService, key: str) -> None:
    for number in range(4):
        await told(host, f"corgi number {number}")
    answer = await found(host, "corgi", **{key: 2})

    assert (len(answer["hits"]), answer["warnings"]) == (2, [])


async def test_imports_read_turns_as_calls_do(host: AMemorixHostService) -> None:
    turns = [{**message, "chat_id": f"c{n}"} for n, (_, message, _) in enumerate(SPELLINGS) if message is not ONEBOT]
    lines = await pasted(host, "a.jsonl", "".join(f"{json.dumps(one)}\n" for one in turns))
    whole = await pasted(host, "b.json", json.dumps({"messages": [SPELLINGS[9][1]]}), chat_id="w", format="messages")

    assert (lines["counts"], whole["counts"]) == ({"stored": 9}, {"stored": 1})
    for number, (name, _, (person, speaker, _id)) in enumerate(SPELLINGS):
        for hit in await hits(host, "corgi", chat_id=f"c{number}"):
            assert (name, hit["person_ids"], hit["speaker"], hit["time"]["start"]) == (name, [person], speaker, AT)
    (hit,) = await hits(host, "corgi", chat_id="w")
    assert (hit["person_ids"], hit["speaker"], hit["time"]["start"]) == (["91"], "Mia", AT)


async def test_a_deletion_by_an_external_id_says_how_it_is_given(host: AMemorixHostService) -> None:
    await stored(host, {"text": TEXT, "speaker": "Mia", "external_id": "m-1"})
    for selector in ("m-1", ["m-1"], {"ids": ["m-1"]}):
        answer = await host.invoke(
            "memory_delete_admin", {"action": "execute", "mode": "paragraph", "selector": selector}
        )
        assert '{"external_ids": ["m-1"]}' in answer.get("error", ""), answer
    answer = await host.invoke(
        "memory_delete_admin", {"action": "execute", "mode": "paragraph", "selector": {"external_ids": ["m-1"]}}
    )
    assert answer["success"], answer


async def test_too_much_text_in_one_call_is_refused_at_once(host: AMemorixHostService) -> None:
    messages = [{"speaker": "Mia", "text": "corgi " * 200} for _ in range(4_200)]
    error = await refused(host, "ingest_messages", {"chat_id": "c", "messages": messages}, "messages")

    assert "5000000" in error
    assert "ingest.max_call_chars" in error


@pytest.mark.parametrize("component", ["ingest_messages", "ingest_summary"])
def test_the_schema_wants_a_chat_where_the_call_does(component: str) -> None:
    schema = OPERATIONS.json_schema(component)
    good = {"chat_id": "c", "external_id": "s", "messages": [{"text": TEXT}]}

    jsonschema.validate(good, schema)
    for wrong in ({**good, "chat_id": ""}, {key: value for key, value in good.items() if key != "chat_id"}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(wrong, schema)
