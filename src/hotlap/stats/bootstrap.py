"""An interval for any statistic of independent values, by resampling them."""

import math
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import DegenerateDataWarning, bootstrap

Statistic = Callable[..., Any]  # of an array, along its `axis`
SEED = 20261130


def bootstrap_interval(
    values: Sequence[float] | NDArray[np.float64],
    statistic: Statistic,
    level: float = 0.95,
    resamples: int = 2000,
) -> tuple[float, float]:
    """Confidence interval (low, high) for `statistic`, in its unit: bias-corrected and accelerated (BCa).

    values: shape (n,), independent, such as pair effects. statistic: takes an array and `axis`, as numpy's
    do. The same values give the same interval, since the resampling is seeded. Infinite on both sides for
    fewer than two values, and where resampling changes nothing. It is approximate: of 20 normal values, an
    interval at 95 % held the mean in 93 % of cases, the standard deviation in 89 %
    (tests/stats/test_bootstrap.py).
    Raises ValueError when level is outside (0, 1), or a value is not finite.
    Source: Efron (1987).
    """
    if not 0 < level < 1:
        raise ValueError(
            f"bootstrap_interval: level must be between 0 and 1, both excluded, but got {level=}"
        )
    x = np.asarray(values, dtype=np.float64)
    if not np.isfinite(x).all():
        raise ValueError("bootstrap_interval: values must be finite; leave out what was not measured")
    if x.size < 2:
        return -math.inf, math.inf
    with warnings.catch_warnings(), np.errstate(invalid="ignore", divide="ignore"):
        warnings.simplefilter("ignore", DegenerateDataWarning)  # NaN bounds tell it too
        found = bootstrap(
            (x,),
            statistic,
            n_resamples=resamples,
            vectorized=True,
            confidence_level=level,
            method="BCa",
            rng=SEED,
        ).confidence_interval
    low, high = float(found.low), float(found.high)
    return (low, high) if math.isfinite(low) and math.isfinite(high) else (-math.inf, math.inf)
