"""The vector store against brute force, through random histories, damage and threads."""

from __future__ import annotations

import shutil
import threading
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from amemorix.indexes.vectors.store import QuantizationType, VectorRow, VectorStore

DIMENSION = 48
NONE = np.empty(0, np.int64)


def unit_vectors(count: int, seed: int = 0, dimension: int = DIMENSION) -> NDArray[np.float32]:
    vectors = np.random.default_rng(seed).standard_normal((count, dimension))
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


def row(number: int, vector: NDArray[np.float32]) -> VectorRow:
    return VectorRow(number, vector.astype("<f2").tobytes())


def rows_of(vectors: NDArray[np.float32], first: int = 0) -> list[VectorRow]:
    return [row(first + i, vector) for i, vector in enumerate(vectors)]


def built(rows: list[VectorRow], **options: object) -> VectorStore:
    store = VectorStore(DIMENSION, **options)  # type: ignore[arg-type]
    store.build(iter(rows))
    return store


def brute_force(vectors: NDArray[np.float32], query: NDArray[np.float32], allowed: NDArray[np.int64]) -> list[int]:
    scores = vectors[allowed] @ query
    return allowed[np.lexsort((allowed, -scores))].tolist()


@pytest.mark.parametrize("quantization", list(QuantizationType))
def test_search_finds_the_nearest_with_their_cosines(quantization: QuantizationType) -> None:
    vectors = unit_vectors(500)
    store = built(rows_of(vectors), quantization=quantization)
    query = unit_vectors(1, seed=1)[0]

    ids, scores = store.search(query, 20)

    assert len(ids) == 20
    assert (np.diff(scores) <= 0).all()
    np.testing.assert_allclose(scores, vectors[ids] @ query, atol=0.01)
    assert len(set(ids[:10].tolist()) & set(brute_force(vectors, query, np.arange(500))[:12])) == 10


def test_a_query_of_any_length_gives_cosines() -> None:
    store = built(rows_of(unit_vectors(50)))
    query = unit_vectors(1, seed=1)[0]

    np.testing.assert_allclose(store.search(7 * query, 5)[1], store.search(query, 5)[1], rtol=1e-5)
    assert store.search(0 * query, 5)[1].tolist() == [0, 0, 0, 0, 0]


def test_an_allow_list_is_exact() -> None:
    vectors = unit_vectors(3000)
    store = built(rows_of(vectors), quantization=QuantizationType.FLOAT32, exact_limit=100)
    query = unit_vectors(1, seed=1)[0]
    stored = vectors.astype(np.float16).astype(np.float32)

    for share in (0.001, 0.1, 0.7):
        allowed = np.flatnonzero(np.random.default_rng(2).random(3000) < share).astype(np.int64)
        ids, _ = store.search(query, 10, np.concatenate((allowed, [5000, 6000])))
        assert ids.tolist() == brute_force(stored, query, allowed)[:10]


def test_an_empty_store_an_empty_allow_list_and_a_k_of_zero_find_nothing() -> None:
    query = unit_vectors(1)[0]

    assert VectorStore(DIMENSION).search(query, 5)[0].tolist() == []
    assert VectorStore(DIMENSION).search(query, 5, np.array([1, 2]))[0].tolist() == []
    assert VectorStore(DIMENSION).background(query).tolist() == []
    assert np.isnan(VectorStore(DIMENSION).scores(query, np.array([1, 2]))).all()
    store = built(rows_of(unit_vectors(50)))
    assert store.search(query, 0)[0].tolist() == []
    assert store.search(query, 5, NONE)[0].tolist() == []


def test_the_shortlist_finds_nearly_what_an_exact_search_finds() -> None:
    centres = unit_vectors(300, seed=3, dimension=128)
    noise = 0.06 * np.random.default_rng(4).standard_normal((30_000, 128))
    vectors = np.repeat(centres, 100, axis=0) + noise.astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    store = VectorStore(128)
    store.build(iter(rows_of(vectors)))
    found = [set(store.search(query, 10)[0].tolist()) for query in centres[:50]]

    best = [set(np.argsort(-vectors @ query)[:10].tolist()) for query in centres[:50]]

    assert np.mean([len(a & b) for a, b in zip(found, best, strict=True)]) > 9.5


def test_components_that_every_vector_shares_are_neither_clipped_nor_in_the_way() -> None:
    rng = np.random.default_rng(5)
    vectors = 0.05 * rng.standard_normal((30_000, 384)).astype(np.float32)
    vectors[:, 7] += 0.9
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    store = VectorStore(384)
    store.build(iter(rows_of(vectors)))

    ids, scores = store.search(vectors[123], 3)

    assert ids[0] == 123
    np.testing.assert_allclose(scores, vectors[ids] @ vectors[123], atol=0.005)


def test_a_large_allow_list_goes_through_the_shortlist() -> None:
    vectors = unit_vectors(60_000, dimension=16)
    store = VectorStore(16)
    store.build(iter(rows_of(vectors)))
    allowed = np.arange(1, 60_000, dtype=np.int64)

    ids, _ = store.search(vectors[0], 5, allowed)

    assert 0 not in ids
    assert ids[0] == np.argmax(vectors[1:] @ vectors[0]) + 1


def test_scores_keep_the_order_asked_and_are_nan_where_nothing_is() -> None:
    vectors = unit_vectors(100)
    store = built(rows_of(vectors))
    store.apply([], [3])

    scores = store.scores(vectors[5], np.array([5, 3, 99, 1000, -1]))

    assert scores[0] == pytest.approx(1, abs=0.01)
    assert scores[2] == pytest.approx(float(vectors[99] @ vectors[5]), abs=0.01)
    assert np.isnan(scores[[1, 3, 4]]).all()


def test_background_is_a_sample_of_everything() -> None:
    store = built(rows_of(unit_vectors(5000)))
    query = unit_vectors(1, seed=1)[0]

    noise = store.background(query, 200)

    assert len(noise) == 200
    assert abs(float(noise.mean())) < 0.05
    assert noise.tolist() == store.background(query, 200).tolist()
    assert len(store.background(query, 10_000)) == 5000


def test_a_removed_vector_is_never_found_and_may_come_back() -> None:
    vectors = unit_vectors(3000)
    store = built(rows_of(vectors), exact_limit=100)

    store.apply([], list(range(0, 3000, 2)))
    ids, _ = store.search(vectors[0], 3000)
    assert (ids % 2 == 1).all()
    assert len(ids) == len(store) == 1500

    store.apply([row(0, vectors[0])], [])
    assert store.search(vectors[0], 1)[0].tolist() == [0]
    assert len(store) == 1501


def test_a_shortlist_looks_past_the_tombstones_that_are_nearest() -> None:
    query = unit_vectors(1, seed=1)[0]
    near = np.repeat(query[None], 2500, axis=0)
    store = built(rows_of(np.concatenate((near, unit_vectors(500)))), exact_limit=100)

    store.apply([], list(range(2500)))

    assert len(store.search(query, 10)[0]) == 10


def test_equal_vectors_come_by_id() -> None:
    vector = unit_vectors(1)[0]
    store = built([row(number, vector) for number in (5, 9, 1, 7, 3)])

    assert store.search(vector, 3)[0].tolist() == [1, 3, 5]


@pytest.mark.parametrize("bad", [b"", b"\0" * (2 * DIMENSION - 2), np.full(DIMENSION, np.nan, "<f2").tobytes()])
def test_a_bad_row_is_refused_and_changes_nothing(bad: bytes) -> None:
    store = built(rows_of(unit_vectors(10)))
    before = store.dump()

    with pytest.raises(ValueError):
        store.apply([row(20, unit_vectors(1)[0]), VectorRow(21, bad)], [1])
    with pytest.raises(ValueError):
        store.build(iter([VectorRow(21, bad)]))

    assert store.dump() == before


def test_a_query_of_another_dimension_is_refused() -> None:
    with pytest.raises(ValueError):
        VectorStore(DIMENSION).search(np.zeros(DIMENSION + 1, np.float32), 5)


def test_a_code_does_not_depend_on_its_batch() -> None:
    vectors = unit_vectors(2000)
    together = built(rows_of(vectors)).dump()
    alone = VectorStore(DIMENSION)
    for one in rows_of(vectors)[:200]:
        alone.apply([one], [])

    assert alone.dump() == {number: together[number] for number in range(200)}


def test_the_fingerprint_tells_what_the_codes_depend_on() -> None:
    stores = [
        VectorStore(4),
        VectorStore(5),
        VectorStore(4, QuantizationType.FLOAT16),
        VectorStore(4, fingerprint_suffix="b"),
    ]

    assert len({store.fingerprint for store in stores}) == 4


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("put"), st.lists(st.tuples(st.integers(0, 40), st.integers(0, 99)), max_size=12)),
        st.tuples(st.just("remove"), st.lists(st.integers(0, 45), max_size=12)),
        st.tuples(st.sampled_from(["seal", "reload"]), st.none()),
    ),
    max_size=12,
)


@settings(max_examples=80, deadline=None)
@given(steps=STEPS)
def test_any_history_equals_a_store_built_from_nothing(tmp_path_factory: pytest.TempPathFactory, steps: list) -> None:
    vectors = unit_vectors(100)
    store, truth = VectorStore(DIMENSION), {}
    for what, values in steps:
        if what == "put":
            store.apply([row(number, vectors[which]) for number, which in values], [])
            truth |= dict(values)
        elif what == "remove":
            store.apply([], values)
            truth = {number: which for number, which in truth.items() if number not in values}
        elif what == "seal":
            store.build(row(number, vectors[which]) for number, which in truth.items())
        else:
            store = reloaded(store, tmp_path_factory.mktemp("vectors"))
    assert_equal(store, built([row(number, vectors[which]) for number, which in sorted(truth.items())]))


def reloaded(store: VectorStore, folder: Path) -> VectorStore:
    store.save(folder)
    fresh = VectorStore(DIMENSION)
    fresh.load(folder)
    return fresh


def assert_equal(left: VectorStore, right: VectorStore) -> None:
    query = unit_vectors(1, seed=9)[0]
    allowed = np.arange(0, 40, 3, dtype=np.int64)
    assert left.dump() == right.dump()
    assert len(left) == len(right)
    for allow in (None, allowed):
        for a, b in zip(left.search(query, 10, allow), right.search(query, 10, allow), strict=True):
            assert a.tolist() == b.tolist()
    np.testing.assert_array_equal(left.scores(query, allowed), right.scores(query, allowed))


def test_compaction_changes_nothing_but_the_tombstones(tmp_path: Path) -> None:
    vectors = unit_vectors(9000)
    store = reloaded(built(rows_of(vectors[:6000])), tmp_path)
    store.apply(rows_of(vectors[6000:], first=3000), range(2500))
    assert store.dump() == built(rows_of(vectors[2500:3000], 2500) + rows_of(vectors[6000:], 3000)).dump()

    before = store.dump()
    assert store.compact() is True
    assert store.dump() == before
    assert store.compact() is False
    assert_equal(store, built(rows_of(vectors[2500:3000], 2500) + rows_of(vectors[6000:], 3000)))


def test_many_recent_vectors_are_merged() -> None:
    vectors = unit_vectors(21_000, dimension=8)
    store = VectorStore(8)
    store.apply(rows_of(vectors), [])

    assert store.compact() is True
    assert store.compact() is False
    assert len(store) == 21_000


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


def lengthen(path: Path) -> None:
    path.write_bytes(path.read_bytes() + b"\0")


def blank(path: Path) -> None:
    path.write_bytes(b"")


def zero(path: Path) -> None:
    content = path.read_bytes()
    path.write_bytes(content[:128] + b"\0" * (len(content) - 128))


def scribble(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[20:60] = b"{" * 40
    path.write_bytes(content)


@pytest.mark.parametrize("damage", [truncate, lengthen, blank, zero, scribble])
@pytest.mark.parametrize("name", ["ids.npy", "codes.npy", "bits.npy"])
def test_a_damaged_file_is_refused(tmp_path: Path, name: str, damage: object) -> None:
    built(rows_of(unit_vectors(50))).save(tmp_path)
    damage(tmp_path / name)  # type: ignore[operator]
    store = built(rows_of(unit_vectors(3)))

    with pytest.raises(ValueError):
        store.load(tmp_path)

    assert len(store) == 3


def test_files_of_another_shape_length_or_precision_are_refused(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    one.mkdir(), two.mkdir()
    built(rows_of(unit_vectors(50))).save(one)
    built(rows_of(unit_vectors(40))).save(two)

    with pytest.raises(ValueError):
        VectorStore(DIMENSION + 1).load(one)
    with pytest.raises(ValueError):
        VectorStore(DIMENSION, QuantizationType.FLOAT16).load(one)
    shutil.copy(two / "ids.npy", one / "ids.npy")
    with pytest.raises(ValueError):
        VectorStore(DIMENSION).load(one)
    (one / "bits.npy").unlink()
    with pytest.raises(OSError):
        VectorStore(DIMENSION).load(one)


def test_searches_see_a_whole_state_while_rows_change() -> None:
    near, far = unit_vectors(2)
    store = built([row(1, near), *(row(number, far) for number in range(100, 2100))], exact_limit=500)
    problems: list[object] = []
    done = threading.Event()

    def search() -> None:
        while not done.is_set():
            ids, scores = store.search(near, 3)
            if len(ids) != 3 or ids[0] > 50 or scores[0] < 0.99 or len(set(ids.tolist())) != 3:
                problems.append((ids, scores))

    threads = [threading.Thread(target=search) for _ in range(2)]
    for thread in threads:
        thread.start()
    for turn in range(1, 50):
        store.apply([row(turn + 1, near), *(row(number, far) for number in range(100 + turn, 400 + turn))], [turn])
        store.compact()
    done.set()
    for thread in threads:
        thread.join()
    assert problems == []
