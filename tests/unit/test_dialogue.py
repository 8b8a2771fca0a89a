"""Dialogues pasted where a question was expected."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amemorix.search.language.dialogue import Dialogue, Turn, read_dialogue
from pace import assert_linear


def read(text: str) -> Dialogue:
    found = read_dialogue(text)
    assert found is not None
    return found


def turns(text: str) -> list[tuple[str, str]]:
    return [(turn.speaker, turn.text) for turn in read(text).turns]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("user: hi\nassistant: hello", [("user", "hi"), ("assistant", "hello")]),
        ("User：hi there\nAssistant：hello", [("User", "hi there"), ("Assistant", "hello")]),
        ("Human: hi\n\nAssistant: hello", [("Human", "hi"), ("Assistant", "hello")]),
        ("用户：你好\n助手：你好呀", [("用户", "你好"), ("助手", "你好呀")]),
        ("用戶：你好\n機器人：你好", [("用戶", "你好"), ("機器人", "你好")]),
        ("用户:你好\n小助手:在的", [("用户", "你好"), ("小助手", "在的")]),
        ("我：吃了吗\n对方：还没", [("我", "吃了吗"), ("对方", "还没")]),
        ("我：吃了嗎\n對方：還沒", [("我", "吃了嗎"), ("對方", "還沒")]),
        ("[2026-03-03 19:03] 林澈：到了\n[2026-03-03 19:04] 苏晚：好", [("林澈", "到了"), ("苏晚", "好")]),
        ("[19:03:11] 林澈: 到了\n【19:04】苏晚: 好", [("林澈", "到了"), ("苏晚", "好")]),
        ("2026年3月3日 19:03 林澈：到了\n2026/3/3 19:04 苏晚：好", [("林澈", "到了"), ("苏晚", "好")]),
        ("3/3/26, 7:03 PM - Alice: here\n3/3/26, 7:04 PM - Bob: ok", [("Alice", "here"), ("Bob", "ok")]),
        ("[3/3/26, 7:03:11 PM] Alice: here\n[3/3/26, 7:04:00 PM] Bob: ok", [("Alice", "here"), ("Bob", "ok")]),
        ("2026-03-03T19:03:11Z Alice: here\n2026-03-03T19:04:00Z Bob: ok", [("Alice", "here"), ("Bob", "ok")]),
        ("**Alice**: are you there?\n**Bob:** yes", [("Alice", "are you there?"), ("Bob", "yes")]),
        ("__User__: hi\n__AI__: hello", [("User", "hi"), ("AI", "hello")]),
        ("### Human: hi\n### Assistant: hello", [("Human", "hi"), ("Assistant", "hello")]),
        ("- user: hi\n- assistant: hello", [("user", "hi"), ("assistant", "hello")]),
        ("Alice (10:02): here\nBob (10:03): ok", [("Alice", "here"), ("Bob", "ok")]),
        ("Alice [10:02]: here\nBob 10:03: ok", [("Alice", "here"), ("Bob", "ok")]),
        ("林澈（19:03）：到了\n苏晚（19:04）：好", [("林澈", "到了"), ("苏晚", "好")]),
        ("<bob> hi\n<alice> hello", [("bob", "hi"), ("alice", "hello")]),
        ("【用户】你好\n【客服】您好", [("用户", "你好"), ("客服", "您好")]),
        ("A: where is it?\nB: in Rome", [("A", "where is it?"), ("B", "in Rome")]),
        ("Q: where is it?\nA: in Rome", [("Q", "where is it?"), ("A", "in Rome")]),
        ("问：去哪了\n答：罗马", [("问", "去哪了"), ("答", "罗马")]),
        ("Speaker 1: fine\nSpeaker 2: good", [("Speaker 1", "fine"), ("Speaker 2", "good")]),
        (
            "Mary Ann: how are you?\nJean-Luc O'Brien: fine",
            [("Mary Ann", "how are you?"), ("Jean-Luc O'Brien", "fine")],
        ),
        ("Ana: eat\nBo: pizza\nAna: ok then", [("Ana", "eat"), ("Bo", "pizza"), ("Ana", "ok then")]),
        ("小明：晚上火锅\n阿晚：行\n小明：七点见", [("小明", "晚上火锅"), ("阿晚", "行"), ("小明", "七点见")]),
        ("@dave_99: you in?\n@eve: sure", [("@dave_99", "you in?"), ("@eve", "sure")]),
        ("WeatherBot: 20 degrees\nme: thanks", [("WeatherBot", "20 degrees"), ("me", "thanks")]),
        ("user: hi\r\nassistant: hello\r\n", [("user", "hi"), ("assistant", "hello")]),
    ],
)
def test_each_turn_loses_its_label_and_its_time(text: str, expected: list[tuple[str, str]]) -> None:
    assert turns(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("user: one\ntwo\n\nthree\nassistant: four", [("user", "one\ntwo\n\nthree"), ("assistant", "four")]),
        ("user:\nhi\nassistant:\nhello", [("user", "hi"), ("assistant", "hello")]),
        ("user: hi\nassistant:", [("user", "hi")]),
        ("user: a list\nBreakfast: eggs\nLunch: soup\nbot: ok", [("user", "a list\nBreakfast: eggs\nLunch: soup"), ("bot", "ok")]),
        ("user: see http://a.b/c\nhttps://d.e\nbot: ok", [("user", "see http://a.b/c\nhttps://d.e"), ("bot", "ok")]),
        ("user: at\n10:30 or so\nbot: ok", [("user", "at\n10:30 or so"), ("bot", "ok")]),
        ("user: fix\n```\nbot: x\n```\nbot: ok", [("user", "fix\n```\nbot: x\n```"), ("bot", "ok")]),
        ("user: I said: no\nbot: ok", [("user", "I said: no"), ("bot", "ok")]),
        ("用户：清单\n注意：带伞\n助手：好", [("用户", "清单\n注意：带伞"), ("助手", "好")]),
        ("Chat so far:\nuser: hi\nbot: hello", [("user", "hi"), ("bot", "hello")]),
        ("Where was it?\nuser: hi\nbot: hello", [("", "Where was it?"), ("user", "hi"), ("bot", "hello")]),
        ("user: meet at 10:30: ok?\nbot: 11:00 is better", [("user", "meet at 10:30: ok?"), ("bot", "11:00 is better")]),
    ],
)  # fmt: skip
def test_lines_without_a_label_belong_to_the_turn_before(text: str, expected: list[tuple[str, str]]) -> None:
    assert turns(text) == expected


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("user: one\nassistant: two\nuser: three", "one\nthree"),
        ("Me: one?\nAlice: two\nMe: three", "one?\nthree"),
        ("我：一\n林澈：二\n我：三", "一\n三"),
        ("用户123：一\n客服：二", "一"),
        ("顧客：一\n客服：二", "一"),
        ("客户：一\n智能客服：二", "一"),
        ("Q: one?\nA: two", "one?"),
        ("Alice: one?\nassistant: two\nBob: three", "one?\nthree"),
        ("system: be kind\nuser: one\nassistant: two", "one"),
        ("林澈：一？\n机器人：二\n苏晚：三", "一？\n三"),
        ("You: one\nChatGPT: two", "one"),
        ("<bob> one\n<alice> two", "one\ntwo"),
        ("A: one?\nB: two", "one?\ntwo"),
        ("assistant: one\nbot: two", "one\ntwo"),
        ("Where?\nuser: one\nassistant: two", "Where?\none"),
    ],
)
def test_what_the_user_said(text: str, asked: str) -> None:
    assert read(text).asked == asked


def test_speakers_are_in_the_order_in_which_they_first_speak() -> None:
    assert read("Where?\nBob: a?\nAlice: b\nBob: c").speakers == ("Bob", "Alice")
    assert Dialogue((Turn("a", "x"),)).asked == "x"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\n\n",
        "What did Alice say: yes or no?",
        "user: hi",
        "user: hi\nand more",
        "提问：林澈去了哪里？",
        "Look at this:\nhttp://example.org/a\nhttps://example.org/b",
        "10:30 standup\n11:00 review",
        "10:30: standup\n11:00: review",
        "Note: buy milk\nTodo: call mum",
        "Note: I like you\nWarning: you are late",
        "Name: Ann\nAge: 30\nCity: Rome\nName: Bob",
        "姓名：张三\n年龄：30\n姓名：李四",
        "早餐：鸡蛋\n午餐：面",
        "時間：三點\n地點：公園",
        "收货地址：罗马\n联系电话：12345",
        "第一步：打开门\n第二步：进去\n第一步：再来",
        "妈妈说：早点回来吧\n爸爸问：你在哪呢",
        "我想问一下：你好吗\n他的意思是：不好",
        "Eggs: two\nMilk: one",
        "Step 1: you open it\nStep 2: you close it",
        "Next steps: call me\nOpen points: ask you",
        "Monday: gym\nTuesday: rest\nMonday: run",
        "From: ann@example.org\nTo: bob@example.org\nSubject: hi",
        '{"role": "user", "content": "hi"}\n{"role": "assistant", "content": "hello"}',
        '[\n  {"role": "user"},\n  {"role": "assistant"}\n]',
        "def f(x):\n    return x\n\nclass A:\n    pass",
        "if you: x()\nelse: y()",
        "color: red;\nmargin: 0;\ncolor: blue;",
        'user: "me",\nbot: "you",',
        "user: {\nassistant: {",
        "public: int me;\nprivate: int you;",
        "a::b\nc::d",
        "C:\\temp\nD:\\temp",
        "foo:bar\nbaz:qux\nfoo:you",
        "> Alice: are you there?\n> Bob: yes",
        '"Alice": you\n"Bob": me',
        "<p> one\n<p> two",
        "<title> x</title>\n<name> y</name>",
        "Which is right?\nA: Rome is your choice\nB: Milan, you know",
        "A: Rome?\nB: Milan?\nC: Turin?",
        "2026-03-03 19:03:11 ERROR: disk\n2026-03-03 19:03:12 INFO: done",
        "3.5 apples: red\n4.5 pears: green",
        "- Alice: loves you\n- Bob: loves me",
        "He said: come here, you\nShe said: I will",
        "Where were we? I think that:\nThe long walk\nin the wood\nAnn: was good for you\nBob: was good for me\nthen\nwe\nsaw\nit",
        "host: a.example.org\nsystem: linux",
    ],
)
def test_what_is_no_dialogue(text: str) -> None:
    assert read_dialogue(text) is None


@given(st.text(st.sampled_from("a:：\n <>[](1)*#-我user用户?`_ ."), max_size=80))
def test_any_text_can_be_read(text: str) -> None:
    found = read_dialogue(text)
    assert found is None or all(turn.text for turn in found.turns)


@pytest.mark.parametrize(
    ("unit", "end"),
    [
        ("x", ""),
        ("user: ", ""),
        ("user: hi\n", ""),
        ("a ", ""),
        ("\n", ""),
        ("[" * 99 + "\n", ""),
        ("1" * 99 + "\n", ""),
        ("a b c d " * 12 + "(\n", ""),
        ("_", "\n:"),
        ("我：", "\n我："),
        (" ", "\nuser: a"),
        ("<a", "\n<a"),
        ("a", "\n<a"),
    ],
)
def test_the_work_grows_with_the_text(unit: str, end: str) -> None:
    texts = {size: (unit * (size // len(unit) + 1))[:size] + end for size in (1_000, 10_000)}
    assert_linear(lambda size: read_dialogue(texts[size]), 1_000, 10_000)
