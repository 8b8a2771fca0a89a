"""Whether a question asks for a number, or for something that has a name."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amemorix.language.normalise import NAME, NUMBER
from amemorix.search.language.answer_type import wanted_answer
from pace import assert_linear


@pytest.mark.parametrize(
    ("text", "flags"),
    [
        ("Who did Alice meet in Rome?", NAME),
        ("who is it", NAME),
        ("With whom did she go?", NAME),
        ("Whose car is it?", NAME),
        ("谁来了", NAME),
        ("誰來了？", NAME),
        ("她是跟什么人去的", NAME),
        ("Where did Dr. Smith go last year?", NAME),
        ("So where does she live?", NAME),
        ("她住在哪里", NAME),
        ("她住在哪裡？", NAME),
        ("去哪了", NAME),
        ("在什么地方见的面", NAME),
        ("When did she move?", 0),
        ("How often does she swim?", 0),
        ("How long ago did she move?", 0),
        ("她什么时候搬家的", 0),
        ("她什麼時候搬家的", 0),
        ("几点出发", 0),
        ("哪一年毕业的", 0),
        ("多久以前的事", 0),
        ("How long did it take?", 0),
        ("How many days did she stay?", 0),
        ("How much time is left?", 0),
        ("她住了多久", 0),
        ("住了几天", 0),
        ("住了多少個月", 0),
        ("How old is she?", NUMBER),
        ("How much did it cost?", NUMBER),
        ("她多大了", NUMBER),
        ("第几名", NUMBER),
        ("Why did she quit?", 0),
        ("How come she quit?", 0),
        ("What made her quit?", 0),
        ("为什么搬家", 0),
        ("為什麼搬家", 0),
        ("她为啥搬家", 0),
        ("Did she quit?", 0),
        ("isn't she there?", 0),
        ("Has Alice ever been to Rome", 0),
        ("You like it, don't you?", 0),
        ("Do you remember Rome?", 0),
        ("Do you know if she quit?", 0),
        ("Is there anyone who quit?", 0),
        ("你喜欢猫吗", 0),
        ("你喜歡貓嗎？", 0),
        ("她有没有去过罗马", 0),
        ("是不是她", 0),
        ("她喜不喜欢猫", 0),
        ("去过了没有？", 0),
        ("What did she buy?", 0),
        ("What is Alice allergic to?", 0),
        ("Is she a nurse or a doctor?", 0),
        ("买了什么", 0),
        ("買了甚麼", 0),
        ("喝茶还是喝咖啡？", 0),
        ("How does she feel?", 0),
        ("What if she left?", 0),
        ("I went to Rome when I was young.", 0),
        ("The man who came is my uncle", 0),
        ("没什么", 0),
        ("好几个人来了", 0),
        ("这几天很忙", 0),
        ("几乎没人", 0),
        ("我去了罗马", 0),
        ("哪怕下雨也去", 0),
        ("Rome", 0),
        ("", 0),
        ("?", 0),
    ],
)
def test_the_form_of_a_question_tells_what_it_wants(text: str, flags: int) -> None:
    assert wanted_answer(text) == flags


@pytest.mark.parametrize(
    ("text", "flags"),
    [
        ("Do you know where she lives?", NAME),
        ("Tell me when she moved", 0),
        ("I wonder who called", NAME),
        ("Can you please tell me why she quit?", 0),
        ("When I was in Rome, what did I eat?", 0),
        ("The man who came, where did he go?", NAME),
        ("Alice, where did you go?", NAME),
        ("She left. I stayed. Who called?", NAME),
        ("Who called? I was away.", NAME),
        ("你知道谁来了吗", NAME),
        ("你还记得我什么时候搬家的吗", 0),
        ("我累了。你去哪了？", NAME),
        ("Alice 住在哪里", NAME),
    ],
)
def test_a_question_inside_other_words(text: str, flags: int) -> None:
    assert wanted_answer(text) == flags


@pytest.mark.parametrize(
    ("text", "flags"),
    [
        ("What books has Alice read?", NAME),
        ("What are Alice's hobbies?", 0),
        ("What are some hobbies Alice enjoys?", 0),
        ("List all the books she read", NAME),
        ("What kinds of music does she like?", 0),
        ("Which cities did she visit?", NAME),
        ("Which of her friends came?", NAME),
        ("Who are her friends?", NAME),
        ("What all did she buy?", 0),
        ("What things does she like?", 0),
        ("What kind of instrument does she play?", NAME),
        ("What musical instrument does she play?", NAME),
        ("what book by Tolkien did she read", NAME),
        ("What's her dog’s name?", NAME),
        ("What is the best way to Rome?", 0),
        ("What is Alice doing?", 0),
        ("What was the dog called?", NAME),
        ("What news did she bring?", 0),
        ("Which city hosted the party?", NAME),
        ("In which city does she live?", NAME),
        ("What time is it?", 0),
        ("What was the reason for it?", 0),
        ("What is her age?", NUMBER),
        ("How many books has she read?", NUMBER | NAME),
        ("她会演奏什么乐器", NAME),
        ("什麼樂器是她會的", NAME),
        ("她住在哪个城市", NAME),
        ("去哪个城市玩", NAME),
        ("她去过哪些城市？", NAME),
        ("她有什么爱好", 0),
        ("她有什麼愛好", 0),
        ("都有谁", NAME),
        ("她都去过哪里", NAME),
        ("哪几本书她读过", NAME),
        ("家里有什么", 0),
        ("哪些人来了", NAME),
        ("请列出她的爱好", 0),
        ("哪本书读过两遍", NAME),
        ("什么人工智能的书她都不懂得欣赏", 0),
        ("什么书让她感动", NAME),
        ("什么东西丢了", 0),
        ("参加了什么会议", 0),
        ("她有几只猫", NUMBER | NAME),
        ("花了多少钱", NUMBER),
    ],
)
def test_the_noun_that_is_asked_for(text: str, flags: int) -> None:
    assert wanted_answer(text) == flags


PIECES = [
    "what ",
    "who ",
    "is ",
    "the ",
    "kind of ",
    "'s ",
    "什么",
    "哪",
    "几",
    "几个",
    "吗",
    "?",
    "？",
    ". ",
    "x",
    "Books ",
    ", ",
    "没",
    "İ",
]


@given(st.lists(st.sampled_from(PIECES), max_size=20).map("".join))
def test_any_text_can_be_read(text: str) -> None:
    assert wanted_answer(text) in (0, NAME, NUMBER, NAME | NUMBER)


@pytest.mark.parametrize(
    "piece",
    [
        "x",
        " ",
        "?",
        ". ",
        "what ",
        "what is ",
        "so, ",
        "is, ",
        "什么",
        "几",
        "没",
        "都",
        "不",
        "在",
        "去",
        "一",
        "1",
        "A",
        "A ",
        "Bob ",
        "in ",
        "for ",
    ],
)
def test_the_work_grows_with_the_text(piece: str) -> None:
    def work(size: int) -> None:
        text = (piece * size)[:size]
        wanted_answer(text)
        wanted_answer(text + "?")

    assert_linear(work, 1_000, 10_000)
