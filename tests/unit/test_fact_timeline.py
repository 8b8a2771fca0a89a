"""How statements of one thing settle: a function of the statements, whatever their order."""

from __future__ import annotations

import random

from amemorix.facts.timeline import ANY, AUTHORITY, Point, timeline


def differ(one: str, other: str) -> bool:
    """Values of which one at a time is true."""
    return one == other


def said(at: float, norm: str, authority: str = "direct_user", polarity: int = 1, until: float | None = None) -> Point:
    return Point(0, int(at * 10), at, norm, polarity, norm, authority, 0.5, until)


def settled(*points: Point) -> list[tuple[str, int, str, float, float | None]]:
    runs = timeline(points, differ)
    return sorted((*run.key, run.status, run.first, run.valid_to) for run in runs)


def test_more_authority_wins_at_the_same_moment() -> None:
    assert settled(said(1, "a"), said(1, "b", "manual")) == [("a", 1, "superseded", 1, 1), ("b", 1, "active", 1, None)]


def test_a_denial_of_any_value_ends_each_of_them() -> None:
    points = [said(1, "a"), said(2, ANY, polarity=-1), said(3, "b")]
    expected = [("*", -1, "superseded", 2, 3), ("a", 1, "superseded", 1, 2), ("b", 1, "active", 3, None)]
    assert settled(*points) == settled(*reversed(points)) == expected


def test_less_authority_later_is_a_conflict_until_the_first_is_said_again() -> None:
    first, other = said(1, "a"), said(2, "b", "rule")
    assert {status for *_, status, _, _ in settled(first, other)} == {"conflicted"}
    assert settled(first, other, said(3, "a")) == [("a", 1, "active", 1, None), ("b", 1, "superseded", 2, 3)]


def test_a_denial_ends_only_what_it_denies() -> None:
    assert settled(said(1, "a"), said(2, "b", polarity=-1)) == [
        ("a", 1, "active", 1, None),
        ("b", -1, "active", 2, None),
    ]
    assert settled(said(1, "a"), said(2, "a", polarity=-1))[1] == ("a", 1, "superseded", 1, 2)


def test_what_has_ended_by_itself_contradicts_nothing_later() -> None:
    assert settled(said(1, "a", until=2), said(3, "b", "rule")) == [
        ("a", 1, "active", 1, 2),
        ("b", 1, "active", 3, None),
    ]


def test_order_does_not_matter() -> None:
    rng = random.Random(1)
    for _ in range(200):
        points = [
            Point(0, n, float(rng.randint(1, 6)), rng.choice("abc"), rng.choice([1, 1, 1, -1]), "v", rng.choice(list(AUTHORITY)), 0.5)
            for n in range(rng.randint(1, 12))
        ]  # fmt: skip
        expected = settled(*points)
        for _ in range(5):
            rng.shuffle(points)
            assert settled(*points) == expected
        current = [key for *key, status, _, _ in expected if status == "active" and key[1] == 1]
        assert len(current) <= 1, "one value at a time is held true without a conflict"
        assert [one for one in expected if one[2] != "superseded"], "what was said last is never lost"
