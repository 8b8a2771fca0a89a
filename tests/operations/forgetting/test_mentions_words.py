"""A name that is an ordinary word means its person only where the line shows it; everything else stays and is told of."""

from __future__ import annotations

import pytest

from amemorix import AMemorixHostService
from amemorix.language.person_names import is_word
from conftest import Open
from entrance import said
from test_mentions import COMMON, labels, spoke, stays
from test_purge import admin

PART = "the name by which it may mean them stands within another word"

WORDS = [
    "小雨",
    "晚安",
    "可乐",
    "奶茶",
    "豆包",
    "阳光",
    "海洋",
    "雪碧",
    "布丁",
    "汤圆",
    "毛毛",
    "想睡觉",
    "打工人",
    "爱吃鱼",
    "吃鱼",
    "安静",
    "高兴",
    "小雪",
    "小鹿",
    "朵朵",
    "乐乐",
    "今天",
    "国庆",
    "rose",
    "may",
    "coffee",
    "panda",
]
NAMES = [
    "林澈",
    "张伟",
    "小红",
    "小明",
    "小美",
    "老王",
    "王芳",
    "李娜",
    "小刘",
    "欧阳锋",
    "欧阳克",
    "欧阳修远",
    "周杰伦",
    "王小明",
    "李静",
    "阿澈",
    "晓东",
    "老李",
    "刘洋",
    "苏晴",
    "快乐小猫",
    "小A",
    "mia",
    "melanie",
    "zoe",
]

ORDINARY = [
    ("小雨", "今天下小雨，带伞"), ("小雨", "小雨转多云"), ("小雨", "小雨来了记得收衣服"), ("小雨", "下午有小雨。"), ("小雨", "小雨，记得带伞"),
    ("可乐", "我想喝可乐"), ("可乐", "可乐去冰"), ("可乐", "可乐：3元"), ("可乐", "薯条和可乐"), ("可乐", "我叫了可乐"), ("可乐", "可乐的味道"),
    ("可乐", "要一杯可乐，谢谢"), ("晚安", "大家晚安"), ("晚安", "晚安，你早点睡"), ("晚安", "晚安说得太早了"), ("奶茶", "我喜欢喝奶茶"), ("奶茶", "奶茶来了"),
    ("奶茶", "叫奶茶要不要"), ("奶茶", "咖啡和奶茶一起喝"), ("豆包", "早上吃了豆包"), ("豆包", "豆包的馅"), ("阳光", "阳光很好"), ("阳光", "阳光、沙滩"),
    ("阳光", "阳光的味道"), ("今天", "今天说好的"), ("今天", "今天去哪了"), ("国庆", "国庆去北京"), ("打工人", "打工人很累"), ("想睡觉", "我想睡觉"),
    ("小雨", "下小雨的话别去"), ("小雨", "今天小雨你记得带伞"), ("小雨", "小雨记得带伞"), ("可乐", "可乐感冒能喝吗"), ("可乐", "可乐给我一瓶"), ("可乐", "可乐在公司"),
    ("可乐", "可乐喜欢喝吗"), ("奶茶", "奶茶帮我带一杯"), ("奶茶", "奶茶怀孕了能喝吗"), ("奶茶", "去问奶茶多少钱"), ("豆包", "我问豆包了"), ("豆包", "豆包说可以"),
    ("老师", "老师说明天考试"), ("老板", "老板来了"), ("小猫", "小猫生病了"), ("阳光", "阳光的男朋友"), ("海洋", "海洋去过吗"), ("端午", "端午去哪"),
    ("Sunny", "it is sunny"), ("coffee", "I like coffee."), ("Panda", "a panda ate it"), ("Rose", "prices rose again"),
]  # fmt: skip
MEANT = [
    ("小雨", "@小雨 带伞了吗"), ("小雨", "小雨，你带伞了吗"), ("小雨", "小雨：明天见"), ("小雨", "我跟小雨去吃饭"), ("小雨", "我和小雨是同学"), ("小雨", "去问小雨吧"),
    ("小雨", "我找小雨借了书"), ("小雨", "叫小雨来吃饭"), ("小雨", "小雨说她住在杭州"), ("小雨", "小雨住在杭州"), ("小雨", "小雨去北京了"), ("小雨", "小雨的生日是五月"),
    ("小雨", "小雨对花生過敏"), ("可乐", "@可乐 你好"), ("可乐", "可乐，你在哪"), ("可乐", "可乐昨天说他累了"), ("奶茶", "奶茶在字节跳动上班"), ("奶茶", "我跟奶茶聊过了"),
    ("阳光", "阳光喜欢猫"), ("晚安", "@晚安 明天来吗"), ("生日快乐", "@生日快乐 hi"), ("谢谢", "@谢谢 在吗"), ("Coffee", "I met Coffee there."),
]  # fmt: skip


@pytest.mark.parametrize("name", WORDS)
def test_words_that_people_call_themselves_are_words(name: str) -> None:
    assert is_word(name)


@pytest.mark.parametrize("name", NAMES)
def test_names_are_no_words(name: str) -> None:
    assert not is_word(name)


@pytest.mark.parametrize(("name", "line"), ORDINARY)
async def test_an_ordinary_word_deletes_nothing(host: AMemorixHostService, name: str, line: str) -> None:
    await spoke(host, "home", name, "u1", "我喜欢猫")
    for chat in ("home", "away"):
        await spoke(host, chat, "老王", "u2", line)

    seen = await admin(host, "preview", mode="person", selector="u1")

    assert (labels(seen), stays(seen)) == ([], {line: COMMON})
    done = await admin(host, "execute", mode="person", selector="u1", purge=True)
    assert done["counts"]["paragraphs"] == 1
    kept = await host.invoke("search_memory", {"query": line, "limit": 5})
    assert [hit["content"] for hit in kept["hits"]] == [line, line]


@pytest.mark.parametrize(("name", "line"), MEANT)
async def test_a_line_that_shows_whom_it_means_goes_where_they_were_met(
    host: AMemorixHostService, name: str, line: str
) -> None:
    await spoke(host, "home", name, "u1", "我喜欢猫")
    for chat in ("home", "away"):
        await spoke(host, chat, "老王", "u2", f"{line} ({chat})")
    seen = await admin(host, "preview", mode="person", selector="u1")
    assert (labels(seen), stays(seen)) == ([f"{line} (home)"], {f"{line} (away)": COMMON})


@pytest.mark.parametrize(
    ("name", "line"), [("张伟", "张伟大极了"), ("王明", "老王明天来"), ("陈晨", "陈晨曦很美")], ids=str
)
async def test_letters_of_another_word_are_no_name(host: AMemorixHostService, name: str, line: str) -> None:
    await spoke(host, "home", name, "u1", "我喜欢猫")
    await spoke(host, "away", "老王", "u2", line)
    seen = await admin(host, "preview", mode="person", selector="u1")
    assert (labels(seen), stays(seen)) == ([], {line: PART})


async def test_an_alias_that_is_a_word_is_weighed_like_a_name(opened: Open) -> None:
    host = await opened()
    await said(host, "home", ("林澈", "x"), ("老王", "下小雨了"), ("老王", "小雨说她累了"))
    await host.invoke("memory_profile_admin", {"action": "add_alias", "person_id": "林澈", "alias": "小雨"})
    seen = await admin(host, "preview", mode="person", selector="林澈")
    assert (labels(seen), stays(seen)) == (["小雨说她累了"], {"下小雨了": COMMON})
