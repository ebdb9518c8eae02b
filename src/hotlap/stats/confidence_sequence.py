"""An interval for a mean that may be read after every value, and acted on at any time.

A normal mixture over the effect, with the unknown spread integrated out (the t statistic): over all n at once
the interval misses the mean with at most the nominal chance, so stopping as soon as it decides costs nothing.

Covered: values that are independent and about normal, such as the means of process pairs. Not covered:
dependence from value to value, and tails so heavy that a mean has no use. With fewer than four values at 95 %
it is infinite.
"""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

MIXTURE = 2.0  # (expected effect / spread)^2 for which the sequence is sharpest


def confidence_sequence(
    values: Sequence[float], level: float = 0.95, mixture: float = MIXTURE
) -> tuple[float, float]:
    """Interval (low, high) for the mean, in the unit of `values`: what all prefixes allow together.

    values: shape (n,), in the order in which they came. Infinite where n is too small, and where none of them
    differ, as those of a clock that is too coarse do. low > high, rarer than 1 - level, says that the
    values contradict themselves: the mean was missed at some time.
    Raises ValueError when level is outside (0, 1), mixture is not positive, or a value is not finite.
    Source: Wang & Ramdas, arXiv 2310.03722 (2023), theorem on t-mixtures; Lai (1976).
    """
    if not 0 < level < 1:
        raise ValueError(
            f"confidence_sequence: level must be between 0 and 1, both excluded, but got {level=}"
        )
    if not mixture > 0:
        raise ValueError(f"confidence_sequence: mixture must be above 0, but got {mixture=}")
    x = np.asarray(values, dtype=np.float64)
    if not np.isfinite(x).all():
        raise ValueError("confidence_sequence: values must be finite; leave out what was not measured")
    if x.size < 2:
        return -math.inf, math.inf
    n = np.arange(1, x.size + 1)
    # From the first value: sums of squares of what lies far from 0 would lose the digits that differ.
    shifted = x - x[0]
    mean = np.cumsum(shifted) / n
    squares = np.maximum(np.cumsum(shifted**2) - n * mean**2, 0.0)
    spread = np.sqrt(squares[1:] / (n[1:] - 1))
    radii, centre = _radii(n[1:], 1 - level, mixture), x[0] + mean[1:]
    known = (spread > 0) & np.isfinite(radii)
    if not known.any():
        return -math.inf, math.inf
    radius = spread[known] * radii[known]
    return float((centre[known] - radius).max()), float((centre[known] + radius).min())


def _radii(n: NDArray[np.int64], alpha: float, mixture: float) -> NDArray[np.float64]:
    """Half-widths in units of the sample's standard deviation, for samples of n >= 2."""
    c = 1 + n * mixture
    ratio = (np.sqrt(c) / alpha) ** (2 / n)
    with np.errstate(divide="ignore", invalid="ignore"):
        t_squared = (n - 1) * (ratio - 1) / (1 - ratio / c)
    return np.where(ratio < c, np.sqrt(np.abs(t_squared) / n), math.inf)
