"""The graph store against networkx, through random histories, damage and threads."""

from __future__ import annotations

import threading
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amemorix.indexes.graph.store import EdgeRow, GraphStore


def built(rows: list[EdgeRow]) -> GraphStore:
    store = GraphStore()
    store.build(iter(rows))
    return store


def random_rows(nodes: int, edges: int, seed: int = 0) -> list[EdgeRow]:
    rng = np.random.default_rng(seed)
    ends = 10 * rng.integers(0, nodes, (edges, 2)) + 3
    weights = rng.uniform(0.1, 1, edges).astype(np.float32)
    return [
        EdgeRow(number, subject, object_, weight)
        for number, ((subject, object_), weight) in enumerate(zip(ends.tolist(), weights.tolist(), strict=True))
        if subject != object_
    ]


def undirected(rows: list[EdgeRow]) -> nx.Graph:
    graph = nx.Graph()
    for row in rows:
        weight = graph.get_edge_data(row.subject, row.object, {"weight": 0})["weight"]
        graph.add_edge(row.subject, row.object, weight=weight + row.weight)
    return graph


def exact_pagerank(rows: list[EdgeRow], seeds: dict[int, float]) -> dict[int, float]:
    graph = undirected(rows)
    matrix = np.asarray(nx.google_matrix(graph, alpha=0.85, personalization=seeds))
    ranks = np.linalg.matrix_power(matrix, 256)[0]
    return dict(zip(graph, ranks.tolist(), strict=True))


CHAIN = [EdgeRow(1, 10, 20, 1.0), EdgeRow(2, 20, 30, 0.5), EdgeRow(3, 30, 40, 0.25), EdgeRow(4, 20, 10, 2.0)]


def test_neighbours_are_found_in_both_directions_and_parallel_edges_add_up() -> None:
    store = built(CHAIN)

    nodes, weights = store.neighbours(20)

    assert nodes.tolist() == [10, 30]
    assert weights.tolist() == [3.0, 0.5]
    assert [store.degree(node) for node in (10, 20, 40, 99)] == [1, 2, 1, 0]


def test_edges_keep_their_direction() -> None:
    assert built(CHAIN).edges_of(10) == [EdgeRow(1, 10, 20, 1.0), EdgeRow(4, 20, 10, 2.0)]
    assert built(CHAIN).edges_of(99) == []


def test_a_subgraph_has_the_edges_among_its_nodes() -> None:
    assert built(CHAIN).subgraph([30, 20, 40, 99]) == CHAIN[1:3]
    assert built(CHAIN).subgraph([]) == []


def test_a_path_is_shortest_and_no_longer_than_asked() -> None:
    store = built([*CHAIN, EdgeRow(9, 70, 80, 1.0)])

    assert store.path(10, 40) == [10, 20, 30, 40]
    assert store.path(40, 10, max_hops=3) == [40, 30, 20, 10]
    assert store.path(10, 40, max_hops=2) is None
    assert store.path(10, 10, max_hops=0) == [10]
    assert store.path(10, 80) is None
    assert store.path(10, 99) is None


def test_nodes_stand_by_weight_times_support_and_the_newer_first() -> None:
    store = built(
        [EdgeRow(1, 10, 20, 0.5, 4), EdgeRow(2, 10, 30, 1.0, 0), EdgeRow(3, 40, 50, 1.0, 1), EdgeRow(4, 50, 40, 1, 1)]
    )
    store.apply([EdgeRow(5, 60, 10, 0.25, 2)], [4])
    standing = store.state.standing

    assert standing.nodes.tolist() == [10, 20, 50, 40, 30, 60]
    assert standing.score.tolist() == [3.5, 2.0, 1.0, 1.0, 1.0, 0.5]
    assert (standing.degree.tolist(), standing.support.tolist()) == ([3, 1, 1, 1, 1, 1], [6, 4, 1, 1, 0, 2])
    assert (standing.relations, standing.pairs) == (4, 4)


def test_edges_join_nodes_with_each_other_and_with_others() -> None:
    state = built(CHAIN).state

    def joined(nodes: list[int], others: list[int]) -> list[int]:
        return sorted(state.joining(np.array(nodes), np.array(others, np.int64))["id"].tolist())

    assert joined([10, 20], []) == [1, 4]
    assert joined([20], [30, 99]) == [2]
    assert joined([99], [10]) == []
    assert state.around(40, 2).tolist() == [20, 30, 40]
    assert state.around(99, 2).tolist() == [99]


def test_paths_are_as_long_as_those_of_networkx() -> None:
    rows = random_rows(120, 150)
    store, graph = built(rows), undirected(rows)
    lengths = dict(nx.all_pairs_shortest_path_length(graph, cutoff=4))

    for a in list(graph)[:20]:
        for b in list(graph)[:40]:
            path = store.path(a, b)
            assert (len(path) - 1 if path else None) == lengths[a].get(b)
            assert path is None or nx.is_path(graph, path)


def test_a_loop_is_left_out_and_an_edge_that_becomes_one_is_gone() -> None:
    store = built([*CHAIN, EdgeRow(5, 10, 10, 1.0)])
    assert store.neighbours(10)[0].tolist() == [20]

    store.apply([EdgeRow(3, 30, 30, 1.0)], [])

    assert sorted(store.dump()) == [1, 2, 4]
    assert store.neighbours(30)[0].tolist() == [20]


@pytest.mark.parametrize("recent", [0, 60])
@pytest.mark.parametrize("seed", range(4))
def test_pagerank_ranks_as_networkx_does(seed: int, recent: int) -> None:
    rows = random_rows(100, 300, seed)
    store = built(rows[recent:])
    store.apply(rows[:recent], [])
    seeds = {rows[0].subject: 2.0, rows[1].object: 1.0}
    exact = exact_pagerank(rows, seeds)

    nodes, scores = store.pagerank(seeds, epsilon=1e-8)

    assert (np.diff(scores) <= 0).all()
    np.testing.assert_allclose(scores, [exact[node] for node in nodes.tolist()], atol=1e-5)
    rough = store.pagerank(seeds, epsilon=1e-4)[0][:20].tolist()
    assert len(set(rough) & set(sorted(exact, key=exact.__getitem__, reverse=True)[:20])) >= 18


def test_pagerank_takes_seeds_that_exist_and_the_best_nodes() -> None:
    store = built(CHAIN)

    assert store.pagerank({})[0].tolist() == []
    assert store.pagerank({99: 1.0, 10: 0.0, 20: -1.0})[0].tolist() == []
    assert store.pagerank({99: 1.0, 40: 3.0}, limit=2)[0].tolist() == store.pagerank({40: 1.0})[0].tolist()[:2]


def test_pagerank_stays_within_its_budget() -> None:
    store = built([EdgeRow(number, 1, number + 2, 1.0) for number in range(1000)])

    assert store.pagerank({1: 1.0}, max_steps=999)[0].tolist() == []
    assert store.pagerank({1: 1.0}, max_steps=1000)[0].tolist() == [1]
    assert store.pagerank({2: 1.0}, max_steps=500)[0].tolist() == [2]


def test_edges_that_weigh_nothing_lead_nowhere() -> None:
    nodes, scores = built([EdgeRow(1, 10, 20, 0.0)]).pagerank({10: 1.0})

    assert (nodes.tolist(), scores.tolist()) == ([10], [1.0])


@pytest.mark.parametrize("weight", [-1.0, float("nan"), float("inf")])
def test_a_bad_weight_is_refused_and_changes_nothing(weight: float) -> None:
    store = built(CHAIN)

    with pytest.raises(ValueError):
        store.apply([EdgeRow(8, 1, 2, weight)], [1])
    with pytest.raises(ValueError):
        store.build(iter([EdgeRow(8, 1, 2, weight)]))

    assert sorted(store.dump()) == [1, 2, 3, 4]


EDGES = st.tuples(st.integers(0, 30), st.integers(0, 9), st.integers(0, 9), st.sampled_from([0.25, 0.5, 1.0]))
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("put"), st.lists(EDGES, max_size=10)),
        st.tuples(st.just("remove"), st.lists(st.integers(0, 35), max_size=10)),
        st.tuples(st.sampled_from(["rebuild", "reload"]), st.none()),
    ),
    max_size=12,
)


@settings(max_examples=80, deadline=None)
@given(steps=STEPS)
def test_any_history_equals_a_store_built_from_nothing(tmp_path_factory: pytest.TempPathFactory, steps: list) -> None:
    store, truth = GraphStore(), {}
    for what, values in steps:
        if what == "put":
            store.apply([EdgeRow(*value) for value in values], [])
            truth |= {value[0]: EdgeRow(*value) for value in values}
        elif what == "remove":
            store.apply([], values)
            truth = {number: row for number, row in truth.items() if number not in values}
        elif what == "rebuild":
            store.build(iter(truth.values()))
        else:
            store = reloaded(store, tmp_path_factory.mktemp("graph"))
    assert_equal(store, built(list(truth.values())))


def reloaded(store: GraphStore, folder: Path) -> GraphStore:
    store.save(folder)
    fresh = GraphStore()
    fresh.load(folder)
    return fresh


def assert_equal(left: GraphStore, right: GraphStore) -> None:
    assert left.dump() == right.dump()
    for part in ("nodes", "score", "degree", "support", "relations", "pairs"):
        one, other = (np.asarray(getattr(store.state.standing, part)).tolist() for store in (left, right))
        assert one == other, part
    joining = [store.state.joining(np.arange(4), np.arange(3, 7)).tolist() for store in (left, right)]
    assert sorted(joining[0]) == sorted(joining[1])
    assert len(left) == len(right)
    assert left.subgraph(range(10)) == right.subgraph(range(10))
    for node in range(10):
        assert left.edges_of(node) == right.edges_of(node)
        for a, b in zip(left.neighbours(node), right.neighbours(node), strict=True):
            assert a.tolist() == b.tolist()
        assert len(left.path(0, node) or []) == len(right.path(0, node) or [])
    ranks = [
        dict(zip(*(part.tolist() for part in store.pagerank({0: 1.0, 1: 1.0}, epsilon=1e-9)), strict=True))
        for store in (left, right)
    ]
    assert ranks[0] == pytest.approx(ranks[1], abs=1e-6)


def test_compaction_changes_nothing_but_the_overlay() -> None:
    rows = random_rows(10, 9000)
    store = built(rows[:6000])
    store.apply([EdgeRow(row.id - 3000, row.subject, row.object, row.weight) for row in rows[6000:]], range(500))
    same = built(list(store_rows(store)))

    assert store.compact() is True
    assert store.compact() is False
    assert_equal(store, same)


def store_rows(store: GraphStore) -> list[EdgeRow]:
    return [EdgeRow(number, *edge) for number, edge in store.dump().items()]


def test_damaged_files_are_refused(tmp_path: Path) -> None:
    built(random_rows(20, 50)).save(tmp_path)
    path, store = tmp_path / "edges.npy", built(CHAIN)
    whole = path.read_bytes()
    at = np.random.default_rng(0)
    headers = [
        whole[:cut] + bytes([byte]) + whole[cut + 1 :] for cut in range(110) for byte in at.integers(0, 256, 3).tolist()
    ]
    harmless = [content for content in headers if content == whole]

    refused = 0
    for content in [b"", whole[:-1], whole[:40], whole[:128], b"\0" * len(whole), *headers]:
        path.write_bytes(content)
        try:
            store.load(tmp_path)
        except ValueError:
            refused += 1
            assert sorted(store.dump()) == [1, 2, 3, 4]
        else:
            assert store.dump() == built(random_rows(20, 50)).dump()
            store = built(CHAIN)
    assert refused > 200 - len(harmless)


TABLE = [("id", "<i8"), ("subject", "<i8"), ("object", "<i8"), ("weight", "<f4")]


@pytest.mark.parametrize(
    "content",
    [
        np.arange(5),
        np.zeros((2, 2), TABLE),
        np.array([(1, 2, 3, np.nan)], TABLE),
        np.array([(2, 2, 3, 1), (1, 2, 3, 1)], TABLE),
        np.array([(1, 3, 3, 1)], TABLE),
    ],
)
def test_files_with_other_content_are_refused(tmp_path: Path, content: np.ndarray) -> None:
    np.save(tmp_path / "edges.npy", content)

    with pytest.raises(ValueError):
        GraphStore().load(tmp_path)


def test_readers_see_a_whole_state_while_edges_change() -> None:
    store = built([EdgeRow(1, 1, 2, 1.0), *(EdgeRow(number, 70, number, 1.0) for number in range(100, 3100))])
    problems: list[object] = []
    done = threading.Event()

    def read() -> None:
        while not done.is_set():
            edges, (nodes, scores) = store.edges_of(1), store.pagerank({1: 1.0})
            if len(edges) != 1 or len(nodes) != 2 or not 0.99 < scores.sum() <= 1.0001:
                problems.append((edges, nodes, scores))

    threads = [threading.Thread(target=read) for _ in range(2)]
    for thread in threads:
        thread.start()
    for turn in range(2, 60):
        fresh = [EdgeRow(number, 70, number, 0.5) for number in range(100 * turn, 100 * turn + 100)]
        store.apply([EdgeRow(turn, 1, turn + 1, 1.0), *fresh], [turn - 1])
        store.compact()
    done.set()
    for thread in threads:
        thread.join()
    assert problems == []
