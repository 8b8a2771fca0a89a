"""What people ask of a memory in a chat, and what they may forget and correct there."""

from __future__ import annotations

import logging
import re
from typing import Any

import pytest

from amemorix import AMemorixHostService
from amemorix.fields import MAX_QUERY_CHARS
from amemorix.frontends.chat_commands import _SAID, COMMANDS, Asked, ChatCommands  # pyright: ignore[reportPrivateUsage]
from amemorix.frontends.python.calls import CallsOf
from amemorix.frontends.transport import LocalMemory
from amemorix.testing import FrozenClock
from conftest import Open
from entrance import call

LIN, BEI = "10001", "10002"
NAMES = {LIN: "林澈", BEI: "小北"}


class Chat:
    """A chat of two people; what they say is stored, unless it is a command."""

    def __init__(self, host: AMemorixHostService, group: str = "42") -> None:
        self.host = host
        self.group = group
        self.now = 0.0
        self.commands = ChatCommands(CallsOf(LocalMemory(host, "onebot")), now=lambda: self.now)
        self._said = 0

    async def say(self, who: str, text: str) -> str | None:
        """What the bot answers; None if it only stored what was said."""
        self._said += 1
        chat = f"group:{self.group}" if self.group else f"private:{who}"
        asked = Asked(text, who, chat, self.group, NAMES[who], id=f"m{self._said}", time=1_770_000_000 + self._said)
        answer = await self.commands.answer(asked)
        if answer is None:
            turn = {"text": text, "person_id": who, "speaker": NAMES[who], "external_id": asked.id, "time": asked.time}
            await call(self.host, "ingest_messages", messages=[turn], **asked.where)
        return answer

    async def ask(self, who: str, text: str) -> str:
        answer = await self.say(who, text)
        assert answer is not None, f"{text} was no command"
        return answer

    async def texts(self) -> list[str]:
        items = (await call(self.host, "memory_text_admin", "list", scope="all"))["items"]
        return [one["text"] for one in reversed(items)]


@pytest.fixture
async def chat(host: AMemorixHostService) -> Chat:
    return Chat(host)


def undone_by(answer: str) -> str:
    found = re.search(r"[dc]\d+", answer)
    assert found, answer
    return found[0]


def numbered(answer: str) -> dict[str, int]:
    """What a list shows, without the day -> its number."""
    return {text: int(n) for n, text in re.findall(r"^(\d+)\. [\d-]+ (.*)$", answer, re.M)}


async def test_what_is_to_be_remembered_is_stored_as_said_and_a_question_is_answered(chat: Chat) -> None:
    assert await chat.ask(LIN, "/记得 我对花生过敏") == "记住了：我对花生过敏"
    assert await chat.texts() == ["我对花生过敏"]
    assert "林澈: 我对花生过敏" in await chat.ask(BEI, "/记得谁对花生过敏吗？")
    assert "林澈: 我对花生过敏" in await chat.ask(BEI, "/还记得 谁对花生过敏")
    assert await chat.ask(BEI, "/还记得 火星上有几只猫") == "不记得了。"
    assert "例如" in await chat.ask(LIN, "/记得")
    assert await chat.texts() == ["我对花生过敏"], "commands are no talk"


async def test_at_most_three_lines_are_recalled_and_none_that_is_unlikely(chat: Chat) -> None:
    for text in (
        "阳台的花开了",
        "学生证找到了",
        "周末去放风筝",
        "风筝断线了",
        "我买了新风筝",
        "风筝节在五月",
        "晚上吃火锅",
    ):
        await chat.say(LIN, text)
    await chat.host.settle()

    lines = (await chat.ask(BEI, "/还记得 风筝")).splitlines()
    assert 1 <= len(lines) <= 3
    assert all("风筝" in line for line in lines)
    assert await chat.ask(BEI, "/还记得 花生") == "不记得了。"
    assert await chat.ask(BEI, "/recall peanuts") == "I remember nothing of it."


@pytest.mark.parametrize(
    "question",
    ["谁住在拱墅", "小北住在哪个区", "林澈什么时候来的拱墅", "小北有没有住在拱墅", "你知道谁住在拱墅", "告诉我谁住在拱墅",
     "小北是不是住在拱墅"],
)  # fmt: skip
async def test_a_question_without_its_mark_is_answered(chat: Chat, question: str) -> None:
    await chat.say(BEI, "我住在拱墅")
    assert "我住在拱墅" in await chat.ask(LIN, f"/记得 {question}")
    assert await chat.texts() == ["我住在拱墅"]


@pytest.mark.parametrize("note", ["明天几点开会还没定", "下次聚餐去吃什么由小红决定", "who comes late pays"])
async def test_a_note_that_reads_like_a_question_is_stored_where_nothing_answers(chat: Chat, note: str) -> None:
    assert note in await chat.ask(BEI, f"/记得 {note}")
    assert await chat.texts() == [note]


async def test_what_was_taken_for_a_question_says_that_it_was_not_stored(chat: Chat) -> None:
    await chat.say(BEI, "我住在拱墅")
    assert (await chat.ask(LIN, "/记得 谁住在拱墅")).endswith("（这句当成了提问，没有存下。）")
    assert "没有存下" not in await chat.ask(LIN, "/记得 谁住在拱墅？")


@pytest.mark.parametrize(
    "question",
    ["does Bei live in Leeds", "in which town does Bei live", "tell me who lives in Leeds", "is Bei living in Leeds",
     "do you know who lives in Leeds"],
)  # fmt: skip
async def test_an_english_question_without_its_mark_is_answered(chat: Chat, question: str) -> None:
    await chat.say(BEI, "I live in Leeds")
    assert "I live in Leeds" in await chat.ask(LIN, f"/remember {question}")
    assert await chat.texts() == ["I live in Leeds"]


@pytest.mark.parametrize(
    "note",
    ["告诉小北谁住在拱墅", "问一下店里几点开门", "谁都不许迟到", "谁输了谁请客", "我不知道谁住在拱墅", "看看有没有下雨",
     "我什么都吃", "买点什么水果都行", "我没什么忌口", "我买了几本书", "什么便宜买什么", "确认小北是不是来", "哪天都可以"],
)  # fmt: skip
async def test_a_note_that_holds_a_word_that_asks_is_stored(chat: Chat, note: str) -> None:
    assert await chat.ask(LIN, f"/记得 {note}") == f"记住了：{note}"
    assert await chat.texts() == [note]


@pytest.mark.parametrize(
    "note",
    ["do the dishes", "can opener is in the drawer", "will is in the blue folder", "list all guests for Friday",
     "tell me to buy milk", "may 4 is my birthday", "ask Bei where she lives"],
)  # fmt: skip
async def test_an_english_note_that_begins_like_a_question_is_stored(chat: Chat, note: str) -> None:
    assert await chat.ask(LIN, f"/remember {note}") == f"I will remember: {note}"
    assert await chat.texts() == [note]


@pytest.mark.parametrize(
    ("text", "commands"),
    [("/帮助", ("/记得", "/还记得", "/你记得我什么", "/忘了", "/纠正", "/恢复", "/彻底清除")),
     ("/help", ("/remember", "/recall", "/about me", "/forget", "/correct", "/restore", "/purge"))],
)  # fmt: skip
async def test_help_names_every_command(chat: Chat, text: str, commands: tuple[str, ...]) -> None:
    told = await chat.ask(LIN, text)
    assert [one for one in commands if one not in told] == []
    assert await chat.commands.answer(Asked(f"{text} 10086", LIN, "group:42", "42")) is None
    assert await chat.texts() == []


@pytest.mark.parametrize(
    ("said", "ask", "told"),
    [("我对花生过敏", "/你记得我什么", "· 过敏：花生"), ("我喜欢吃香菜", "/你记得我什么", "· 我喜欢吃香菜"),
     ("I am allergic to peanuts.", "/about me", "· Allergies: peanuts")],
)  # fmt: skip
async def test_what_is_known_names_its_kind(opened: Open, said: str, ask: str, told: str) -> None:
    chat = Chat(await opened(clock=FrozenClock(1_770_000_100)))
    await chat.say(LIN, said)
    await chat.host.settle()
    assert told in (await chat.ask(LIN, ask)).splitlines()


@pytest.mark.parametrize(
    "text",
    [
        "你们还记得吗",
        "/签到",
        "/确认",
        "／取消",
        "/confirm",
        "/recalled it",
        "记得 明天交作业",
        "/",
        "/恢复出厂设置",
        "/忘",
        "",
    ],
)
async def test_what_is_no_command_is_left_alone(chat: Chat, text: str) -> None:
    assert await chat.commands.answer(Asked(text, LIN, "group:42", "42")) is None


async def test_somebody_sees_what_is_known_of_them(chat: Chat) -> None:
    assert "还不知道" in await chat.ask(LIN, "/你记得我什么")
    await chat.say(LIN, "我对花生过敏，从小就这样")
    await chat.say(BEI, "我在杭州上班")
    await chat.host.settle()
    told = await chat.ask(LIN, "/你记得我什么？")
    assert "花生" in told
    assert "杭州" not in told
    assert "/忘了" in told


async def test_a_speaker_forgets_by_number_and_takes_it_back(chat: Chat) -> None:
    for text in ("我对花生过敏", "周五去蓝门吃饭", "我养了一只猫叫年糕"):
        await chat.say(LIN, text)
    await chat.say(BEI, "林澈对花生过敏，别忘了")
    shown = numbered(await chat.ask(LIN, "/忘了"))
    assert set(shown) == {"我对花生过敏", "周五去蓝门吃饭", "我养了一只猫叫年糕"}

    gone = await chat.ask(LIN, f"/忘了 {shown['我对花生过敏']}、{shown['周五去蓝门吃饭']}")
    assert gone.startswith("忘掉了 2 条")
    assert await chat.texts() == ["我养了一只猫叫年糕", "林澈对花生过敏，别忘了"]

    id_ = undone_by(gone)
    assert "没有你做过的" in await chat.ask(BEI, f"/恢复 {id_}")
    assert "没有你做过的" in await chat.ask(BEI, f"/彻底清除 {id_}")
    assert await chat.ask(LIN, f"/恢复 {id_}") == "想起来了：2 条。"
    assert len(await chat.texts()) == 4
    assert "没有可恢复的" in await chat.ask(LIN, f"/恢复 {id_}")
    assert "没有可清除的" in await chat.ask(LIN, f"/彻底清除 {id_}")


async def test_a_word_lists_what_is_meant(chat: Chat) -> None:
    await chat.say(LIN, "我对花生过敏")
    await chat.say(LIN, "我养了一只猫叫年糕")
    await chat.say(BEI, "我也对花生过敏")
    assert set(numbered(await chat.ask(LIN, "/忘了花生"))) == {"我对花生过敏"}
    assert (await chat.ask(LIN, "/忘了 1")).startswith("忘掉了 1 条")
    assert await chat.texts() == ["我养了一只猫叫年糕", "我也对花生过敏"]
    assert "没有" in await chat.ask(LIN, "/忘了 花生")


@pytest.mark.parametrize("numbers", ["0", "9", "1 9", "1-200"])
async def test_a_number_that_is_not_there_forgets_nothing(chat: Chat, numbers: str) -> None:
    await chat.say(LIN, "我对花生过敏")
    await chat.ask(LIN, "/忘了")
    assert "什么也没有忘掉" in await chat.ask(LIN, f"/忘了 {numbers}")
    assert await chat.texts() == ["我对花生过敏"]


async def test_numbers_mean_a_list_that_was_shown_to_the_same_person(chat: Chat) -> None:
    await chat.say(LIN, "我对花生过敏")
    assert "先说" in await chat.ask(LIN, "/忘了 1")
    await chat.ask(LIN, "/忘了")
    assert "先说" in await chat.ask(BEI, "/忘了 1")
    chat.now += 3600
    assert "先说" in await chat.ask(LIN, "/忘了 1"), "it is too long ago"
    assert await chat.texts() == ["我对花生过敏"]


async def test_everything_goes_after_a_confirmation(chat: Chat) -> None:
    await chat.say(LIN, "我对花生过敏")
    await chat.say(LIN, "我住在上海")
    await chat.say(BEI, "林澈住在上海")
    await call(chat.host, "ingest_text", text="林澈是这个群的群主", chat_id="group:42", person_ids=[LIN])
    await chat.host.settle()
    asked = await chat.ask(LIN, "/忘了 全部")
    assert "3 条话" in asked
    assert "/确认" in asked
    assert await chat.say(BEI, "/确认") is None, "only who was asked can say so"
    assert await chat.ask(LIN, "/取消") == "好，什么都没有改。"
    assert await chat.say(LIN, "/确认") is None
    assert len(await chat.texts()) == 6

    await chat.ask(LIN, "/忘了我吧")
    gone = await chat.ask(LIN, "/确认")
    assert set(await chat.texts()) == {"林澈住在上海", "/确认"}, "what others said stays"
    assert "还不知道" in await chat.ask(LIN, "/你记得我什么")
    assert (await chat.ask(LIN, f"/恢复 {undone_by(gone)}")).startswith("想起来了")
    assert "我对花生过敏" in await chat.texts()


async def test_a_chat_forgets_only_its_own(host: AMemorixHostService) -> None:
    here, there, private = Chat(host, "42"), Chat(host, "43"), Chat(host, "")
    await here.say(LIN, "我对花生过敏")
    await there.say(LIN, "我对芒果过敏")
    await private.say(LIN, "我对虾过敏")
    assert set(numbered(await here.ask(LIN, "/忘了 过敏"))) == {"我对花生过敏"}
    assert set(numbered(await private.ask(LIN, "/忘了"))) == {"我对虾过敏"}
    await here.ask(LIN, "/忘了 全部")
    await here.ask(LIN, "/确认")
    assert await here.texts() == ["我对芒果过敏", "我对虾过敏"]


async def test_what_was_forgotten_can_be_erased_for_good(chat: Chat) -> None:
    await chat.say(LIN, "我的银行卡密码是 730126")
    await chat.say(BEI, "别在群里说这个")
    await chat.ask(LIN, "/忘了")
    id_ = undone_by(await chat.ask(LIN, "/忘了 1"))
    assert "再也找不回来" in await chat.ask(LIN, f"/彻底清除 {id_}")
    while (found := await call(chat.host, "memory_delete_admin", "get_operation", operation_id=id_))["operation"][
        "status"
    ] != "purged":
        await chat.host.settle()
    assert found["operation"]["receipt"]["found"] == {}
    assert "没有你做过的" in await chat.ask(LIN, f"/恢复 {id_}")
    assert await chat.texts() == ["别在群里说这个"]


async def test_a_speaker_corrects_what_they_said(chat: Chat) -> None:
    await chat.say(LIN, "我住在上海")
    shown = await chat.ask(LIN, "/纠正 我不住在上海，我住在杭州")
    assert "我住在上海 → 我住在杭州" in shown
    assert await chat.texts() == ["我住在上海"], "nothing happens before it is confirmed"
    done = await chat.ask(LIN, "/确认")
    assert await chat.texts() == ["我住在杭州"]
    assert "没有你做过的" in await chat.ask(BEI, f"/恢复 {undone_by(done)}")
    assert await chat.ask(LIN, f"/恢复 {undone_by(done)}") == "已恢复原样。"
    assert await chat.texts() == ["我住在上海"]


async def test_nobody_corrects_what_others_said_of_themselves(chat: Chat) -> None:
    await chat.say(LIN, "我住在上海")
    assert "还不知道" in await chat.ask(BEI, "/纠正 林澈不住在上海，他住在杭州")
    await chat.say(BEI, "我也想去上海")
    await chat.host.settle()
    assert await chat.ask(BEI, "/纠正 林澈不住在上海，他住在杭州") == "只能纠正你自己说过的，或是与你有关的。"
    assert await chat.say(BEI, "/确认") is None
    assert await chat.texts() == ["我住在上海", "我也想去上海", "/确认"]


@pytest.mark.parametrize("text", ["/纠正", "/纠正 嗯", "/更正：", "/纠正 我住在哪里？"])
async def test_what_reads_as_no_correction_is_said(chat: Chat, text: str) -> None:
    await chat.say(LIN, "我住在上海")
    assert "说清哪里不对" in await chat.ask(LIN, text)
    assert await chat.texts() == ["我住在上海"]


async def test_nobody_forgets_for_others_by_having_their_id_for_a_name(host: AMemorixHostService) -> None:
    """Somebody is called `10002`, which is the id of another."""
    chat = Chat(host)
    turn = {"text": "我对花生过敏", "person_id": LIN, "speaker": "10002", "external_id": "x"}
    await call(host, "ingest_messages", messages=[turn], chat_id="group:42", group_id="42")
    assert "没有" in await chat.ask(BEI, "/忘了")
    assert "没有" in await chat.ask(BEI, "/忘了 花生")
    assert "没有" in await chat.ask(BEI, "/忘了 全部")
    assert "还不知道" in await chat.ask(BEI, "/你记得我什么")
    assert "花生" not in await chat.ask(BEI, "/纠正 我不对花生过敏")
    assert await chat.texts() == ["我对花生过敏"]


async def test_a_chat_that_is_left_out_is_not_answered(opened: Open) -> None:
    host = await opened(filter={"chats": ["group:42"]})
    commands = Chat(host).commands
    for text in ("/你记得我什么", "/记得 我对花生过敏", "/忘了", "/还记得 花生"):
        assert await commands.answer(Asked(text, LIN, "group:42", "42")) is None
    assert await commands.answer(Asked("/忘了", LIN, "group:43", "43")) is not None
    assert (await call(host, "memory_stats"))["paragraphs"] == 0


async def test_the_same_in_english(chat: Chat) -> None:
    assert await chat.ask(LIN, "/remember I am allergic to peanuts.") == "I will remember: I am allergic to peanuts."
    await chat.say(LIN, "I live in Leeds.")
    assert "allergic to peanuts" in await chat.ask(BEI, "/recall who is allergic to peanuts?")
    assert "allergic to peanuts" in await chat.ask(BEI, "/Remember who is allergic to peanuts?")
    await chat.host.settle()
    assert "Leeds" in await chat.ask(LIN, "/about me")
    assert "→ I live in York" in await chat.ask(LIN, "/correct I don't live in Leeds, I live in York.")
    assert undone_by(await chat.ask(LIN, "/confirm")).startswith("c")
    shown = numbered(await chat.ask(LIN, "/forget peanuts"))
    assert list(shown) == ["I am allergic to peanuts."]
    assert (await chat.ask(LIN, "/forget 1")).startswith("1 forgotten.")
    assert "1 texts" in await chat.ask(LIN, "/forget all")
    assert "forgotten" in await chat.ask(LIN, "/confirm")
    assert await chat.texts() == []


async def test_lines_of_a_list_stay_short_and_single(chat: Chat) -> None:
    await chat.say(LIN, "第一行\n\n第二行 " + "很长" * 200)
    listed: list[Any] = (await chat.ask(LIN, "/忘了")).splitlines()
    assert len(listed) == 3
    assert len(listed[1]) < 130


LONGEST = 50_000
ODD = {
    "letters": "字" * LONGEST, "words": "kite " * (LONGEST // 5), "punctuation": "？！…" * (LONGEST // 3), "nuls": "\0" * LONGEST,
    "a nul": "the kite\0 is red", "one sign": "~", "signs": "；。、", "numbers": "1 " * (LONGEST // 2), "a range": "1-999",
    "backwards": "9-1", "a long number": "9" * LONGEST, "surrogate": "kite \ud800", "emoji": "🪁" * LONGEST,
}  # fmt: skip


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("listed", [False, True], ids=["alone", "after a list"])
async def test_whatever_follows_a_command_is_answered_in_a_sentence(
    listed: bool, odd: str, chat: Chat, caplog: pytest.LogCaptureFixture
) -> None:
    for words in COMMANDS.values():
        for word, language in ((words[0][0], "zh"), (words[1][0], "en")):
            if listed:
                await chat.say(LIN, "the kite is red")
                assert await chat.say(LIN, "/forget") is not None
            answer = await chat.commands.answer(
                Asked(f"/{word} {ODD[odd]}", LIN, "group:42", "42", NAMES[LIN], id="odd")
            )
            assert answer is None or (
                answer not in (_SAID["zh"]["failed"], _SAID["en"]["failed"]) and len(answer) < 2_000
            )
            if answer and odd in ("letters", "words", "nuls", "punctuation"):
                assert bool(re.search("[一-鿿]", answer.replace("字", ""))) is (language == "zh"), answer[:200]
    assert [one for one in caplog.records if one.levelno >= logging.WARNING and one.name != "amemorix.calls"] == []


async def test_a_search_that_is_too_long_says_how_much_is_taken(chat: Chat) -> None:
    for command in ("/忘了", "/还记得"):
        answer = await chat.ask(LIN, f"{command} {'字' * LONGEST}")
        assert str(MAX_QUERY_CHARS) in answer and "太长" in answer
    assert await chat.texts() == []
    assert "too long" in await chat.ask(LIN, f"/forget {'x' * LONGEST}")


async def test_what_is_longer_than_a_text_may_be_is_not_said_to_be_remembered(opened: Open) -> None:
    chat = Chat(await opened(ingest={"max_text_chars": 500}))
    answer = await chat.ask(LIN, f"/记得 {'字' * 501}")
    assert "太长" in answer and "500" in answer
    assert await chat.texts() == []
