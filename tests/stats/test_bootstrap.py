import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from hotlap.stats import bootstrap_interval
from tests.stats.coverage import coverage, monte_carlo_error

TRIALS = 600


def spread(x: np.ndarray, axis: int = -1) -> Any:
    return np.std(x, axis=axis, ddof=1)


def held(statistic: Callable[..., Any], truth: float, n: int) -> float:
    """Share of intervals at 95 % that hold the truth, for normal values."""
    return coverage(
        lambda rng, size: rng.normal(size=size),
        lambda x: bootstrap_interval(x, statistic, resamples=600),
        truth,
        n,
        TRIALS,
    )


@pytest.mark.parametrize(
    ("statistic", "truth", "n", "least"),
    [(np.mean, 0.0, 20, 0.93), (np.median, 0.0, 20, 0.93), (spread, 1.0, 20, 0.89), (spread, 1.0, 60, 0.93)],
)
def test_it_holds_the_truth_about_as_often_as_its_docstring_says(
    statistic: Callable[..., Any], truth: float, n: int, least: float
) -> None:
    error = monte_carlo_error(least, TRIALS)
    assert least - error <= held(statistic, truth, n) <= 0.97 + error


def test_the_same_values_give_the_same_interval() -> None:
    values = [1.0, 3.0, 4.0, 2.0, 9.0, 5.0]
    assert bootstrap_interval(values, np.mean) == bootstrap_interval(values, np.mean)


def test_it_is_lopsided_where_the_statistic_is() -> None:
    values = np.random.default_rng(1).exponential(size=40)
    low, high = bootstrap_interval(values, np.var)
    assert high - np.var(values) > np.var(values) - low


@pytest.mark.parametrize("values", [[], [1.0], [2.0, 2.0, 2.0]])
def test_too_few_values_or_none_that_differ_say_nothing(values: list[float]) -> None:
    assert bootstrap_interval(values, np.mean) == (-math.inf, math.inf)


@pytest.mark.parametrize(("values", "level"), [([1.0, math.nan], 0.95), ([1.0, 2.0], 1.0)])
def test_nonsense_is_refused(values: list[float], level: float) -> None:
    with pytest.raises(ValueError, match="bootstrap_interval"):
        bootstrap_interval(values, np.mean, level)
