import itertools
import math
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hotlap.stats import hodges_lehmann, hodges_lehmann_interval
from tests.stats.coverage import SYMMETRIC, ar1, coverage, monte_carlo_error

finite = st.floats(-1e6, 1e6)


@pytest.mark.parametrize(
    ("values", "estimate"),
    [
        ([3.0], 3.0),
        ([1.0, 2.0], 1.5),
        ([1.0, 2.0, 9.0], 3.5),  # averages 1 1.5 2 5 5.5 9
        ([1.0, 2.0, 3.0, 4.0, 1000.0], 3.0),
    ],
)
def test_the_estimate_is_the_median_of_pairwise_means(values: list[float], estimate: float) -> None:
    assert hodges_lehmann(values) == estimate


@given(st.lists(finite, min_size=1, max_size=20))
def test_the_estimate_lies_within_its_interval(values: list[float]) -> None:
    low, high = hodges_lehmann_interval(values)
    assert low <= hodges_lehmann(values) <= high


@given(st.lists(finite, min_size=6, max_size=12))
def test_swapping_the_sides_of_every_pair_mirrors_the_interval(values: list[float]) -> None:
    low, high = hodges_lehmann_interval(values)
    assert hodges_lehmann_interval([-v for v in values]) == (-high, -low)


@pytest.mark.parametrize("n", [6, 8, 12])
def test_the_small_sample_interval_matches_a_count_of_every_sign_pattern(n: int) -> None:
    ranks = np.arange(1, n + 1)
    statistics = [int(ranks @ np.array(signs)) for signs in itertools.product((0, 1), repeat=n)]
    cut = max(d for d in range(n * n) if np.mean(np.less(statistics, d)) <= 0.025)
    # Powers of three have pairwise means that all differ.
    values = [3.0**i for i in range(n)]
    averages = sorted((a + b) / 2 for a, b in itertools.combinations_with_replacement(values, 2))
    assert hodges_lehmann_interval(values) == (averages[cut - 1], averages[-cut])


@pytest.mark.parametrize("n", [6, 12, 30, 60])
@pytest.mark.parametrize("name", SYMMETRIC)
def test_a_95_percent_interval_covers_the_centre_95_percent_of_the_time(name: str, n: int) -> None:
    share = coverage(SYMMETRIC[name], hodges_lehmann_interval, truth=0.0, n=n)
    assert share >= 0.95 - monte_carlo_error(0.95)
    if n >= 30:
        assert share <= 0.96 + monte_carlo_error(0.96)


def test_the_normal_approximation_of_large_samples_keeps_its_level() -> None:
    share = coverage(SYMMETRIC["student t, 3 degrees"], hodges_lehmann_interval, truth=0.0, n=220, trials=800)
    assert abs(share - 0.95) <= monte_carlo_error(0.95, 800)


@pytest.mark.parametrize("level", [0.8, 0.99])
def test_other_levels_are_kept_too(level: float) -> None:
    share = coverage(SYMMETRIC["normal"], partial(hodges_lehmann_interval, level=level), truth=0.0, n=30)
    assert abs(share - level) <= monte_carlo_error(level) + 0.005


def test_equal_kernels_are_called_different_at_no_more_than_the_stated_rate() -> None:
    # Paired rounds of one kernel against itself: shared noise cancels in the log-ratio.
    def log_ratios(rng: np.random.Generator, n: int) -> np.ndarray:
        shared = rng.standard_t(3, size=n)
        a, b = shared + rng.normal(size=n), shared + rng.normal(size=n)
        return a - b

    faster_or_slower = 1 - coverage(log_ratios, hodges_lehmann_interval, truth=0.0, n=24)
    assert faster_or_slower <= 0.05 + monte_carlo_error(0.95)


@pytest.mark.parametrize("rho", [0.3, 0.6])
def test_drift_is_not_covered_so_the_interval_of_wandering_values_is_too_narrow(rho: float) -> None:
    share = coverage(partial(ar1, rho=rho), hodges_lehmann_interval, truth=0.0, n=40, trials=1000)
    assert share < 0.92


@pytest.mark.parametrize(("n", "is_finite"), [(0, False), (1, False), (5, False), (6, True)])
def test_both_sides_are_infinite_below_six_values(n: int, is_finite: bool) -> None:
    low, high = hodges_lehmann_interval([float(i) for i in range(n)])
    assert (low, high) == (0.0, 5.0) if is_finite else (-math.inf, math.inf)


def test_no_values_have_no_estimate() -> None:
    with pytest.raises(ValueError, match="at least one"):
        hodges_lehmann([])


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_values_that_are_not_finite_are_refused(bad: float) -> None:
    with pytest.raises(ValueError, match="finite"):
        hodges_lehmann_interval([1.0, bad])


def test_a_level_outside_0_and_1_is_refused() -> None:
    with pytest.raises(ValueError, match="level"):
        hodges_lehmann_interval([1.0], level=95)
