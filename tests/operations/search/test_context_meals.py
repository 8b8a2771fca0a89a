"""What nobody may forget when a meal for several is spoken of, and statements that quote what was said."""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo

import pytest

from amemorix import AMemorixHostService
from amemorix.testing import FrozenClock
from conftest import Open
from entrance import call, said

SHANGHAI = ZoneInfo("Asia/Shanghai")
NOW = datetime(2026, 11, 20, 12, tzinfo=SHANGHAI).timestamp()


def day(number: int) -> float:
    return datetime(2026, 11, number, 20, tzinfo=SHANGHAI).timestamp()


@pytest.fixture
async def group(opened: Open) -> AMemorixHostService:
    host = await opened(clock=FrozenClock(NOW), general={"timezone": "Asia/Shanghai"})
    await said(
        host, "g", ("糖糖", "我对芒果过敏，上次吃了嘴都肿了", day(2)), ("阿力", "我对海鲜过敏", day(2)),
        ("Mia", "I'm allergic to walnuts", day(2)), ("小雨", "我家猫叫煤球", day(3)),
        ("糖糖", "我打算下周六晚上六点半请大家吃饭，在南山店", day(1)),
    )  # fmt: skip
    await said(host, "other", ("老王", "我对花生过敏", day(2)))
    await host.settle()
    return host


@pytest.mark.parametrize(
    ("text", "speaker"),
    [
        ("点菜要注意啥", "小雨"), ("聚餐点菜有什么要注意的", "小雨"), ("帮我订个餐厅", "小雨"), ("有人忌口吗", "阿力"),
        ("what should I mind when I order food for us", "小雨"), ("can you book a restaurant for saturday", "Mia"),
        ("what can we cook for everyone", "小雨"),
    ],
)  # fmt: skip
async def test_who_orders_is_told_what_anybody_may_not_eat(group: AMemorixHostService, text: str, speaker: str) -> None:
    asked = [{"role": "user", "content": text, "name": speaker}]
    told = (await call(group, "get_context", messages=asked, chat_id="g"))["text"]
    assert all(value in told for value in ("芒果", "海鲜", "walnuts")) and "花生" not in told, told


@pytest.mark.parametrize("text", ["我吃过饭了", "煤球最近好吗", "I cooked pasta yesterday"])
async def test_nobody_else_is_told_of_what_others_may_not_eat(group: AMemorixHostService, text: str) -> None:
    asked = [{"role": "user", "content": text, "name": "小雨"}]
    context = await call(group, "get_context", messages=asked, chat_id="g")
    assert not any(value in context["text"] for value in ("芒果", "海鲜", "walnuts")), context["text"]


async def test_a_quotation_keeps_its_words(group: AMemorixHostService) -> None:
    told = (await call(group, "get_person_profile", person_id="糖糖", chat_id="g"))["summary"]
    assert "下周六晚上六点半" in told and "店" in told, told
    assert "2026-11-07，" not in told
