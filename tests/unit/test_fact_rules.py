"""Sentences that tell a fact, and sentences that tell none, in Chinese and English."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from amemorix.facts.language.rules import Claim, Reader, read_facts, statement
from amemorix.facts.language.slots import SLOTS, slot_of
from pace import assert_linear, calls

AT = datetime(2026, 5, 20, 12, tzinfo=UTC).timestamp()


def read(text: str, *names: str, first: bool = True, about: bool = False) -> list[Claim]:
    return read_facts(text, Reader(AT, UTC, first, about, names))


def told(text: str, *names: str, first: bool = True, about: bool = False) -> list[tuple[str, str, int]]:
    return [(c.attribute, c.value, c.polarity) for c in read(text, *names, first=first, about=about)]


FACTS = [
    ("我住在上海", ("residence", "上海", 1)),
    ("我現在住在臺北", ("residence", "臺北", 1)),
    ("我搬到北京了", ("residence", "北京", 1)),
    ("我家在成都", ("residence", "成都", 1)),
    ("我不住在上海了", ("residence", "上海", -1)),
    ("我对花生过敏", ("allergy", "花生", 1)),
    ("我對花生過敏，點菜的時候提醒我。", ("allergy", "花生", 1)),
    ("我对芒果不过敏", ("allergy", "芒果", -1)),
    ("其实我海鲜过敏", ("allergy", "海鲜", 1)),
    ("我不吃香菜", ("avoids", "香菜", 1)),
    ("我搬家了，现在在苏州", ("residence", "苏州", 1)),
    ("我搬了，在苏州上班", ("residence", "苏州", 1)),
    ("我回上海定居了", ("residence", "上海", 1)),
    ("我周日搬到苏州了", ("residence", "苏州", 1)),
    ("I moved to Stockholm on Sunday", ("residence", "Stockholm", 1)),
    ("I moved to Stockholm on March 3rd", ("residence", "Stockholm", 1)),
    ("I'm in Paris now, moved here for good", ("residence", "Paris", 1)),
    ("I moved, now living in Berlin", ("residence", "Berlin", 1)),
    ("I'm back in Lisbon for good", ("residence", "Lisbon", 1)),
    ("I turned 30 yesterday", ("age", "30", 1)),
    ("我昨天满30岁了", ("age", "30", 1)),
    ("我昨天过了30岁生日", ("age", "30", 1)),
    ("I quit Figma on Friday", ("workplace", "Figma", -1)),
    ("I'm married to Raj", ("spouse", "Raj", 1)),
    ("I'm engaged to Liz", ("partner", "Liz", 1)),
    ("My girlfriend is called Anna", ("partner", "Anna", 1)),
    ("我和小红结婚了", ("spouse", "小红", 1)),
    ("我跟小红在一起了", ("partner", "小红", 1)),
    ("我从来不喝酒", ("avoids", "酒", 1)),
    ("我又能吃香菜了", ("avoids", "香菜", -1)),
    ("我吃素", ("diet", "素食", 1)),
    ("我最喜欢的颜色是蓝", ("favourite:颜色", "蓝", 1)),
    ("我最喜欢的书是《三体》", ("favourite:书", "三体", 1)),
    ("我喜欢打篮球", ("like", "打篮球", 1)),
    ("我不喜欢香菜", ("like", "香菜", -1)),
    ("我不再喜欢打篮球了", ("like", "打篮球", -1)),
    ("我老婆叫小美", ("spouse", "小美", 1)),
    ("我女儿叫小雨", ("child", "小雨", 1)),
    ("我的生日是5月3日", ("birthday", "5月3日", 1)),
    ("我今年25岁了", ("age", "25", 1)),
    ("我二十五岁", ("age", "二十五", 1)),
    ("我在腾讯上班", ("workplace", "腾讯", 1)),
    ("我已经不在腾讯上班了", ("workplace", "腾讯", -1)),
    ("我从腾讯离职了", ("workplace", "腾讯", -1)),
    ("我是程序员", ("occupation", "程序员", 1)),
    ("我是一名软件工程师", ("occupation", "软件工程师", 1)),
    ("我养了一只猫叫豆包", ("pet", "豆包 (猫)", 1)),
    ("我养了一只猫，名字叫豆包", ("pet", "豆包 (猫)", 1)),
    ("我家里养了一只橘猫", ("pet", "橘猫", 1)),
    ("我叫林澈", ("name", "林澈", 1)),
    ("叫我小林就好", ("nickname", "小林", 1)),
    ("我会说日语", ("language", "日语", 1)),
    ("我老家在四川", ("hometown", "四川", 1)),
    ("我是四川人", ("hometown", "四川", 1)),
    ("我毕业于浙江大学", ("school", "浙江大学", 1)),
    ("我的手机号是13800138000", ("phone", "13800138000", 1)),
    ("我的邮箱是abc@example.com", ("email", "abc@example.com", 1)),
    ("我打算明年去日本旅游", ("plan", "明年去日本旅游", 1)),
    ("我下周要去上海出差", ("plan", "去上海出差", 1)),
    ("I live in Berlin.", ("residence", "Berlin", 1)),
    ("i live in berlin", ("residence", "berlin", 1)),
    ("I’m living in New York now", ("residence", "New York", 1)),
    ("Oh by the way, I just moved to New York City!", ("residence", "New York City", 1)),
    ("I no longer live in Berlin", ("residence", "Berlin", -1)),
    ("I'm allergic to peanuts", ("allergy", "peanuts", 1)),
    ("I'm not allergic to cats", ("allergy", "cats", -1)),
    ("I have a severe peanut allergy", ("allergy", "peanut", 1)),
    ("My favourite colour is green", ("favourite:color", "green", 1)),
    ("I work at Google", ("workplace", "Google", 1)),
    ("I work as a nurse", ("occupation", "nurse", 1)),
    ("I'm a software engineer", ("occupation", "software engineer", 1)),
    ("my birthday is May 3rd", ("birthday", "May 3rd", 1)),
    ("I don't eat pork", ("avoids", "pork", 1)),
    ("I'm vegan", ("diet", "vegan", 1)),
    ("I'm 25 years old", ("age", "25", 1)),
    ("I have a dog named Rex", ("pet", "Rex (dog)", 1)),
    ("I have a cat", ("pet", "cat", 1)),
    ("Call me Bob", ("nickname", "Bob", 1)),
    ("My name is Bob Smith", ("name", "Bob Smith", 1)),
    ("I love hiking", ("like", "hiking", 1)),
    ("I don't like coffee anymore", ("like", "coffee", -1)),
    ("I hate mornings", ("like", "mornings", -1)),
    ("My wife is called Anna", ("spouse", "Anna", 1)),
    ("I'm originally from Texas", ("hometown", "Texas", 1)),
    ("I speak German", ("language", "German", 1)),
    ("I studied at Stanford University", ("school", "Stanford University", 1)),
    ("I'm going to visit Japan next spring", ("plan", "visit Japan next spring", 1)),
    ("my phone number is +1 555 123 4567", ("phone", "+1 555 123 4567", 1)),
    ("my email is bob@example.com", ("email", "bob@example.com", 1)),
    ("我现在不住北京了", ("residence", "北京", -1)),
    ("我搬离北京了", ("residence", "北京", -1)),
    ("我已经不在北京了", ("residence", "北京", -1)),
    ("我离开柏林了", ("residence", "柏林", -1)),
    ("我已经不在美团了", ("workplace", "美团", -1)),
    ("我不在美团干了", ("workplace", "美团", -1)),
    ("我离开腾讯了", ("workplace", "腾讯", -1)),
    ("我离职了", ("workplace", "原单位", -1)),
    ("我被裁了", ("workplace", "原单位", -1)),
    ("我26了", ("age", "26", 1)),
    ("我二十六了", ("age", "二十六", 1)),
    ("其实我对花生不过敏，之前搞错了", ("allergy", "花生", -1)),
    ("我不对花生过敏", ("allergy", "花生", -1)),
    ("我住在上海哈哈", ("residence", "上海", 1)),
    ("I left Berlin last month", ("residence", "Berlin", -1)),
    ("I moved out of Berlin", ("residence", "Berlin", -1)),
    ("I quit Google", ("workplace", "Google", -1)),
    ("I left Google", ("workplace", "Google", -1)),
    ("I quit my job", ("workplace", "the former one", -1)),
    ("I got laid off", ("workplace", "the former one", -1)),
    ("I live in Berlin lol", ("residence", "Berlin", 1)),
    ("I love hiking haha", ("like", "hiking", 1)),
]


@pytest.mark.parametrize(("text", "fact"), FACTS)
def test_a_sentence_that_tells_a_fact(text: str, fact: tuple[str, str, int]) -> None:
    assert told(text) == [fact]


NOTHING = [
    "我住在上海吗？", "你住在上海", "我们住在上海", "他说我住在上海", "我想搬到北京", "我以前住在上海", "如果我住在上海就好了", "要是我对花生过敏呢",
    "我朋友住在上海", "我可能对花生过敏", "听说我对花生过敏", "我住在酒店", "我住在这里", "我在努力工作", "我在家上班", "我叫他过来", "我叫了外卖", "别叫我小明",
    "我喜欢你", "我爱你", "我喜欢的人", "我是好人", "我不吃了", "我不吃这一套", "我不吃饭了", "我有点过敏", "我快25岁了", "我不喜欢这个", "我是认真的",
    "我下个月搬到北京", "小明：我住在上海", "“我住在上海”是一句歌词", "我梦见我住在上海", "我的生日是什么时候", "我养的猫死了", "我在路上", "我差点搬到北京", "",
    "Do you live in Berlin?", "If I lived in Berlin", "I would live in Berlin", "I used to live in Berlin", "My friend lives in Berlin",
    'She said "I live in Berlin"', "I live in fear", "I work for fun", "I work hard at night", "call me later", "I'm a big fan", "I'm not sure",
    "I think I'm allergic to cats", "I might be allergic to cats", "I love you", "I like it", "I love the color", "I moved to the next level",
    "My mom says I'm allergic to work", "I wish I had a dog named Rex", "I'm 25 minutes late", "Was I born on May 3?", "We live in Berlin",
    "I'm moving to Berlin", "You should call me Bob", "I'm from the sales team", "I don't eat much", "I never said I live in Berlin",
    "我不住校了", "我不在乎了", "我不在家了", "我已经不在群里了", "我离开林澈了", "我想离职", "他离职了", "我今天不上班了", "我快26了", "我对上班过敏哈哈",
    "我对周一过敏😂", "我对加班过敏。哈哈哈", "我叫靓仔哈哈哈", "I'm allergic to mornings lol", "I'm allergic to mondays", "I'm allergic to cats. Haha",
    "I'm 26 lmao", "I left early", "I left work", "I left my phone at home", "I quit smoking", "I quit Facebook", "I left Berlin at noon",
]  # fmt: skip


@pytest.mark.parametrize("text", NOTHING)
def test_a_sentence_that_tells_none(text: str) -> None:
    assert told(text) == []


def test_one_message_may_tell_several() -> None:
    assert told("大家好，我叫林澈，住在上海，在腾讯上班。我对花生和虾过敏！") == [
        ("name", "林澈", 1), ("residence", "上海", 1), ("workplace", "腾讯", 1), ("allergy", "花生", 1), ("allergy", "虾", 1),
    ]  # fmt: skip
    assert told("I'm a nurse at Charité and I live in Berlin. I'm allergic to peanuts and shellfish.") == [
        ("occupation", "nurse", 1), ("workplace", "Charité", 1), ("residence", "Berlin", 1), ("allergy", "peanuts", 1),
        ("allergy", "shellfish", 1),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        ("我已经不在美团了，去了拼多多", [("workplace", "拼多多", 1), ("workplace", "美团", -1)]),
        ("我从美团离职了，去了拼多多", [("workplace", "拼多多", 1), ("workplace", "美团", -1)]),
        ("我已经不在北京了，去了上海", [("residence", "上海", 1), ("residence", "北京", -1)]),
        ("我对花生不过敏，对腰果过敏", [("allergy", "腰果", 1), ("allergy", "花生", -1)]),
        ("我不是对花生过敏，是对腰果过敏", [("allergy", "腰果", 1), ("allergy", "花生", -1)]),
        ("I'm not allergic to peanuts but to cashews", [("allergy", "cashews", 1), ("allergy", "peanuts", -1)]),
        ("I'm allergic to cashews, not peanuts", [("allergy", "cashews", 1), ("allergy", "peanuts", -1)]),
        ("I left Google to join Stripe", [("workplace", "Stripe", 1), ("workplace", "Google", -1)]),
        ("I moved from Berlin to Paris", [("residence", "Paris", 1), ("residence", "Berlin", -1)]),
    ],
)
def test_one_value_in_the_place_of_another(text: str, facts: list[tuple[str, str, int]]) -> None:
    assert told(text) == facts


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        ("I eat meat again", [("diet", "vegetarian", -1), ("avoids", "meat", -1)]),
        ("我又吃肉了", [("diet", "素食", -1), ("avoids", "肉", -1)]),
        ("I broke up with Raj", [("partner", "Raj", -1), ("spouse", "Raj", -1)]),
        ("I broke up with my girlfriend", [("partner", "the former one", -1), ("spouse", "the former one", -1)]),
        ("I got divorced", [("partner", "the former one", -1), ("spouse", "the former one", -1)]),
        ("我和小红分手了", [("partner", "小红", -1), ("spouse", "小红", -1)]),
        ("我和女朋友分手了", [("partner", "前任", -1), ("spouse", "前任", -1)]),
    ],
)  # fmt: skip
def test_one_end_of_two_things(text: str, facts: list[tuple[str, str, int]]) -> None:
    assert told(text) == facts


@pytest.mark.parametrize(
    ("text", "since"),
    [
        ("I moved to Oslo on Sunday", datetime(2026, 5, 17, tzinfo=UTC)),
        ("我周日搬到苏州了", datetime(2026, 5, 17, tzinfo=UTC)),
        ("I joined Stripe on Monday", datetime(2026, 5, 18, tzinfo=UTC)),
        ("I turned 30 yesterday", datetime(2026, 5, 19, tzinfo=UTC)),
    ],
)
def test_a_day_of_the_week_on_which_something_was_done_is_the_last_one(text: str, since: datetime) -> None:
    (claim,) = read(text)
    assert claim.valid_from == since.timestamp()


@pytest.mark.parametrize(
    "text",
    [
        "我周日搬到苏州", "I turned 30 in 2010", "I was 30 last year", "I'm in Paris now", "我和妈妈分了", "我和室友在一起了", "我没和小红分手",
        "I'm not married to Raj", "My girlfriend is French", "I don't eat meat again today?", "我快和小红结婚了", "I left Figma for good?",
    ],
)  # fmt: skip
def test_what_ends_or_changes_nothing(text: str) -> None:
    assert told(text) == []


def test_nobody_lives_in_a_person_who_is_known() -> None:
    assert told("I left Tom", "Tom") == []


@pytest.mark.parametrize(("text", "since"), [("I left Berlin last month", AT), ("我上周离职了", AT), ("I quit Google in 2019", datetime(2020, 1, 1, tzinfo=UTC).timestamp())])  # fmt: skip
def test_an_end_counts_from_its_time_or_if_that_is_near_from_when_it_is_told(text: str, since: float) -> None:
    (claim,) = read(text)
    assert (claim.polarity, round(claim.valid_from)) == (-1, since)


def test_a_part_that_is_unsure_takes_nothing_from_the_others() -> None:
    assert told("我住在上海。如果我搬到北京，会告诉你。我对虾过敏。") == [
        ("residence", "上海", 1),
        ("allergy", "虾", 1),
    ]
    assert told("I live in Berlin. Would you move? I'm vegan.") == [("residence", "Berlin", 1), ("diet", "vegan", 1)]


@pytest.mark.parametrize(("text", "year"), [("我去年搬到北京", 2025), ("I moved to Berlin last year", 2025),
                                            ("2023年我入职腾讯", 2023), ("I joined Google in 2021", 2021)])  # fmt: skip
def test_the_time_that_is_said_is_the_beginning(text: str, year: int) -> None:
    (claim,) = read(text)
    assert datetime.fromtimestamp(claim.valid_from, UTC).year == year


@pytest.mark.parametrize("text", ["我搬到北京了", "我今天搬到北京了", "我今年搬到北京的", "I just moved to Berlin"])
def test_without_a_time_in_the_past_it_begins_when_it_is_said(text: str) -> None:
    (claim,) = read(text)
    assert claim.valid_from == AT


def test_a_plan_ends_with_the_time_it_names() -> None:
    (claim,) = read("我下周要去上海出差")
    assert claim.valid_to is not None
    assert AT + 4 * 86_400 < claim.valid_to < AT + 14 * 86_400


@pytest.mark.parametrize(
    ("text", "name", "fact"),
    [
        ("小美住在上海，对花生过敏", "小美", ("residence", "上海", 1)),
        ("小美的猫叫豆包", "小美", ("pet", "豆包 (猫)", 1)),
        ("Melanie lives in Berlin", "Melanie", ("residence", "Berlin", 1)),
        ("Melanie's birthday is May 3", "Melanie", ("birthday", "May 3", 1)),
        ("Melanie doesn't eat pork", "Melanie", ("avoids", "pork", 1)),
    ],
)
def test_of_a_person_who_is_named(text: str, name: str, fact: tuple[str, str, int]) -> None:
    first, *_ = read(text, name)
    assert (first.who, first.attribute, first.value, first.polarity) == (name, *fact)
    assert told(text) == []


@pytest.mark.parametrize(
    "text", ["我觉得小美住在上海", "小美住在上海吗", "小美的朋友住在上海", "Melanie said she lives in Berlin"]
)
def test_of_a_person_who_is_named_but_not_told_of(text: str) -> None:
    assert told(text, "小美", "Melanie") == []


def test_the_first_person_of_nobody_is_nobody() -> None:
    assert told("我住在上海", first=False) == []
    assert told("I live in Berlin", first=False) == []


@pytest.mark.parametrize(
    ("text", "fact"),
    [
        ("住在上海", ("residence", "上海", 1)), ("她喜欢猫", ("like", "猫", 1)), ("用户对花生过敏", ("allergy", "花生", 1)),
        ("The user lives in Berlin", ("residence", "Berlin", 1)), ("Likes tea", ("like", "tea", 1)),
        ("Allergic to peanuts", ("allergy", "peanuts", 1)), ("He is a nurse", ("occupation", "nurse", 1)),
        ("Her birthday is May 3", ("birthday", "May 3", 1)),
    ],
)  # fmt: skip
def test_a_text_about_one_person_needs_no_subject(text: str, fact: tuple[str, str, int]) -> None:
    assert told(text, about=True) == [fact]


def test_two_wordings_of_one_value_are_the_same() -> None:
    for one, other in [("我对花生过敏", "我對花生過敏"), ("我生日是5月3日", "我的生日是五月三号"), ("I live in Berlin", "I live in berlin"),
                       ("my birthday is May 3rd", "my birthday is 3 May 1990"), ("我生日是5月3日", "my birthday is May 3"),
                       ("我25岁", "我二十五岁"), ("I love the ocean air", "I love ocean air")][:6]:  # fmt: skip
        assert [c.norm for c in read(one)] == [c.norm for c in read(other)] != [], (one, other)


def test_a_statement_is_known_by_nothing_of_its_words() -> None:
    one, other = statement("每周三晚上去夜跑。", AT), statement("每周三晚上去夜跑", AT)
    assert one.norm == other.norm
    assert "夜跑" not in one.norm
    assert one.value == "每周三晚上去夜跑。"


def test_every_pattern_reads_an_attribute_of_the_table() -> None:
    assert {attribute.partition(":")[0] for _, (attribute, *_) in FACTS} | {"statement"} == set(SLOTS)
    assert slot_of("favourite:颜色") is SLOTS["favourite"]
    assert slot_of("shoe size").cardinality == "set"


def test_long_texts_are_read_in_no_time() -> None:
    assert told("我" * 5_000 + "住在上海") == []
    assert told("I live in " * 2_000) == []
    assert told("，" * 5_000) == []
    assert told("我喜欢" + "苹果和" * 2_000) == []
    assert told("我喜欢哈" + "哈" * 3_000 + "茶") == []
    assert told("haha " * 2_000 + "x") == []


@pytest.mark.parametrize("text", ["我", "是", "我是", "都是我", "I ", "我不吃，"])
def test_what_is_repeated_takes_no_more_than_its_length(text: str) -> None:
    assert_linear(lambda size: read((text * size)[:size]), 800, 8_000)


def test_a_clause_that_is_repeated_is_read_once() -> None:
    once, again = "我不吃香菜，" * 500, "，".join(f"我不吃香菜{chr(0x4E00 + n)}" for n in range(500))
    assert told(once) == [("avoids", "香菜", 1)]
    assert calls(lambda: read(once)) < 0.6 * calls(lambda: read(again))


@pytest.mark.parametrize(
    "text",
    [
        "我不吃香菜的人现在举手", "我不喝酒的朋友来了", "我不喝咖啡的日子", "我不吃肉的时候多", "我再也不吃瓜了", "我再也不吃土了", "我再也不吃回头草了", "我不再吃老本了",
        "我再也不喝西北风了", "我爱吃的店搬到浦东了", "我对上班过敏", "my doctor says I'm allergic to stress", "I don't eat crow", "I got a hot dog", "I got a corn dog",
        "I bought a robot dog", "I got a new toy cat",
    ],
)  # fmt: skip
def test_descriptions_of_others_idioms_and_toys_are_no_facts(text: str) -> None:
    assert read_facts(text, Reader(AT, UTC, True, own=True)) == []


@pytest.mark.parametrize(
    ("text", "fact"),
    [
        ("我不吃带壳的海鲜", ("avoids", "带壳的海鲜")),
        ("我不吃西瓜", ("avoids", "西瓜")),
        ("我不吃鸡", ("avoids", "鸡")),
        ("I got a dog", ("pet", "dog")),
        ("我和小王在谈恋爱", ("partner", "小王")),
    ],
)
def test_what_looks_like_them_is(text: str, fact: tuple[str, str]) -> None:
    assert [(claim.attribute, claim.value) for claim in read_facts(text, Reader(AT, UTC, True, own=True))] == [fact]
