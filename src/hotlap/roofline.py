"""The roofline: how near a time is to what a machine's memory, arithmetic and launches allow. Pure.

It explains a time and never judges it: that is the floor's part (`hotlap.judge`).
Source: Williams, Waterman, Patterson, Roofline, Communications of the ACM 52(4), 2009.
"""

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hotlap.model import Ceiling, Interval, WorkloadRun
from hotlap.stats.interval import quantile_interval

UNITS = {"memory": "B/s", "l2": "B/s", "peak": "FLOP/s", "launch": "ns"}  # by the first part of a name
# Arithmetic without a peak of its own has that of another: hardware without TF32 computes in float32.
SAME_PEAK = {"tf32": "float32", "float8_e5m2": "float8_e4m3fn"}


@dataclass(frozen=True)
class Roofline:
    """What one workload reached, and the limit that it ran against. None: not stated, or not measured."""

    bytes_per_s: float | None  # compulsory bytes over time
    flops_per_s: float | None
    limit_ns: float | None  # what the slowest of memory, compute and launch needs at least
    bound: str | None  # which of them that is
    headroom_ns: float | None  # time - limit; below 0 where a ceiling was measured too low


def roofline(
    run: WorkloadRun, time_ns: float | None, floor_ns: float | None, ceilings: Sequence[Ceiling]
) -> Roofline:
    """Where a workload stands under the ceilings of its machine.

    time_ns: of one call; floor_ns: what its compulsory bytes take at its footprint.
    """
    needs = _needs_ns(run, floor_ns, {one.name: one.value.estimate for one in ceilings})
    bound = max(needs, key=needs.__getitem__) if needs else None
    limit_ns = needs[bound] if needs and bound else None
    return Roofline(
        bytes_per_s=_per_s(run.bytes_moved, time_ns),
        flops_per_s=_per_s(run.flops, time_ns),
        limit_ns=limit_ns,
        bound=bound,
        headroom_ns=None if time_ns is None or limit_ns is None else time_ns - limit_ns,
    )


def _needs_ns(
    run: WorkloadRun, floor_ns: float | None, known: Mapping[str, float]
) -> dict[str, float] | None:
    """Nanoseconds that each of memory, compute and launch needs; None where nothing is stated of the cost, or
    the ceiling of what is stated was not measured: the limit might be that one."""
    needs = {}
    if run.bytes_moved is not None:
        # What has no floor may lie in the cache: it can be no faster than that.
        memory_ns = floor_ns if floor_ns is not None else _time_ns(run.bytes_moved, known.get("l2-read"))
        if memory_ns is None:
            return None
        needs["memory"] = memory_ns
    if run.flops is not None and run.arithmetic is not None:
        peak = known.get(f"peak-{run.arithmetic}") or known.get(f"peak-{SAME_PEAK.get(run.arithmetic)}")
        compute_ns = _time_ns(run.flops, peak)
        if compute_ns is None:
            return None
        needs["compute"] = compute_ns
    launch_ns = known.get("launch-graph" if run.mode == "graph" else "launch")
    if needs and launch_ns is not None:
        needs["launch"] = launch_ns
    return needs or None


def _time_ns(amount: int, per_s: float | None) -> float | None:
    return None if per_s is None else amount / per_s * 1e9


def _per_s(amount: int | None, time_ns: float | None) -> float | None:
    return None if amount is None or time_ns is None else amount / time_ns * 1e9


def ceiling(name: str, values: Sequence[float]) -> Ceiling:
    """A ceiling from its measurements: their median and its order-statistic interval.

    values: shape (n,), in the unit of the name. Raises ValueError below 6: they give no interval.
    """
    low, high = quantile_interval(values)
    if not (math.isfinite(low) and math.isfinite(high)):
        raise ValueError(
            f"{name}: {len(values)} measurements give no 95 % interval; measure at least 6 times"
        )
    unit = UNITS[name.partition("-")[0]]
    return Ceiling(name, unit, Interval(statistics.median(values), low, high, len(values)))
