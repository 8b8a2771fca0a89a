"""A question in the first person: it is about whoever asks, as far as the caller says who that is."""

from __future__ import annotations

from pathlib import Path

import pytest

from amemorix import AMemorixHostService
from amemorix.testing import memory_host
from entrance import contents, found, said

START = 1_683_201_600.0
LIVES = """I live in Leeds
I work as a nurse at St James's hospital
tom said he lives in Cardiff now
我妈住在斯旺西
my sister Ana works at a bakery in York
I'm allergic to peanuts
下周五我要去医院复查膝盖
我喜欢喝乌龙茶
my boss Priya lives in Bradford
Tom is allergic to shellfish
我同事小王对海鲜过敏
我爸爸是小学老师
she lives in London with her husband
my brother moved to Canada in March
老板住在杭州
our neighbour has a big dog called Rex
My birthday is 3 May
Ana's birthday is 9 June
tom's favourite food is ramen
我老公最喜欢喝可乐
I moved to Porto last week""".splitlines()
OWN = [
    ("where do I live", "Porto", "I moved to Porto last week"),
    ("Do you know where I live?", "Porto", "I moved to Porto last week"),
    ("我住在哪里", "Porto", "I moved to Porto last week"),
    ("你还记得我住哪儿吗", "Porto", "I moved to Porto last week"),
    ("what am I allergic to?", "peanuts", "I'm allergic to peanuts"),
    ("我对什么过敏？", "peanuts", "I'm allergic to peanuts"),
    ("what is my job", "nurse", "I work as a nurse at St James's hospital"),
    ("我是做什么工作的", "nurse", "I work as a nurse at St James's hospital"),
    ("when's my birthday?", "3 May", "My birthday is 3 May"),
    ("我的生日是哪天", "3 May", "My birthday is 3 May"),
]
OF_OTHERS = [
    ("where does my sister work", "my sister Ana works at a bakery in York"),
    ("我妈住在哪里", "我妈住在斯旺西"),
    ("where does my boss live?", "my boss Priya lives in Bradford"),
    ("我老公喜欢喝什么", "我老公最喜欢喝可乐"),
    ("can you tell me what tom's favourite food is", "tom's favourite food is ramen"),
]


async def lives(host: AMemorixHostService) -> None:
    """One user tells of himself and of others."""
    await said(host, "", *(("me", line, START + 60 * n) for n, line in enumerate(LIVES)), user_id="me")
    await host.settle(600)


@pytest.mark.parametrize("model", [False, pytest.param(True, marks=pytest.mark.local_model)])
async def test_what_the_asker_says_of_himself_comes_first(tmp_path: Path, model: bool) -> None:
    async with memory_host(tmp_path, embedding={"provider": "local" if model else "none"}) as host:
        await lives(host)
        for question, value, line in OWN:
            answer = await found(host, question, user_id="me")
            assert [fact["value"] for fact in answer["facts"]][:1] == [value], question
            shown = [hit["content"] for hit in answer["hits"]]
            if model or line in shown:  # by words alone nothing of a paraphrase is found
                assert shown[0] == line, question


@pytest.mark.local_model
async def test_a_question_about_somebody_of_the_askers_is_about_them(tmp_path: Path) -> None:
    async with memory_host(tmp_path, embedding={"provider": "local"}) as host:
        await lives(host)
        for question, line in OF_OTHERS:
            assert (await contents(host, question, user_id="me"))[0] == line, question


GROUP = [
    ("Ann", "I live in Porto"), ("Bob", "I live in Leeds"), ("Ann", "我养了一只仓鼠"), ("Bob", "我养了一只鹦鹉"),
    ("Bob", "my favourite colour is green"), ("Ann", "my favourite colour is red"), ("Bob", "I play the cello"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("question", "of_ann", "of_bob"),
    [
        ("where do I live?", "I live in Porto", "I live in Leeds"),
        ("我养了什么宠物", "我养了一只仓鼠", "我养了一只鹦鹉"),
        ("what's my favourite colour", "my favourite colour is red", "my favourite colour is green"),
    ],
)
async def test_of_several_speakers_it_is_the_asker(
    host: AMemorixHostService, question: str, of_ann: str, of_bob: str
) -> None:
    await said(host, "c", *GROUP)
    assert (await contents(host, question, chat_id="c", user_id="Ann"))[0] == of_ann
    assert (await contents(host, question, chat_id="c", user_id="Bob"))[0] == of_bob


async def test_where_nobody_is_known_to_ask_nothing_changes(host: AMemorixHostService) -> None:
    await said(host, "c", *GROUP)
    for question in ("where do I live?", "where do they live?"):
        unknown = await found(host, question, chat_id="c")
        stranger = await found(host, question, chat_id="c", user_id="stranger")
        assert (unknown["hits"], unknown["facts"]) == (stranger["hits"], stranger["facts"])
        assert unknown["facts"] == []


@pytest.mark.parametrize("question", ["can you tell me where does Bob live?", "remind me where does Bob live"])
async def test_whoever_only_wants_to_be_told_asks_for_another(host: AMemorixHostService, question: str) -> None:
    await said(host, "c", *GROUP)
    await host.settle(600)
    answer = await found(host, question, chat_id="c", user_id="Ann")
    assert answer["hits"][0]["content"] == "I live in Leeds"
    assert [fact["person"] for fact in answer["facts"]][:1] == ["Bob"]
