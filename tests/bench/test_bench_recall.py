"""The recall benchmarks from the file to the tables, over small conversations."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from rich.console import Console
from typer.testing import CliRunner

from amemorix.config import Config
from amemorix.frontends.cli.main import app
from amemorix_bench.recall.ablation import ablate, variants
from amemorix_bench.recall.bench import DEPTH, loaded
from amemorix_bench.recall.chinese import read_chinese
from amemorix_bench.recall.locomo import read_locomo
from amemorix_bench.recall.longmemeval import read_longmemeval
from amemorix_bench.recall.report import print_ablation, print_report
from amemorix_bench.recall.result import breakdown
from amemorix_bench.recall.run import run
from bench_samples import CHINESE, LOCOMO, LONGMEMEVAL, NO_MODEL, written_json


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return written_json(tmp_path, "locomo.json", LOCOMO)


async def test_every_question_with_evidence_is_asked_and_scored(file: Path) -> None:
    report, ablations = await run(read_locomo(file), config=NO_MODEL)

    assert (report.subject.corpora, report.subject.turns, report.subject.sessions) == (("conv-1", "conv-2"), 10, 3)
    assert (report.conditions.model, ablations) == ("no model", [])
    assert (report.without_evidence, report.unusable) == (2, ("conv-1: D", "conv-1: D9:9"))
    assert [r.category for r in report.results] == [
        "single-hop", "multi-hop", "open-domain", "adversarial", "single-hop",
    ]  # fmt: skip
    first = report.results[0]
    assert (first.corpus, first.found[0], first.score.mrr) == ("conv-1", "conv-1/D1:1", 1.0)
    assert (first.evidence, first.sessions) == (("conv-1/D1:1",), ("conv-1/session_1",))
    assert first.floor_found == ("conv-1/D1:1", "conv-1/D1:3", "conv-1/D2:2")
    assert (first.floor.mrr, first.floor.session_1) == (1.0, 1.0)
    assert report.degraded == 0
    for result in report.results:
        assert 0 < result.milliseconds < 60_000
        assert len(result.found) == len(result.scores) <= DEPTH
        assert list(result.scores) == sorted(result.scores, reverse=True)


async def test_without_a_chat_every_conversation_can_be_found(file: Path) -> None:
    separate, _ = await run(read_locomo(file), config=NO_MODEL)
    merged, _ = await run(read_locomo(file), config=NO_MODEL, merged=True)

    def chats(turns: tuple[str, ...]) -> set[str]:
        return {turn.partition("/")[0] for turn in turns}

    assert all(chats(r.found) <= {r.corpus} and chats(r.floor_found) <= {r.corpus} for r in separate.results)
    assert any(len(chats(r.found)) == 2 for r in merged.results)
    assert merged.results[-1].found[0] == "conv-2/D1:1"


async def test_a_limit_leaves_out_what_is_not_asked_about(file: Path) -> None:
    few, _ = await run(read_locomo(file), limit=2, config=NO_MODEL)

    assert few.subject.corpora == ("conv-1",)
    assert [r.question for r in few.results] == ["Where did Ada get the greyhound?", "Who won a medal with a ribbon?"]


async def test_a_loaded_bench_can_be_asked_again_with_other_settings(file: Path) -> None:
    async with loaded(read_locomo(file).only(["conv-2"]), config=NO_MODEL) as bench:
        before = await bench.ask()
        after = await bench.ask(config={"retrieval.sparse.enabled": False}, categories=["single-hop"])

    assert before.results[0].found[0] == "conv-2/D1:1"
    assert len(after.results) == 1
    assert after.results[0].found != before.results[0].found


async def test_long_turns_count_once_and_unanswerable_questions_apart(tmp_path: Path) -> None:
    told: list[str] = []
    dataset = read_longmemeval(written_json(tmp_path, "lme.json", LONGMEMEVAL))

    report, _ = await run(dataset, config=NO_MODEL | {"ingest.chunk_chars": 200}, on_stage=told.append)

    result = report.results[0]
    assert (len(report.results), result.found[0], result.score.recall_5) == (1, "q-cello/answer_1:1", 1.0)
    assert len(set(result.found)) == len(result.found)
    assert (len(report.unanswerable), report.unanswered, report.unanswerable[0].found) == (1, 1, ())
    assert report.unusable == ("q-cello: answer_9",)
    assert told == ["storing 8 turns of 2 conversations", "asking 2 questions"]


async def test_questions_are_asked_at_their_time(tmp_path: Path) -> None:
    """The dates of a session and of a question are what the memory goes by, not those of the run."""
    dataset = read_longmemeval(written_json(tmp_path, "lme.json", LONGMEMEVAL))
    question = dataset.corpora[0].questions[0]
    args = {"mode": "time", "chat_id": "q-cello", "time_start": "10 days ago", "time_end": "10 days ago"}
    async with loaded(dataset, config=NO_MODEL) as bench:
        now = await bench.host.invoke("search_memory", args)
        with bench.clock.standing_at(question.asked_at):
            then = await bench.host.invoke("search_memory", args)

    assert now["hits"] == []
    assert {hit["external_id"] for hit in then["hits"]} == {"q-cello/answer_1:1", "q-cello/answer_1:2"}


async def test_the_breakdown_counts_the_headline_and_shows_the_others_after_it(file: Path) -> None:
    report, _ = await run(read_locomo(file), config=NO_MODEL)

    lines = breakdown(report)

    assert [(line.label, line.questions) for line in lines] == [
        ("multi-hop", 1), ("open-domain", 1), ("single-hop", 2), ("all", 4), ("adversarial", 1),
    ]  # fmt: skip
    overall = next(line for line in lines if line.label == "all")
    counted = [r.score.recall_10 for r in report.results if r.category != "adversarial"]
    assert overall.score.recall_10 == report.score.recall_10 == pytest.approx(sum(counted) / 4)
    span = overall.intervals["recall_10"]
    assert span.low <= overall.score.recall_10 <= span.high


def test_every_weight_every_switch_and_the_model_is_a_variant() -> None:
    found = {variant.name: variant for variant in variants(Config())}

    weights = {name for name, weight in Config().retrieval.weights if weight > 0}
    assert set(found) >= {*weights, "sparse", "noise", "embedding model"}
    assert found["sparse"].patch == {"retrieval.sparse.enabled": False}
    assert found["window"].patch == {"retrieval.weights.window": 0.0}
    assert found["window"].undo == {"retrieval.weights.window": Config().retrieval.weights.window}
    assert found["embedding model"].patch == NO_MODEL


def test_a_model_that_is_not_there_is_no_variant() -> None:
    assert "embedding model" not in {variant.name for variant in variants(Config(), with_model=False)}


def test_what_is_off_already_is_no_variant() -> None:
    config = Config.model_validate(
        {"embedding": {"provider": "none"}, "retrieval": {"weights": {"graph": 0}, "sparse": {"enabled": False}}}
    )

    found = {variant.name for variant in variants(config)}

    assert found.isdisjoint({"graph", "sparse", "embedding model"})
    assert "noise" in found


async def test_an_ablation_asks_the_same_and_puts_everything_back(file: Path) -> None:
    async with loaded(read_locomo(file), config=NO_MODEL) as bench:
        full = await bench.ask()
        before = await bench.host.get_config()
        found = {one.name: one for one in await ablate(bench, full)}

        assert await bench.host.get_config() == before
        assert [r.found for r in (await bench.ask()).results] == [r.found for r in full.results]
    sparse = found["sparse"]
    assert sparse.score.recall_10 < full.score.recall_10
    assert sparse.difference.recall_10 == pytest.approx(sparse.score.recall_10 - full.score.recall_10)
    assert sparse.intervals["recall_10"].low <= sparse.difference.recall_10 <= sparse.intervals["recall_10"].high
    assert len(sparse.scores) == len(full.counted) == 4
    assert found["noise"].difference.recall_10 >= 0


async def test_the_tables_name_categories_floor_costs_and_what_was_left_out(tmp_path: Path) -> None:
    printed = io.StringIO()
    console = Console(width=140, file=printed)
    report, ablations = await run(
        read_locomo(written_json(tmp_path, "locomo.json", LOCOMO)), config=NO_MODEL, ablation=True
    )
    other, _ = await run(read_longmemeval(written_json(tmp_path, "lme.json", LONGMEMEVAL)), config=NO_MODEL)

    print_report(report, console)
    print_ablation(ablations, console)
    print_report(other, console)

    text = printed.getvalue()
    for words in (
        "single-hop", "adversarial", "plain BM25, turns", "NDCG@10", "p95", "bytes a turn", "no model",
        "2 unusable evidence entries (conv-1: D; conv-1: D9:9)", "r@10 over plain BM25", "sparse",
        "1 questions to which nothing is an answer: 1 found nothing",
    ):  # fmt: skip
        assert words in text, words


async def test_hits_among_five_lead_for_the_chinese_set(tmp_path: Path) -> None:
    printed = io.StringIO()
    dataset = read_chinese(written_json(tmp_path, "tiny.json", CHINESE))

    report, _ = await run(dataset, config=NO_MODEL)
    print_report(report, Console(width=140, file=printed))

    header = next(line for line in printed.getvalue().splitlines() if "category" in line)
    assert [cell.strip() for cell in header.split("┃")[1:4]] == ["category", "n", "any@5"]
    assert report.score.any_5 == 1.0


def test_the_command_writes_figures_conditions_and_a_record_a_question(file: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    args = ["--json", str(out), "--conversations", "conv-2", "--set", "embedding.provider=none", "--ablation"]

    shown = CliRunner().invoke(app, ["bench", "locomo", str(file), *args])

    assert shown.exit_code == 0, shown.output
    record = json.loads(out.read_text("utf-8"))
    question = record["results"][0]
    assert (question["ranks"], question["floor_ranks"]) == ({"conv-2/D1:1": 1}, {"conv-2/D1:1": 1})
    assert record["summary"][0]["intervals"]["mrr"] == {"low": 1.0, "high": 1.0}
    assert record["conditions"]["settings"]["embedding"]["provider"] == "none"
    assert record["conditions"]["machine"]["cores"] > 0
    assert record["costs"]["filling"]["filled"]["store_bytes"] > 1000
    assert {one["name"] for one in record["ablation"]} >= {"window", "sparse"}
    assert "search_memory" in shown.output


@pytest.mark.parametrize(("command", "data"), [("locomo", LOCOMO), ("chinese", CHINESE)], ids=["locomo", "chinese"])
def test_relations_are_measured_against_a_memory_without_them(tmp_path: Path, command: str, data: object) -> None:
    path, out = written_json(tmp_path, "data.json", data), tmp_path / "out.json"
    args = [command, str(path), "--set", "embedding.provider=none", "--relations", "--json", str(out)]

    shown = CliRunner().invoke(app, ["bench", *args])

    assert shown.exit_code == 0, shown.output
    record = json.loads(out.read_text("utf-8"))
    every = record["relations"][-1]
    asked = [one for one in record["results"] if one["category"] in record["subject"]["headline"]]
    assert (every["label"], every["questions"]) == ("all", len(asked))
    assert every["with_relations"]["recall_10"] == pytest.approx(
        sum(one["score"]["recall_10"] for one in asked) / len(asked)
    )
    gained = every["with_relations"]["mrr"] - every["without"]["mrr"]
    assert every["difference"]["mrr"] == pytest.approx(gained)
    assert "without" in shown.output


def test_the_share_of_evidence_that_a_context_holds_is_measured(file: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    args = ["--json", str(out), "--conversations", "conv-2", "--set", "embedding.provider=none", "--context"]

    shown = CliRunner().invoke(app, ["bench", "locomo", str(file), *args])

    assert shown.exit_code == 0, shown.output
    record = json.loads(out.read_text("utf-8"))
    assert record["context"]["evidence"] == 1.0
    assert 0 < record["context"]["tokens"] <= 800
    assert record["results"][0]["context"] == record["context"]
    assert "get_context: 1.000 of the evidence lines stand in its text" in shown.output


def test_two_measurements_at_once_are_refused(file: Path) -> None:
    shown = CliRunner().invoke(app, ["bench", "locomo", str(file), "--relations", "--ablation"])
    assert shown.exit_code != 0
    assert "--relations" in shown.output


@pytest.mark.parametrize(
    ("command", "data"), [("longmemeval", LONGMEMEVAL), ("chinese", CHINESE)], ids=["longmemeval", "chinese"]
)
def test_the_other_sets_have_commands_of_their_own(tmp_path: Path, command: str, data: object) -> None:
    path = written_json(tmp_path, "data.json", data)

    shown = CliRunner().invoke(app, ["bench", command, str(path), "--set", "embedding.provider=none"])

    assert shown.exit_code == 0, shown.output
    assert "plain BM25" in shown.output
