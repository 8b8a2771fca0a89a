"""Every mode finds what it should, leaves out what it should, and says why."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from amemorix import AMemorixHostService
from amemorix.testing import FrozenClock, HashEmbedder, memory_host
from conftest import Open
from entrance import change, contents, found, hits, refused, said, told

MODES = ("search", "time", "hybrid", "episode", "aggregate")
WINDOW = {"time_start": "2023-05-01", "time_end": "2023-05-31"}
DAY = 86_400.0


def at(text: str) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()


async def three_days(host: AMemorixHostService) -> None:
    await said(host, "c", ("Ada", "The walrus arrived at the harbour.", "2023-05-08T10:00:00Z"),
               ("Bob", "I photographed the walrus from the pier.", "2023-05-08T10:01:00Z"))  # fmt: skip
    await said(host, "c", ("Ada", "We baked lemon cake for the neighbours.", "2023-05-10T10:00:00Z"))
    await said(host, "c", ("Bob", "The walrus left the harbour again.", "2023-06-02T10:00:00Z"))


@pytest.fixture(params=["words", "vectors"])
async def days(request: pytest.FixtureRequest, opened: Open) -> AMemorixHostService:
    """Three days of talk, on each way of finding words and with vectors."""
    settings: dict[str, Any] = {"embed": HashEmbedder()} if request.param == "vectors" else {}
    host = await opened(**settings)
    await three_days(host)
    await host.settle(600)
    return host


async def test_search_finds_by_words_best_first(days: AMemorixHostService) -> None:
    answer = await found(days, "walrus harbour", chat_id="c", limit=3)

    assert {hit["content"] for hit in answer["hits"][:2]} == {
        "The walrus arrived at the harbour.", "The walrus left the harbour again.",
    }  # fmt: skip
    scores = [hit["score"] for hit in answer["hits"]]
    assert scores == sorted(scores, reverse=True)
    assert answer["mode"] == "search"
    assert answer["summary"].startswith("1. ")
    assert answer["degraded"] == []


async def test_time_is_a_window_newest_first(days: AMemorixHostService) -> None:
    assert await contents(days, mode="time", chat_id="c", **WINDOW) == [
        "We baked lemon cake for the neighbours.",
        "I photographed the walrus from the pier.",
        "The walrus arrived at the harbour.",
    ]


async def test_time_with_a_query_is_a_search_within_the_window(days: AMemorixHostService) -> None:
    texts = await contents(days, "walrus harbour", mode="time", chat_id="c", **WINDOW)
    assert texts[0] == "The walrus arrived at the harbour."
    assert "The walrus left the harbour again." not in texts


async def test_hybrid_is_a_search_within_the_window(days: AMemorixHostService) -> None:
    texts = await contents(days, "walrus harbour", mode="hybrid", chat_id="c", time_start="2023-06-01")
    assert texts == ["The walrus left the harbour again."]


async def test_episode_finds_whole_stretches(days: AMemorixHostService) -> None:
    first, *_ = await hits(days, "lemon cake", mode="episode", chat_id="c")

    assert first["type"] == "episode"
    assert first["title"]
    assert "lemon cake" in first["content"]
    assert (first["chat_id"], first["source"]) == ("c", "chat:c")
    assert first["person_ids"] == ["Ada"]
    assert first["time"]["start"] == at("2023-05-10T10:00")
    assert first["metadata"]["paragraph_count"] == 1
    assert first["id"].startswith("e")
    assert first["explain"]["paragraphs"]


async def test_aggregate_merges_all_modes_and_names_them(days: AMemorixHostService) -> None:
    answer = await hits(days, "lemon cake", mode="aggregate", chat_id="c", limit=10)

    assert {hit["type"] for hit in answer} == {"paragraph", "episode"}
    assert answer[0]["content"].endswith("We baked lemon cake for the neighbours.")
    assert all(hit["explain"]["branches"] for hit in answer)
    assert len({hit["id"] for hit in answer}) == len(answer)


async def test_aggregate_keeps_to_the_window(days: AMemorixHostService) -> None:
    answer = await hits(days, "walrus harbour", mode="aggregate", chat_id="c", limit=20, **WINDOW)
    assert all(hit["time"]["start"] < at("2023-06-01") for hit in answer)
    assert any("time" in hit["explain"]["branches"] for hit in answer)


async def test_every_hit_says_why_and_whence(days: AMemorixHostService) -> None:
    for mode in MODES:
        window = WINDOW if mode in ("time", "hybrid") else {}
        answer = await hits(days, "walrus harbour", mode=mode, chat_id="c", **window)

        assert answer, mode
        for hit in answer:
            assert {"id", "hash", "type", "content", "score", "external_id", "chat_id", "source", "person_ids", "tags",
                    "time", "metadata", "explain"} <= hit.keys()  # fmt: skip
            assert hit["explain"]
            assert 0 <= hit["score"] <= 1


async def test_the_lanes_are_explained(opened: Open) -> None:
    host = await opened(embed=HashEmbedder())
    await three_days(host)
    await host.settle(600)
    first = (await hits(host, "walrus arriving harbour", chat_id="c"))[0]

    assert first["explain"]["lanes"]["sparse"]["rank"] == 1
    assert first["explain"]["lanes"]["dense"]["rank"] == 1
    assert set(first["explain"]["matched_terms"]) == {"walrus", "arriv", "harbour"}
    assert first["explain"]["time_basis"] == "event"


async def test_nothing_relevant_gives_nothing(days: AMemorixHostService) -> None:
    for mode in MODES:
        window = WINDOW if mode in ("time", "hybrid") else {}
        assert await hits(days, "quantum chromodynamics lattice", mode=mode, chat_id="c", **window) == [], mode


async def test_modes_but_time_need_a_query(host: AMemorixHostService) -> None:
    for mode in [mode for mode in MODES if mode != "time"]:
        for query in ["", "   ", "\u3000", None]:
            await refused(host, "search_memory", {"query": query, "mode": mode, **WINDOW}, "query")


@pytest.mark.parametrize("mode", ["time", "hybrid"])
async def test_time_and_hybrid_need_a_bound(host: AMemorixHostService, mode: str) -> None:
    error = await refused(host, "search_memory", {"query": "x", "mode": mode}, "time_start")
    assert "time_end" in error


async def test_semantic_is_a_removed_mode(host: AMemorixHostService) -> None:
    error = await refused(host, "search_memory", {"query": "x", "mode": "semantic"}, "mode")
    assert "removed" in error
    assert "search" in error


UNFIT: list[Any] = [
    ({"mode": "smart"}, "mode"),
    ({"mode": 5}, "mode"),
    ({"limit": 0}, "limit"),
    ({"limit": -5}, "limit"),
    ({"limit": 201}, "limit"),
    ({"limit": 2.5}, "limit"),
    ({"limit": True}, "limit"),
    ({"limit": "many"}, "limit"),
    ({"query": ["x"]}, "query"),
    ({"query": "x" * 10_001}, "query"),
    ({"chat_id": ["c"]}, "chat_id"),
    ({"person_id": {}}, "person_id"),
    ({"time_start": float("nan")}, "time_start"),
    ({"time_start": 1e20}, "time_start"),
    ({"time_start": "whenever"}, "time_start"),
    ({"time_end": []}, "time_end"),
    ({"time_start": "2023-05-02", "time_end": "2023-05-01"}, "time_start"),
    ({"respect_filter": "perhaps"}, "respect_filter"),
    ({"min_score": 2}, "min_score"),
]


async def test_arguments_that_do_not_fit_are_refused_by_name(host: AMemorixHostService) -> None:
    for args, field in UNFIT:
        await refused(host, "search_memory", {"query": "x", **args}, field)


async def test_what_can_be_meant_is_understood(host: AMemorixHostService) -> None:
    await told(host, "a kite")
    assert await contents(host, " kite ", limit="3", mode=" SEARCH ", respect_filter="false", time_end=None) == [
        "a kite"
    ]


async def test_the_limit_is_filled_while_there_is_more(opened: Open) -> None:
    """Forty texts that match are forty hits, and two hundred are two hundred."""
    host = await opened()
    await said(host, "c", *((f"p{n % 7}", f"The walrus number {n} sleeps.") for n in range(230)))

    assert len(await hits(host, "walrus", limit=40)) == 40
    assert len(await hits(host, "walrus", limit=200)) == 200
    assert len(await hits(host, "walrus", limit=200, chat_id="c")) == 200


async def test_a_relevant_text_alone_is_found_among_many(dense_host: AMemorixHostService) -> None:
    await said(dense_host, "c", *((f"p{n % 7}", f"Talk number {n} about nothing at all.") for n in range(300)))
    await said(dense_host, "d", *((f"p{n % 7}", f"The weather report {n} is dull.") for n in range(300)))
    await told(dense_host, "The axolotl lives in the green tank.", chat_id="c")
    await dense_host.settle(600)

    assert (await contents(dense_host, "axolotl", chat_id="c"))[0] == "The axolotl lives in the green tank."
    assert (await contents(dense_host, "axolotl"))[0] == "The axolotl lives in the green tank."
    assert await hits(dense_host, "pangolin", chat_id="d") == []


async def test_no_hit_scores_below_what_was_asked(days: AMemorixHostService) -> None:
    for mode in MODES:
        window = WINDOW if mode in ("time", "hybrid") else {}
        args = {"mode": mode, "chat_id": "c", "limit": 50, **window}
        every = [hit["confidence"] for hit in await hits(days, "walrus harbour", **args)]
        bound = (min(every) + max(every)) / 2
        some = [hit["confidence"] for hit in await hits(days, "walrus harbour", min_score=bound, **args)]
        assert all(confidence >= bound for confidence in some), mode


# persons


async def test_only_what_is_bound_to_the_person(days: AMemorixHostService) -> None:
    answer = await hits(days, "walrus", person_id="Ada")
    assert answer[0]["content"] == "The walrus arrived at the harbour."
    assert {hit["speaker"] for hit in answer} == {"Ada"}
    assert await contents(days, mode="time", person_id="Ada", **WINDOW) == [
        "We baked lemon cake for the neighbours.",
        "The walrus arrived at the harbour.",
    ]


async def test_a_person_who_is_nobody_finds_nothing(days: AMemorixHostService) -> None:
    for mode in MODES:
        window = WINDOW if mode in ("time", "hybrid") else {}
        assert await hits(days, "walrus", mode=mode, person_id="Nobody", **window) == [], mode


async def test_a_person_goes_by_id_by_name_and_by_alias(host: AMemorixHostService) -> None:
    for name in ("林澈", "澈哥"):
        message = {"speaker": name, "person_id": "u1", "text": f"我是{name}，爱喝桂花乌龙"}
        await host.invoke("ingest_messages", {"chat_id": "c", "messages": [message]})

    for key in ("u1", "林澈", "澈哥"):
        assert len(await hits(host, "桂花乌龙", person_id=key)) == 2, key


async def test_a_name_given_as_a_participant_does_not_hide_the_person_of_that_name(host: AMemorixHostService) -> None:
    message = {"speaker": "林澈", "person_id": "u1", "text": "爱喝桂花乌龙"}
    await host.invoke("ingest_messages", {"chat_id": "c", "messages": [message]})
    await told(host, "桂花乌龙买来了", chat_id="c", participants=["林澈"])

    assert len(await hits(host, "桂花乌龙", person_id="林澈")) == 2
    assert len(await hits(host, "桂花乌龙", person_id="u1")) >= 1


async def test_an_id_means_that_person_alone(host: AMemorixHostService) -> None:
    """Somebody may call himself by the number of another."""
    for person, name in (("10086", "Ada"), ("10087", "10086")):
        message = {"speaker": name, "person_id": person, "text": f"kite of {person}"}
        await host.invoke("ingest_messages", {"chat_id": "c", "messages": [message]})

    assert await contents(host, "kite", person_id="10086") == ["kite of 10086"]


async def test_who_is_named_said_it(host: AMemorixHostService) -> None:
    await said(host, "c", ("Caroline", "My favourite food is ramen."), ("Melanie", "My favourite food is pizza."))
    assert (await hits(host, "What is Melanie's favourite food?", chat_id="c"))[0]["speaker"] == "Melanie"


# time


async def test_undated_texts_are_in_no_window(host: AMemorixHostService) -> None:
    await told(host, "an undated kite")
    now = FrozenClock().now()
    window: dict[str, Any] = {"time_start": now - DAY, "time_end": now + DAY}

    assert await hits(host, mode="time", **window) == []
    assert await hits(host, "kite", mode="hybrid", **window) == []
    (hit,) = await hits(host, "kite")
    assert (hit["time"]["start"], hit["explain"]["time_basis"]) == (None, "undated")


async def test_bounds_are_exact_and_included(host: AMemorixHostService) -> None:
    await said(host, "c", ("Ada", "early", 1_000.25), ("Ada", "late", 1_000.75))

    assert await contents(host, mode="time", time_start=1_000.25, time_end=1_000.5) == ["early"]
    assert await contents(host, mode="time", time_start=1_000.5, time_end=1_000.75) == ["late"]
    assert await contents(host, mode="time", time_start=1_000.3, time_end=1_000.7) == []


async def test_a_stretch_is_found_wherever_the_window_meets_it(host: AMemorixHostService) -> None:
    await told(host, "the long fair", time_start="2023-05-01", time_end="2023-05-20")
    await told(host, "one afternoon of it", timestamp="2023-05-05T15:00:00Z")

    for start, end in (
        ("2023-04-20", "2023-05-02"),
        ("2023-05-10", "2023-05-11"),
        ("2023-05-20", None),
        (None, "2023-05-01"),
    ):
        assert await contents(host, mode="time", time_start=start, time_end=end) == ["the long fair"], (start, end)
        assert await contents(host, "fair", mode="hybrid", time_start=start, time_end=end) == ["the long fair"]
    assert await contents(host, mode="time", time_start="2023-05-21") == []
    assert await contents(host, mode="time", time_end="2023-04-30") == []


async def test_the_newest_comes_first_with_and_without_a_chat(host: AMemorixHostService) -> None:
    await told(host, "the long fair", chat_id="c", time_start="2023-05-01", time_end="2023-05-20")
    await told(host, "one afternoon of it", chat_id="c", timestamp="2023-05-05T15:00:00Z")
    window = {"mode": "time", "time_start": "2023-05-01", "time_end": "2023-05-31"}

    assert await contents(host, chat_id="c", **window) == await contents(host, **window)


@pytest.mark.parametrize(
    "start", ["2023-05-08", "2023/05/08", "2023/05/08 10:00", "2023-05-08T18:00:00+08:00", "2023年5月8日", 1683540000, "昨天",
              "yesterday"],
)  # fmt: skip
async def test_times_are_read_in_many_forms(tmp_path: Path, start: str | float) -> None:
    clock = FrozenClock(at("2023-05-09T12:00"))
    async with memory_host(tmp_path, clock=clock) as host:
        await three_days(host)
        texts = await contents(host, "walrus harbour", mode="hybrid", chat_id="c", time_start=start, time_end="today")
        assert texts[0] == "The walrus arrived at the harbour."
        assert "The walrus left the harbour again." not in texts


async def test_before_1970_is_a_time_too(host: AMemorixHostService) -> None:
    await told(host, "grandfather's wedding", timestamp="1958-06-01")

    assert await contents(host, mode="time", time_end="1960-01-01") == ["grandfather's wedding"]
    assert await contents(host, "wedding", mode="hybrid", time_start="1950-01-01") == ["grandfather's wedding"]


async def test_older_names_of_arguments_still_work(host: AMemorixHostService) -> None:
    await told(host, "kite", event_time_start=1000, event_time_end=2000)
    answer = await found(host, mode="time", time_from=900, time_to=2100)

    assert [hit["content"] for hit in answer["hits"]] == ["kite"]
    assert answer["warnings"] == []


# the graph


async def test_what_is_related_is_found_without_its_words(host: AMemorixHostService) -> None:
    await told(host, "She moved to the coast last year.", entities=["Marta"],
               relations=[{"subject": "Marta", "predicate": "lives in", "object": "Gdynia"}])  # fmt: skip
    await told(host, "Nothing to see here at all.")

    first = (await hits(host, "What about Gdynia?"))[0]
    assert first["content"] == "She moved to the coast last year."
    assert first["explain"]["lanes"]["graph"]["rank"] == 1


# settings


async def test_settings_of_retrieval_apply_to_the_next_search(opened: Open) -> None:
    """Each change is seen at once, and changing back gives the first answer again."""
    host = await opened(embed=HashEmbedder())
    await three_days(host)
    await host.settle(600)
    first = await hits(host, "walrus harbour", chat_id="c")
    for settings in (
        {"retrieval.sparse.backend": "fts5"},
        {"embedding.quantization_type": "float32"},
        {"embedding.quantization_type": "float16"},
        {"embedding.batch_size": 7},
    ):
        await host.update_config(settings)
        answer = await hits(host, "walrus harbour", chat_id="c")
        assert [hit["id"] for hit in answer] == [hit["id"] for hit in first], settings
    await host.update_config(dict.fromkeys(("retrieval.sparse", "embedding.quantization_type", "embedding.batch_size")))
    assert await hits(host, "walrus harbour", chat_id="c") == first


async def test_words_can_be_switched_off(opened: Open) -> None:
    host = await opened(embed=HashEmbedder(), retrieval={"sparse": {"enabled": False}})
    await three_days(host)
    await host.settle(600)
    answer = await found(host, "walrus harbour", chat_id="c")

    assert answer["degraded"] == []
    assert set(answer["hits"][0]["explain"]["lanes"]) == {"dense"}


async def test_noise_can_be_asked_for(opened: Open) -> None:
    host = await opened(embed=HashEmbedder(), retrieval={"noise": {"enabled": False}})
    await three_days(host)
    await host.settle(600)
    assert await hits(host, "quantum chromodynamics lattice", chat_id="c")


async def test_an_edited_turn_stays_in_its_sitting(host: AMemorixHostService) -> None:
    sitting = [("m1", "my volcano book arrived", at("2023-05-08T10:00")), ("m2", "is it nice", at("2023-05-08T10:01"))]
    later = [("m3", "the weather is dull", at("2023-06-08T10:00"))]

    async def say(*turns: tuple[str, str, float]) -> None:
        messages = [{"external_id": key, "speaker": "Ada", "text": text, "time": when} for key, text, when in turns]
        assert (await host.invoke("ingest_messages", {"chat_id": "c", "messages": messages}))["success"]

    await say(*sitting)
    await say(*later)
    await say(("m2", "is it a nice one", at("2023-05-08T10:01")))
    scores = {hit["external_id"]: hit["explain"]["signals"] for hit in await hits(host, "volcano", chat_id="c")}

    assert scores["m2"]["window"] > 0
    assert scores["m2"]["session"] > 0


@pytest.mark.parametrize(
    "gone", ["deleted_at = 1", "superseded_at = 1", "expires_at = 1", "scope = (select max(id) + 9 from chats)"]
)
async def test_the_row_decides_whatever_the_indexes_hold(opened: Open, gone: str) -> None:
    host = await opened()
    for number in range(6):
        await said(host, "c", ("Ada", f"The walrus dived {number} times."))
    first, *others = await contents(host, "walrus dived", chat_id="c", limit=6)

    change(host, f"update paragraphs set {gone} where content = '{first}'")
    change(host, "delete from changes where seq = (select max(seq) from changes)")

    assert await contents(host, "walrus dived", chat_id="c", limit=3) == others[:3]
