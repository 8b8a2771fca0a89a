"""What rules read out of single texts about a person, in Chinese and English."""

from __future__ import annotations

import pytest

from amemorix.language.normalise import is_mostly_cjk
from amemorix.profiles.items import ProfileItem, gathered, load, render, score
from amemorix.profiles.retractions import endings, has_ended
from amemorix.profiles.rows import SPEAKER, FactOf, Line, RelationOf
from amemorix.profiles.rules import fact_item, relation_item, statements, topic_item
from cases import cases

NAMED = ("林澈", "Ada")


def others(clause: str) -> bool:
    return "周枝" in clause or "Bob" in clause


def read(text: str, *, role: int = SPEAKER, kind: str = "message", source_type: str = "chat") -> list[tuple[str, str]]:
    line = Line(1, 1, 1, kind, source_type, role, 0.0, text, alive=True)
    return [(item.section, item.statement) for item in statements(line, NAMED, others)]


@pytest.mark.parametrize(("text", "expected"), cases("profiles", "of_themselves"))
def test_what_people_say_of_themselves(text: str, expected: list[tuple[str, str]]) -> None:
    assert read(text) == [*expected]


@pytest.mark.parametrize("text", cases("profiles", "nothing_of_the_speaker"))
def test_what_says_nothing_of_the_speaker(text: str) -> None:
    assert read(text) == []


def test_a_clause_of_somebody_else_is_not_the_speakers() -> None:
    assert read("我喜欢茶，周枝每次都只喝咖啡") == [("likes", "我喜欢茶")]


@pytest.mark.parametrize(
    ("text", "kind", "source_type", "expected"),
    [
        ("林澈不喜欢空调直吹，并且会自带桂花乌龙。", "text", "person_fact", [("dislikes", "林澈不喜欢空调直吹"), ("habits", "会自带桂花乌龙")]),
        ("群里说了物资；林澈怕空调，周枝负责补货。", "summary", "chat_summary", [("dislikes", "林澈怕空调")]),
        ("周枝负责补货。", "summary", "chat_summary", []),
        ("Ada works as a nurse. Bob loves tea.", "text", "note", [("identity", "Ada works as a nurse")]),
        ("Ada does not eat meat.", "text", "note", [("dislikes", "Ada does not eat meat")]),
        ("红色的门牌很旧", "text", "person_fact", [("notes", "红色的门牌很旧")]),
        ("The door plate is red.", "text", "person_fact", [("notes", "The door plate is red")]),
        ("I like tea, said Bob.", "text", "note", []),
    ],
)  # fmt: skip
def test_what_is_told_of_a_person(text: str, kind: str, source_type: str, expected: list[tuple[str, str]]) -> None:
    assert read(text, role=2, kind=kind, source_type=source_type) == expected


def item(statement: str, section: str = "likes", at: float = 0.0, row: int = 1, confidence: float = 0.8) -> ProfileItem:
    return ProfileItem(section, statement, "said", (row,), confidence, at)


def test_the_same_words_are_one_statement_with_the_evidence_of_both() -> None:
    (one,) = gathered([item("I love tea", row=1, at=1), item("i love tea!", row=2, at=5)], 5)
    assert (one.evidence, one.at) == ((2, 1), 5)


def test_a_section_keeps_its_best() -> None:
    year = 365 * 86_400.0
    items = [item("old", at=0), item("new", at=3 * year), item("unsure", at=3 * year, confidence=0.2)]
    assert [one.statement for one in gathered(items, 2)] == ["new", "old"]
    assert score(items[0], 3 * year) < score(items[1], 3 * year) == 0.8


def test_the_text_follows_the_language_of_the_statements() -> None:
    assert render("林澈", [item("我喜欢茶")]) == "林澈\n喜好：“我喜欢茶”"
    assert render("Ada", [item("I love tea")]) == 'Ada\nLikes: "I love tea"'
    assert render("Ada", []) == ""


def test_snapshots_of_other_rules_are_not_built_upon() -> None:
    assert load('{"format": 0, "items": [{"section": "likes"}]}') == []


def test_facts_and_relations_become_statements() -> None:
    def fact(attribute: str, value: str, polarity: int = 1, chinese: bool | None = None) -> tuple[str, str]:
        zh = is_mostly_cjk(value) if chinese is None else chinese
        made = fact_item(FactOf(3, attribute, value, polarity, 0.9, 5.0, holds=True, evidence=(7,)), chinese=zh)
        assert (made.ref, made.evidence, made.confidence) == (3, (7,), 0.9)
        return made.section, made.statement

    assert fact("like", "tea") == ("likes", "tea")
    assert fact("favourite:茶", "龙井") == ("likes", "最喜欢茶：龙井")
    assert fact("favourite:band", "Blur") == ("likes", "favourite band: Blur")
    assert fact("allergy", "花生") == ("allergies", "花生")
    assert fact("allergy", "花生", -1) == ("notes", "不过敏：花生")
    assert fact("allergy", "nuts", -1) == ("notes", "not allergic to: nuts")
    assert fact("avoids", "香菜") == ("dislikes", "忌口：香菜")
    assert fact("avoids", "香菜", -1) == ("notes", "不再忌口：香菜")
    assert fact("avoids", "coriander", -1) == ("notes", "no longer avoids: coriander")
    assert fact("like", "香菜", -1) == ("dislikes", "香菜")
    assert fact("favourite:band", "Blur", -1) == ("likes", "favourite band: not Blur")
    assert fact("favourite:茶", "龙井", -1) == ("likes", "最喜欢茶：不是龙井")
    assert fact("dislikes", "tea", -1) == ("likes", "tea")
    assert fact("phone", "13800000000", chinese=True) == ("identity", "电话：13800000000")
    assert fact("phone", "555 0100", chinese=False) == ("identity", "phone: 555 0100")
    assert fact("language", "French") == ("habits", "language: French")
    assert fact("statement", "值夜时怕吵") == ("notes", "值夜时怕吵")
    assert fact("residence", "杭州", -1) == ("identity", "住处：不是杭州")
    assert fact("pet", "a greyhound") == ("relations", "pet: a greyhound")
    assert fact("likes", "香菜", -1) == ("dislikes", "香菜")
    assert fact("residence", "Lisbon") == ("identity", "residence: Lisbon")
    assert fact("职业", "护士") == ("identity", "职业：护士")

    def relation(*words: str) -> tuple[str, str]:
        made = relation_item(RelationOf(4, *words, confidence=1.0, paragraph=9), 0.0)
        return made.section, made.statement

    assert relation("林澈", "不喜欢", "香菜") == ("dislikes", "林澈不喜欢香菜")
    assert relation("Ada", "works_at", "the hospital") == ("identity", "Ada works at the hospital")
    assert relation("Ada", "met", "Bob") == ("relations", "Ada met Bob")


def test_a_topic_is_what_several_lines_hold() -> None:
    lines = [(n, float(n), f"the greenhouse {word}") for n, word in enumerate(["door", "roof", "key", "lamp"])]
    made = topic_item(lines)
    assert made is not None
    assert (made.statement, made.evidence) == ("greenhouse", (3, 2, 1, 0))
    assert topic_item(lines[:2]) is None
    assert topic_item([(1, 1.0, "你好"), (2, 2.0, "再见"), (3, 3.0, "早安")]) is None


@pytest.mark.parametrize(
    ("before", "section", "after"),
    [
        ("在字节跳动上班", "identity", "我上个月从字节离职了"),
        ("我男朋友陈昊下周来成都看我", "relations", "我和陈昊分手了"),
        ("我每天喝一杯咖啡", "habits", "我现在不喝咖啡了"),
        ("我住在杭州", "identity", "我已经不住在杭州了，搬到苏州了"),
        ("我打算下周去日本", "plans", "我下周不去日本了"),
        ("I live in Lisbon and I work as a nurse", "identity", "I don't live in Lisbon any more, I live in Madrid"),
        ("I work at the bakery", "identity", "I quit my job at the bakery"),
        ("My boyfriend Chen is a cook", "relations", "I broke up with Chen"),
        ("I usually drink coffee in the morning", "habits", "I no longer drink coffee"),
    ],
)
def test_what_somebody_says_has_ended_takes_back_what_they_said(before: str, section: str, after: str) -> None:
    line = Line(5, 1, 1, "message", "chat", SPEAKER, 9.0, after, alive=True)
    assert has_ended(item(before, section, at=3.0, row=2), endings([line], []))
    assert not has_ended(item(before, section, at=12.0, row=7), endings([line], [])), "what is said later stands"
    assert not has_ended(item(after, section, at=9.0, row=5), endings([line], []))


@pytest.mark.parametrize(("before", "section", "after"), cases("profiles", "takes_nothing_back"))
def test_what_denies_something_else_takes_nothing_back(before: str, section: str, after: str) -> None:
    line = Line(5, 1, 1, "message", "chat", SPEAKER, 9.0, after, alive=True)
    assert not has_ended(item(before, section, at=3.0, row=2), endings([line], []))


def test_a_topic_is_no_verb_and_no_everyday_word() -> None:
    talk = ["Rex lives for walks lol", "I called Rex, based on a movie", "I'd say Rex lives on", "Rex called again lol"]
    made = topic_item([(n, float(n), text) for n, text in enumerate(talk)])
    assert made is not None
    assert made.statement == "rex"
    zh = ["项目排期又改了", "我觉得项目排期真烦", "项目排期打算延后", "我觉得还行"]
    made = topic_item([(n, float(n), text) for n, text in enumerate(zh)])
    assert made is not None
    assert made.statement == "项目排期"
