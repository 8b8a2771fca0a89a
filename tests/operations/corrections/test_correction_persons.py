"""Whom a correction means: of two who have a name, a title before it, a clause about somebody's child, a line of several."""

from __future__ import annotations

from typing import Any

import pytest

from amemorix import AMemorixHostService
from entrance import refused
from test_correction import previewed
from test_correction_targets import executed, facts
from test_mentions import spoke

ADMIN = "memory_correction_admin"


def becoming(preview: dict[str, Any]) -> dict[str, str]:
    return {one["content"]: one["becomes"] for one in preview["replacements"]}


NAMESAKES = [
    ("小明", "我住在上海", "我住在广州", "小明不住在广州，他住在深圳", "小明不住在上海，他住在深圳", "我住在深圳"),
    ("Lee", "I live in Oslo", "I live in Rome", "Lee doesn't live in Rome, he lives in Bonn", "Lee doesn't live in Oslo, he lives in Bonn",
     "I live in Bonn"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "one", "two", "of_two", "of_one", "right"), NAMESAKES, ids=["zh", "en"])
async def test_of_two_who_have_the_name_the_id_says_which(
    host: AMemorixHostService, name: str, one: str, two: str, of_two: str, of_one: str, right: str
) -> None:
    await spoke(host, "g", name, "1", one)
    await spoke(host, "g", name, "2", two)
    await host.settle()

    given = {"action": "preview", "chat_id": "g", "text": of_two}
    assert "means 2 persons (1, 2)" in await refused(host, ADMIN, given, "person_id")
    await refused(host, ADMIN, given | {"person_id": name}, "person_id")
    assert becoming(await previewed(host, of_two, person_id="1")) == {}, "that one never said so"
    assert becoming(await previewed(host, of_two, person_id="2")) == {two: right}
    assert becoming(await previewed(host, of_one, person_id="1")) == {one: right}


KIN = [
    ("老王", "我女儿叫朵朵，今年5岁", "老王不是5岁，是40岁"), ("老王", "我家狗叫可乐，今年5岁", "老王不是5岁，是40岁"),
    ("老王", "我同桌是小刘，住在上海", "老王不住在上海，他住在杭州"), ("老王", "我妈退休了，住在上海", "忘掉我住在上海"),
    ("Tom", "My daughter is called Ella, lives in Oslo", "Tom doesn't live in Oslo, he lives in Rome"),
    ("Tom", "My dog is called Rex, is 5 years old", "Tom isn't 5 years old, he is 40 years old"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "line", "text"), KIN)
async def test_a_clause_after_one_about_a_relative_is_not_the_speakers(
    host: AMemorixHostService, name: str, line: str, text: str
) -> None:
    await spoke(host, "g", name, "1", line)
    await host.settle()
    preview = await previewed(host, text, person_id="1")
    assert becoming(preview) == {}
    assert [c["why"] for c in preview["candidates"] if c["content"] == line] == ["is about somebody else"]


@pytest.mark.parametrize(
    ("line", "text", "becomes"),
    [
        ("我女儿叫朵朵，今年5岁", "我女儿不是5岁，是6岁", "我女儿叫朵朵，今年6岁"),
        ("我女儿叫朵朵，我今年40岁", "我不是40岁，是41岁", "我女儿叫朵朵，我今年41岁"),
        ("My daughter is called Ella, I live in Oslo", "I don't live in Oslo, I live in Rome",
         "My daughter is called Ella, I live in Rome"),
    ],
)  # fmt: skip
async def test_what_is_said_of_the_relative_or_again_of_oneself_is_found(
    host: AMemorixHostService, line: str, text: str, becomes: str
) -> None:
    await spoke(host, "g", "老王", "1", line)
    await host.settle()
    assert becoming(await previewed(host, text, person_id="1")) == {line: becomes}


CLAUSES = [
    ("I work at Google and I live in London", "forget that I live in London", "I work at Google", {"London"}),
    ("I work at Google and I live in London", "forget that I work at Google", "I live in London", {"Google"}),
    ("I work at Google and live in London", "forget that I live in London", "I work at Google", {"London"}),
    ("I work at Google and live in London", "forget that I work at Google", "I live in London", {"Google"}),
    ("I work at Google but I live in London.", "Mia never lived in London", "I work at Google", {"London"}),
    ("我在腾讯上班而且我住在上海", "忘掉我住在上海", "我在腾讯上班", {"上海"}),
    ("我在腾讯上班、住在上海", "忘掉我住在上海", "我在腾讯上班", {"上海"}),
    ("我住在上海并且在腾讯上班", "忘掉我住在上海", "我在腾讯上班", {"上海"}),
]  # fmt: skip


@pytest.mark.parametrize(("line", "text", "becomes", "ends"), CLAUSES)
async def test_what_stands_beside_the_forgotten_stays(
    host: AMemorixHostService, line: str, text: str, becomes: str, ends: set[str]
) -> None:
    await spoke(host, "g", "Mia", "m", line)
    await host.settle()
    before = {value for _, value, _, _ in await facts(host, "m")}
    preview = await previewed(host, text, person_id="m")
    assert becoming(preview) == {line: becomes}
    assert {value for value in before if any(end in value for end in ends)} == set(preview["facts"])
    await executed(host, preview["plan_id"])
    after = {value for _, value, _, _ in await facts(host, "m")} - {preview["note"]}
    assert not any(end in value for end in ends for value in after) and after >= before - set(preview["facts"])


@pytest.mark.parametrize(
    ("line", "text", "ends"),
    [
        ("I, who am 30 years old, live in London", "forget that I live in London", {"London", "30"}),
        ("住在上海的我对花生过敏", "忘掉我住在上海", {"上海", "花生"}),
    ],
)
async def test_a_preview_tells_of_every_fact_that_ends(
    host: AMemorixHostService, line: str, text: str, ends: set[str]
) -> None:
    await spoke(host, "g", "Mia", "m", line)
    await host.settle()
    held = {value for _, value, _, _ in await facts(host, "m")}
    preview = await previewed(host, text, person_id="m")
    await executed(host, preview["plan_id"])
    left = {value for _, value, _, _ in await facts(host, "m")}
    assert set(preview["facts"]) == held - left


@pytest.mark.parametrize(
    ("name", "line", "text", "becomes"),
    [
        ("Tom", "I have two kids", "Tom has three kids, not two", "I have three kids"),
        ("Mia", "I have 2 cats", "Mia has 3 cats, not 2", "I have 3 cats"),
        ("老王", "我有两个孩子", "老王有三个孩子，不是两个", "我有三个孩子"),
        ("小雨", "我养了两只猫", "小雨养了三只猫，不是两只", "我养了三只猫"),
    ],
)
async def test_the_line_with_the_wrong_number_changes(
    host: AMemorixHostService, name: str, line: str, text: str, becomes: str
) -> None:
    await spoke(host, "g", name, "1", line)
    await host.settle()
    assert becoming(await previewed(host, text)) == {line: becomes}
