import math
from functools import partial

import numpy as np
import pytest

from hotlap.stats import quantile_interval
from tests.stats.coverage import SYMMETRIC, Draw, ar1, coverage, monte_carlo_error

SKEWED: dict[str, Draw] = {"lognormal": lambda rng, n: rng.lognormal(sigma=1.0, size=n) - 1}


@pytest.mark.parametrize("n", [6, 15, 30, 100])
@pytest.mark.parametrize("name", [*SYMMETRIC, *SKEWED])
def test_a_95_percent_interval_of_the_median_covers_it_95_percent_of_the_time(name: str, n: int) -> None:
    share = coverage((SYMMETRIC | SKEWED)[name], quantile_interval, truth=0.0, n=n)
    assert share >= 0.95 - monte_carlo_error(0.95)


@pytest.mark.parametrize("n", [30, 50, 100])
def test_from_30_values_on_the_interval_is_not_much_wider_than_it_must_be(n: int) -> None:
    assert coverage(SYMMETRIC["normal"], quantile_interval, truth=0.0, n=n) <= 0.97 + monte_carlo_error(0.97)


@pytest.mark.parametrize("q", [0.1, 0.25, 0.9])
def test_other_quantiles_are_covered_as_often(q: float) -> None:
    truth = float(-np.log1p(-q))  # of the exponential distribution
    share = coverage(
        lambda rng, n: rng.exponential(size=n), partial(quantile_interval, q=q), truth=truth, n=80
    )
    assert 0.95 - monte_carlo_error(0.95) <= share <= 0.985


@pytest.mark.parametrize("level", [0.8, 0.99])
def test_other_levels_are_kept_too(level: float) -> None:
    share = coverage(SYMMETRIC["normal"], partial(quantile_interval, level=level), truth=0.0, n=60)
    assert share >= level - monte_carlo_error(level)


def test_drift_is_not_covered_so_the_interval_of_wandering_values_is_too_narrow() -> None:
    share = coverage(partial(ar1, rho=0.5), quantile_interval, truth=0.0, n=50, trials=1000)
    assert share < 0.9


@pytest.mark.parametrize(
    ("n", "q", "finite_low", "finite_high"),
    [
        (0, 0.5, False, False),
        (1, 0.5, False, False),
        (5, 0.5, False, False),
        (6, 0.5, True, True),
        (30, 0.05, False, True),  # 30 values say how low the 5th percentile cannot be, not how low it is
        (30, 0.95, True, False),
        (80, 0.05, True, True),
    ],
)
def test_a_side_is_infinite_until_there_are_enough_values(
    n: int, q: float, finite_low: bool, finite_high: bool
) -> None:
    low, high = quantile_interval([float(i) for i in range(n)], q=q)
    assert (math.isfinite(low), math.isfinite(high)) == (finite_low, finite_high)


def test_the_bounds_are_values_that_were_measured_whatever_their_order() -> None:
    assert quantile_interval([6, 1, 5, 2, 4, 3]) == (1.0, 6.0)


def test_ties_give_an_interval_of_that_value() -> None:
    assert quantile_interval([7.0] * 20) == (7.0, 7.0)


@pytest.mark.parametrize("q", [-0.1, 0.0, 1.0, 1.5, math.nan])
def test_a_quantile_outside_0_and_1_is_refused(q: float) -> None:
    with pytest.raises(ValueError, match="q must be between 0 and 1"):
        quantile_interval([1.0, 2.0], q=q)


@pytest.mark.parametrize("level", [0.0, 1.0, 95.0])
def test_a_level_outside_0_and_1_is_refused(level: float) -> None:
    with pytest.raises(ValueError, match="level must be between 0 and 1"):
        quantile_interval([1.0, 2.0], level=level)


def test_nan_is_refused_rather_than_sorted() -> None:
    with pytest.raises(ValueError, match="NaN"):
        quantile_interval([1.0, math.nan, 2.0])
