"""Commands that measure: how well the memory recalls, and how fast it is."""

from __future__ import annotations

import asyncio
import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from amemorix.errors import InvalidRequest, StorageFailure
from amemorix.frontends.cli.terminal import FriendlyGroup, remark

if TYPE_CHECKING:
    from .recall.dataset import Dataset

__all__ = ["app"]

app = typer.Typer(cls=FriendlyGroup, no_args_is_help=True, help="Measure recall and speed.")
Settings = Annotated[
    list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="A setting to measure with, its value as JSON.")
]
JsonFile = Annotated[Path | None, typer.Option("--json", help="Write the raw results here.")]
Limit = Annotated[int | None, typer.Option(min=1, help="Ask so many, evenly spread.")]
Merged = Annotated[bool, typer.Option("--merged", help="All chats in one memory, asked without naming the chat.")]
Ablate = Annotated[bool, typer.Option("--ablation", help="Ask again without each part of search.")]
Relations = Annotated[
    bool, typer.Option("--relations", help="Ask again of a memory that reads no names and relations out of the texts.")
]
WithContext = Annotated[
    bool,
    typer.Option("--context", help="Ask `get_context` too: the share of evidence lines whose text is in 800 tokens."),
]
Only = Annotated[str, typer.Option("--conversations", help="Only these, separated by commas.")]
ChatLanguage = Annotated[Literal["zh", "en"], typer.Option(help="Language of the chats.")]
QuestionLanguage = Annotated[Literal["zh", "en"], typer.Option(help="Language of the questions.")]


@app.command()
def locomo(
    file: Annotated[Path, typer.Argument(help="Conversations in LoCoMo's format.")],
    json_file: JsonFile = None,
    conversations: Only = "",
    limit_questions: Limit = None,
    merged: Merged = False,
    ablation: Ablate = False,
    relations: Relations = False,
    context: WithContext = False,
    settings: Settings = None,
) -> None:
    """Store LoCoMo conversations, ask every question, and compare with plain BM25."""
    from .recall.locomo import read_locomo

    dataset = read_locomo(file).only(_names(conversations))
    _recall(dataset, json_file, limit_questions, merged, ablation, settings, relations, context)


@app.command()
def longmemeval(
    file: Annotated[Path, typer.Argument(help="Questions in LongMemEval's format, JSON or JSON lines.")],
    json_file: JsonFile = None,
    conversations: Annotated[str, typer.Option(help="Ids of the only questions, separated by commas.")] = "",
    limit_questions: Limit = None,
    ablation: Ablate = False,
    settings: Settings = None,
) -> None:
    """Store the chat history of each LongMemEval question, ask it, and compare with plain BM25."""
    from .recall.longmemeval import read_longmemeval

    dataset = read_longmemeval(file).only(_names(conversations))
    _recall(dataset, json_file, limit_questions, False, ablation, settings)


@app.command()
def chinese(
    file: Annotated[Path | None, typer.Argument(help="Chats of your own in the format, instead of ours.")] = None,
    questions: QuestionLanguage = "zh",
    chat: ChatLanguage = "zh",
    json_file: JsonFile = None,
    conversations: Only = "",
    limit_questions: Limit = None,
    merged: Merged = False,
    ablation: Ablate = False,
    relations: Relations = False,
    settings: Settings = None,
) -> None:
    """Store Chinese group chats, or their translations, ask about them in either language, and compare with plain BM25."""
    from .recall.chinese import read_chinese

    dataset = read_chinese(file, questions=questions, chat=chat).only(_names(conversations))
    _recall(dataset, json_file, limit_questions, merged, ablation, settings, relations)


@app.command()
def fixture(
    file: Annotated[Path, typer.Argument(help="A group chat with search, time, episode, person and negative cases.")],
    json_file: JsonFile = None,
    settings: Settings = None,
) -> None:
    """Store a recorded group chat as a host would, and run its test cases."""
    from .fixture.report import print_report
    from .fixture.run import run

    report = asyncio.run(run(file, config=_patch(settings)))
    _write(json_file, report.to_json())
    print_report(report)


@app.command()
def probe(
    names: Annotated[
        list[str] | None, typer.Argument(help="Probes that come with us, or files; none: all of ours.")
    ] = None,
    json_file: JsonFile = None,
    settings: Settings = None,
) -> None:
    """Ask small chats in several languages questions as people ask them, some of which nothing stored answers."""
    from amemorix_bench.probe import print_report, run, shipped

    report = asyncio.run(run(names or shipped(), _patch(settings)))
    _write(json_file, report.to_json())
    print_report(report)


@app.command()
def knowledge(
    file: Annotated[
        Path | None, typer.Argument(help="A file in LoCoMo's format, for the profiles of its speakers.")
    ] = None,
    observations: Annotated[
        Path | None,
        typer.Option(help="Observations of these speakers in LoCoMo's format, where the file itself has none."),
    ] = None,
    json_file: JsonFile = None,
    settings: Settings = None,
) -> None:
    """Tell a memory lines, news and corrections as people write them, and look at what it holds then."""
    from amemorix_bench.knowledge import print_report, run

    report = asyncio.run(run(file, _patch(settings), observations=observations))
    _write(json_file, report.to_json())
    print_report(report)


@app.command()
def speed(
    rows: Annotated[int, typer.Option(min=1, help="Paragraphs to fill the store with.")] = 10_000,
    json_file: JsonFile = None,
    only: Annotated[
        str,
        typer.Option(help="Of search, console, embedding, ingest, load, reload, derive, process; separated by commas."),
    ] = "",
    data_dir: Annotated[Path | None, typer.Option(help="Keep the filled store here for the next run.")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Few repetitions.")] = False,
    settings: Settings = None,
) -> None:
    """Fill a store and measure search, the pages of the console, ingest, embedding, reload, cold start and memory."""

    from .speed.report import print_report, shown_progress
    from .speed.run import Effort, run

    wanted = _names(only)
    patch = _patch(settings)
    effort = Effort.quick() if quick else Effort()
    with shown_progress() as on_progress:
        report = asyncio.run(
            run(rows, only=wanted, data_dir=data_dir, config=patch, effort=effort, on_progress=on_progress)
        )
    _write(json_file, report.to_json())
    print_report(report)


@app.command()
def graph(
    nodes: Annotated[int, typer.Option(min=100, help="Entities in the graph.")] = 100_000,
    edges: Annotated[int, typer.Option(min=100, help="Relations between them.")] = 400_000,
    json_file: JsonFile = None,
    data_dir: Annotated[Path | None, typer.Option(help="Keep the filled store here.")] = None,
    repeats: Annotated[int, typer.Option(min=1, help="Times each call is made.")] = 20,
) -> None:
    """Fill a graph and measure how long its pages, searches and details take."""
    from .graph import run

    report = asyncio.run(run(nodes, edges, repeats=repeats, data_dir=data_dir))
    _write(json_file, json.dumps(report.to_record(), ensure_ascii=False, indent=1))
    remark(f"{report.nodes} nodes, {report.edges} relations, stored in {report.fill_seconds} s")
    for one in report.times:
        remark(f"{one.call}: {one.p50} / {one.p95} ms (p50 / p95); longest stall {one.stall} ms")


@app.command()
def tuning(
    file: Annotated[Path, typer.Argument(help="Conversations in LoCoMo's format.")],
    bad: Annotated[
        bool, typer.Option("--bad", help="Begin with bad settings too, and see whether they are mended.")
    ] = False,
    only: Annotated[str, typer.Option(help="Of own, labelled; separated by commas.")] = "own,labelled",
    rounds: Annotated[int, typer.Option(min=2, max=200, help="Rounds of each task.")] = 20,
    sample_size: Annotated[int, typer.Option(min=20, max=500, help="Questions that a task makes of its own.")] = 200,
    seeds: Annotated[int, typer.Option(min=1, help="Tasks from each start.")] = 1,
    conversations: Only = "",
    limit_questions: Limit = None,
    json_file: JsonFile = None,
    settings: Settings = None,
) -> None:
    """Tune from the shipped settings and from bad ones, and judge by questions that the task never saw."""
    from .recall.locomo import read_locomo
    from .tuning import SOURCES, Source, Start, bad_starts, run

    starts = [Start("shipped", {}), *(bad_starts() if bad else ())]
    wanted = _names(only)
    sources: list[Source] = [one for one in SOURCES if one in wanted]
    report = asyncio.run(
        run(
            read_locomo(file).only(_names(conversations)), starts=starts, sources=sources, seeds=range(seeds),
            rounds=rounds, sample_size=sample_size, limit=limit_questions, config=_patch(settings), on_stage=remark,
        )
    )  # fmt: skip
    _write(json_file, report.to_json())
    for one in report.runs:
        verdict = "recommended" if one.recommended else "not recommended"
        remark(
            f"{one.start}, {one.source} questions, seed {one.seed}: {verdict} (round {one.best_round}); "
            f"unseen questions {one.before:.4f} before, {one.best:.4f} with the best, {one.shipped:.4f} as shipped; "
            f"{one.recovered:.1%} recovered; best to start {one.difference.low:+.4f} … {one.difference.high:+.4f}"
        )
        for reason in one.reasons:
            remark(f"  {reason}")


@app.command("import")
def import_(
    rows: Annotated[int, typer.Option(min=100, help="Records of the file.")] = 20_000,
    kills: Annotated[int, typer.Option(min=0, help="How often the process is killed at a random place.")] = 0,
    json_file: JsonFile = None,
    data_dir: Annotated[Path | None, typer.Option(help="Keep the file and the store here; empty at the start.")] = None,
    seed: Annotated[int, typer.Option(help="Of the places where it is killed.")] = 1,
    settings: Settings = None,
) -> None:
    """Import a large file in a process that is killed at random, search meanwhile, and look whether all is there once."""
    from .importing import run

    report = asyncio.run(run(rows, kills=kills, config=_patch(settings), data_dir=data_dir, seed=seed))
    _write(json_file, json.dumps(report.to_record(), ensure_ascii=False, indent=1))
    remark(f"{report.rows:,} records, {report.megabytes} MB, {report.kills} kills: {report.seconds} s in all")
    remark(f"{report.rate:,.0f} records/s while it worked; highest memory {report.peak_mib:,.0f} MiB")
    for where, held in (("one chat", report.one_chat), ("everything", report.everything)):
        remark(
            f"{held.count} searches in {where} meanwhile: {held.p50} / {held.p95} / {held.longest} ms (p50 / p95 / longest)"
        )
    for problem in report.problems:
        remark(problem, "red")
    if report.problems:
        raise StorageFailure("Not every record is there exactly once.")
    remark("Every record is there exactly once.")


@app.command()
def encryption(
    rows: Annotated[int, typer.Option(min=1_000, help="Turns that are stored in each memory.")] = 10_000,
    searches: Annotated[int, typer.Option(min=20, help="Questions that each is asked.")] = 400,
    json_file: JsonFile = None,
    settings: Settings = None,
) -> None:
    """Measure a plain and an encrypted memory in turns; exit code 1 if encryption costs more than it may."""
    from .encryption import LEAST_INGEST, MOST_SEARCH, run

    report = asyncio.run(run(rows, searches, _patch(settings)))
    _write(json_file, report.to_json())
    for what, (plain, encrypted) in (
        ("turns stored a second", report.ingest_rate), ("search p50, ms", report.search_p50_ms),
        ("backup, s", report.backup_s), ("open and first answer, s", report.opening_s),
    ):  # fmt: skip
        remark(f"{what}: {plain:,} in the clear, {encrypted:,} encrypted ({encrypted / plain:.2f} ×)")
    if not report.within:
        raise StorageFailure(f"A search may take {MOST_SEARCH} ×, and {LEAST_INGEST} × are to be stored.")


@app.command()
def soak(
    minutes: Annotated[float, typer.Option(min=0.01, help="How long the daemon is called.")] = 20.0,
    csv_file: Annotated[
        Path | None, typer.Option("--csv", help="Write the memory that it holds over calls here.")
    ] = None,
    data_dir: Annotated[Path | None, typer.Option(help="Keep the memory and the daemon's log here.")] = None,
    settings: Settings = None,
) -> None:
    """Call a daemon for many minutes in many ways, and look whether the memory that it holds grows."""
    from amemorix_bench.soak import run

    report = asyncio.run(run(minutes, config=_patch(settings), data_dir=data_dir, csv_file=csv_file))
    first, last = report.samples[0], report.samples[-1]
    middle = report.last_half[0]
    remark(
        f"{last.calls:,} calls in {last.seconds:,.0f} s; answers: "
        + ", ".join(f"{n:,} × {status}" for status, n in sorted(report.statuses.items()))
    )
    remark(
        f"RSS, MiB: {first.rss_mib:.1f} after {first.calls:,} calls, {middle.rss_mib:.1f} after {middle.calls:,}, {last.rss_mib:.1f} at the end"
    )
    remark(f"slope of the last half: {report.slope:+.2f} MiB in 10,000 calls; the log has {last.log_bytes:,} bytes")


def _recall(
    dataset: Dataset,
    json_file: Path | None,
    limit: int | None,
    merged: bool,
    ablation: bool,
    settings: list[str] | None,
    relations: bool = False,
    context: bool = False,
) -> None:
    from .recall.report import print_ablation, print_relations, print_report
    from .recall.run import run, run_with_and_without_relations

    patch = _patch(settings)
    if relations and context:
        raise InvalidRequest("--relations and --context are two measurements: ask for one.", field="context")
    if relations and ablation:
        raise InvalidRequest("--relations and --ablation are two measurements: ask for one.", field="relations")
    if relations:
        both = run_with_and_without_relations(dataset, limit=limit, config=patch, merged=merged, on_stage=remark)
        report, gains = asyncio.run(both)
        record = report.to_record() | {"relations": [asdict(one) for one in gains]}
        _write(json_file, json.dumps(record, ensure_ascii=False, indent=1))
        print_report(report)
        print_relations(gains)
        return
    report, ablations = asyncio.run(
        run(dataset, limit=limit, config=patch, merged=merged, ablation=ablation, context=context, on_stage=remark)
    )
    record = report.to_record() | {"ablation": [asdict(one) for one in ablations]}
    _write(json_file, json.dumps(record, ensure_ascii=False, indent=1))
    print_report(report)
    if ablations:
        print_ablation(ablations)


def _names(listed: str) -> list[str]:
    return [name for name in listed.split(",") if name]


def _patch(settings: list[str] | None) -> dict[str, Any]:
    from .workspace import read_setting

    return dict(map(read_setting, settings or []))


def _write(path: Path | None, text: str) -> None:
    if path is None:
        return
    try:
        path.write_text(text + "\n", "utf-8")
    except OSError as exc:
        raise StorageFailure(f"{path} cannot be written: {exc.strerror}.", file=str(path)) from exc
    remark(f"The raw results are in {path}.")
