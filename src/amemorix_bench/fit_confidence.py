"""The fitting of `search/confidence.json`: `python -m amemorix_bench.fit_confidence [--write | --as-it-is] [--measure FILE]`.

Chats whose answers are known are asked their questions, in both languages and across them, and questions that nothing stored
answers: those of other chats, their names exchanged, among them. Each of the first hits is one case. A logistic regression
(Newton's method with a ridge; Hastie et al. 2009, section 4.4) is fitted on all of them; the figures are of folds that leave
out whole chats. Then the blind chats, and a file in LoCoMo's format if one is named, are asked with the weights that were
fitted, as a search answers them: nothing is ever fitted to these.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from amemorix.language.normalise import is_mostly_cjk
from amemorix.search import confidence
from amemorix.search.fusion import Fused

from .probe import UNANSWERABLE, as_probe, as_query, read_probe, stored
from .recall.chinese import Language, read_chinese
from .recall.dataset import Corpus, Question, spread
from .recall.locomo import read_locomo
from .small_chats import read_small_chats
from .workspace import answered

__all__ = ["Cases", "collect", "fit", "main"]

FIRST = 10
"""Hits of each query that are cases."""
RIDGE = 30.0
FOLDS = 3
LANGUAGES: tuple[Language, ...] = ("zh", "en")
SHIFT = 7
"""A small chat is asked the questions of the one so many further on."""
EXCHANGED = 40
"""Questions of each other large chat that are put to one, evenly spread."""
SHARED = ("馒头", "Mantou")
"""Names of animals in more than one of the large chats: questions about them are answered by more than one."""
UNRELATED = "unrelated"
"""The kind of a question that has nothing to do with the chat, or of one of another chat."""
OTHERS = ("dialogues_zh", "dialogues_en", "colloquial_zh", "harbour_en", "harbour_de", "harbour_fr", "harbour_ja")
Floats = NDArray[np.float64]
Probe = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Cases:
    """Hits with their features, how likely the search called them, whether each answers, and the query that each is of."""

    values: Floats
    said: Floats
    answers: NDArray[np.bool_]
    query: NDArray[np.int64]
    chat: NDArray[np.str_]
    """By query: the chat that is asked, the same for its translations."""
    chinese: NDArray[np.bool_]
    """By query: whether it is asked in Chinese."""
    kind: NDArray[np.str_]
    weak: NDArray[np.bool_]

    @property
    def answerable(self) -> NDArray[np.bool_]:
        """By query."""
        return ~np.isin(self.kind, (UNRELATED, UNANSWERABLE))


async def collect(probes: Iterable[tuple[str, Probe]], config: Mapping[str, Any]) -> Cases:
    """Ask everything; each query's first hits are cases."""
    seen: list[tuple[NDArray[np.int64], Floats]] = []
    original = confidence.features

    def recording(fused: Fused, *rest: Any) -> Any:
        values = original(fused, *rest)
        seen.append((fused.ids, values.astype(np.float64)))
        return values

    confidence.features = recording
    rows: list[tuple[Floats, float, bool, int]] = []
    queries: list[tuple[str, bool, str, bool]] = []
    try:
        for chat, probe in probes:
            async with stored(probe, config) as host:
                for question in probe["questions"]:
                    seen.clear()
                    asked = as_query(question)
                    args = {"chat_id": probe["id"], "limit": FIRST, **asked}
                    answer = await answered(host, "search_memory", args)
                    text = asked.get("query") or question["messages"][-1][1]
                    kind = question.get("kind", "question")
                    weak = answer["weak"] or not answer["hits"]
                    queries.append((chat, is_mostly_cjk(text), kind, weak))
                    found = {
                        id_: value for ids, values in seen for id_, value in zip(ids.tolist(), values, strict=True)
                    }
                    for hit in answer["hits"]:
                        value, answers = found.get(int(hit["id"][1:])), hit["external_id"] in question["evidence"]
                        if value is not None:
                            rows.append((value, hit["confidence"], answers, len(queries) - 1))
    finally:
        confidence.features = original
    values, said, answers, query = zip(*rows, strict=True)
    chats, chinese, kinds, weak = zip(*queries, strict=True)
    return Cases(
        np.array(values), np.array(said), np.array(answers), np.array(query),
        np.array(chats), np.array(chinese), np.array(kinds), np.array(weak),
    )  # fmt: skip


@contextlib.contextmanager
def using(judge: confidence.Judge) -> Generator[None]:
    """Judge every hit by these weights."""
    original = confidence.judge
    confidence.judge = lambda _: judge
    try:
        yield
    finally:
        confidence.judge = original


def fit(values: Floats, answers: NDArray[np.bool_]) -> dict[str, Any]:
    """The weights that `confidence.judge` reads."""
    mean, spread_ = values.mean(axis=0), values.std(axis=0)
    spread_[spread_ < 1e-6] = 1.0
    x = np.column_stack([(values - mean) / spread_, np.ones(len(values))])
    w, ridge = np.zeros(x.shape[1]), np.diag([RIDGE] * values.shape[1] + [0.0])
    for _ in range(50):
        p = 1 / (1 + np.exp(-np.clip(x @ w, -30, 30)))
        gradient = x.T @ (p - answers) + ridge @ w
        step = np.linalg.solve((x * (p * (1 - p))[:, None]).T @ x + ridge + 1e-9 * np.eye(len(w)), gradient)
        w -= step
        if np.abs(step).max() < 1e-8:
            break
    rounded = {name: [round(float(v), 5) for v in part] for name, part in
               (("mean", mean), ("spread", spread_), ("weights", w[:-1]))}  # fmt: skip
    return {**rounded, "bias": round(float(w[-1]), 5)}


def held_out(cases: Cases) -> Cases:
    """The cases with what weights say of them that were fitted without their chat; of `FOLDS` folds."""
    said, chat = np.zeros(len(cases.answers)), cases.chat[cases.query]
    for fold in range(FOLDS):
        out = np.isin(chat, np.unique(chat)[fold::FOLDS])
        judge = confidence.Judge.of(fit(cases.values[~out], cases.answers[~out]))
        said[out] = judge.probability(cases.values[out].astype(np.float32))
    weak = [confidence.is_weak(sorted(said[cases.query == n].tolist())[::-1]) for n in range(len(cases.chat))]
    nothing = ~np.isin(np.arange(len(cases.chat)), cases.query)
    return replace(cases, said=said, weak=np.array(weak) | nothing)


def report(cases: Cases) -> Iterator[str]:
    """Lines for each language of the questions: calibration error in ten bins, what is said of the unrelated, and which
    queries are called weak."""
    for name, chinese in (("zh", True), ("en", False)):
        asked = cases.chinese == chinese
        hits = asked[cases.query]
        if not hits.any():
            continue
        best = np.zeros(len(cases.chat))
        np.maximum.at(best, cases.query, cases.said)
        unrelated, answerable = asked & (cases.kind == UNRELATED), asked & cases.answerable
        first = np.flatnonzero(np.diff(cases.query, prepend=-1))
        first = first[hits[first]]
        line = f"{name}: {hits.sum()} hits of {asked.sum()} queries; calibration error {_error(cases.said[hits], cases.answers[hits]):.4f}"
        line += f" (first hits alone {_error(cases.said[first], cases.answers[first]):.4f})"
        if unrelated.any():
            of_these = unrelated[cases.query]
            line += (
                f"; 95th percentile of {unrelated.sum()} unrelated queries' hits {np.quantile(cases.said[of_these], 0.95):.3f}"
                f", of their likeliest {np.quantile(best[unrelated], 0.95):.3f}, weak or nothing {cases.weak[unrelated].mean():.3f}"
            )
        if answerable.any():
            line += f"; answerable called weak {cases.weak[answerable].mean():.3f}"
        yield line


def _error(said: Floats, answers: NDArray[np.bool_]) -> float:
    """Expected calibration error in ten bins (Guo et al. 2017, section 2)."""
    bins = np.minimum((said * 10).astype(int), 9)
    return float(
        sum(abs(said[bins == b].mean() - answers[bins == b].mean()) * (bins == b).mean() for b in set(bins.tolist()))
    )


def known_chats() -> Iterator[tuple[str, Probe]]:
    """Everything that is fitted to, each with the name of its chat."""
    asked = {(q, c): read_chinese(questions=q, chat=c).corpora for q in LANGUAGES for c in LANGUAGES}
    folder = files("amemorix_bench").joinpath("data")
    persons = [
        json.loads(folder.joinpath(f"{corpus.id}.json").read_text("utf-8"))["persons"] for corpus in asked["zh", "zh"]
    ]
    for chat in LANGUAGES:
        people = [[[one[chat], *one[f"aliases_{chat}"]] for one in those] for those in persons]
        for n, corpus in enumerate(asked[chat, chat]):
            own = [one for language in LANGUAGES for one in asked[language, chat][n].questions if one.evidence]
            questions = [
                *({"text": one.text, "evidence": one.evidence} for one in own),
                *(
                    one
                    for m, other in enumerate(asked[chat, chat])
                    if m != n
                    for one in _exchanged_questions(
                        [
                            one
                            for one in spread(other.questions, EXCHANGED)
                            if not any(name in one.text for name in SHARED)
                        ],
                        people[m],
                        people[n],
                    )
                ),
            ]
            yield corpus.id, as_probe(corpus, f"{corpus.id}_{chat}", questions)
    yield from small_chats()
    for name in OTHERS:
        for probe in read_probe(name):
            yield str(probe["id"]).rpartition("_")[0] or str(probe["id"]), probe


def small_chats(*, blind: bool = False) -> Iterator[tuple[str, Probe]]:
    """The small chats with their questions, and unless they are blind with questions of others."""
    chats = {language: read_small_chats(language, blind=blind) for language in LANGUAGES}
    for language, other in (LANGUAGES, LANGUAGES[::-1]):
        for n, chat in enumerate(chats[language]):
            own = [_of_kind(one) for one in chat["questions"]]
            further = chats[language][(n + SHIFT) % len(chats[language])]["questions"]
            foreign = chats[other][(n + SHIFT) % len(chats[other])]["questions"] if chats[other] else ()
            borrowed = [one for one in further if one["evidence"]] + list(foreign)[::2]
            unrelated = () if blind else ({**one, "evidence": (), "kind": UNRELATED} for one in borrowed)
            yield f"small{n}", {**chat, "questions": [*own, *unrelated]}


def locomo(file: Path) -> Iterator[tuple[str, Probe]]:
    """Conversations in LoCoMo's format, with answerable questions, and half of those of the next with its names exchanged."""
    dataset = read_locomo(file)
    for n, corpus in enumerate(dataset.corpora):
        other = dataset.corpora[(n + 1) % len(dataset.corpora)]
        own = [one for one in corpus.questions if one.category in dataset.headline]
        theirs = [one for one in other.questions if one.category in dataset.headline][::2]
        questions = [
            *({"text": one.text, "evidence": one.evidence} for one in own if one.evidence),
            *_exchanged_questions(theirs, _speakers(other), _speakers(corpus)),
        ]
        yield corpus.id, as_probe(corpus, corpus.id, questions)


def exchanged(text: str, names: Sequence[Sequence[str]], others: Sequence[Sequence[str]]) -> str:
    """The text with each person's names replaced by the first name of the one in the same place."""
    replaced = {name: new[0] for old, new in zip(names, others, strict=False) for name in old}
    marks = {name: chr(0xE000 + n) for n, name in enumerate(sorted(replaced, key=len, reverse=True))}
    for name, mark in marks.items():
        text = text.replace(name, mark)
    for name, mark in marks.items():
        text = text.replace(mark, replaced[name])
    return text


def _exchanged_questions(
    questions: Iterable[Question], names: Sequence[Sequence[str]], others: Sequence[Sequence[str]]
) -> Iterator[dict[str, Any]]:
    for one in questions:
        yield {"text": exchanged(one.text, names, others), "evidence": (), "kind": UNRELATED}


def _speakers(corpus: Corpus) -> list[list[str]]:
    return [[name] for name in dict.fromkeys(turn.speaker for turn in corpus.turns)]


def _of_kind(question: Mapping[str, Any]) -> Mapping[str, Any]:
    return question if question["evidence"] else {**question, "kind": UNRELATED}


def main() -> None:
    """Fit both kinds, print the figures, and with `--write` put the weights into the package."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--as-it-is", action="store_true", help="Fit nothing: measure by the weights of the package.")
    parser.add_argument("--keep", type=Path, help="Keep the cases in this folder.")
    parser.add_argument("--measure", type=Path, help="Conversations in LoCoMo's format to measure by, too.")
    options = parser.parse_args()
    place = Path(str(files("amemorix.search").joinpath("confidence.json")))
    fitted: dict[str, Any] = (
        json.loads(place.read_text("utf-8")) if options.as_it_is else {"features": list(confidence.FEATURES)}
    )
    nothing = np.zeros(len(confidence.FEATURES), np.float32)
    for kind, provider in (("model", "auto"), ("words", "none")):
        config = {"embedding.provider": provider}
        if not options.as_it_is:
            with using(confidence.Judge(nothing, nothing + 1, nothing, 0.0)):
                cases = asyncio.run(collect(known_chats(), config | {"retrieval.noise.enabled": False}))
            if options.keep:
                np.savez(options.keep / f"{kind}.npz", **{name: getattr(cases, name) for name in Cases.__slots__})
            print(f"{kind}: {len(cases.answers)} cases, {cases.answers.mean():.3f} answer; left-out chats:")
            print("\n".join(report(held_out(cases))))
            fitted[kind] = fit(cases.values, cases.answers)
            strong = np.argsort(-np.abs(fitted[kind]["weights"]))
            print("  " + ", ".join(f"{confidence.FEATURES[i]} {fitted[kind]['weights'][i]:+.2f}" for i in strong))
        measured = {"blind chats": list(small_chats(blind=True))}
        if options.measure:
            measured[options.measure.name] = list(locomo(options.measure))
        for name, probes in measured.items():
            with using(confidence.Judge.of(fitted[kind])):
                if probes:
                    print(f"{kind}, {name}, as answered:")
                    print("\n".join(report(asyncio.run(collect(probes, config)))))
    if options.write:
        place.write_text(json.dumps(fitted, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
