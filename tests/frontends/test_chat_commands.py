"""What people ask of a memory in a chat, and what they may forget and correct there."""

from __future__ import annotations

import re
from typing import Any

import pytest

from amemorix import AMemorixHostService
from amemorix.frontends.chat_commands import Asked, ChatCommands
from amemorix.frontends.python.calls import CallsOf
from amemorix.frontends.transport import LocalMemory
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
