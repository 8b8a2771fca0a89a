"""A search for what the last turns of a chat are about."""

from __future__ import annotations

from amemorix import AMemorixHostService
from entrance import found, said


async def test_what_the_turns_are_about_is_found_and_the_turns_themselves_are_no_hits(
    host: AMemorixHostService,
) -> None:
    await said(
        host,
        "c",
        ("Ada", "I am allergic to mango"),
        ("Bob", "the kettle is blue"),
        ("Ada", "shall we order mango cake"),
    )
    turns = [
        {"role": "user", "content": "it's Ada's birthday"}, {"role": "assistant", "content": "what shall it be?"},
        {"role": "user", "content": "shall we order mango cake"},
    ]  # fmt: skip

    answer = await found(host, messages=turns, chat_id="c")

    assert [hit["content"] for hit in answer["hits"]][:1] == ["I am allergic to mango"]
    assert "shall we order mango cake" not in [hit["content"] for hit in answer["hits"]]


async def test_a_query_comes_after_the_turns(host: AMemorixHostService) -> None:
    await said(host, "c", ("Ada", "the kettle is blue"), ("Bob", "the walrus sleeps"))
    answer = await found(
        host, "which colour has it?", messages=[{"speaker": "Ada", "text": "I broke the kettle"}], chat_id="c"
    )
    assert answer["hits"][0]["content"] == "the kettle is blue"


async def test_without_a_query_and_turns_nothing_is_asked(host: AMemorixHostService) -> None:
    answer = await host.invoke("search_memory", {"messages": [], "chat_id": "c"})
    assert (answer["success"], answer["details"]["field"]) == (False, "query")


async def test_a_greeting_asks_for_nothing(host: AMemorixHostService) -> None:
    await said(host, "c", ("Ada", "hello, thanks for the walrus"), ("Bob", "你好呀 谢谢你的海象"))
    for greeting in (
        "hello",
        "Thanks so much!",
        "你好呀",
        "谢谢",
        "哈哈哈哈",
        "good morning everybody",
        "在吗？",
        "おはようございます",
    ):
        assert (await found(host, greeting, chat_id="c"))["hits"] == [], greeting
    assert (await found(host, "hello walrus", chat_id="c"))["hits"]


async def test_pinyin_homophones_and_slips_find_their_line(host: AMemorixHostService) -> None:
    await said(
        host,
        "c",
        ("小鹿", "我十一月搬到七宝"),
        ("石头", "我对花生过敏"),
        ("Ada", "my accountant lives in Lisbon"),
        ("Bob", "the kettle is blue"),
    )
    for query, line in (
        ("xiaolu", "我十一月搬到七宝"),
        ("对花生过铭", "我对花生过敏"),
        ("acountant", "my accountant lives in Lisbon"),
    ):
        answer = await found(host, query, chat_id="c")
        assert answer["hits"][0]["content"] == line, query
        assert answer["corrected"], query
