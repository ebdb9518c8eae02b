"""Draws from known distributions, and how often an interval covers the truth. Seeded: never flaky."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

TRIALS = 2000
Draw = Callable[[np.random.Generator, int], NDArray[np.float64]]
Interval = Callable[[NDArray[np.float64]], tuple[float, float]]

# Both of median (and centre of symmetry) 0.
SYMMETRIC: dict[str, Draw] = {
    "normal": lambda rng, n: rng.normal(size=n),
    "student t, 3 degrees": lambda rng, n: rng.standard_t(3, size=n),
    "uniform": lambda rng, n: rng.uniform(-1, 1, size=n),
}


def ar1(rng: np.random.Generator, n: int, rho: float) -> NDArray[np.float64]:
    """A stationary process whose neighbours correlate by rho: a machine whose speed wanders."""
    x = rng.normal(size=n)
    x[1:] *= np.sqrt(1 - rho**2)
    for i in range(1, n):
        x[i] += rho * x[i - 1]
    return x


def coverage(draw: Draw, interval: Interval, truth: float, n: int, trials: int = TRIALS) -> float:
    """Share of trials whose interval holds the truth."""
    rng = np.random.default_rng(20261130)
    hits = 0
    for _ in range(trials):
        low, high = interval(draw(rng, n))
        hits += low <= truth <= high
    return hits / trials


def monte_carlo_error(level: float, trials: int = TRIALS) -> float:
    """Three standard errors of a coverage estimated from that many trials."""
    return 3 * float(np.sqrt(level * (1 - level) / trials))
