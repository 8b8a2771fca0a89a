"""Reading by rules: what sentences say, in Chinese and English, and what they do not."""

from __future__ import annotations

import pytest

from amemorix.language.normalise import normalise_name
from amemorix.language.passages import Extraction, Mention, Passage
from amemorix.language.relations.rules import extract, possible_names, read_passage

KNOWN = ("林澈", "苏晚", "小雅", "Ada", "Grace", "Tom Baker")


def passage(text: str, speaker: str = "") -> Passage:
    return Passage(text, speaker, {normalise_name(name): Mention(name, "person") for name in KNOWN})


def triples(found: Extraction) -> set[tuple[str, str, str]]:
    return {(r.subject, r.predicate, r.object) for r in found.relations}


CHINESE = [
    ("我住在杭州", "林澈", ("林澈", "住在", "杭州")),
    ("我现在住在上海浦东", "林澈", ("林澈", "住在", "上海浦东")),
    ("苏晚住在成都", "林澈", ("苏晚", "住在", "成都")),
    ("我搬到犀浦了", "林澈", ("林澈", "搬到", "犀浦")),
    ("我搬家了 从玉林搬到犀浦", "林澈", ("林澈", "搬到", "犀浦")),
    ("我喜欢爬山", "苏晚", ("苏晚", "喜欢", "爬山")),
    ("苏晚最喜欢草莓蛋糕", "林澈", ("苏晚", "喜欢", "草莓蛋糕")),
    ("我讨厌香菜", "林澈", ("林澈", "讨厌", "香菜")),
    ("我不喜欢香菜", "林澈", ("林澈", "讨厌", "香菜")),
    ("我偏好手冲咖啡", "林澈", ("林澈", "喜欢", "手冲咖啡")),
    ("我的猫叫馒头", "林澈", ("林澈", "猫", "馒头")),
    ("我女儿叫糖糖", "苏晚", ("苏晚", "女儿", "糖糖")),
    ("苏晚的导师是王教授", "林澈", ("苏晚", "导师", "王教授")),
    ("林澈是护士", "", ("林澈", "是", "护士")),
    ("我是一名程序员", "林澈", ("林澈", "是", "程序员")),
    ("苏晚负责财务", "", ("苏晚", "负责", "财务")),
    ("林澈看管仓库", "", ("林澈", "负责", "仓库")),
    ("备用钥匙放在门垫底下", "林澈", ("备用钥匙", "放在", "门垫底下")),
    ("我把护照放在抽屉里了", "林澈", ("护照", "放在", "抽屉里")),
    ("我在出版社工作", "林澈", ("林澈", "工作于", "出版社")),
    ("苏晚在浙江大学读书", "", ("苏晚", "就读于", "浙江大学")),
    ("苏晚和林澈是同事", "", ("苏晚", "同事", "林澈")),
    ("苏晚跟小雅结婚了", "", ("苏晚", "结婚", "小雅")),
    ("我对花生过敏", "林澈", ("林澈", "过敏", "花生")),
    ("我芒果过敏", "林澈", ("林澈", "过敏", "芒果")),
    ("我捡了只奶牛猫 取名叫飞天", "苏晚", ("苏晚", "养", "飞天")),
    ("小雅养了只柯基叫土豆", "林澈", ("小雅", "养", "土豆")),
    ("我女儿一家在墨尔本，也不回来", "苏晚", ("苏晚", "女儿在", "墨尔本")),
    ("我來自臺北", "林澈", ("林澈", "来自", "臺北")),
]
ENGLISH = [
    ("I live in Berlin.", "Ada", ("Ada", "lives in", "Berlin")),
    ("I live in Lisbon and I work as a nurse.", "Ada", ("Ada", "lives in", "Lisbon")),
    ("I'm learning Japanese and I play the cello.", "Ada", ("Ada", "studies", "Japanese")),
    ("I live in Lisbon and I'm happy.", "Ada", ("Ada", "lives in", "Lisbon")),
    ("Grace works at Smith and Sons.", "Ada", ("Grace", "works at", "Smith and Sons")),
    ("I'm currently living in New York with my cousin.", "Ada", ("Ada", "lives in", "New York")),
    ("Grace lives in Oslo.", "Ada", ("Grace", "lives in", "Oslo")),
    ("Last year I moved to Lisbon.", "Ada", ("Ada", "moved to", "Lisbon")),
    ("I work at a bakery downtown.", "Ada", ("Ada", "works at", "bakery downtown")),
    ("Tom Baker works as a nurse.", "Ada", ("Tom Baker", "works as", "nurse")),
    ("I really love pottery!", "Ada", ("Ada", "likes", "pottery")),
    ("I hate cilantro.", "Ada", ("Ada", "dislikes", "cilantro")),
    ("I don't like jazz.", "Ada", ("Ada", "dislikes", "jazz")),
    ("I prefer oat milk.", "Ada", ("Ada", "prefers", "oat milk")),
    ("I have a golden retriever.", "Ada", ("Ada", "has", "golden retriever")),
    ("We got another cat named Bailey too.", "Ada", ("Bailey", "is", "cat")),
    ("We got another cat named Bailey too.", "Ada", ("Ada", "has", "Bailey")),
    ("Grace is married to Tom Baker.", "Ada", ("Grace", "married to", "Tom Baker")),
    ("My sister is called Nora.", "Ada", ("Ada", "sister", "Nora")),
    ("My home country, Sweden, is cold.", "Ada", ("Ada", "home country", "Sweden")),
    ("Grace is a violin teacher.", "Ada", ("Grace", "is", "violin teacher")),
    ("I was born in Dublin.", "Ada", ("Ada", "born in", "Dublin")),
    ("I went to Tokyo in May.", "Ada", ("Ada", "went to", "Tokyo")),
    ("I just joined a mentorship program for teens.", "Ada", ("Ada", "joined", "mentorship program")),
    ("I’m allergic to peanuts.", "Ada", ("Ada", "allergic to", "peanuts")),
    ("Grace graduated from Oxford University.", "Ada", ("Grace", "graduated from", "Oxford University")),
]
SAYS_NOTHING = [
    "你住在哪里？", "你喜欢咖啡吗", "我不再喜欢咖啡了", "我再也不喜欢她了", "我没有住在上海", "他住在北京", "她喜欢跑步", "如果我住在海边就好了",
    "我想搬到大理", "听说苏晚搬到了成都", "哈哈哈哈哈哈", "好的好的", "我以前住在武汉", "我喜欢他", "我喜欢这个", "我可能是医生", "你的猫叫什么",
    "2025年3月1日", "120", "谁负责仓库？", "我不是护士", "苏晚不在出版社工作", "我还没搬到杭州", "我们下次再说吧", "我希望我住在杭州",
    "Do you live in Berlin?", "I don't live in Berlin.", "I no longer work at the bakery.", "I don't like it any more.",
    "I don't love jazz anymore.", "I would love to live in Paris.", "If I lived in Rome, I would eat pasta.", "She lives in Madrid.",
    "He works at Google.", "I like it.", "I love you.", "I used to live in Boston.", "I wish I had a dog.", "Maybe I live in a dream.",
    "I have to go.", "I have been busy.", "I'm a bit tired.", "I'm the best.", "Thanks so much!", "That's gorgeous, Grace!", "It is a nice day.",
    "I think Grace lives in Oslo.", "Does Grace like tea?", "I never liked fishing.", "Grace studies hard.", "I study hard every day.", "12345", "on Monday at 5 pm",
]  # fmt: skip


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
