"""To forget a person reaches every line that names them, in whatever chat, and tells of those that may mean another."""

from __future__ import annotations

import random
from typing import Any

import pytest

from amemorix import AMemorixHostService
from amemorix.testing import memory_host
from conftest import Open
from entrance import change, data_of, refused, rows, said, told
from memory_dump import tables
from pace import processor_time
from test_purge import admin, in_copy, left

ADMIN = "memory_delete_admin"
SHARED = "somebody else has the name by which it may mean them"
COMMON = "the name by which it may mean them is a common word"
SHORTENED = "it may mean them by a short form of their name"
KEPT = "it names them, and what names them is kept"
NAMES = [("en", "Lin", "Lin is allergic to nuts.", "Linda and the linen are fine."),
         ("zh", "林澈", "小王说林澈對花生過敏。", "林清澈的水，他没说。")]  # fmt: skip


async def spoke(host: AMemorixHostService, chat: str, name: str, person: str, text: str) -> None:
    """A turn of somebody who has an id of their own."""
    messages = [{"speaker": name, "person_id": person, "text": text}]
    answer = await host.invoke("ingest_messages", {"chat_id": chat, "messages": messages})
    assert answer["success"], answer


def labels(answer: dict[str, Any], why: str = "mention") -> list[str]:
    return sorted(item["label"] for item in answer["items"] if item["why"] == why)


def stays(answer: dict[str, Any]) -> dict[str, str]:
    """Label -> why, of the lines that stay."""
    return {item["label"]: item["why"] for item in answer["stays"] if item["item_type"] == "paragraph"}


@pytest.mark.parametrize(("language", "name", "line", "other"), NAMES, ids=["en", "zh"])
async def test_a_line_of_a_chat_in_which_the_person_never_spoke_goes(
    host: AMemorixHostService, language: str, name: str, line: str, other: str
) -> None:
    await said(host, "home", (name, "I like tea."), ("Bob", "It rains."))
    await said(host, "away", ("Bob", line), ("Bob", other))
    await told(host, line + " (noted)", external_id="n", source="diary")

    seen = await admin(host, "preview", mode="person", selector=name)

    assert labels(seen) == sorted([line, line + " (noted)"])
    assert (seen["counts"]["mentions"], seen["counts"]["mentions_kept"]) == (2, 0) and stays(seen) == {}
    done = await admin(host, "execute", mode="person", selector=name, plan_token=seen["plan_token"])
    assert {key: done[key] for key in ("counts", "items", "stays")} == {
        key: seen[key] for key in ("counts", "items", "stays")
    }
    alive = "select content from paragraphs where deleted_at is null order by id"
    assert rows(host, alive) == [("It rains.",), (other,)]
    await admin(host, "restore", operation_id=done["operation_id"])
    assert len(rows(host, alive)) == 5


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("Mia", "I met MIA today"), ("Mia", "mia's tea"), ("Mia", "Ｍｉａ is here"), ("Mia", "(Mia)"), ("Mia", "@Mia: hello"),
        ("Mia", "今天Mia没来"), ("Zoë O'Brien", "zoe o’brien's kite"), ("Zoë O'Brien", "Zoe\n O'Brien came"),
        ("Ann-Marie", "so Ann-Marie won"), ("cat_92", "cat_92 wrote"), ("小A", "和小a一起"), ("林 ケン", "林 ケンさん"),
        ("歐陽修遠", "欧阳修远来了"), ("Will Smith", "will smith sings"), ("10012345", "ask 10012345 about it"),
        ("王芳", "王芳和我"),
    ],
)  # fmt: skip
async def test_a_name_is_met_in_every_spelling(host: AMemorixHostService, name: str, line: str) -> None:
    await said(host, "home", (name, "x"))
    await said(host, "away", ("Bob", line))
    assert labels(await admin(host, "preview", mode="person", selector=name)) == [" ".join(line.split())]


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("Mia", "The miasma is thick"), ("Mia", "Miami"), ("Ann", "Anna and Johann"), ("Zoe Quist", "Zoe and Quist"),
        ("林澈", "林 澈"), ("林澈", "澈林"), ("欧阳锋", "欧阳克来了"), ("林", "林澈来了"), ("小A", "小AB"), ("12", "at 12:30"),
    ],
)  # fmt: skip
async def test_another_word_is_no_name(host: AMemorixHostService, name: str, line: str) -> None:
    await said(host, "home", (name, "x"))
    await said(host, "away", ("Bob", line))
    seen = await admin(host, "preview", mode="person", selector=name)
    assert seen["counts"]["paragraphs"] == 1 and labels(seen) == []


@pytest.mark.parametrize(
    ("name", "line"), [("Lee", "Lee sold the boat."), ("林澈", "林澈把船卖了。")], ids=["en", "zh"]
)
async def test_a_name_that_two_persons_have_deletes_nothing_and_is_told(tmp_path: Any, name: str, line: str) -> None:
    async with memory_host(tmp_path) as host:
        await spoke(host, "c1", name, "u1", "I like tea.")
        await spoke(host, "c2", name, "u2", "I like coffee.")
        for chat in ("c1", "c2", "c3"):
            await said(host, chat, ("Bob", f"{chat}: {line}"))

        seen = await admin(host, "preview", mode="person", selector="u1")

        assert labels(seen) == [f"c1: {line}"], "in that chat it means only this one"
        assert stays(seen) == {f"c2: {line}": SHARED, f"c3: {line}": SHARED}
        assert seen["counts"]["mentions_kept"] == 2
        done = await admin(host, "execute", mode="person", selector="u1", purge=True)
        assert stays(done) == stays(seen)
        told_of = [
            (one["item_type"], one["why"]) for one in done["receipt"]["stays"] if one["item_type"] == "paragraph"
        ]
        assert told_of == [("paragraph", SHARED)] * 2
        assert (rows(host, "select count(*) from paragraphs where deleted_at is null")) == [(3,)]
        both = await admin(host, "preview", mode="person", selector=["u2"])
        assert labels(both) == [f"c2: {line}", f"c3: {line}"], "nobody else has the name any more"


async def test_a_name_of_two_who_both_go_means_nobody_else(host: AMemorixHostService) -> None:
    await spoke(host, "c1", "Lee", "u1", "tea")
    await spoke(host, "c2", "Lee", "u2", "coffee")
    await said(host, "c3", ("Bob", "Lee sold the boat."))
    assert labels(await admin(host, "preview", mode="person", selector=["u1", "u2"])) == ["Lee sold the boat."]


async def test_chats_that_share_their_memory_tell_who_is_meant(opened: Open) -> None:
    host = await opened(shared_memory_groups=[{"targets": ["c1", "c3"]}])
    await spoke(host, "c1", "Lee", "u1", "tea")
    await spoke(host, "c2", "Lee", "u2", "coffee")
    await said(host, "c3", ("Bob", "Lee sold the boat."))
    assert labels(await admin(host, "preview", mode="person", selector="u1")) == ["Lee sold the boat."]
    assert stays(await admin(host, "preview", mode="person", selector="u2")) == {"Lee sold the boat.": SHARED}


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("May", "We fly in May."),
        ("Will", "Will you come?"),
        ("Rose", "a red rose"),
        ("海洋", "海洋很大"),
        ("4711", "room 4711"),
    ],
)
async def test_a_name_that_is_a_word_deletes_nothing_elsewhere(host: AMemorixHostService, name: str, line: str) -> None:
    await said(host, "home", (name, "x"))
    await said(host, "away", ("Bob", line))
    seen = await admin(host, "preview", mode="person", selector=name)
    assert labels(seen) == [] and stays(seen) in ({line: COMMON}, {})
    assert bool(stays(seen)) == (line != "Will you come?" or seen["counts"]["mentions_kept"] == 1)


async def test_where_they_were_met_such_a_name_is_written_like_one(host: AMemorixHostService) -> None:
    await said(
        host, "home", ("Will", "x"), ("Bob", "I saw Will there."), ("Bob", "Will you come?"), ("Bob", "it will do")
    )
    seen = await admin(host, "preview", mode="person", selector="Will")
    assert labels(seen) == ["I saw Will there."] and stays(seen) == {"Will you come?": COMMON}
    await said(host, "海", ("海洋", "x"), ("小王", "海洋来了。"))
    assert labels(await admin(host, "preview", mode="person", selector="海洋")) == ["海洋来了。"]


async def test_a_longer_name_of_another_is_not_theirs(host: AMemorixHostService) -> None:
    await said(host, "home", ("Lin", "x"), ("Lin Chen", "y"), ("林澈", "x"), ("林澈儿", "y"))
    await said(host, "away", ("Bob", "Lin Chen won."), ("Bob", "Lin lost."), ("Bob", "林澈儿赢了"), ("Bob", "林澈输了"))
    assert labels(await admin(host, "preview", mode="person", selector="Lin")) == ["Lin lost."]
    assert labels(await admin(host, "preview", mode="person", selector="林澈")) == ["林澈输了"]


async def test_a_short_form_is_a_guess(host: AMemorixHostService) -> None:
    await said(host, "home", ("Melanie", "x"), ("Bob", "Mel won again."))
    await said(host, "away", ("Bob", "Mel lost."))
    seen = await admin(host, "preview", mode="person", selector="Melanie")
    assert (labels(seen), stays(seen)) == ([], {"Mel won again.": SHORTENED})


@pytest.mark.parametrize(("name", "alias"), [("Mia", "Bibi"), ("林澈", "阿澈")], ids=["en", "zh"])
async def test_an_alias_counts_where_it_was_given(host: AMemorixHostService, name: str, alias: str) -> None:
    await said(host, "home", (name, "x"), ("Bob", f"hey {alias}!"))
    await said(host, "away", ("Bob", f"oh {alias}!"))
    given = {"action": "add_alias", "person_id": name, "alias": alias}
    await host.invoke("memory_profile_admin", given)
    assert labels(await admin(host, "preview", mode="person", selector=name)) == [f"hey {alias}!", f"oh {alias}!"]
    change(host, "update person_aliases set chat = (select id from chats where chat_id = 'home')")
    assert labels(await admin(host, "preview", mode="person", selector=name)) == [f"hey {alias}!"]


@pytest.mark.parametrize("given", [{"mentions": "keep"}, {"mentions": " KEEP "}, {"include_mentions": False}])
async def test_mentions_are_kept_when_asked(host: AMemorixHostService, given: dict[str, Any]) -> None:
    await said(host, "home", ("Lin", "x"), ("林澈", "y"))
    await said(host, "away", ("Bob", "Lin and 林澈 are allergic."))
    for name in ("Lin", "林澈"):
        seen = await admin(host, "preview", mode="person", selector=name, **given)
        assert seen["counts"]["paragraphs"] == 1 and seen["counts"]["mentions_kept"] == 1
        assert stays(seen) == {"Lin and 林澈 are allergic.": KEPT}


async def test_in_one_chat_only_its_own_lines_are_looked_at(host: AMemorixHostService) -> None:
    await said(host, "home", ("Lin", "x"), ("Bob", "Lin won."))
    await said(host, "away", ("Lin", "y"), ("Bob", "Lin lost."))
    assert labels(await admin(host, "preview", mode="person", selector="Lin", chat_id="away")) == ["Lin lost."]


@pytest.mark.parametrize("action", ["preview", "execute"])
@pytest.mark.parametrize("given", ["all", "", 1, ["keep"]])
async def test_another_word_for_mentions_is_refused(host: AMemorixHostService, action: str, given: Any) -> None:
    await said(host, "home", ("Lin", "x"))
    before = await tables(host)
    await refused(host, ADMIN, {"action": action, "mode": "person", "selector": "Lin", "mentions": given}, "mentions")
    assert await tables(host) == before


async def test_what_bears_the_name_and_stays_is_told(host: AMemorixHostService) -> None:
    await spoke(host, "c1", "Lee", "u1", "tea")
    await spoke(host, "c2", "Lee", "u2", "coffee")
    await told(host, "Lee owns it", external_id="1", chat_id="c2", entities=["Lee"])
    seen = await admin(host, "preview", mode="person", selector="u1")
    assert ("entity", "Lee", "memories that stay speak of it") in [
        (item["item_type"], item["label"], item["why"]) for item in seen["stays"]
    ]


async def test_a_single_letter_is_told_to_be_too_short(host: AMemorixHostService) -> None:
    await said(host, "home", ("林", "x"), ("Bob", "林来了"))
    seen = await admin(host, "preview", mode="person", selector="林")
    assert [(item["item_type"], item["why"]) for item in seen["stays"]] == [
        ("person", "a name of a single letter is not looked for in what others said")
    ]


async def test_a_purge_leaves_no_byte_of_lines_in_other_chats(tmp_path: Any) -> None:
    async with memory_host(tmp_path) as host:
        await said(host, "home", ("Zebulonia Quist", "I drink coffee."), ("欧阳麒麟鼯", "我对花生过敏。"))
        await said(
            host,
            "away",
            ("Bob", "Zebulonia Quist stole the golden birch tree"),
            ("Bob", "欧阳麒麟鼯偷了金色的白桦树木"),
        )
        await host.settle(600)
        for person in ("Zebulonia Quist", "欧阳麒麟鼯"):
            done = await admin(host, "execute", mode="person", selector=person, purge=True)
            assert done["receipt"]["found"] == {} and done["receipt"]["stays"] == []
        gone = ["Zebulonia Quist", "欧阳麒麟鼯", "stole the golden birch", "偷了金色的白桦树木"]
        assert left(in_copy(data_of(host), tmp_path / "after"), gone) == []


async def test_a_preview_looks_at_the_lines_that_name_the_person(host: AMemorixHostService) -> None:
    """Five lines of four hundred, and then of four thousand: the work grows by much less than ten times."""
    rng = random.Random(1)
    words = ["kite", "hall", "lamp", "attic", "rain", "boat", "茶", "花生", "下雨", "爬山"]
    await said(host, "home", ("Lin", "x"), ("林澈", "y"))
    await said(host, "away", *[("Bob", f"Lin said {n}") for n in range(5)], ("Bob", "林澈说了"))
    costs: dict[str, list[list[float]]] = {"Lin": [], "林澈": []}
    for chats in (1, 9):
        for _ in range(chats):
            turns = [("Bob", " ".join(rng.choices(words, k=3))) for _ in range(400)]
            await said(host, f"c{rng.random()}", *turns)
        await host.settle(600)
        for name, count in (("Lin", 5), ("林澈", 1)):
            costs[name].append([])
            for _ in range(3):
                with processor_time(costs[name][-1]):
                    seen = await admin(host, "preview", mode="person", selector=name)
                assert seen["counts"]["mentions"] == count
    for few, many in costs.values():
        assert min(many) < 6 * min(few), costs
