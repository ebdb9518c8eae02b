import math

import pytest

from hotlap.stats import fast_p

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
