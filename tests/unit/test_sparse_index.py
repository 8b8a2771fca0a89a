import math
import random
import threading
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from amemorix.indexes.sparse.bm25 import SparseBM25Index, TermRow
from amemorix.indexes.sparse.levels import SparseScores
from amemorix.language.normalise import pack_terms, query_terms, term_hashes, tokens, unpack_terms

Corpus = dict[int, TermRow]
VOCABULARY = [f"w{n}" for n in range(40)]


def make(rows: Sequence[TermRow] = (), scan_limit: int = 20_000) -> SparseBM25Index:
    index = SparseBM25Index(scan_limit=scan_limit, compact_rows=60)
    index.build(iter(rows))
    return index


def text_row(id_: int, text: str, *, scope: int = 1, session: int = 10, position: int | None = None) -> TermRow:
    return TermRow(id_, scope, session, id_ if position is None else position, pack_terms(tokens(text)))


def random_row(rng: random.Random, id_: int) -> TermRow:
    scope = rng.randrange(1, 4)
    words = [rng.choice(VOCABULARY[: rng.choice((5, 40))]) for _ in range(rng.randrange(0, 12))]
    return TermRow(id_, scope, 100 * scope + rng.randrange(6), rng.randrange(50), pack_terms(words))


def random_corpus(seed: int, size: int = 200) -> Corpus:
    rng = random.Random(seed)
    return {id_: random_row(rng, id_) for id_ in range(1, size + 1)}


def random_query(rng: random.Random) -> np.ndarray:
    return term_hashes(rng.sample([*VOCABULARY, "absent"], rng.randrange(1, 6)))


def searched(index: SparseBM25Index, query: str, **limits) -> list[int]:
    scores = index.search(term_hashes(query_terms(query)), **limits)
    order = np.argsort(-scores.paragraph, kind="stable")
    return [int(id_) for id_ in scores.ids[order] if scores.paragraph[scores.ids == id_] > 0]


# A plain BM25 to compare with: dictionaries and loops, nothing shared with the index.

Bag = Counter[int]


def bag(row: TermRow) -> Bag:
    hashes, counts = unpack_terms(row.terms)
    return Counter(dict(zip(hashes.tolist(), counts.tolist(), strict=True)))


def plain_idf(bags: Sequence[Bag], terms: Sequence[int]) -> dict[int, float]:
    df = {term: sum(term in one for one in bags) for term in terms}
    return {term: math.log(1 + (len(bags) - df[term] + 0.5) / (df[term] + 0.5)) for term in terms}


def plain_bm25(bags: Sequence[Bag], idf: dict[int, float], k1: float, b: float) -> list[float]:
    mean = max(sum(one.total() for one in bags) / len(bags), 1e-9)
    return [
        sum(
            weight * (k1 + 1) * one[term] / (one[term] + k1 * (1 - b + b * one.total() / mean))
            for term, weight in idf.items()
        )
        for one in bags
    ]


def plain_levels(rows: Sequence[TermRow], terms: Sequence[int], idf: dict[int, float] | None) -> dict[int, list[float]]:
    """id -> paragraph, window, session, coverage, window coverage, id before it in its session or 0."""
    rows = sorted(rows, key=lambda row: (row.scope, row.session, row.position, row.id))
    sessions: dict[int, list[TermRow]] = defaultdict(list)
    for row in rows:
        sessions[row.session].append(row)
    own = [bag(row) for row in rows]
    wide, before = [], []
    for row in rows:
        session = sessions[row.session]
        at = session.index(row)
        wide.append(sum((bag(one) for one in session[max(at - 2, 0) : at + 3]), Bag()))
        before.append(session[at - 1].id if at else 0)
    whole = {key: sum((bag(row) for row in session), Bag()) for key, session in sessions.items()}
    own_idf = idf or plain_idf(own, terms)
    paragraph = plain_bm25(own, own_idf, 0.9, 0.4)
    window = plain_bm25(wide, idf or plain_idf(wide, terms), 0.9, 0.75)
    session_scores = plain_bm25([*whole.values()], idf or plain_idf([*whole.values()], terms), 0.9, 0.4)
    session = dict(zip(whole, session_scores, strict=True))
    telling = {term: max(value, 1.0) for term, value in own_idf.items()}
    mass = sum(telling.values())

    def coverage(one: Bag) -> float:
        return sum(telling[term] for term in terms if term in one) / mass

    return {
        row.id: [paragraph[i], window[i], session[row.session], coverage(own[i]), coverage(wide[i]), before[i]]
        for i, row in enumerate(rows)
    }


def as_table(scores: SparseScores) -> dict[int, list[float]]:
    before = [int(scores.ids[i]) if i >= 0 else 0 for i in scores.previous]
    columns = (scores.paragraph, scores.window, scores.session, scores.coverage, scores.window_coverage)
    return {
        int(id_): [*(float(column[i]) for column in columns), before[i]] for i, id_ in enumerate(scores.ids.tolist())
    }


def assert_same(found: dict[int, list[float]], expected: dict[int, list[float]]) -> None:
    assert found.keys() == expected.keys()
    for id_, values in expected.items():
        assert found[id_] == pytest.approx(values, rel=1e-4, abs=1e-5), id_


# Scores


@pytest.mark.parametrize("seed", range(4))
def test_scoped_scores_are_bm25_of_the_scope_alone(seed: int) -> None:
    corpus = random_corpus(seed)
    index = make([*corpus.values()])
    rng = random.Random(seed)
    for scopes in ([1], [2, 3], [3, 2, 1, 1, 9]):
        terms = random_query(rng)
        rows = [row for row in corpus.values() if row.scope in scopes]
        found = as_table(index.search(terms, scopes=scopes))
        assert_same(found, plain_levels(rows, terms.tolist(), None))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("scopes", "scan_limit"), [(None, 20_000), ([1, 3], 0)])
def test_scores_of_everything_and_of_large_scopes_are_bm25_of_the_sessions_of_their_best(
    seed: int, scopes: list[int] | None, scan_limit: int
) -> None:
    corpus = random_corpus(seed)
    index = make([*corpus.values()], scan_limit)
    terms = random_query(random.Random(seed))
    inside = [row for row in corpus.values() if scopes is None or row.scope in scopes]
    idf = plain_idf([bag(row) for row in inside], terms.tolist())
    hit = {row.session for row in inside if bag(row).keys() & set(terms.tolist())}
    rows = [row for row in inside if row.session in hit]
    found = as_table(index.search(terms, scopes=scopes, limit=len(corpus)))
    assert_same(found, plain_levels(rows, terms.tolist(), idf) if rows else {})


def test_the_limit_keeps_the_best_sessions() -> None:
    rows = [text_row(id_, "tea " + "filler " * id_, session=id_) for id_ in range(1, 30)]
    found = make(rows).search(term_hashes(["tea"]), limit=3)
    assert found.ids.tolist() == [1, 2, 3]


def test_equal_scores_are_cut_by_id() -> None:
    rows = [text_row(id_, "tea", session=id_) for id_ in range(200, 0, -1)]
    assert make(rows).search(term_hashes(["tea"]), limit=4).ids.tolist() == [1, 2, 3, 4]


# What is returned


def test_a_scope_is_returned_whole_even_without_terms() -> None:
    index = make([text_row(1, "tea"), text_row(2, "milk"), text_row(3, "tea", scope=2, session=20)])
    for terms in ([], ["absent"]):
        found = index.search(term_hashes(terms), scopes=[1])
        assert found.ids.tolist() == [1, 2]
        assert not found.paragraph.any()
        assert not found.coverage.any()
        assert found.previous.tolist() == [-1, 0]


def test_no_terms_no_scopes_nothing_allowed() -> None:
    index = make([text_row(1, "tea")])
    tea = term_hashes(["tea"])
    assert len(index.search(term_hashes([])).ids) == 0
    assert len(index.search(tea, scopes=[]).ids) == 0
    assert len(index.search(tea, scopes=[7]).ids) == 0
    assert len(index.search(tea, allow=np.zeros(0, np.int64)).ids) == 0
    assert len(index.search(tea, scopes=[1], allow=np.zeros(0, np.int64)).ids) == 0
    assert index.search(tea).ids.tolist() == [1]


def test_an_empty_index_answers_also_when_it_was_loaded(tmp_path: Path) -> None:
    make().save(tmp_path)
    index = make([text_row(1, "tea")])
    index.load(tmp_path)
    assert len(index) == 0
    assert len(index.search(term_hashes(["tea"])).ids) == 0
    assert len(index.search(term_hashes(["tea"]), scopes=[1]).ids) == 0
    assert index.document_frequency(term_hashes(["tea"]))[1] == 0
    assert index.compact() is False


def test_document_frequency() -> None:
    index = make([text_row(1, "tea tea"), text_row(2, "milk tea")])
    index.apply([text_row(3, "tea")], [1])
    frequencies, documents = index.document_frequency(term_hashes(["tea", "milk", "absent"]))
    assert (frequencies.tolist(), documents) == ([2, 1, 0], 2)


@pytest.mark.parametrize("scan_limit", [20_000, 0])
@pytest.mark.parametrize("scopes", [None, [1, 2]])
def test_allow_filters_what_is_returned_but_not_what_scores(scan_limit: int, scopes: list[int] | None) -> None:
    corpus = random_corpus(5)
    index = make([*corpus.values()], scan_limit=scan_limit)
    terms = term_hashes(VOCABULARY[:3])
    allow = np.arange(1, 200, 3, dtype=np.int64)
    everything = as_table(index.search(terms, scopes=scopes, limit=1000))
    found = as_table(index.search(terms, scopes=scopes, allow=allow, limit=1000))
    assert found
    assert found.keys() <= set(allow.tolist())
    for id_ in found.keys() & everything.keys():
        # Average lengths are those of the sessions scored, which are all in both searches.
        assert found[id_][3:5] == pytest.approx(everything[id_][3:5])
        assert found[id_][5] in (0, everything[id_][5])
    hits = {id_ for id_ in everything if everything[id_][0] > 0}
    assert hits & set(allow.tolist()) <= found.keys()


def test_a_short_allow_list_is_returned_whole() -> None:
    index = make([text_row(1, "tea"), text_row(2, "milk"), text_row(3, "water", session=11)])
    found = index.search(term_hashes(["tea"]), allow=np.array([2, 3, 99]))
    assert found.ids.tolist() == [2, 3]
    assert found.paragraph.tolist() == [0, 0]
    assert found.window[0] > 0
    assert found.previous.tolist() == [-1, -1]


def test_positions_are_milliseconds() -> None:
    late, early = 1_900_000_000_000, 1_100_000_000_000
    index = make([text_row(1, "tea", position=late), text_row(2, "milk", position=early)])
    index.apply([text_row(3, "water", position=early + 1)], [])
    assert index.search(term_hashes([]), scopes=[1]).ids.tolist() == [2, 3, 1]


# Languages


# Changes


def state(index: SparseBM25Index) -> tuple:
    """Everything a caller can see: the content, and the answers to some queries."""
    rng = random.Random(99)
    answers = []
    for _ in range(6):
        terms = random_query(rng)
        answers += [as_table(index.search(terms, limit=30)), as_table(index.search(terms, scopes=[1, 3]))]
        answers += [as_table(index.search(terms, allow=np.arange(0, 400, 2)))]
    return len(index), index.dump(), answers


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("scan_limit", [20_000, 0])
def test_any_history_equals_an_index_built_from_nothing(seed: int, scan_limit: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    rows = random_corpus(seed, rng.choice((0, 1, 150)))
    index = make([*rows.values()], scan_limit)
    for step in range(25):
        new = [random_row(rng, rng.randrange(1, 400)) for _ in range(rng.choice((0, 1, 1, 30)))]
        removed = [rng.randrange(1, 400) for _ in range(rng.choice((0, 1, 20)))]
        index.apply(new, removed)
        for id_ in removed:
            rows.pop(id_, None)
        rows.update({row.id: row for row in new})
        if rng.random() < 0.2:
            index.compact()
        if rng.random() < 0.2:
            folder = tmp_path / f"{step}"
            folder.mkdir()
            index.save(folder)
            index = make(scan_limit=scan_limit)
            index.load(folder)
    assert state(index) == state(make([*rows.values()], scan_limit))
    assert index.dump() == {row.id: (row.scope, row.session, row.position, row.terms) for row in rows.values()}


def test_the_last_row_of_an_id_counts_in_a_build() -> None:
    assert len(index := make([text_row(1, "tea"), text_row(2, "tea"), text_row(1, "milk")])) == 2
    assert searched(index, "tea") == [2]


def test_a_damaged_blob_is_refused_and_changes_nothing() -> None:
    index = make([text_row(1, "tea")])
    with pytest.raises(ValueError, match="5 bytes a term"):
        index.apply([text_row(2, "milk"), TermRow(3, 1, 10, 3, b"123")], [1])
    assert searched(index, "tea milk") == [1]


# Files


def test_load_refuses_a_folder_without_files(tmp_path: Path) -> None:
    index = make([text_row(1, "tea")])
    with pytest.raises((OSError, ValueError)):
        index.load(tmp_path / "nowhere")
    assert searched(index, "tea") == [1]


@pytest.mark.parametrize("damage", ["cut", "longer", "dtype", "borders", "order", "garbage"])
def test_load_refuses_damaged_arrays(tmp_path: Path, damage: str) -> None:
    index = SparseBM25Index()
    index.build(iter(random_corpus(1).values()))
    index.save(tmp_path)
    ids, borders, order = (tmp_path / f"{name}.npy" for name in ("ids", "run_start", "by_id"))
    if damage == "cut":
        ids.write_bytes(ids.read_bytes()[:-100])
    elif damage == "longer":
        np.save(ids, np.arange(201))
    elif damage == "dtype":
        np.save(ids, np.load(ids).astype(np.int32))
    elif damage == "borders":
        np.save(borders, np.load(borders)[::-1])
    elif damage == "order":
        np.save(order, np.load(order) + 1)
    else:
        ids.write_bytes(b"garbage")
    with pytest.raises((OSError, ValueError)):
        SparseBM25Index().load(tmp_path)


def test_segments_merge_to_what_their_rows_would_build() -> None:
    rows = [*random_corpus(3, 9_000).values()]
    merged = make(rows[:5_000])
    merged.apply(rows[5_000:], [])
    assert merged.compact()
    assert merged.dump() == make(rows).dump()


# Threads


def test_searches_go_on_while_rows_are_applied_and_compacted(tmp_path: Path) -> None:
    """Each step replaces a whole session by a newer version; no search may see two versions at once."""
    size = 8

    def version(number: int) -> list[TermRow]:
        return [text_row(id_, f"tea v{number}") for id_ in range(1, size + 1)]

    index = make([*version(0), *(text_row(id_, "milk", scope=2, session=20) for id_ in range(100, 200))])
    terms = term_hashes(["tea"])
    problems: list[str] = []
    done = threading.Event()

    def search() -> None:
        while not done.is_set():
            for limits in ({"scopes": [1]}, {}):
                found = index.search(terms, **limits)
                if found.ids.tolist() != list(range(1, size + 1)) or np.ptp(found.paragraph) != 0:
                    problems.append(f"{limits}: {found}")
                    return

    def tidy() -> None:
        number = 0
        while not done.is_set():
            number += 1
            (tmp_path / f"{number}").mkdir()
            index.save(tmp_path / f"{number}")
            index.compact()

    threads = [threading.Thread(target=work) for work in (search, search, tidy)]
    for thread in threads:
        thread.start()
    for number in range(1, 120):
        index.apply(version(number), [199 - number] if number < 90 else [])
    done.set()
    for thread in threads:
        thread.join()
    assert problems == []
    assert index.dump()[1][3] == pack_terms(tokens("tea v119"))
    assert len(index) == size + 100 - 89


@pytest.mark.parametrize("scopes", [None, (1,), (1, 3)])
@pytest.mark.parametrize("scan_limit", [20_000, 0])
def test_what_is_hidden_counts_as_not_stored(scopes: Sequence[int] | None, scan_limit: int) -> None:
    """A chat that is scored whole is scored as if they had never been there, their neighbours' windows included."""
    rng = random.Random(7)
    corpus = random_corpus(7)
    hidden = np.array(sorted(rng.sample(sorted(corpus), 40)), np.int64)
    whole = make(list(corpus.values()), scan_limit)
    less = make([row for id_, row in corpus.items() if id_ not in set(hidden.tolist())], scan_limit)
    for _ in range(10):
        query = random_query(rng)
        got = whole.search(query, scopes=scopes, hidden=hidden, limit=200)
        want = less.search(query, scopes=scopes, limit=200)
        assert np.isin(got.ids, hidden).sum() == 0
        if scopes is not None and scan_limit:
            assert got.ids.tolist() == want.ids.tolist()
            assert got.previous.tolist() == want.previous.tolist()
            for name in ("paragraph", "window", "session", "coverage", "window_coverage"):
                np.testing.assert_allclose(getattr(got, name), getattr(want, name), rtol=1e-5)
        assert set(got.ids.tolist()) <= set(corpus) - set(hidden.tolist())
    allowed = whole.search(random_query(rng), allow=hidden, hidden=hidden, limit=10)
    assert allowed.ids.tolist() == []
