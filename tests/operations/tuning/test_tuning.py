"""Tuning: questions that give nothing away, rounds that survive a kill, and nothing applied that does not hold."""

from __future__ import annotations

import asyncio
import json
import math
import signal
import tomllib
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from typer.testing import CliRunner

from amemorix import AMemorixHostService
from amemorix.frontends.cli.main import app
from amemorix.testing import HashEmbedder, ScriptedChat, memory_host, pause_background
from amemorix.tuning import comparison
from amemorix.tuning.questions import copies
from conftest import Open
from entrance import admin_of, change, found, refused, rows, said
from lives import Life
from tuning_life import ADMIN, OFF, PLACES, SETTINGS, THINGS, create, ended, fill, live

TIMED = ("recommended", "reasons", "p95_before", "p95_after")
"""What a task says that the machine has a part in."""
QUERIES = "select id, split, kind, chat_id, text from tuning_queries where task = {} order by id"
LINKS = """select q.id, q.split, q.kind, q.text, l.role, p.id, p.content, p.session
           from tuning_queries q join tuning_query_paragraphs l on l.query = q.id join paragraphs p on p.id = l.paragraph"""


ask = admin_of(ADMIN)


@pytest.fixture(autouse=True)
def any_pace(monkeypatch: pytest.MonkeyPatch) -> None:
    """Settings are not found too slow because the machine has other work."""
    monkeypatch.setattr(comparison, "SLOWER_MS", math.inf)


@pytest.fixture
async def filled(opened: Open) -> AMemorixHostService:
    """A memory with talk in both languages and settings as shipped."""
    host = await opened(embed=HashEmbedder(), **SETTINGS)
    await fill(host)
    return host


@pytest.fixture
async def spoilt(opened: Open) -> AMemorixHostService:
    """The same with settings that find hardly anything."""
    host = await opened(embed=HashEmbedder(), **SETTINGS, **OFF)
    await fill(host)
    return host


# questions


async def test_questions_give_nothing_away_and_trying_them_leaves_no_trace(filled: AMemorixHostService) -> None:
    done = await ended(filled, await create(filled))
    links = rows(filled, LINKS)
    targets = [row for row in links if row[4] == "target"]

    assert {chr(ord(row[3][-2])) > "\u4e00" for row in targets} == {True, False}, "questions in both languages"
    for _, _, _, text, role, _, content, _ in links:
        assert content.casefold() not in text.casefold(), "no stored text is asked as it stands"
        if role == "target":
            assert not copies(text, content)
    for query in {row[0] for row in targets if row[2] == "reply"}:
        hidden = [row for row in links if row[0] == query and row[4] == "hidden"]
        assert len(hidden) == 1, "the turn that asked is not to be found"
    asked = {row[5] for row in links if row[4] == "hidden"}
    assert asked.isdisjoint({row[5] for row in targets})

    parts = {(row[7], row[1]) for row in targets}
    assert len(parts) == len({session for session, _ in parts}), "no session is in two parts"
    assert {one["split"] for one in done["questions"]} == {"train", "validation", "held_out"}
    assert rows(filled, "select * from retention") == [], "it counts as no use"
    assert (await filled.get_config())["retrieval"]["weights"]["dense"] == 0.75


async def test_the_same_data_and_seed_make_the_same_task(opened: Open, tmp_path: Path) -> None:
    runs = []
    for name in ("one", "other"):
        host = await opened(tmp_path / name, embed=HashEmbedder(), **SETTINGS, **OFF)
        await fill(host)
        first = await ended(host, await create(host, seed=7))
        queries = [row[1:] for row in rows(host, QUERIES.format(1))]
        result = {name: value for name, value in first["task"]["result"].items() if name not in TIMED}
        runs.append((queries, [(one["params"], one["score"]) for one in first["rounds"]], result))
    assert runs[0] == runs[1]
    again = await ended(host, await create(host, seed=8))
    assert [row[1:] for row in rows(host, QUERIES.format(2))] != runs[0][0]
    assert again["task"]["seed"] == 8


async def test_the_chat_model_may_ask(opened: Open) -> None:
    def script(task: str, user: str) -> dict[str, Any]:
        assert task == "tuning"
        numbers = [int(line.partition(".")[0]) for line in user.splitlines()]
        return {"questions": [{"line": n, "question": f"Which hobby is on page {n}?"} for n in numbers]}

    chat = ScriptedChat(script)
    host = await opened(embed=HashEmbedder(), chat=chat, **SETTINGS)
    await fill(host)
    done = await ended(host, await create(host))
    assert {"asked", "reply"} <= {one["kind"] for one in done["questions"]}
    asked = len(chat.asked)
    done = await ended(host, await create(host, use_chat_model=False))
    assert "asked" not in {one["kind"] for one in done["questions"]}
    assert len(chat.asked) == asked


async def test_without_an_answer_of_the_model_the_rules_ask(opened: Open) -> None:
    host = await opened(embed=HashEmbedder(), chat=ScriptedChat({}), **SETTINGS)
    await fill(host)
    done = await ended(host, await create(host))
    assert done["task"]["status"] == "completed"
    assert {one["kind"] for one in done["questions"]} == {"reply"}


async def test_questions_of_ones_own(filled: AMemorixHostService) -> None:
    hits = (await found(filled, "bicycle chain", chat_id="en", limit=5))["hits"]
    await said(filled, "en", ("Ada", "The parrot learnt another tune.", 1.7e9 - 5))
    given = [
        {"query": f"Saturn {n}", "chat_id": "en", "expected": hits[n % 5]["id"] if n % 2 else [hits[n % 5]["content"]]}
        for n in range(30)
    ]
    given.append({"query": "火车", "chat_id": "zh", "expected": ["坐火车到敦煌看壁画，骑骆驼爬沙丘"]})
    task = await create(filled, queries=given, own_questions=True)
    done = await ended(filled, task)
    assert done["task"]["status"] == "completed", done["task"]["error"]
    assert {one["kind"] for one in done["questions"]} == {"labelled", "reply"}
    kept = {row[4] for row in rows(filled, QUERIES.format(task)) if row[2] == "labelled"}
    assert kept == {one["query"] for one in given}


UNANSWERED: list[tuple[dict[str, Any], str]] = [
    ({"query": "x", "chat_id": "nowhere", "expected": ["p1"]}, "queries.0.chat_id"),
    ({"query": "x", "chat_id": "en", "expected": ["p999999"]}, "queries.0.expected.0"),
    ({"query": "x", "chat_id": "en", "expected": ["a text that nobody wrote"]}, "queries.0.expected.0"),
    ({"query": "x", "chat_id": "en", "expected": ["坐火车到敦煌看壁画，骑骆驼爬沙丘"]}, "queries.0.expected.0"),
    ({"query": "x", "chat_id": "en", "expected": []}, "queries.0.expected"),
    ({"query": "", "expected": ["p1"]}, "queries.0.query"),
]


async def test_questions_that_nothing_answers_are_refused(filled: AMemorixHostService) -> None:
    for query, field in UNANSWERED:
        await refused(filled, ADMIN, {"action": "create_task", "queries": [query]}, field)
    assert (await ask(filled, "list_tasks"))["total"] == 0


async def test_too_little_to_learn_from_is_said(opened: Open) -> None:
    host = await opened(**SETTINGS)
    await said(host, "c", ("Ada", "Where is the kite?"), ("Ben", "Up in the tall birch tree behind the chapel."))
    done = await ended(host, await create(host))
    assert done["task"]["status"] == "failed"
    told = done["task"]["error"]
    assert "too little to learn from: 0 questions were found (none of any kind; " in told
    assert "8 to learn from, 6 to choose by, 6 to test with are needed" in told
    assert "`queries`" in told


async def test_a_purge_takes_the_questions_along(filled: AMemorixHostService) -> None:
    await ended(filled, await create(filled))
    before = len(rows(filled, QUERIES.format(1)))
    target = next(row[5] for row in rows(filled, LINKS) if row[4] == "target")
    args = {"action": "execute", "mode": "paragraph", "selector": {"ids": [f"p{target}"]}, "purge": True}
    done = await filled.invoke("memory_delete_admin", args)
    assert done["success"], done
    await filled.settle(600)
    assert len(rows(filled, QUERIES.format(1))) == before - 1


# tasks


async def test_bad_settings_are_mended_applied_and_taken_back(spoilt: AMemorixHostService) -> None:
    path = spoilt.config_path
    path.write_text(path.read_text("utf-8").replace("[tuning]", "# how we search for settings\n[tuning]"), "utf-8")
    await spoilt.reload()
    task = await create(spoilt)
    done = (await ended(spoilt, task))["task"]
    assert (done["status"], done["stage"], done["progress"], done["rounds_done"]) == ("completed", "done", 1.0, 4)
    assert done["recommended"], done["result"]
    assert done["result"]["validation"]["p"] < 0.05
    assert done["result"]["held_out"]["difference"] > 0

    applied = await ask(spoilt, "apply_best", task_id=task, reason="better")
    assert applied["changed"]
    assert applied["profile"] == done["result"]["changes"]
    written = tomllib.loads(path.read_text("utf-8"))
    assert written["retrieval"]["weights"]["dense"] == applied["profile"]["retrieval.weights.dense"] > 0
    assert "# how we search for settings" in path.read_text("utf-8")
    assert (await spoilt.get_config())["retrieval"]["weights"]["dense"] > 0, "it is at work at once"
    again = await ask(spoilt, "apply_profile", profile=applied["profile"])
    assert (again["changed"], again["history_id"]) == (False, 0)

    back = await ask(spoilt, "rollback_profile")
    assert back["profile"] == applied["previous"]
    assert (await spoilt.get_config())["retrieval"]["weights"]["dense"] == 0.0
    assert "# how we search for settings" in path.read_text("utf-8")
    history = (await ask(spoilt, "get_profile"))["history"]
    assert [(one["task_id"], one["reason"], one["status"]) for one in history] == [(task, "better", "rolled_back")]
    error = await spoilt.invoke(ADMIN, {"action": "rollback_profile"})
    assert error["error_code"] == "conflict"


async def test_what_is_not_recommended_is_not_applied(filled: AMemorixHostService) -> None:
    lines = [row[0] for row in rows(filled, "select id from paragraphs order by id")]
    wrong = [{"query": f"{place} {thing}", "expected": f"p{lines[(17 * n) % len(lines)]}"}
             for n, (place, (thing, *_)) in enumerate((p, t) for p in PLACES for t in THINGS)]  # fmt: skip
    task = await create(filled, rounds=8, queries=wrong)
    done = (await ended(filled, task))["task"]
    assert done["status"] == "completed"
    assert done["result"]["changes"]
    assert not done["recommended"]
    assert done["result"]["reasons"]
    error = await filled.invoke(ADMIN, {"action": "apply_best", "task_id": task})
    assert error["error_code"] == "conflict"
    assert (await ask(filled, "apply_best", task_id=task, validate=False))["changed"]


async def test_settings_that_changed_since_are_not_overwritten(spoilt: AMemorixHostService) -> None:
    task = await create(spoilt)
    await ended(spoilt, task)
    await spoilt.update_config({"retrieval.weights.graph": 0.123})
    error = await spoilt.invoke(ADMIN, {"action": "apply_best", "task_id": task})
    assert error["error_code"] == "conflict"
    assert "retrieval.weights.graph" in error["error"]
    assert (await ask(spoilt, "apply_best", task_id=task, validate=False))["changed"]


async def test_rounds_list_and_report(spoilt: AMemorixHostService) -> None:
    task = await create(spoilt, objective="precision_priority")
    await ended(spoilt, task)
    page = await ask(spoilt, "get_rounds", task_id=f"t{task}", limit=2, offset=1)
    assert ([one["round"] for one in page["items"]], page["count"], page["total"]) == ([1, 2], 2, 4)
    assert page["items"][0]["params"]["anchor"] == "shipped"
    listed = await ask(spoilt, "list_tasks", status="completed")
    assert [one["task_id"] for one in listed["items"]] == [task]
    assert (await ask(spoilt, "list_tasks", status=["queued"]))["items"] == []

    told = await ask(spoilt, "get_report", task_id=task)
    assert told["content"].startswith(f"# Tuning task {task}")
    assert "Recommended" in told["content"] and "precision_priority" in told["content"]
    drawing = ElementTree.fromstring(told["plots"]["rounds"])
    assert len(drawing.findall(".//{http://www.w3.org/2000/svg}circle")) == 4
    data = json.loads((await ask(spoilt, "get_report", task_id=task, format="json", plots=False))["content"])
    assert len(data["rounds"]) == 4
    exported = await ask(spoilt, "export_profile", task_id=task)
    assert tomllib.loads(exported["toml"])["retrieval"]["weights"]["dense"] > 0
    assert tomllib.loads((await ask(spoilt, "export_profile"))["toml"])["retrieval"]["weights"]["dense"] == 0


async def test_a_task_is_cancelled(spoilt: AMemorixHostService) -> None:
    first, second = await create(spoilt, rounds=200), await create(spoilt)
    await ended(spoilt, first, rounds=1)
    assert (await ask(spoilt, "cancel", task_id=second))["task"]["status"] == "cancelled"
    assert (await ask(spoilt, "cancel", task_id=first))["task"]["status"] == "cancelled"
    third = await create(spoilt)
    assert (await ended(spoilt, third))["task"]["status"] == "completed"
    assert (await ended(spoilt, first))["task"]["rounds_done"] < 200
    error = await spoilt.invoke(ADMIN, {"action": "cancel", "task_id": first})
    assert error["error_code"] == "conflict"
    error = await spoilt.invoke(ADMIN, {"action": "apply_best", "task_id": first})
    assert error["error_code"] == "conflict"


@pytest.mark.parametrize(("setting", "value", "taken"), [("max_queue_size", 2, 2), ("enabled", False, 0)])
async def test_the_queue_has_an_end(opened: Open, setting: str, value: Any, taken: int) -> None:
    host = await opened(tuning={setting: value, "poll_interval_seconds": 3600.0})
    await pause_background(host)  # nobody takes a task from it
    for _ in range(taken):
        await create(host)
    error = await host.invoke(ADMIN, {"action": "create_task"})
    assert (error["error_code"], error["details"]["setting"]) == ("conflict", f"tuning.{setting}")
    assert (await ask(host, "settings"))[setting] == value


async def test_old_tasks_are_forgotten(filled: AMemorixHostService) -> None:
    await filled.update_config({"tuning.keep_tasks": 2})
    for _ in range(3):
        await ended(filled, await create(filled, rounds=2))
    await ended(filled, await create(filled, rounds=2))
    assert [one["task_id"] for one in (await ask(filled, "list_tasks"))["items"]] == [4, 3]
    assert {row[0] for row in rows(filled, "select distinct task from tuning_rounds")} == {3, 4}


async def test_a_killed_task_goes_on_at_its_next_round(opened: Open, tmp_path: Path) -> None:
    killed, whole = tmp_path / "killed", tmp_path / "whole"
    life = Life(live, killed, 3)
    assert (life.rest(), life.exitcode) == ([], -signal.SIGKILL)

    async with memory_host(killed, embed=HashEmbedder(), **SETTINGS, **OFF) as host:
        kept = rows(host, "select round, created_at, seconds from tuning_rounds order by round")
        rest = await ended(host, 1)
        after = rows(host, "select round, created_at, seconds from tuning_rounds order by round")
    assert 3 <= len(kept) < 6
    assert after[: len(kept)] == kept, "no round is done twice"
    assert [one["round"] for one in rest["rounds"]] == list(range(6))
    assert rest["task"]["status"] == "completed"

    host = await opened(whole, embed=HashEmbedder(), **SETTINGS, **OFF)
    await fill(host)
    straight = await ended(host, await create(host, rounds=6))
    assert [one["params"] for one in straight["rounds"]] == [one["params"] for one in rest["rounds"]]
    assert [one["score"] for one in straight["rounds"]] == [one["score"] for one in rest["rounds"]]


async def test_a_task_goes_on_through_a_change_of_configuration(spoilt: AMemorixHostService) -> None:
    task = await create(spoilt, rounds=12)
    await ended(spoilt, task, rounds=1)
    await spoilt.update_config({"facts.search_limit": 4})
    done = await ended(spoilt, task)
    assert done["task"]["status"] == "completed"
    assert [one["round"] for one in done["rounds"]] == list(range(12))


# profiles


async def test_a_profile_outlives_a_restart(tmp_path: Path) -> None:
    async with memory_host(tmp_path) as host:
        done = await ask(host, "apply_profile", profile={"retrieval": {"weights": {"dense": 0.5}}}, reason="我要试试")
        assert (done["profile"], done["previous"]) == (
            {"retrieval.weights.dense": 0.5},
            {"retrieval.weights.dense": 0.75},
        )
        text = host.config_path.read_text("utf-8")
    async with memory_host(tmp_path, **{"retrieval.weights.dense": 0.5}) as host:
        assert "dense = 0.5" in text
        shown = await ask(host, "get_profile")
        assert shown["differs_from_shipped"] == {"retrieval.weights.dense": 0.5}
        assert [one["reason"] for one in shown["history"]] == ["我要试试"]
        await ask(host, "rollback_profile")
        assert (await host.get_config())["retrieval"]["weights"]["dense"] == 0.75


async def test_profiles_are_taken_back_one_after_the_other(host: AMemorixHostService) -> None:
    await ask(host, "apply_profile", profile={"retrieval.weights.dense": 0.5})
    await ask(host, "apply_profile", profile={"retrieval.weights.dense": 0.6, "retrieval.rerank.depth": 32})
    await ask(host, "rollback_profile")
    assert (await ask(host, "get_profile"))["profile"]["retrieval.weights.dense"] == 0.5
    await ask(host, "rollback_profile")
    assert (await ask(host, "get_profile"))["differs_from_shipped"] == {}


async def test_what_another_hand_changed_is_not_taken_back(host: AMemorixHostService) -> None:
    await ask(host, "apply_profile", profile={"retrieval.weights.dense": 0.5})
    await host.update_config({"retrieval.weights.dense": 0.55})
    error = await host.invoke(ADMIN, {"action": "rollback_profile"})
    assert (error["error_code"], error["details"]["settings"]) == ("conflict", ["retrieval.weights.dense"])
    await ask(host, "rollback_profile", validate=False)
    assert (await host.get_config())["retrieval"]["weights"]["dense"] == 0.75


async def test_a_profile_that_was_begun_and_never_applied_is_forgotten(host: AMemorixHostService) -> None:
    await ask(host, "apply_profile", profile={"retrieval.weights.dense": 0.5})
    change(host, "insert into retrieval_profiles (profile, previous, reason, status, created_at) values "
                 "('{\"retrieval.weights.graph\": 0.9}', '{\"retrieval.weights.graph\": 0.6}', 'cut short', 'applying', 0)")  # fmt: skip
    assert (await ask(host, "rollback_profile"))["profile"] == {"retrieval.weights.dense": 0.75}
    assert [one["status"] for one in (await ask(host, "get_profile"))["history"]] == ["rolled_back"]


UNFIT: list[tuple[dict[str, Any], str]] = [
    ({"action": "apply_profile"}, "profile"),
    ({"action": "apply_profile", "profile": {}}, "profile"),
    ({"action": "apply_profile", "profile": {"retrieval": {}}}, "profile"),
    ({"action": "apply_profile", "profile": "dense"}, "profile"),
    ({"action": "apply_profile", "profile": {"retrieval.weights.dense": -1}}, "profile.retrieval.weights.dense"),
    ({"action": "apply_profile", "profile": {"retrieval.weights.dense": "x"}}, "profile.retrieval.weights.dense"),
    ({"action": "apply_profile", "profile": {"retrieval.weights.none": 1}}, "profile.retrieval.weights.none"),
    ({"action": "apply_profile", "profile": {"storage.readers": 3}}, "profile.storage.readers"),
    ({"action": "apply_profile", "profile": {"retrieval.noise.enabled": False}}, "profile.retrieval.noise.enabled"),
    (
        {"action": "apply_profile", "profile": {"retrieval.sparse.backend": "fts5"}, "validate": False},
        "profile.retrieval.sparse.backend",
    ),
    ({"action": "create_task", "objective": "speed"}, "objective"),
    ({"action": "create_task", "intensity": "wild"}, "intensity"),
    ({"action": "create_task", "rounds": 1}, "rounds"),
    ({"action": "create_task", "sample_size": 5}, "sample_size"),
    ({"action": "create_task", "seed": -1}, "seed"),
    ({"action": "create_task", "top_k": 0}, "top_k"),
    ({"action": "create_task", "queries": "x"}, "queries"),
    ({"action": "get_task"}, "task_id"),
    ({"action": "get_task", "task_id": "x7"}, "task_id"),
    ({"action": "get_task", "task_id": True}, "task_id"),
    ({"action": "get_rounds", "task_id": 1, "limit": 501}, "limit"),
    ({"action": "get_report", "task_id": 1, "format": "pdf"}, "format"),
    ({"action": "list_tasks", "status": "lost"}, "statuses.0"),
]


async def test_arguments_that_do_not_fit(host: AMemorixHostService) -> None:
    for args, field in UNFIT:
        result = await host.invoke(ADMIN, args)
        assert result["error_code"] == "invalid_request", result
        assert result["details"]["field"] in (field, field.replace("statuses", "status")), result
    assert (await ask(host, "get_profile"))["history"] == []
    assert (await ask(host, "list_tasks"))["total"] == 0


async def test_unknown_tasks(host: AMemorixHostService) -> None:
    for action in ("get_task", "get_rounds", "cancel", "apply_best", "get_report", "export_profile"):
        await refused(host, ADMIN, {"action": action, "task_id": 77}, "task_id", "not_found")


async def test_without_validation_other_settings_of_retrieval_may_be_named(host: AMemorixHostService) -> None:
    await ask(host, "apply_profile", profile={"retrieval.noise.enabled": False}, validate=False)
    assert not (await host.get_config())["retrieval"]["noise"]["enabled"]


async def test_the_command_tunes_and_applies(tmp_path: Path) -> None:
    async with memory_host(tmp_path, **SETTINGS, **OFF) as host:
        await fill(host)
        path = host.config_path
    plot = tmp_path / "rounds.svg"
    args = ["tune", "--intensity", "quick", "--apply", "--plot", str(plot), "--config", str(path)]
    done = await asyncio.to_thread(CliRunner().invoke, app, args)
    assert done.exit_code == 0, done.output
    assert "# Tuning task 1" in done.stdout
    ElementTree.parse(plot)
    changed = tomllib.loads(path.read_text("utf-8"))["retrieval"]["weights"]["window"]
    assert (changed > 0) == ("Recommended: round" in done.stdout) is True


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('{"query": "花生", "expected": ["p1"]}\n{"query": "tea"', "line 2: not valid JSON"),
        ("[{]", "is not JSON"),
        ("\n", "holds no question"),
        ('{"query": "花生", "expected": ["p99"]}', "queries.0.expected.0: 'p99' is no paragraph"),
        ('[{"query": "花生"}]', "queries.0.expected is required"),
        ('{"query": "花生", "expected": ["p1"]}\n\n{"query": "tea", "expected": "p2"}\n', "labelled 2"),
        ('[{"query": "花生", "expected": ["p1"]}, {"query": "tea", "expected": ["p2"]}]', "labelled 2"),
    ],
)
async def test_the_command_takes_questions_of_ones_own(tmp_path: Path, text: str, told: str) -> None:
    async with memory_host(tmp_path, **SETTINGS) as host:
        await said(host, "c", ("林澈", "我对花生过敏。"), ("Tom", "I like tea."))
        path = host.config_path
    (tmp_path / "questions.jsonl").write_text(text, "utf-8")
    args = ["tune", "--queries", str(tmp_path / "questions.jsonl"), "--config", str(path)]
    done = await asyncio.to_thread(CliRunner().invoke, app, args)
    assert (done.exit_code, told in done.output) == (1, True), done.output


async def test_the_command_wants_a_file_of_questions_that_is_there(tmp_path: Path) -> None:
    done = await asyncio.to_thread(CliRunner().invoke, app, ["tune", "--queries", str(tmp_path / "none.jsonl")])
    assert (done.exit_code, "cannot be read" in done.output) == (1, True)
