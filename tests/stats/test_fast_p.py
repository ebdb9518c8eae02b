import math

import pytest

from hotlap.stats import fast_p, sure_fast_p

SPEEDUPS = [0.5, 1.0, 1.5, 9.0, None]
CORRECT = [True, True, True, False, False]


@pytest.mark.parametrize(
    ("p", "share"),
    [
        (0.0, 3 / 5),  # the share that is correct
        (0.5, 2 / 5),  # as fast as p is not faster than p
        (1.0, 1 / 5),
        (2.0, 0.0),  # the 9x kernel is wrong
    ],
)
def test_only_problems_that_are_correct_and_faster_than_p_count(p: float, share: float) -> None:
    assert fast_p(SPEEDUPS, CORRECT, p) == share


@pytest.mark.parametrize("speedup", [None, math.nan])
def test_a_correct_problem_without_a_speedup_is_refused_not_counted_as_slow(speedup: float | None) -> None:
    with pytest.raises(ValueError, match="has no speedup"):
        fast_p([speedup], [True], 1.0)


def test_lists_of_different_length_are_refused() -> None:
    with pytest.raises(ValueError, match="1 speedups for 2 problems"):
        fast_p([1.0], [True, True], 1.0)


def test_no_problems_have_no_share() -> None:
    with pytest.raises(ValueError, match="at least one problem"):
        fast_p([], [], 1.0)


@pytest.mark.parametrize(("p", "share"), [(0.0, 3 / 4), (1.0, 1 / 4), (1.4, 0.0)])
def test_what_is_sure_has_its_lower_bound_above_p(p: float, share: float) -> None:
    assert sure_fast_p([0.9, 1.4, -math.inf, None], [True, True, True, False], p) == share


def test_what_is_sure_is_never_more_than_what_was_measured() -> None:
    speedups, lows, correct = [1.01, 1.5, 2.0], [0.99, 1.4, -math.inf], [True] * 3
    for p in (0.0, 1.0, 1.45, 3.0):
        assert sure_fast_p(lows, correct, p) <= fast_p(speedups, correct, p)


def test_a_correct_problem_without_a_lower_bound_is_refused() -> None:
    with pytest.raises(ValueError, match="has no lower bound"):
        sure_fast_p([None], [True], 1.0)
