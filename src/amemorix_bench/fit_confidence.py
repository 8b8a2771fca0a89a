"""The fitting of `search/confidence.json`: `python -m amemorix_bench.fit_confidence [--write]`.

Chats whose answers are known are asked their questions, in both languages and across them, with questions that nothing
stored answers; each of the first hits is one case. A logistic regression (Newton's method with a ridge; Hastie et al.
2009, section 4.4) is fitted on all of them; the figures are of folds that leave out one chat each.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from amemorix.search import confidence
from amemorix.search.fusion import Fused

from .probe import as_probe, as_query, read_probe, stored
from .recall.chinese import Language, read_chinese
from .workspace import answered

__all__ = ["Cases", "collect", "fit", "main"]

FIRST = 10
"""Hits of each query that are cases."""
RIDGE = 3.0
CROSS: tuple[tuple[Language, Language], ...] = (("zh", "zh"), ("en", "en"), ("zh", "en"), ("en", "zh"))
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Cases:
    """Hits with their features, whether each answers, and the chat and the query that they are of."""

    values: Floats
    answers: NDArray[np.bool_]
    chat: NDArray[np.str_]
    query: NDArray[np.int64]


async def collect(config: Mapping[str, Any]) -> Cases:
    """Ask everything; each query's first hits are cases."""
    seen: list[tuple[NDArray[np.int64], Floats]] = []
    original = confidence.features

    def recording(fused: Fused, *rest: Any) -> Any:
        values = original(fused, *rest)
        seen.append((fused.ids[:FIRST], values[:FIRST].astype(np.float64)))
        return values

    nothing = np.zeros(len(confidence.FEATURES), np.float32)
    weights = confidence.judge
    confidence.features, confidence.judge = recording, lambda _: confidence.Judge(nothing, nothing + 1, nothing, 0.0)
    rows: list[tuple[Floats, bool, str, int]] = []
    count = 0
    try:
        for chat, probe in _probes():
            async with stored(probe, config) as host:
                for question in probe["questions"]:
                    seen.clear()
                    args = {"chat_id": probe["id"], "limit": FIRST, **as_query(question)}
                    hits = (await answered(host, "search_memory", args))["hits"]
                    count += 1
                    named = {int(hit["id"][1:]): hit["external_id"] for hit in hits}
                    for ids, values in seen[-1:]:
                        rows += [
                            (value, named.get(id_) in question["evidence"], chat, count)
                            for id_, value in zip(ids.tolist(), values, strict=True)
                            if id_ in named
                        ]
    finally:
        confidence.features, confidence.judge = original, weights
    values, is_answer, chats, queries = zip(*rows, strict=True)
    return Cases(np.array(values), np.array(is_answer), np.array(chats), np.array(queries))


def fit(values: Floats, answers: NDArray[np.bool_]) -> dict[str, Any]:
    """The weights that `confidence.judge` reads."""
    mean, spread = values.mean(axis=0), values.std(axis=0)
    spread[spread < 1e-6] = 1.0
    x = np.column_stack([(values - mean) / spread, np.ones(len(values))])
    w, ridge = np.zeros(x.shape[1]), np.diag([RIDGE] * values.shape[1] + [0.0])
    for _ in range(50):
        p = 1 / (1 + np.exp(-np.clip(x @ w, -30, 30)))
        gradient = x.T @ (p - answers) + ridge @ w
        step = np.linalg.solve((x * (p * (1 - p))[:, None]).T @ x + ridge + 1e-9 * np.eye(len(w)), gradient)
        w -= step
        if np.abs(step).max() < 1e-8:
            break
    rounded = {name: [round(float(v), 5) for v in part] for name, part in
               (("mean", mean), ("spread", spread), ("weights", w[:-1]))}  # fmt: skip
    return {**rounded, "bias": round(float(w[-1]), 5)}


def report(cases: Cases) -> Iterator[str]:
    """Lines about folds that leave out one chat each: calibration error in ten bins, and what a threshold lets through."""
    p = np.zeros(len(cases.answers))
    for chat in np.unique(cases.chat):
        out = cases.chat == chat
        judge = confidence.Judge.of(fit(cases.values[~out], cases.answers[~out]))
        p[out] = judge.probability(cases.values[out].astype(np.float32))
    bins = np.minimum((p * 10).astype(int), 9)
    error = sum(
        abs(p[bins == b].mean() - cases.answers[bins == b].mean()) * (bins == b).mean() for b in set(bins.tolist())
    )
    yield f"{len(p)} cases, {cases.answers.mean():.3f} answer; calibration error (ten bins, left-out chats) {error:.4f}"
    for b in sorted(set(bins.tolist())):
        yield f"  {b / 10:.1f}: {p[bins == b].mean():.3f} said, {cases.answers[bins == b].mean():.3f} true, {(bins == b).sum()}"
    order = np.argsort(cases.query, kind="stable")
    starts = np.flatnonzero(np.diff(cases.query[order], prepend=-1))
    best = np.maximum.reduceat(p[order], starts)
    answerable = np.logical_or.reduceat(cases.answers[order], starts)
    kept = np.maximum.reduceat(np.where(cases.answers, p, 0)[order], starts)
    for least in (0.01, 0.02, 0.03, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5):
        yield (
            f"  best hit ≥ {least:.2f}: {(best[answerable] >= least).mean():.3f} of answerable, answer kept "
            f"{(kept[answerable] >= least).mean():.3f}, {(best[~answerable] >= least).mean():.3f} of those without an answer in the hits"
        )


def _probes() -> Iterator[tuple[str, Mapping[str, Any]]]:
    for asked, chat in CROSS:
        for corpus in read_chinese(questions=asked, chat=chat).corpora:
            questions = [{"text": q.text, "evidence": q.evidence} for q in corpus.questions if q.evidence]
            yield corpus.id, as_probe(corpus, corpus.id, questions)
    for name in (
        "dialogues_zh",
        "dialogues_en",
        "colloquial_zh",
        "harbour_en",
        "harbour_de",
        "harbour_fr",
        "harbour_ja",
    ):
        for probe in read_probe(name):
            yield str(probe["id"]).rsplit("_", 1)[0] if "_" in str(probe["id"]) else str(probe["id"]), probe


def main() -> None:
    """Fit both kinds, print the figures, and with `--write` put the weights into the package."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--keep", type=Path, help="Keep the cases in this folder.")
    options = parser.parse_args()
    fitted: dict[str, Any] = {"features": list(confidence.FEATURES)}
    for kind, provider in (("model", "auto"), ("words", "none")):
        cases = asyncio.run(collect({"embedding.provider": provider, "retrieval.noise.enabled": False}))
        if options.keep:
            np.savez(
                options.keep / f"{kind}.npz",
                values=cases.values,
                answers=cases.answers,
                chat=cases.chat,
                query=cases.query,
            )
        print(kind)
        print("\n".join(report(cases)))
        fitted[kind] = fit(cases.values, cases.answers)
        strong = np.argsort(-np.abs(fitted[kind]["weights"]))
        print("  " + ", ".join(f"{confidence.FEATURES[i]} {fitted[kind]['weights'][i]:+.2f}" for i in strong))
    if options.write:
        path = Path(str(files("amemorix.search").joinpath("confidence.json")))
        path.write_text(json.dumps(fitted, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
