"""Who may see what."""

from __future__ import annotations

import pytest

from amemorix import AMemorixHostService
from amemorix.testing import HashEmbedder
from conftest import Open
from doors import through_each_door
from entrance import contents, hits, said, told

MODES = ("search", "time", "hybrid", "episode", "aggregate")
EVER = {"time_start": 1}
pytestmark = through_each_door


@pytest.fixture
async def chats(request: pytest.FixtureRequest, opened: Open) -> AMemorixHostService:
    """Two group chats, a private chat, and a global text, all of the same words; with vectors in this process."""
    here = request.node.callspec.params["opened"] is None
    host = await opened(embed=HashEmbedder()) if here else await opened()
    await said(host, "a", ("Ada", "the kite of a", 1000), group_id="g1")
    await said(host, "b", ("Bob", "the kite of b", 2000), group_id="g2")
    await said(host, "", ("Eve", "the kite of eve", 3000), user_id="eve")
    await told(host, "the kite of everyone", timestamp=4000)
    await host.settle(600)
    return host


async def owners(host: AMemorixHostService, mode: str = "search", **args: str) -> set[str]:
    """Whose kites are found, episodes included."""
    window = EVER if mode in ("time", "hybrid") else {}
    answer = await contents(host, "" if mode == "time" else "kite", mode=mode, limit=50, **args, **window)
    return {line.split(" of ")[1] for text in answer for line in text.splitlines() if " of " in line}


async def test_a_chat_sees_itself_and_the_global_and_a_call_for_nobody_sees_all(chats: AMemorixHostService) -> None:
    for mode in MODES:
        assert await owners(chats, mode, chat_id="a") == {"a", "everyone"}, mode
        assert await owners(chats, mode, chat_id="b") == {"b", "everyone"}, mode
        for nowhere in ({"chat_id": "nowhere"}, {"group_id": "nowhere"}, {"user_id": "nobody"}):
            assert await owners(chats, mode, **nowhere) == {"everyone"}, (mode, nowhere)
        assert await owners(chats, mode) == {"a", "b", "eve", "everyone"}, mode


async def test_a_group_stands_for_its_chats_and_a_user_for_the_private_one(chats: AMemorixHostService) -> None:
    assert await owners(chats, group_id="g1") == {"a", "everyone"}
    assert await owners(chats, user_id="eve") == {"eve", "everyone"}
    assert await owners(chats, group_id="g1", user_id="eve") == {"a", "everyone"}
    assert await owners(chats, chat_id="b", group_id="g1") == {"b", "everyone"}


async def test_a_chat_id_is_no_pattern(chats: AMemorixHostService) -> None:
    for odd in ("%", "_", "A", "a ' or 1=1 --", "[0]", "0", "null"):
        assert await owners(chats, chat_id=odd) == {"everyone"}, odd


async def test_another_person_of_the_chat_is_not_found_in_mine(chats: AMemorixHostService) -> None:
    assert await hits(chats, "kite", chat_id="a", person_id="Bob") == []


async def test_a_global_text_of_a_chat_is_found_everywhere(host: AMemorixHostService) -> None:
    await told(host, "the kite rules", chat_id="a", scope="global")

    (hit,) = await hits(host, "kite", chat_id="b")
    assert hit["chat_id"] == "a"


async def test_words_of_other_chats_do_not_count(opened: Open) -> None:
    """What is rare in a chat is rare, however often others say it."""
    host = await opened()
    await said(host, "a", ("Ada", "the red kite"), ("Ada", "the green lamp"), ("Ada", "the green lamp again"))
    alone = await hits(host, "kite lamp", chat_id="a")
    await said(host, "b", *(("Bob", f"kite {n}") for n in range(200)))

    assert [(hit["id"], hit["score"]) for hit in await hits(host, "kite lamp", chat_id="a")] == [
        (hit["id"], hit["score"]) for hit in alone
    ]


async def test_names_of_other_chats_mean_nothing_here(host: AMemorixHostService) -> None:
    """ "Robin" is a bird in a chat that never met anybody of that name."""
    await said(host, "b", ("Robin", "hello"))
    await said(host, "a", ("Ada", "A robin nests in the hedge."))

    (hit,) = await hits(host, "Robin", chat_id="a")
    assert hit["explain"]["persons"] == []
    assert hit["explain"]["matched_terms"] == ["robin"]


async def test_relations_of_other_chats_lead_nowhere(host: AMemorixHostService) -> None:
    """What chat b knows must not steer what chat a finds."""
    await told(host, "It barked all night.", chat_id="a", entities=["Rex"])
    await told(host, "He collects stamps.", chat_id="a", entities=["Tom"])
    await told(host, "Secret.", chat_id="b", relations=[{"subject": "Rex", "predicate": "belongs to", "object": "Tom"}])

    assert await contents(host, "Rex", chat_id="a") == ["It barked all night."]


async def test_sources_of_one_name_in_two_chats_are_two(host: AMemorixHostService) -> None:
    for chat in ("a", "b"):
        await told(host, f"the kite of {chat}", chat_id=chat, source="notes", external_id="same")

    assert await contents(host, "kite", chat_id="a") == ["the kite of a"]
    assert await contents(host, "kite", chat_id="b") == ["the kite of b"]


SHARED = [["a", "b"], ["stream:a", "stream:b"], ["group:g1", "group:g2"], ["a", "group:g2"]]


@pytest.mark.parametrize("targets", SHARED, ids=str)
async def test_chats_of_a_shared_group_see_each_other(opened: Open, targets: list[str]) -> None:
    host = await opened(shared_memory_groups=[{"targets": targets}])
    await said(host, "a", ("Ada", "the kite of a", 1000), group_id="g1")
    await said(host, "b", ("Bob", "the kite of b", 2000), group_id="g2")
    await said(host, "c", ("Cy", "the kite of c", 3000), group_id="g3")
    await host.settle(600)

    for mode in MODES:
        assert await owners(host, mode, chat_id="a") == {"a", "b"}, mode
        assert await owners(host, mode, chat_id="b") == {"a", "b"}, mode
        assert await owners(host, mode, chat_id="c") == {"c"}, mode


async def test_a_private_chat_can_be_shared_with_a_group(opened: Open) -> None:
    host = await opened(shared_memory_groups=[{"targets": ["private:eve", "group:g1"]}])
    await said(host, "", ("Eve", "the kite of eve"), user_id="eve")
    await said(host, "a", ("Ada", "the kite of a"), group_id="g1", user_id="ada")

    assert await owners(host, user_id="eve") == {"eve", "a"}
    assert await owners(host, chat_id="a") == {"eve", "a"}


async def test_a_chat_that_is_new_sees_its_shared_group(opened: Open) -> None:
    host = await opened(shared_memory_groups=[{"targets": ["a", "new"]}])
    await said(host, "a", ("Ada", "the kite of a"))
    assert await owners(host, chat_id="new") == {"a"}


async def test_two_shared_groups_do_not_join_through_a_common_chat(opened: Open) -> None:
    groups = [{"targets": ["a", "b"]}, {"targets": ["b", "c"]}]
    host = await opened(shared_memory_groups=groups)
    for chat in "abc":
        await said(host, chat, ("Ada", f"the kite of {chat}"))

    assert await owners(host, chat_id="a") == {"a", "b"}
    assert await owners(host, chat_id="b") == {"a", "b", "c"}
    assert await owners(host, chat_id="c") == {"b", "c"}


async def test_sharing_with_all_shows_everything(opened: Open) -> None:
    host = await opened(global_memory_sharing_enabled=True)
    await said(host, "a", ("Ada", "the kite of a"))
    await said(host, "b", ("Ada", "the kite of b"))
    assert await owners(host, chat_id="a") == {"a", "b"}


async def test_sharing_ends_with_the_next_configuration(opened: Open) -> None:
    host = await opened(shared_memory_groups=[{"targets": ["a", "b"]}])
    await said(host, "a", ("Ada", "the kite of a"))
    await said(host, "b", ("Ada", "the kite of b"))
    assert await owners(host, chat_id="a") == {"a", "b"}

    await host.update_config({"shared_memory_groups": []})
    assert await owners(host, chat_id="a") == {"a"}
