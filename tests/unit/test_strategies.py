"""Kinds of text: told by their form, and cut where each may be cut."""

from __future__ import annotations

import pytest

from amemorix.language.strategies import STRATEGIES, detect
from amemorix.language.strategy import Passage
from pace import assert_linear

POEM_ZH = "床前明月光\n疑是地上霜\n举头望明月\n低头思故乡"
POEM_EN = "The woods are lovely, dark and deep,\nBut I have promises to keep,\nAnd miles to go before I sleep,\nAnd miles to go before I sleep."
LIST_ZH = "冰箱保养要点：\n- 每月清洁一次冷凝器\n- 断电以后再清洁\n- 门封条用温水擦"
LIST_EN = "Packing list for the cabin\n1. two sleeping bags\n2. a gas stove\n3. matches and rope"
TABLE = "| name | colour |\n|---|---|\n| kayak | yellow |\n| tent | green |"
DEFINED_ZH = "光合作用是指绿色植物利用光能把二氧化碳和水转化为有机物的过程。叶绿体由基粒和基质组成，位于叶肉细胞内。"
DEFINED_EN = "Photosynthesis is a process that converts light into chemical energy. A chloroplast consists of grana and stroma, and contains chlorophyll."
KEYS = "颜色：深海蓝\n重量：三公斤\n电压：220伏特\n产地：宁波"
STORY_ZH = (
    "那天夜里，老王推开门走了出去。他忽然看见院子里站着一个人，吓得退了回来。后来他说道：“我再也不敢一个人出门了。”"
)
STORY_EN = 'She had waited at the station all night. At dawn the train came, and he stepped down and looked around. "You came," she said, and they walked home.'
TALK_ZH = "林澈：明天几点出发？\n苏晚：七点吧，早点走不堵车。\n林澈：好，那我六点半来接你。"
TALK_EN = "Ada: when do we leave tomorrow?\nGrace: at seven, before the traffic.\nAda: fine, I'll pick you up at half past six."
CHAPTERS_ZH = "第一章 雨夜\n老王推开门，看见院子里有人。\n\n第二章 清晨\n雨停了，街上没有人。"


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (POEM_ZH, "quote"), (POEM_EN, "quote"), (LIST_ZH, "factual"), (LIST_EN, "factual"), (TABLE, "factual"),
        (DEFINED_ZH, "factual"), (DEFINED_EN, "factual"), (KEYS, "factual"), (STORY_ZH, "narrative"),
        (STORY_EN, "narrative"), (TALK_ZH, "narrative"), (TALK_EN, "narrative"), (CHAPTERS_ZH, "narrative"),
        ("今天下雨了", ""), ("I'm home.", ""), ("", ""),
    ],
)  # fmt: skip
def test_the_form_tells_the_kind(text: str, kind: str) -> None:
    assert detect(text) == kind


@pytest.mark.parametrize(
    "unit",
    [
        "I have been ",
        "Aa ",
        "叫",
        "“",
        "my sister is ",
        "我的",
        "\n",
        "a:",
        "- ",
        "Ada is a ",
        "我家",
        "*",
        "Ada's b c ",
    ],
)
def test_the_work_grows_with_the_text(unit: str) -> None:
    def work(size: int) -> None:
        text = unit * (size // len(unit))
        read = STRATEGIES["factual"].extract(Passage(text, "Ada"))
        pieces = STRATEGIES[detect(text)].chunks(text, 1_200)
        assert len(read.relations) < 100
        assert without_space("".join(pieces)) == without_space(text)

    assert_linear(work, 2_500, 20_000)


def without_space(text: str) -> str:
    return "".join(text.split())


TEXTS = [
    POEM_ZH,
    POEM_EN,
    LIST_ZH,
    LIST_EN,
    TABLE,
    DEFINED_ZH,
    DEFINED_EN,
    KEYS,
    STORY_ZH,
    STORY_EN,
    TALK_ZH,
    CHAPTERS_ZH,
]


@pytest.mark.parametrize("kind", list(STRATEGIES))
@pytest.mark.parametrize("target", [20, 60, 200])
def test_nothing_is_lost_and_nothing_is_too_long(kind: str, target: int) -> None:
    text = "\n\n".join(TEXTS * 3)
    pieces = STRATEGIES[kind].chunks(text, target)  # type: ignore[index]
    assert without_space("".join(pieces)) == without_space(text)
    assert all(piece.strip() and len(piece) <= 1.5 * target for piece in pieces)


def test_a_list_stays_with_its_heading_in_one_piece() -> None:
    text = (
        "\n".join([f"说明文字第{n}段，讲的是别的东西，和清单没有关系。" for n in range(8)])
        + "\n\n"
        + LIST_ZH
        + "\n\n尾声。"
    )
    pieces = STRATEGIES["factual"].chunks(text, 90)
    assert [LIST_ZH in piece for piece in pieces].count(True) == 1
    english = "\n".join(f"Plain line {n} about something else entirely." for n in range(8)) + "\n\n" + TABLE
    assert sum(TABLE in piece for piece in STRATEGIES["factual"].chunks(english, 120)) == 1


def test_stanzas_are_kept_word_for_word() -> None:
    stanzas = [f"{POEM_EN}\nstanza {n}" for n in range(6)]
    pieces = STRATEGIES["quote"].chunks("\n\n".join(stanzas), 200)
    assert pieces == stanzas
    assert STRATEGIES["quote"].chunks("\n\n".join([POEM_ZH] * 4), 60) == ["\n\n".join([POEM_ZH] * 2)] * 2


def test_a_scene_never_runs_into_the_next() -> None:
    scenes = [f"第{n}章 标题\n" + "他走了很远的路。" * 30 for n in "一二三"]
    pieces = STRATEGIES["narrative"].chunks("\n\n".join(scenes), 100)
    assert all(sum(f"第{n}章" in piece for n in "一二三") <= 1 for piece in pieces)
    assert all(piece.endswith("。") for piece in pieces)
    assert sum(piece.startswith("第") for piece in pieces) == 3
    english = "Chapter 1\n" + "He walked on. " * 30 + "\n\nChapter 2\n" + "She slept. " * 30
    assert sum(piece.startswith("Chapter") for piece in STRATEGIES["narrative"].chunks(english, 100)) == 2
