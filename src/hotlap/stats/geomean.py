"""Means and intervals of ratios and times, on the log scale where they add.

An unknown bound is infinite on its side (-inf below, inf above), as everywhere in `hotlap.stats`: a
lower bound of 0 would read like a measured number.
"""

import math
from collections.abc import Sequence


def geomean(values: Sequence[float]) -> float:
    """Geometric mean, in the unit of `values`.

    Raises ValueError when there is no value, or one is not positive and finite.
    """
    return math.exp(math.fsum(_logs("geomean", values)) / len(values))


def geomean_interval(
    estimates: Sequence[float], lows: Sequence[float], highs: Sequence[float]
) -> tuple[float, float, float]:
    """(estimate, low, high) of the geometric mean of k independently measured values.

    All of shape (k,), one entry a workload, low <= estimate <= high. Each side's half-widths on the
    log scale are combined as the root of their summed squares, over k, so a lopsided interval stays
    lopsided. A side with an unknown bound is infinite. What all workloads share (one process, one
    clock) is not independent: add it with `widen`, afterwards.
    Raises ValueError when lengths differ, or an estimate is not positive or outside its interval.
    """
    if not len(estimates) == len(lows) == len(highs):
        raise ValueError(
            "geomean_interval: needs one low and one high for each estimate, "
            f"but got {len(estimates)} estimates, {len(lows)} lows, {len(highs)} highs"
        )
    centre = geomean(estimates)
    sides = [_half_widths(e, low, high) for e, low, high in zip(estimates, lows, highs, strict=True)]
    k = len(sides)
    down = math.hypot(*(side[0] for side in sides)) / k
    up = math.hypot(*(side[1] for side in sides)) / k
    return _interval(centre, down, up)


def widen(estimate: float, low: float, high: float, relative: float) -> tuple[float, float]:
    """(low, high) with an independent relative half-width (0.002 for 0.2 %) added in quadrature.

    Works on the log scale; an infinite side stays infinite. Raises ValueError when the estimate is
    not positive or outside its interval, or `relative` is negative or not finite.
    """
    if not 0 <= relative < math.inf:
        raise ValueError(f"widen: relative must be 0 or more and finite, but got {relative=}")
    down, up = _half_widths(estimate, low, high)
    extra = math.log1p(relative)
    return _interval(estimate, math.hypot(down, extra), math.hypot(up, extra))[1:]


def _logs(caller: str, values: Sequence[float]) -> list[float]:
    if len(values) == 0:
        raise ValueError(f"{caller}: needs at least one value, but got none")
    for value in values:
        if not 0 < value < math.inf:
            raise ValueError(f"{caller}: values must be positive and finite, but got {value!r}")
    return [math.log(value) for value in values]


def _half_widths(estimate: float, low: float, high: float) -> tuple[float, float]:
    """Distances on the log scale from the estimate down to `low` and up to `high`."""
    centre = _logs("interval", [estimate])[0]
    if not low <= estimate <= high:
        raise ValueError(f"interval: needs low <= estimate <= high, but got {low!r}, {estimate!r}, {high!r}")
    down = centre - math.log(low) if low > 0 else math.inf
    return down, math.log(high) - centre


def _interval(estimate: float, down: float, up: float) -> tuple[float, float, float]:
    low = -math.inf if math.isinf(down) else estimate * math.exp(-down)
    return estimate, low, math.inf if math.isinf(up) else estimate * math.exp(up)
