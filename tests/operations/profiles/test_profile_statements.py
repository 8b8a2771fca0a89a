"""What a profile makes of statements: by weight, dated, contradictions side by side, within a budget, and for a question."""

from __future__ import annotations

import re
from typing import Any

import pytest

from amemorix import AMemorixHostService
from amemorix.profiles.statements import cut_at_phrase
from amemorix.testing import FrozenClock, memory_host
from conftest import Open
from entrance import change, rows, said
from test_profiles import profile

YEAR = 365 * 86_400.0
DAY = 86_400.0
NOW = FrozenClock().now()


@pytest.fixture
async def held(opened: Open) -> AMemorixHostService:
    """A memory that reads no statements of its own: the tests state them."""
    return await opened(facts={"enabled": False})


async def state(
    host: AMemorixHostService, text: str, *, person: str = "u1", speaker: str = "", ago: float = DAY, times: int = 1,
    **columns: Any,
) -> str:  # fmt: skip
    """Say it so many times, the last so long ago, and hold it as a statement; returns the fact."""
    for n in range(times):
        message = {
            "text": text,
            "speaker": speaker or person,
            "person_id": speaker or person,
            "time": NOW - ago - n * DAY,
        }
        answer = await host.invoke("ingest_messages", {"chat_id": "c", "messages": [message]})
        assert answer["success"], answer
    row = {
        "attribute": "statement", "value": text, "polarity": 1, "authority": "rule" if speaker else "direct_user",
        "status": "active", "confidence": 0.9, "valid_to": None, "kind": "preference", "importance": 0.5,
        "doubted_by": None, "at": NOW - ago, "person": person, "sentence": "", **columns,
    }  # fmt: skip
    change(
        host,
        "insert into facts (person, scope, attribute, value, norm, polarity, cardinality, stability, authority, status,"
        " confidence, valid_from, valid_to, recorded_at, kind, importance, doubted_by) values ((select id from persons where person_id = :person), 1,"
        " :attribute, :value, :value, :polarity, 'set', 'stable', :authority, :status, :confidence, :at, :valid_to, :at,"
        " :kind, :importance, :doubted_by)",
        row,
    )
    ((fact,),) = rows(host, "select max(id) from facts")
    change(
        host,
        "insert into fact_evidence (fact, paragraph, value, at, authority, confidence, sentence)"
        " select ?, id, ?, ?, ?, 0.9, ? from paragraphs where content = ?",
        (fact, row["value"], row["at"], row["authority"], row["sentence"], text),
    )
    return f"f{fact}"


def lines_of(found: dict[str, Any]) -> dict[str, list[str]]:
    """Section -> its statements in their order."""
    lines: dict[str, list[str]] = {}
    for item in found["items"]:
        lines.setdefault(item["section"], []).append(item["statement"])
    return lines


async def test_statements_stand_in_the_section_of_their_kind(held: AMemorixHostService) -> None:
    await state(held, "I teach maths at a grammar school in Ghent", kind="work")
    await state(held, "I'm allergic to walnuts", kind="health")
    await state(held, "I have asthma", kind="health")
    await state(held, "I really love board games", kind="preference")
    await state(held, "I can't stand karaoke", kind="preference")
    await state(held, "my brother Jonas is a nurse", kind="relation")
    await state(held, "I swim every Tuesday", kind="habit")
    await state(held, "I won the school chess cup in 2019", kind="event")
    assert lines_of(await profile(held)) == {
        "identity": ["I teach maths at a grammar school in Ghent"],
        "allergies": ["I'm allergic to walnuts"],
        "likes": ["I really love board games"],
        "dislikes": ["I can't stand karaoke"],
        "relations": ["my brother Jonas is a nurse"],
        "habits": ["I swim every Tuesday"],
        "notes": ["I won the school chess cup in 2019", "I have asthma"],
    }


async def test_a_chinese_profile_is_dated_and_quotes(held: AMemorixHostService) -> None:
    await state(held, "早跑路了，现在在小红书", kind="work", ago=30 * DAY)
    await state(held, "香菜我真的受不了", kind="preference", ago=30 * DAY)
    day = "2023-10-15"
    assert (await profile(held))["summary"].splitlines()[1:] == [
        f"身份：“早跑路了，现在在小红书”（{day}）", f"不喜欢：“香菜我真的受不了”（{day}）"
    ]  # fmt: skip


async def test_weight_counts_and_not_newness(opened: Open) -> None:
    host = await opened(facts={"enabled": False}, profile={"items_per_section": 50, "max_tokens": 20_000})
    await state(host, "我有两个女儿，大的叫豆豆", kind="relation", importance=0.95, ago=3 * YEAR)
    for n in range(130):
        await state(host, f"我今年看了第{n}部电影", kind="relation", importance=0.2, ago=n * DAY)
    await state(host, "我每周都打羽毛球", kind="relation", importance=0.4, ago=YEAR, times=6)
    found = lines_of(await profile(host))["relations"]
    assert found[:2] == ["我有两个女儿，大的叫豆豆", "我每周都打羽毛球"]


async def test_no_more_than_a_hundred_are_considered(opened: Open) -> None:
    host = await opened(facts={"enabled": False}, profile={"items_per_section": 50, "max_tokens": 20_000})
    kinds = ("identity", "relation", "habit")
    for n in range(120):
        await state(host, f"statement number {n} of mine", kind=kinds[n % 3])
    assert len((await profile(host, limit=200))["items"]) == 100


@pytest.mark.parametrize("budget", [50, 80, 160])
async def test_a_budget_in_tokens_is_kept(held: AMemorixHostService, budget: int) -> None:
    for n in range(20):
        await state(held, f"I keep {n} different kinds of orchids on shelf {n}", kind="possession", importance=n / 20)
    found = await profile(held, max_tokens=budget)
    words = re.findall(r"\S+", found["summary"])
    assert sum(-(-len(word) // 4) for word in words) <= budget
    assert "19 different kinds" in found["summary"]
    assert len(found["items"]) < len((await profile(held, max_tokens=20_000))["items"])


async def test_what_matters_for_the_question_comes_first(held: AMemorixHostService) -> None:
    for n in range(30):
        await state(held, f"I collect stamps of series {n} from Iceland", kind="possession", importance=0.9)
    await state(held, "my dentist is Doctor Okafor in Brighton", kind="health", importance=0.1)
    plain = await profile(held, max_tokens=100)
    asked = await profile(held, max_tokens=100, query="who was my dentist again?")
    talked = await profile(held, max_tokens=100, messages=[{"speaker": "u1", "text": "my tooth hurts, which dentist?"}])
    assert "Okafor" not in plain["summary"]
    assert "Okafor" in asked["summary"]
    assert "Okafor" in talked["summary"]


async def test_what_is_doubted_stands_behind_what_doubts_it(held: AMemorixHostService) -> None:
    new = await state(held, "现在我在苏州上班", kind="work", importance=0.3)
    old = await state(
        held, "我在杭州的银行上班", kind="work", importance=0.9, ago=YEAR, doubted_by=int(new[1:])
    )  # fmt: skip
    await state(held, "我是内蒙古人", kind="identity", importance=0.8)
    found = await profile(held)
    order = [item["evidence"][0] for item in found["items"]]
    assert order.index(old) == order.index(new) + 1
    assert "我在杭州的银行上班（可能已过时）" in lines_of(found)["identity"]
    short = await profile(held, max_tokens=50)
    assert "杭州" not in short["summary"] or "苏州" in short["summary"]


async def test_a_contradiction_stands_side_by_side(held: AMemorixHostService) -> None:
    own = await state(held, "I live in Oslo", attribute="residence", value="Oslo", status="conflicted", ago=9 * DAY)
    told = await state(
        held, "u1 lives in Bergen", speaker="u2", attribute="residence", value="Bergen", status="conflicted"
    )  # fmt: skip
    await state(held, "I play the cello", kind="skill")
    found = await profile(held)
    order = [item["evidence"][0] for item in found["items"]]
    assert abs(order.index(own) - order.index(told)) == 1
    assert found["summary"].count("their own word") == found["summary"].count("contradicted") == 1


async def test_a_typed_fact_and_its_sentence_are_told_once(held: AMemorixHostService) -> None:
    line = "we adopted a greyhound called Comet from the shelter"
    await state(held, line, attribute="pet", value="Comet", kind="possession", sentence=line)
    await state(held, line, kind="possession")
    found = await profile(held)
    assert found["summary"].count("Comet from the shelter") == 1
    assert len(found["items"]) == 1
    assert found["items"][0]["statement"].startswith("pet: Comet")


async def test_what_others_say_has_their_name(held: AMemorixHostService) -> None:
    await said(held, "c", ("u1", "hello there", NOW - DAY))
    await state(held, "u1 has a wooden sailing boat in Kiel", speaker="Bea", kind="possession")
    assert lines_of(await profile(held))["relations"] == ['Bea: "u1 has a wooden sailing boat in Kiel"']


async def test_plans_that_have_run_out_are_not_told(held: AMemorixHostService) -> None:
    await state(held, "I'm moving to Turin next month", kind="plan", ago=DAY)
    await state(held, "I will run the Ghent marathon tomorrow", kind="plan", ago=30 * DAY)
    await state(held, "I want to learn to weld one day", kind="plan", ago=200 * DAY)
    await state(held, "my exam is on 2023-11-01", kind="plan", ago=40 * DAY, valid_to=NOW - DAY)
    assert lines_of(await profile(held))["plans"] == ["I'm moving to Turin next month"]


@pytest.mark.parametrize(
    "lines",
    [
        ["今天食堂的红烧肉咸死了", "哈哈哈哈", "我刚把咖啡洒键盘上了", "你们谁看昨晚的球了", "热死了空调又坏了"],
        [
            "the bus is late again lol",
            "just burned my toast on the new toaster",
            "ok",
            "this queue at the post office!!",
            "brb",
        ],
    ],
)
async def test_whoever_said_only_things_of_the_moment_has_their_most_telling_lines(
    held: AMemorixHostService, lines: list[str]
) -> None:
    await said(held, "c", *(("u1", line, NOW - n * 60) for n, line in enumerate(lines)))
    found = lines_of(await profile(held))
    assert list(found) == ["recent"]
    assert 2 <= len(found["recent"]) <= 3
    assert not {"哈哈哈哈", "ok", "brb"} & set(found["recent"])


async def test_a_long_sentence_ends_with_a_clause(held: AMemorixHostService) -> None:
    text = "I grew up on a farm near Utrecht, " + "where we had cows and goats and a very old tractor, " * 8
    await state(held, text, kind="identity")
    ((statement,),) = lines_of(await profile(held)).values()
    assert len(statement) <= 241
    assert statement.endswith("tractor…")


async def test_a_profile_costs_the_same_however_much_is_known(tmp_path: Any) -> None:
    """Statements are taken by their weight from an index, the weightiest first."""
    async with memory_host(tmp_path, facts={"enabled": False}) as host:
        await said(host, "c", ("u1", "hi", NOW))
        plan = rows(
            host,
            "explain query plan select id from facts where person = 1 and status in ('active', 'conflicted')"
            " and deleted_at is null order by importance desc, id desc limit 300",
        )
        assert "facts_by_weight" in str(plan)


async def test_what_says_something_in_particular_comes_first(held: AMemorixHostService) -> None:
    await state(held, "My loved ones always support me through tough times, it means so much")
    await state(held, "I collect vinyl records from Ghana")
    await state(held, "我觉得生活里最重要的就是开心，真的很感恩")
    await state(held, "我养了一只叫团子的英短")
    statements = [item["statement"] for item in (await profile(held))["items"]]
    assert set(statements[:2]) == {"我养了一只叫团子的英短", "I collect vinyl records from Ghana"}


@pytest.mark.parametrize(
    ("said_so", "told"),
    [
        ("I sold my flat last Friday (2023-11-10)", "I sold my flat last Friday (10 November)"),
        (
            "Last week (2023-11-06 - 2023-11-12) I had my wisdom teeth out",
            "Last week (6–12 November) I had my wisdom teeth out",
        ),
        ("I quit last month (2023-10 was hell)", "I quit last month (2023-10 was hell)"),
        ("聚餐订在下周六晚上六点半 (2023-11-18)海底捞，南山店", "聚餐订在下周六晚上六点半（11月18日）海底捞，南山店"),
        ("我上周五 (2023-11-10) 把房子卖了", "我上周五（11月10日）把房子卖了"),
        ("我下个月 (2023-12)15号去成都出差", "我下个月（12月）15号去成都出差"),
        ("我上上周 (2023-10-30 - 2023-11-05) 把房子卖了", "我上上周（10月30日–11月5日）把房子卖了"),
        ("我去年 (2022) 把房子卖了", "我去年（2022年）把房子卖了"),
        ("I sold my flat last year (2022)", "I sold my flat last year (2022)"),
        ("I sold my flat last winter (2022-12-29 - 2023-01-04)",
         "I sold my flat last winter (29 December 2022 – 4 January 2023)"),
        ("I sold my flat a year ago (2022-11)", "I sold my flat a year ago (November 2022)"),
    ],
)  # fmt: skip
async def test_a_time_in_words_is_quoted_with_its_date(held: AMemorixHostService, said_so: str, told: str) -> None:
    await state(held, said_so, kind="event", ago=2 * DAY)
    assert lines_of(await profile(held)) == {"notes": [told]}


@pytest.mark.parametrize(
    ("said_so", "told"),
    [
        ("I passed my pilot's exam in Lyon, it was so amazing!", "I passed my pilot's exam in Lyon"),
        ("Oh wow, it's been so busy - I run a flower stall in Delft", "I run a flower stall in Delft"),
        ("I wanted a kayak from Oslo, but I couldn't.", "I wanted a kayak from Oslo, but I couldn't"),
        ("I tried oysters in Brest, I hated it", "I tried oysters in Brest, I hated it"),
        ("With help from Dario, I made it through.", "With help from Dario, I made it through"),
        ("我考下了潜水证，真的太开心了！", "我考下了潜水证"),
        ("我报了潜水班，但是没去", "我报了潜水班，但是没去"),
    ],
)
async def test_a_clause_that_says_nothing_is_left_out(held: AMemorixHostService, said_so: str, told: str) -> None:
    await state(held, said_so, kind="event")
    assert lines_of(await profile(held)) == {"notes": [told]}


@pytest.mark.parametrize(
    "lines",
    [
        ["我好困", "我饿了", "我先睡了", "我到家了", "我有点烦"],
        ["i'm so tired", "i'm hungry", "i'm off to bed", "i'm home", "i can't even"],
        ["我在等车", "我迟到了", "我感冒了", "我没带伞", "我今天请假"],
        ["i feel sick today", "i overslept", "i'm stuck in traffic", "i'll be late", "i forgot my keys again"],
        ["我喜欢猫", "我不吃辣", "我住五楼", "我属兔", "我会游泳"],
        ["i like cats", "i hate mornings", "i have two sisters", "i drive a van", "i can juggle"],
    ],
)
async def test_nobody_who_said_five_lines_of_themselves_has_an_empty_profile(
    host: AMemorixHostService, lines: list[str]
) -> None:
    await said(host, "c", *(("u1", line, NOW - n * 60) for n, line in enumerate(lines)))
    await host.settle()
    found = await profile(host)
    assert found["items"]
    assert found["summary"]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("short enough", "short enough"),
        ("residence: Leeds; occupation: nurse", "residence: Leeds…"),
        ("the price of 1,234.56 pounds", "the price of…"),
        ("她在成都开了一家卖手工皮具的小店生意非常好", "她在成都开了一家卖手工皮具的…"),
        ("x" * 40, "x" * 14 + "…"),
    ],
)
def test_a_text_is_cut_at_the_end_of_a_phrase_or_a_word(text: str, shown: str) -> None:
    assert cut_at_phrase(text, 25 if "Leeds" in text else 15) == shown
