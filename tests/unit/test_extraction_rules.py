"""Reading by rules: what sentences say, in Chinese and English, and what they do not."""

from __future__ import annotations

import pytest

from amemorix.language.normalise import normalise_name
from amemorix.language.passages import Extraction, Mention, Passage
from amemorix.language.relations.rules import extract, possible_names, read_passage
from cases import cases

KNOWN = ("林澈", "苏晚", "小雅", "Ada", "Grace", "Tom Baker")


def passage(text: str, speaker: str = "") -> Passage:
    return Passage(text, speaker, {normalise_name(name): Mention(name, "person") for name in KNOWN})


def triples(found: Extraction) -> set[tuple[str, str, str]]:
    return {(r.subject, r.predicate, r.object) for r in found.relations}


CHINESE = cases("relations", "chinese")
ENGLISH = cases("relations", "english")
SAYS_NOTHING = cases("relations", "says_nothing")


@pytest.mark.parametrize(("text", "speaker", "expected"), CHINESE + ENGLISH)
def test_a_statement_gives_its_relation(text: str, speaker: str, expected: tuple[str, str, str]) -> None:
    assert expected in triples(read_passage(passage(text, speaker)))


@pytest.mark.parametrize("text", SAYS_NOTHING)
def test_what_is_asked_denied_wished_or_said_of_somebody_unnamed_gives_nothing(text: str) -> None:
    assert (
        triples(read_passage(passage(text, "林澈" if any("\u4e00" <= c <= "\u9fff" for c in text) else "Ada"))) == set()
    )


def test_the_first_person_without_a_speaker_is_nobody() -> None:
    assert triples(read_passage(passage("我住在杭州"))) == set()
    assert triples(read_passage(passage("I live in Berlin."))) == set()


def named(text: str) -> dict[str, str]:
    return {m.name: m.kind for m in read_passage(passage(text)).entities}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("昨天跟小雅去了舟山", {"小雅": "person", "舟山": "place"}),
        ("我在看《百年孤独》", {"百年孤独": "work"}),
        ("李静怀二胎了", {"李静": ""}),
        ("李静怀说他来了", {"李静怀": ""}),
        ("我在阿里上班", {"阿里": "organisation"}),
        ("小雅去了小米面试", {"小雅": "person"}),
        ("Lukas要去苏黎世", {"Lukas": ""}),
        ("We met Grace and Rob at Lake Tahoe.", {"Grace": "person", "Lake Tahoe": "place"}),
        ('I loved reading "Charlotte\'s Web" as a kid.', {"Charlotte's Web": "work"}),
        ("She studies at Stanford University now.", {"Stanford University": "organisation"}),
    ],
)
def test_names_become_entities(text: str, expected: dict[str, str]) -> None:
    assert expected.items() <= named(text).items()


@pytest.mark.parametrize(
    "text",
    [
        "我们今天下午三点再说吧", "哈哈哈哈 谢谢大家", "120", "Thanks! See you on Monday.", "Wow, that is so cool!", "我觉得他们都很好",
        "It was 12 o'clock.", "今天真的好累啊",
    ],
)  # fmt: skip
def test_pronouns_numbers_times_and_talk_become_none(text: str) -> None:
    assert named(text) == {}


def test_a_long_text_names_what_it_keeps_coming_back_to() -> None:
    zh = "压缩机是冰箱的核心。" + "压缩机的噪音来自轴承，维修压缩机之前要断电，清洁冷凝器也要断电。" * 6
    en = (
        "The compressor is the heart of a fridge. A compressor makes noise when worn. Before opening the compressor cut the power. "
        * 4
    )
    assert "压缩机" in named(zh)
    assert "compressor" in named(en)
    assert "compressor" not in named("The compressor is loud.")


def test_a_poem_gives_nothing_and_an_event_is_no_entity() -> None:
    poem = "床前明月光\n疑是地上霜\n举头望明月\n低头思故乡"
    assert extract(passage(poem, "林澈"), "quote") == Extraction()
    told = extract(passage("那天夜里，老王推开门，看见院子里站着一个陌生人，吓得说不出话来。"), "narrative")
    assert all(len(m.name) <= 6 for m in told.entities)


def test_a_factual_text_defines_its_terms() -> None:
    text = "电压：220伏特\n主色: 深海蓝\nWarranty: two years of service\nhttp://x.org"
    found = triples(extract(passage(text), "factual"))
    assert ("主色", "是", "深海蓝") in found
    assert ("Warranty", "is", "two years of service") in found


def test_the_same_text_gives_the_same() -> None:
    for text, speaker, _ in CHINESE + ENGLISH:
        assert read_passage(passage(text, speaker)) == read_passage(passage(text, speaker))


def test_what_is_known_is_found_in_a_later_text() -> None:
    known = {"馒头": Mention("馒头", "pet"), "yellow kayak": Mention("Yellow Kayak")}
    assert "馒头" in possible_names("馒头胖到十三斤了")
    assert read_passage(Passage("馒头胖到十三斤了", "林澈", known)).entities == (Mention("馒头", "pet"),)
    assert Mention("Yellow Kayak") in read_passage(Passage("The Yellow Kayak is sold.", "Ada", known)).entities
