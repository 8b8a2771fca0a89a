"""A sentence that says several things: what becomes of the rest when one of them ends."""

from __future__ import annotations

from pathlib import Path

import pytest

from amemorix import AMemorixHostService
from amemorix.testing import memory_host
from entrance import said

START, DAY = 1_683_201_600.0, 86_400.0


async def held(host: AMemorixHostService, line: str = "", *, day: int = 0) -> dict[str, str]:
    """Value -> status of what is held after a speaker has said this line on a day."""
    if line:
        await said(host, "c", ("Ann", line, START + day * DAY))
    await host.settle(600)
    answer = await host.invoke("memory_fact_admin", {"action": "list", "limit": 100, "chat_id": "c"})
    return {item["value"]: item["status"] for item in answer["items"]}


@pytest.mark.parametrize(
    ("line", "ended", "rest", "news", "now"),
    [
        ("I live in Leeds and have two cats", "Leeds", "cats", "I moved to Porto", "Porto"),
        ("I live in Leeds, and I have two cats", "Leeds", "cats", "I moved to Porto last week", "Porto"),
        ("I have two cats and live in Leeds", "Leeds", "cats", "I moved to Porto", "Porto"),
        ("I work at Siemens and play the cello", "Siemens", "I play the cello", "I now work at Bosch", "Bosch"),
        ("我住在上海，养了一只猫", "上海", "猫", "我搬到杭州了", "杭州"),
        ("我养了一只猫，住在上海", "上海", "猫", "我搬到杭州了", "杭州"),
        ("我住在上海，每天骑车上下班", "上海", "我每天骑车上下班", "我搬到杭州了", "杭州"),
        ("我在华为上班，每天早上跑步", "华为", "我每天早上跑步", "我跳槽到腾讯了", "腾讯"),
    ],
)
@pytest.mark.local_model
async def test_the_rest_of_a_sentence_stays_when_its_value_ends(
    tmp_path: Path, line: str, ended: str, rest: str, news: str, now: str
) -> None:
    async with memory_host(tmp_path, embedding={"provider": "local"}) as host:
        kept = await held(host, line)
        assert (kept.get(ended), kept.get(rest)) == ("active", "active"), kept
        kept = await held(host, news, day=1)
    assert (kept.get(now), kept.get(rest)) == ("active", "active"), kept
    assert kept[ended] == "superseded"


@pytest.mark.parametrize(
    ("line", "values"),
    [
        ("I live in Leeds and love it there", {"Leeds"}),
        ("I'm allergic to nuts and shellfish", {"nuts", "shellfish"}),
        ("I live in Leeds, not in York", {"Leeds"}),
        ("我住在上海，天气很热", {"上海"}),
        ("我住在上海，不是北京", {"上海"}),
        ("我对花生、虾过敏", {"花生", "虾"}),
    ],
)
async def test_what_says_nothing_by_itself_is_no_statement(
    host: AMemorixHostService, line: str, values: set[str]
) -> None:
    assert set(await held(host, line)) == values


async def test_both_statements_go_with_their_line(host: AMemorixHostService) -> None:
    await held(host, "I live in Leeds and have two cats")
    hit = (await host.invoke("search_memory", {"query": "two cats", "chat_id": "c"}))["hits"][0]
    answer = await host.invoke("memory_delete_admin", {"action": "execute", "mode": "paragraph", "selector": hit["id"]})
    assert answer["success"], answer
    await host.settle(600)
    assert await held(host) == {}
