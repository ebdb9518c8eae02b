import math
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from hotlap.stats import confidence_sequence
from tests.stats.coverage import Draw, ar1, monte_carlo_error

TRIALS = 1500
finite = st.floats(-1e6, 1e6)

# Values as a duel has them, centred at 0: what must not move the error rate.
DUELS: dict[str, Draw] = {
    "normal": lambda rng, n: rng.normal(size=n),
    "student t, 5 degrees": lambda rng, n: rng.standard_t(5, size=n),
    "uniform": lambda rng, n: rng.uniform(-1, 1, size=n),
    "a clock of 32 ns under 100 us": lambda rng, n: (
        np.round(rng.normal(scale=3e-4, size=n) / 3.2e-4) * 3.2e-4
    ),
    "means of 8 blocks with process offsets": lambda rng, n: (
        rng.normal(scale=0.6, size=n) + np.array([ar1(rng, 8, 0.5).mean() for _ in range(n)])
    ),
}


def errors(draw: Draw, n: int, effect: float = 0.0) -> float:
    """Share of trials in which the interval, read after every value, misses the mean at any time."""
    rng = np.random.default_rng(20261130)
    misses = 0
    for _ in range(TRIALS):
        low, high = confidence_sequence([*(draw(rng, n) + effect)])
        misses += not low <= effect <= high
    return misses / TRIALS


@pytest.mark.parametrize("name", DUELS)
def test_reading_after_every_value_errs_at_most_5_percent_of_the_time(name: str) -> None:
    assert errors(DUELS[name], n=48) <= 0.05 + monte_carlo_error(0.05, TRIALS)


@pytest.mark.parametrize("effect", [-3.0, 0.5, 1000.0])
def test_it_does_not_matter_where_the_mean_is(effect: float) -> None:
    assert errors(DUELS["normal"], n=24, effect=effect) <= 0.05 + monte_carlo_error(0.05, TRIALS)


def test_dependence_from_value_to_value_is_not_covered() -> None:
    assert errors(partial(ar1, rho=0.8), n=48) > 0.1


def test_an_effect_of_twice_the_spread_is_decided_within_eight_values() -> None:
    rng = np.random.default_rng(7)
    decided = sum(confidence_sequence([*rng.normal(2.0, size=8)])[0] > 0 for _ in range(300))
    assert decided >= 0.9 * 300


@pytest.mark.parametrize("values", [[], [1.0], [1.0, 2.0], [1.0, 2.0, 4.0], [5.0] * 30])
def test_too_few_values_or_none_that_differ_decide_nothing(values: list[float]) -> None:
    assert confidence_sequence(values) == (-math.inf, math.inf)


def test_four_values_are_enough() -> None:
    low, high = confidence_sequence([1.0, 1.001, 0.999, 1.0])
    assert 0.99 < low < 1 < high < 1.01


@given(st.lists(finite, min_size=4, max_size=30), finite)
def test_more_values_never_widen_it(values: list[float], one_more: float) -> None:
    low, high = confidence_sequence(values)
    narrower = confidence_sequence([*values, one_more])
    assert narrower[0] >= low
    assert narrower[1] <= high


@given(st.lists(finite, min_size=4, max_size=30))
def test_swapping_the_sides_mirrors_it(values: list[float]) -> None:
    low, high = confidence_sequence(values)
    mirrored = confidence_sequence([-v for v in values])
    assert mirrored == pytest.approx((-high, -low), rel=1e-9, abs=1e-6)


def test_a_large_common_part_costs_no_digits() -> None:
    values: NDArray[np.float64] = np.random.default_rng(1).normal(size=20)
    low, high = confidence_sequence([*values])
    far = confidence_sequence([*(values + 1e9)])
    assert far == pytest.approx((low + 1e9, high + 1e9), abs=1e-5)


@pytest.mark.parametrize(
    ("values", "level", "mixture"),
    [([1.0, math.nan], 0.95, 2.0), ([1.0, math.inf], 0.95, 2.0), ([1.0], 1.0, 2.0), ([1.0], 0.95, 0.0)],
)
def test_nonsense_is_refused(values: list[float], level: float, mixture: float) -> None:
    with pytest.raises(ValueError, match="confidence_sequence"):
        confidence_sequence(values, level, mixture)


# --- beside something that has a sign --------------------------------------------------------------


def in_turn(n: int) -> list[bool]:
    return [i % 2 == 0 for i in range(n)]


@pytest.mark.parametrize("worth", [0.0, 1.0, 30.0])
def test_what_a_sign_is_worth_neither_shifts_nor_widens_the_interval(worth: float) -> None:
    rng = np.random.default_rng(11)
    values, signs = rng.normal(size=12), in_turn(12)
    moved = values + worth * np.where(signs, 1.0, -1.0)
    assert confidence_sequence(moved, signs=signs) == pytest.approx(confidence_sequence(values, signs=signs))


@pytest.mark.parametrize("start", [0, 1])
def test_reading_beside_signs_after_every_value_errs_at_most_5_percent_of_the_time(start: int) -> None:
    rng, signs = np.random.default_rng(12), in_turn(25)[start : start + 24]
    missed = 0
    for _ in range(2000):
        low, high = confidence_sequence(rng.normal(size=24) + 3.0 * np.where(signs, 1.0, -1.0), signs=signs)
        missed += not low <= 0 <= high
    assert missed / 2000 <= 0.05


def test_values_that_alternate_by_a_large_part_are_narrowed_down_by_it() -> None:
    values = [9.4e-4, -7.1e-4, 9.2e-4, -7.2e-4, 9.3e-4, -7.0e-4]
    low, high = confidence_sequence(values, signs=in_turn(6))
    assert 0 < low < 1.1e-4 < high < 2e-4
    assert confidence_sequence(values)[1] > 1e-3


@pytest.mark.parametrize("signs", [[True] * 6, [False] * 6])
def test_a_sign_that_never_changes_leaves_nothing_known(signs: list[bool]) -> None:
    assert confidence_sequence([1.0, 2.0, 1.5, 1.7, 1.2, 1.9], signs=signs) == (-math.inf, math.inf)


def test_signs_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match="a sign for each value"):
        confidence_sequence([1.0, 2.0], signs=[True])
