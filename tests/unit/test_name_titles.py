"""A title before or after a name: the person is found with it, without it, and however it is written."""

from __future__ import annotations

import pytest

from amemorix import AMemorixHostService
from amemorix.language.person_names import respelled, untitled
from entrance import refused
from test_correction import previewed
from test_mentions import SHORTENED, labels, spoke, stays
from test_purge import admin


@pytest.mark.parametrize(
    ("name", "bare"),
    [
        ("dr. chen", "chen"), ("dr chen", "chen"), ("prof. ada king", "ada king"), ("mr.lee", "lee"), ("mrs chen", "chen"), ("林澈老师", "林澈"),
        ("王建国总", "王建国"), ("陈医生", ""), ("drake", ""), ("missy", ""), ("chen", ""), ("语文老师", ""), ("dr", ""), ("张总", ""),
    ],
)  # fmt: skip
def test_a_title_is_told_from_a_name(name: str, bare: str) -> None:
    assert untitled(name) == bare


def test_a_title_is_written_in_several_ways() -> None:
    assert respelled("dr. chen") == {"dr chen", "dr.chen", "doctor chen", "doctor. chen", "doctor.chen"}
    assert respelled("chen") == respelled("林澈老师") == frozenset()


TITLED = [
    ("Dr. Chen", "I live in London", ["Chen", "chen", "Dr Chen", "Doctor Chen", "dr. chen", "Dr. Chen"], ["Mr. Chen", "Chen Li", "Dr"]),
    ("Prof. Ada King", "I live in Rome", ["Ada King", "Professor Ada King", "prof ada king"], ["Ada", "Mrs. Ada King"]),
    ("Chen", "I live in Bonn", ["Dr. Chen", "Mr Chen", "Chen"], ["Chens"]),
    ("林澈老师", "我住在杭州", ["林澈", "林澈老师"], ["老师", "澈"]),
    ("林澈", "我住在杭州", ["林澈", "林澈老师", "林澈医生"], ["林老师"]),
    ("陈医生", "我住在杭州", ["陈医生"], ["陈"]),
]  # fmt: skip


@pytest.mark.parametrize(("name", "line", "known", "unknown"), TITLED, ids=[one[0] for one in TITLED])
async def test_a_profile_is_found_with_and_without_the_title(
    host: AMemorixHostService, name: str, line: str, known: list[str], unknown: list[str]
) -> None:
    await spoke(host, "g", name, "c1", line)
    await host.settle()
    for key in (*known, *unknown):
        profile = await host.invoke("get_person_profile", {"person_id": key, "chat_id": "g"})
        assert (profile["known"], profile["person_id"] == "c1") == ((True, True) if key in known else (False, False)), (
            key
        )


@pytest.mark.parametrize(
    ("name", "line", "query"),
    [
        ("Dr. Chen", "I live in London", "where does Chen live"), ("Dr. Chen", "I live in London", "where does Dr Chen live"),
        ("Dr. Chen", "I live in London", "where does Doctor Chen live"), ("林澈老师", "我住在杭州", "林澈住在哪里"),
    ],
)  # fmt: skip
async def test_a_search_by_the_name_finds_who_has_it_with_a_title(
    host: AMemorixHostService, name: str, line: str, query: str
) -> None:
    await spoke(
        host, "g", "Bob" if name.isascii() else "老王", "b", line.replace("London", "Paris").replace("杭州", "南京")
    )
    await spoke(host, "g", name, "c1", line)
    await host.settle()
    found = await host.invoke("search_memory", {"query": query, "chat_id": "g"})
    assert found["hits"][0]["content"] == line


async def test_two_who_have_the_name_with_titles_are_asked_for(host: AMemorixHostService) -> None:
    await spoke(host, "g", "Dr. Chen", "c1", "I live in London")
    await spoke(host, "g", "Mr. Chen", "c2", "I live in Rome")
    await refused(host, "get_person_profile", {"person_id": "Chen", "chat_id": "g"}, "person_id")
    assert (await host.invoke("get_person_profile", {"person_id": "Mr Chen", "chat_id": "g"}))["person_id"] == "c2"


@pytest.mark.parametrize(
    ("name", "line", "text", "becomes"),
    [
        ("Dr. Chen", "I live in London", "Dr. Chen lives in Oxford, not London", "I live in Oxford"),
        ("Dr. Chen", "I live in London", "Chen lives in Oxford, not London", "I live in Oxford"),
        ("Dr. Chen", "I live in London", "Dr. Chen doesn't live in London", "Dr. Chen doesn't live in London"),
        ("林澈老师", "我住在上海", "林澈不住在上海，他住在杭州", "我住在杭州"),
        ("林澈", "我住在上海", "林澈老师不住在上海，他住在杭州", "我住在杭州"),
    ],
)
async def test_a_correction_names_them_with_or_without_the_title(
    host: AMemorixHostService, name: str, line: str, text: str, becomes: str
) -> None:
    await spoke(host, "g", name, "c1", line)
    await host.settle()
    preview = await previewed(host, text)
    assert [(one["content"], one["becomes"]) for one in preview["replacements"]] == [(line, becomes)]


async def test_a_deletion_reaches_every_way_to_write_the_title(host: AMemorixHostService) -> None:
    await spoke(host, "home", "Dr. Chen", "c1", "x")
    await spoke(host, "home", "林澈老师", "c2", "x")
    for line in ("Dr Chen won", "doctor chen won", "Chen won", "Mr. Chen won", "林澈赢了"):
        await spoke(host, "home", "Bob", "b", line)
    seen = await admin(host, "preview", mode="person", selector="Chen")
    assert labels(seen) == ["Dr Chen won", "doctor chen won"]
    assert stays(seen) == {"Chen won": SHORTENED, "Mr. Chen won": SHORTENED}
    assert labels(await admin(host, "preview", mode="person", selector="林澈")) == ["林澈赢了"]
