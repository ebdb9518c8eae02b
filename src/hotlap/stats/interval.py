"""An interval for a quantile that assumes no distribution."""

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from scipy.stats import binom


def quantile_interval(values: Sequence[float], q: float = 0.5, level: float = 0.95) -> tuple[float, float]:
    """Distribution-free confidence interval (low, high) for quantile `q`, in the unit of `values`.

    values: shape (n,), independent draws in any order. Both ends are order statistics, each side
    misses at most (1 - level) / 2 of the time. A side for which n is too small is infinite, never
    a falsely narrow guess: at q=0.5 and 95 % both are for n < 6.
    Drift and autocorrelation are not covered: the interval then comes out too narrow.
    Raises ValueError when q or level is outside (0, 1), or a value is NaN.
    Source: inverted sign test, David & Nagaraja, Order Statistics (2003), section 7.1.
    """
    if not 0 < q < 1:
        raise ValueError(f"quantile_interval: q must be between 0 and 1, both excluded, but got {q=}")
    if not 0 < level < 1:
        raise ValueError(f"quantile_interval: level must be between 0 and 1, both excluded, but got {level=}")
    ordered = np.sort(np.asarray(values, dtype=np.float64))
    n = ordered.size
    if n and math.isnan(ordered[-1]):  # NaN sorts last
        raise ValueError("quantile_interval: values hold a NaN; leave out what was not measured")
    if n == 0:
        return -math.inf, math.inf
    low, high = _ranks(n, q, level)
    return (
        float(ordered[low - 1]) if low >= 1 else -math.inf,
        float(ordered[high - 1]) if high <= n else math.inf,
    )


@lru_cache(maxsize=256)
def _ranks(n: int, q: float, level: float) -> tuple[int, int]:
    """Which order statistics, counted from 1, bound quantile q; 0 and n + 1 stand for infinity.

    Of n draws, B ~ Binomial(n, q) lie below the quantile, so x_(low) <= quantile <= x_(high) fails
    only when B < low or B >= high.
    """
    tail = (1 - level) / 2
    return int(binom.ppf(tail, n, q)), int(binom.ppf(1 - tail, n, q)) + 1
