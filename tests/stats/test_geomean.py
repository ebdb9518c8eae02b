import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hotlap.stats import geomean, geomean_interval, hodges_lehmann, hodges_lehmann_interval, widen
from tests.stats.coverage import monte_carlo_error

positive = st.floats(1e-3, 1e9)


@given(st.lists(positive, min_size=1, max_size=8), st.floats(0.01, 100))
def test_scaling_every_value_scales_the_mean(values: list[float], factor: float) -> None:
    assert geomean([v * factor for v in values]) == pytest.approx(geomean(values) * factor)


@given(st.lists(positive, min_size=1, max_size=8))
def test_the_mean_of_inverses_is_the_inverse_of_the_mean(values: list[float]) -> None:
    assert geomean([1 / v for v in values]) == pytest.approx(1 / geomean(values))


@pytest.mark.parametrize("bad", [0.0, -1.0, math.inf, math.nan])
def test_a_value_that_is_not_positive_and_finite_is_refused(bad: float) -> None:
    with pytest.raises(ValueError, match="positive and finite"):
        geomean([1.0, bad])


def test_the_mean_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one"):
        geomean([])


def test_one_workload_keeps_its_interval() -> None:
    assert geomean_interval([2.0], [1.5], [3.0]) == pytest.approx((2.0, 1.5, 3.0))


def test_four_equal_workloads_halve_the_interval_on_the_log_scale() -> None:
    estimate, low, high = geomean_interval([10.0] * 4, [10 / 1.21] * 4, [10 * 1.44] * 4)
    assert (estimate, low, high) == pytest.approx((10.0, 10 / 1.1, 10 * 1.2))


def test_a_lopsided_interval_stays_lopsided() -> None:
    estimate, low, high = geomean_interval([1.0, 1.0], [1.0, 1.0], [1.0, 4.0])
    assert (estimate, low, high) == pytest.approx((1.0, 1.0, 2.0))


@pytest.mark.parametrize(
    ("lows", "highs", "finite_low", "finite_high"),
    [
        ([0.9, -math.inf], [1.1, 1.1], False, True),
        ([0.9, 0.0], [1.1, 1.1], False, True),  # log 0: a time of 0 excludes nothing
        ([0.9, 0.9], [1.1, math.inf], True, False),
        ([-math.inf] * 2, [math.inf] * 2, False, False),
    ],
)
def test_one_unknown_bound_makes_that_side_unknown(
    lows: list[float], highs: list[float], finite_low: bool, finite_high: bool
) -> None:
    _, low, high = geomean_interval([1.0, 1.0], lows, highs)
    assert (math.isfinite(low), math.isfinite(high)) == (finite_low, finite_high)


def test_an_estimate_outside_its_interval_is_refused() -> None:
    with pytest.raises(ValueError, match="low <= estimate <= high"):
        geomean_interval([1.0], [1.1], [1.2])


def test_lists_of_different_length_are_refused() -> None:
    with pytest.raises(ValueError, match="2 estimates, 1 lows, 2 highs"):
        geomean_interval([1.0, 1.0], [1.0], [1.0, 1.0])


def test_a_95_percent_interval_of_the_mean_speedup_covers_it_95_percent_of_the_time() -> None:
    trials = 1000
    rng = np.random.default_rng(7)
    truths = np.log([0.8, 1.0, 1.5, 3.0])
    hits = 0
    for _ in range(trials):
        logs = [truth + 0.02 * rng.standard_t(5, size=24) for truth in truths]
        bounds = [hodges_lehmann_interval(values) for values in logs]
        _, low, high = geomean_interval(
            [math.exp(hodges_lehmann(values)) for values in logs],
            [math.exp(low) for low, _ in bounds],
            [math.exp(high) for _, high in bounds],
        )
        hits += low <= math.exp(truths.mean()) <= high
    # Root-sum-square of exact 95 % half-widths is a little wider than a normal interval would be.
    assert 0.95 - monte_carlo_error(0.95, trials) <= hits / trials <= 0.975


def test_widening_adds_in_quadrature_on_the_log_scale() -> None:
    low, high = widen(100.0, 100 * math.exp(-0.03), 100 * math.exp(0.03), math.expm1(0.04))
    assert (low, high) == pytest.approx((100 * math.exp(-0.05), 100 * math.exp(0.05)))


def test_widening_by_nothing_changes_nothing() -> None:
    assert widen(2.0, 1.5, 3.0, 0.0) == pytest.approx((1.5, 3.0))


def test_widening_leaves_an_unknown_side_unknown() -> None:
    low, high = widen(2.0, -math.inf, 3.0, 0.002)
    assert low == -math.inf
    assert 3.0 < high < 3.01


@given(positive, st.floats(0, 1), st.floats(0, 1), st.floats(0, 0.5))
def test_a_widened_interval_holds_the_one_it_came_from(
    estimate: float, down: float, up: float, relative: float
) -> None:
    before = (estimate * math.exp(-down), estimate * math.exp(up))
    low, high = widen(estimate, *before, relative)
    assert low <= before[0] * (1 + 1e-12)
    assert high >= before[1] * (1 - 1e-12)


@pytest.mark.parametrize("relative", [-0.1, math.inf, math.nan])
def test_a_relative_part_that_is_negative_or_unknown_is_refused(relative: float) -> None:
    with pytest.raises(ValueError, match="relative must be 0 or more"):
        widen(1.0, 1.0, 1.0, relative)
