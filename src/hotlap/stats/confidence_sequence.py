"""An interval for a mean that may be read after every value, and acted on at any time.

A normal mixture over the effect, with the unknown spread integrated out (the t statistic): over all n at once
the interval misses the mean with at most the nominal chance, so stopping as soon as it decides costs nothing.

Covered: values that are independent and about normal, such as the means of process pairs. Not covered:
dependence from value to value, and tails so heavy that a mean has no use. With fewer than four values at 95 %
it is infinite.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

MIXTURE = 2.0  # (expected effect / spread)^2 for which the sequence is sharpest


def confidence_sequence(
    values: Sequence[float],
    level: float = 0.95,
    mixture: float = MIXTURE,
    signs: Sequence[bool] | None = None,
) -> tuple[float, float]:
    """Interval (low, high) for the mean, in the unit of `values`: what all prefixes allow together.

    values: shape (n,), in the order in which they came. signs: shape (n,), where something of unknown size
    adds to the values that are marked and is taken off the others; it costs one degree of freedom. Infinite
    where n is too small, and where none of them differ, as those of a clock that is too coarse do. low > high
    (rarer than 1 - level) says that the values contradict themselves: the mean was missed at some time.
    Raises ValueError when level is outside (0, 1), mixture is not positive, a value is not finite, or there
    are not as many signs as values.
    Source: Wang & Ramdas, arXiv 2310.03722 (2023), theorem on t-mixtures; Lai (1976). With signs: Lindon et
    al., arXiv 2210.08589 (2022), for one coefficient of a linear model.
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
    if signs is not None:
        if len(signs) != x.size:
            raise ValueError(
                f"confidence_sequence: needs a sign for each value, got {len(signs)} for {x.size}"
            )
        return _beside_signs(x, np.asarray(signs, dtype=bool), 1 - level, mixture)
    if x.size < 2:
        return -math.inf, math.inf
    n = np.arange(1, x.size + 1)
    # From the first value: sums of squares of what lies far from 0 would lose the digits that differ.
    shifted = x - x[0]
    mean = np.cumsum(shifted) / n
    squares = np.maximum(np.cumsum(shifted**2) - n * mean**2, 0.0)
    spread = np.sqrt(squares[1:] / (n[1:] - 1))
    radii, centre = _radii(n[1:], n[1:] - 1, 1 - level, mixture), x[0] + mean[1:]
    known = (spread > 0) & np.isfinite(radii)
    if not known.any():
        return -math.inf, math.inf
    radius = spread[known] * radii[known]
    return float((centre[known] - radius).max()), float((centre[known] + radius).min())


def _beside_signs(
    x: NDArray[np.float64], signs: NDArray[np.bool_], alpha: float, mixture: float
) -> tuple[float, float]:
    """Both groups have a mean of their own; what is asked for lies halfway between them."""
    low, high = -math.inf, math.inf
    for n in range(3, x.size + 1):
        groups = [x[:n][signs[:n]], x[:n][~signs[:n]]]
        if min(group.size for group in groups) == 0:
            continue
        squares = sum(float(((group - group.mean()) ** 2).sum()) for group in groups)
        if not squares > 0:
            continue
        centre = float(groups[0].mean() + groups[1].mean()) / 2
        weight = 4 / (1 / groups[0].size + 1 / groups[1].size)  # n, where the groups are of one size
        radius = math.sqrt(squares / (n - 2)) * float(_radii(np.float64(weight), n - 2, alpha, mixture))
        low, high = max(low, centre - radius), min(high, centre + radius)
    return low, high


def _radii(n: Any, freedom: Any, alpha: float, mixture: float) -> Any:
    """Half-widths in units of the sample's standard deviation, for samples that weigh as much as n values and
    leave it so many degrees of freedom."""
    c = 1 + n * mixture
    ratio = (np.sqrt(c) / alpha) ** (2 / (freedom + 1))
    with np.errstate(divide="ignore", invalid="ignore"):
        t_squared = freedom * (ratio - 1) / (1 - ratio / c)
    return np.where(ratio < c, np.sqrt(np.abs(t_squared) / n), math.inf)
