"""The cutting of texts: at the best boundary there is, and where each kind of text may be cut."""

from __future__ import annotations

from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amemorix.language.chunking import KnowledgeType, chunks, detect, split
from amemorix.language.names import names
from pace import assert_linear

ALPHABET = st.one_of(
    st.sampled_from(
        [*"ab中文。，.!? \n\t", "\n\n", ". ", "。”", "👨‍👩‍👧", "👍🏽", "e\u0301", "🇨🇳", "\u200d", "\ud83d", "\ude00"]
    ),
    st.characters(),
)
TEXTS = st.lists(ALPHABET, max_size=400).map("".join)


def without_space(text: str) -> str:
    return "".join(text.split())


@settings(max_examples=300, deadline=None)
@given(text=TEXTS, target=st.integers(1, 120))
def test_nothing_is_lost_and_nothing_is_too_long(text: str, target: int) -> None:
    pieces = split(text, target=target)
    assert without_space("".join(pieces)) == without_space(text)
    assert all(piece and piece == piece.strip() for piece in pieces)
    assert all(len(piece) <= 1.5 * target for piece in pieces)


@settings(max_examples=200, deadline=None)
@given(words=st.lists(st.text("abc中文", min_size=1, max_size=8), min_size=40, max_size=300))
def test_no_tail_is_tiny(words: list[str]) -> None:
    pieces = split(" ".join(words), target=60)
    assert min(map(len, pieces)) >= 0.3 * 60


def test_a_short_text_is_one_piece() -> None:
    assert split("  one line  ", target=100) == ["one line"]


@pytest.mark.parametrize("text", ["", "   ", "\n\n\t"])
def test_white_space_is_no_piece(text: str) -> None:
    assert split(text) == []


def test_a_blank_line_is_better_than_a_nearer_line_end() -> None:
    text = "a" * 70 + "\n\n" + "b" * 28 + "\n" + "c" * 99
    assert split(text, target=100)[0] == "a" * 70


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("x" * 80 + "\n" + "y" * 19 + ". " + "z" * 99, "x" * 80),
        ("他说：“" + "好" * 70 + "。”" + "来，" * 60, "他说：“" + "好" * 70 + "。”"),
        ("x" * 80 + ". " + "y" * 10 + ", " + "z" * 110, "x" * 80 + "."),
        ("x" * 80 + "，" + "y" * 18 + " " + "z" * 110, "x" * 80 + "，"),
        ("x" * 80 + " " + "y" * 130, "x" * 80),
        ("version 3.14" * 20, ("version 3.14" * 20)[:103]),
    ],
)
def test_the_best_boundary_wins(text: str, first: str) -> None:
    assert split(text, target=100)[0] == first


@pytest.mark.parametrize("cluster", ["👨‍👩‍👧‍👦", "👍🏽", "e\u0301\u0323", "❤️", "\ud83d\ude00"])
def test_a_cluster_stays_whole(cluster: str) -> None:
    pieces = split(cluster * 100, target=50)
    assert all(piece.startswith(cluster[0]) and len(piece) % len(cluster) == 0 for piece in pieces)


def test_a_target_under_one_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        split("text", target=0)


@pytest.mark.parametrize("unit", ["x", "字", " ", "\n", "\u0301", "?", "\n \n", "，"])
def test_the_work_grows_with_the_text(unit: str) -> None:
    assert_linear(lambda size: split((unit * size)[:size]), 20_000, 320_000)


# Kinds

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
    "unit", ["I have been ", "Aa ", "叫", "“", "my sister is ", "我的", "\n", "a:", "- ", "Ada is a ", "我家", "*", "Ada's b c "],
)  # fmt: skip
def test_the_work_of_every_kind_grows_with_the_text(unit: str) -> None:
    def work(size: int) -> None:
        text = unit * (size // len(unit))
        assert len(names(text)) < 100
        pieces = chunks(text, detect(text), 1_200)
        assert without_space("".join(pieces)) == without_space(text)

    assert_linear(work, 2_500, 20_000)


KINDS = [
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


@pytest.mark.parametrize("kind", get_args(KnowledgeType))
@pytest.mark.parametrize("target", [20, 60, 200])
def test_no_kind_loses_anything_or_is_too_long(kind: KnowledgeType, target: int) -> None:
    text = "\n\n".join(KINDS * 3)
    pieces = chunks(text, kind, target)
    assert without_space("".join(pieces)) == without_space(text)
    assert all(piece.strip() and len(piece) <= 1.5 * target for piece in pieces)


def test_a_list_stays_with_its_heading_in_one_piece() -> None:
    plain = "\n".join(f"说明文字第{n}段，讲的是别的东西，和清单没有关系。" for n in range(8))
    text = f"{plain}\n\n{LIST_ZH}\n\n尾声。"
    pieces = chunks(text, "factual", 90)
    assert [LIST_ZH in piece for piece in pieces].count(True) == 1
    english = "\n".join(f"Plain line {n} about something else entirely." for n in range(8)) + "\n\n" + TABLE
    assert sum(TABLE in piece for piece in chunks(english, "factual", 120)) == 1


def test_stanzas_are_kept_word_for_word() -> None:
    stanzas = [f"{POEM_EN}\nstanza {n}" for n in range(6)]
    pieces = chunks("\n\n".join(stanzas), "quote", 200)
    assert pieces == stanzas
    assert chunks("\n\n".join([POEM_ZH] * 4), "quote", 60) == ["\n\n".join([POEM_ZH] * 2)] * 2


def test_a_scene_never_runs_into_the_next() -> None:
    scenes = [f"第{n}章 标题\n" + "他走了很远的路。" * 30 for n in "一二三"]
    pieces = chunks("\n\n".join(scenes), "narrative", 100)
    assert all(sum(f"第{n}章" in piece for n in "一二三") <= 1 for piece in pieces)
    assert all(piece.endswith("。") for piece in pieces)
    assert sum(piece.startswith("第") for piece in pieces) == 3
    english = "Chapter 1\n" + "He walked on. " * 30 + "\n\nChapter 2\n" + "She slept. " * 30
    assert sum(piece.startswith("Chapter") for piece in chunks(english, "narrative", 100)) == 2
