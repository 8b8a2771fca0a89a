"""What kind of answer a question wants, and whether a text has one."""

from __future__ import annotations

from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amemorix.search.language.answer_type import AnswerType, Kind, read_answer_type
from pace import assert_linear


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Who did Alice meet in Rome?", "person"),
        ("who is it", "person"),
        ("With whom did she go?", "person"),
        ("Whose car is it?", "person"),
        ("谁来了", "person"),
        ("誰來了？", "person"),
        ("她是跟什么人去的", "person"),
        ("Where did Dr. Smith go last year?", "place"),
        ("So where does she live?", "place"),
        ("她住在哪里", "place"),
        ("她住在哪裡？", "place"),
        ("去哪了", "place"),
        ("在什么地方见的面", "place"),
        ("When did she move?", "time"),
        ("How often does she swim?", "time"),
        ("How long ago did she move?", "time"),
        ("她什么时候搬家的", "time"),
        ("她什麼時候搬家的", "time"),
        ("几点出发", "time"),
        ("哪一年毕业的", "time"),
        ("多久以前的事", "time"),
        ("How long did it take?", "duration"),
        ("How many days did she stay?", "duration"),
        ("How much time is left?", "duration"),
        ("她住了多久", "duration"),
        ("住了几天", "duration"),
        ("住了多少個月", "duration"),
        ("How old is she?", "number"),
        ("How much did it cost?", "number"),
        ("她多大了", "number"),
        ("第几名", "number"),
        ("Why did she quit?", "reason"),
        ("How come she quit?", "reason"),
        ("What made her quit?", "reason"),
        ("为什么搬家", "reason"),
        ("為什麼搬家", "reason"),
        ("她为啥搬家", "reason"),
        ("Did she quit?", "yes_no"),
        ("isn't she there?", "yes_no"),
        ("Has Alice ever been to Rome", "yes_no"),
        ("You like it, don't you?", "yes_no"),
        ("Do you remember Rome?", "yes_no"),
        ("Do you know if she quit?", "yes_no"),
        ("Is there anyone who quit?", "yes_no"),
        ("你喜欢猫吗", "yes_no"),
        ("你喜歡貓嗎？", "yes_no"),
        ("她有没有去过罗马", "yes_no"),
        ("是不是她", "yes_no"),
        ("她喜不喜欢猫", "yes_no"),
        ("去过了没有？", "yes_no"),
        ("What did she buy?", "thing"),
        ("What is Alice allergic to?", "thing"),
        ("Is she a nurse or a doctor?", "thing"),
        ("买了什么", "thing"),
        ("買了甚麼", "thing"),
        ("喝茶还是喝咖啡？", "thing"),
        ("How does she feel?", ""),
        ("What if she left?", ""),
        ("I went to Rome when I was young.", ""),
        ("The man who came is my uncle", ""),
        ("没什么", ""),
        ("好几个人来了", ""),
        ("这几天很忙", ""),
        ("几乎没人", ""),
        ("我去了罗马", ""),
        ("哪怕下雨也去", ""),
        ("Rome", ""),
        ("", ""),
        ("?", ""),
    ],
)
def test_the_form_of_a_question_tells_what_it_wants(text: str, kind: Kind) -> None:
    assert read_answer_type(text) == AnswerType(kind)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Do you know where she lives?", "place"),
        ("Tell me when she moved", "time"),
        ("I wonder who called", "person"),
        ("Can you please tell me why she quit?", "reason"),
        ("When I was in Rome, what did I eat?", "thing"),
        ("The man who came, where did he go?", "place"),
        ("Alice, where did you go?", "place"),
        ("She left. I stayed. Who called?", "person"),
        ("Who called? I was away.", "person"),
        ("你知道谁来了吗", "person"),
        ("你还记得我什么时候搬家的吗", "time"),
        ("我累了。你去哪了？", "place"),
        ("Alice 住在哪里", "place"),
    ],
)
def test_a_question_inside_other_words(text: str, kind: Kind) -> None:
    assert read_answer_type(text).kind == kind


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("What books has Alice read?", AnswerType("list", "books")),
        ("What are Alice's hobbies?", AnswerType("list", "hobbies")),
        ("What are some hobbies Alice enjoys?", AnswerType("list", "hobbies")),
        ("List all the books she read", AnswerType("list", "books")),
        ("What kinds of music does she like?", AnswerType("list", "music")),
        ("Which cities did she visit?", AnswerType("place", "cities")),
        ("Which of her friends came?", AnswerType("person", "friends")),
        ("Who are her friends?", AnswerType("person")),
        ("What all did she buy?", AnswerType("list")),
        ("What things does she like?", AnswerType("list")),
        ("What kind of instrument does she play?", AnswerType("thing", "instrument")),
        ("What musical instrument does she play?", AnswerType("thing", "instrument")),
        ("what book by Tolkien did she read", AnswerType("thing", "book")),
        ("What's her dog’s name?", AnswerType("thing", "name")),
        ("What is the best way to Rome?", AnswerType("thing", "way")),
        ("What is Alice doing?", AnswerType("thing")),
        ("What was the dog called?", AnswerType("thing", "dog")),
        ("What news did she bring?", AnswerType("thing", "news")),
        ("Which city hosted the party?", AnswerType("place", "city")),
        ("In which city does she live?", AnswerType("place", "city")),
        ("What time is it?", AnswerType("time", "time")),
        ("What was the reason for it?", AnswerType("reason", "reason")),
        ("What is her age?", AnswerType("number", "age")),
        ("How many books has she read?", AnswerType("number", "books")),
        ("她会演奏什么乐器", AnswerType("thing", "乐器")),
        ("什麼樂器是她會的", AnswerType("thing", "乐器")),
        ("她住在哪个城市", AnswerType("place", "城市")),
        ("去哪个城市玩", AnswerType("place", "城市")),
        ("她去过哪些城市？", AnswerType("place", "城市")),
        ("她有什么爱好", AnswerType("list", "爱好")),
        ("她有什麼愛好", AnswerType("list", "爱好")),
        ("都有谁", AnswerType("person")),
        ("她都去过哪里", AnswerType("place")),
        ("哪几本书她读过", AnswerType("list", "书")),
        ("家里有什么", AnswerType("list")),
        ("哪些人来了", AnswerType("person", "人")),
        ("请列出她的爱好", AnswerType("list")),
        ("哪本书读过两遍", AnswerType("thing", "书")),
        ("什么人工智能的书她都不懂得欣赏", AnswerType("thing", "人工智能")),
        ("什么书让她感动", AnswerType("thing", "书")),
        ("什么东西丢了", AnswerType("thing", "")),
        ("参加了什么会议", AnswerType("thing", "会议")),
        ("她有几只猫", AnswerType("number", "猫")),
        ("花了多少钱", AnswerType("number", "钱")),
    ],
)
def test_the_noun_that_is_asked_for(text: str, expected: AnswerType) -> None:
    assert read_answer_type(text) == expected


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
    assert read_answer_type(text).kind in get_args(Kind)


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
        read_answer_type(text)
        read_answer_type(text + "?")

    assert_linear(work, 1_000, 10_000)
