import numpy as np

from amemorix.sorted_arrays import common, contains, distinct, filled


def test_values_come_once_and_ascending() -> None:
    assert distinct(np.array([3, 1, 3, 2, 1])).tolist() == [1, 2, 3]
    assert distinct(np.array([7])).tolist() == [7]
    assert distinct(np.zeros(0, np.int64)).tolist() == []


def test_what_lies_below_between_and_above_is_not_contained() -> None:
    assert contains(np.array([2, 4]), np.array([1, 2, 3, 4, 5])).tolist() == [False, True, False, True, False]
    assert contains(np.zeros(0, np.int64), np.array([1])).tolist() == [False]


def test_what_two_arrays_have_in_common() -> None:
    for one, other in (([1, 3, 5], [0, 3, 4, 5, 9]), ([0, 3, 4, 5, 9], [1, 3, 5])):
        assert common(np.array(one), np.array(other)).tolist() == [3, 5]
    assert common(np.zeros(0, np.int64), np.array([1])).tolist() == []


def test_only_what_is_missing_is_filled_and_the_type_stays() -> None:
    values = filled(np.array([0.5, np.nan], np.float32), -2.0)
    assert values.tolist() == [0.5, -2.0]
    assert values.dtype == np.float32
