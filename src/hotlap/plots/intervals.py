"""Time of each workload and its speedup over the baseline, with their 95 % intervals."""

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from hotlap import text
from hotlap.model import Interval, Verdict
from hotlap.plots import forest
from hotlap.plots.chart import NARROW, Absent, Chart
from hotlap.plots.forest import Mark, Row, Scale
from hotlap.plots.layout import even_ticks, log_padded, padded, ratio_ticks

if TYPE_CHECKING:
    from hotlap.plots.canvas import Area

NAME = "intervals"
OVERALL = "all workloads (geometric mean)"
_BETWEEN = 0.5  # inches between the two panels
_LOG_FROM = 4.0  # times that differ by more stand on a log axis
_LEGEND = (("submission", "submission"), ("baseline", "baseline"), ("limit", "limit of the machine"))
_UNITS = (("s", 1e9), ("ms", 1e6), ("µs", 1e3), ("ns", 1.0))
_DIGITS = {"cpu": 4, "cuda": 5}


@dataclass(frozen=True)
class Timed:
    """One bench workload: times of a call, how many times the baseline's, and the least that is possible."""

    workload: str
    time_ns: Interval
    baseline_time_ns: Interval | None
    limit_ns: float | None
    speedup: float | None
    speedup_ci: tuple[float, float] | None


@dataclass(frozen=True)
class Intervals:
    """Workloads in the order of the problem, and the score's speedup where there is one."""

    workloads: tuple[Timed, ...]
    speedup: float | None
    speedup_ci: tuple[float, float] | None
    digits: int  # significant ones of a time


def info(verdict: Verdict) -> Intervals | Absent:
    """The timed workloads of a verdict. The limit is the roofline's, else the floor."""
    timed = tuple(
        Timed(
            text.axes(w.axes),
            time,
            w.baseline_time_ns,
            w.floor_ns if w.limit_ns is None else w.limit_ns,
            w.speedup,
            w.speedup_ci,
        )
        for w in verdict.workloads
        if (time := w.time_ns) is not None
    )
    if not timed:
        return Absent(NAME, verdict.score_reason or "no workload was timed")
    score = verdict.score
    digits = _DIGITS.get(verdict.device.kind, 4)
    if score is None:
        return Intervals(timed, None, None, digits)
    return Intervals(timed, score.speedup, score.speedup_ci, digits)


def chart(given: Intervals) -> Chart:
    """The chart of these intervals."""
    return Chart(
        NAME,
        "Time of a call, and speedup",
        "Medians over rounds with their 95 % intervals. A whisker that does not show is narrower than its "
        "marker.",
        partial(_height, given),
        partial(draw, given),
        given.workloads,
    )


# --- rows ------------------------------------------------------------------------------------------


def time_rows(given: Intervals) -> list[Row]:
    """A row a workload: submission, baseline, limit."""
    return [Row(w.workload, tuple(_time_marks(w, given.digits))) for w in given.workloads]


def _time_marks(timed: Timed, digits: int) -> list[Mark]:
    marks = [_time_mark("submission", timed.time_ns, digits)]
    if timed.baseline_time_ns is not None:
        marks.append(_time_mark("baseline", timed.baseline_time_ns, digits))
    if timed.limit_ns is not None:
        marks.append(Mark("limit", timed.limit_ns, None, None, text.time(timed.limit_ns, digits)))
    return marks


def _time_mark(role: str, interval: Interval, digits: int) -> Mark:
    bounds = text.time_bounds(interval.estimate, interval.ci_low, interval.ci_high, digits)
    said = f"{text.time(interval.estimate, digits)} {bounds}"
    return Mark(role, interval.estimate, interval.ci_low, interval.ci_high, said)


def speedup_rows(given: Intervals) -> list[Row]:
    """A row a workload that has a speedup, then all of them together."""
    rows = [
        _speedup_row(w.workload, "submission", w.speedup, w.speedup_ci, len(_time_marks(w, given.digits)))
        for w in given.workloads
    ]
    if given.speedup is not None and len(given.workloads) > 1:
        rows.append(_speedup_row(OVERALL, "overall", given.speedup, given.speedup_ci))
    return rows


def _speedup_row(
    label: str, role: str, value: float | None, bounds: tuple[float, float] | None, lines: int = 1
) -> Row:
    if value is None:
        return Row(label, (), "no speedup: its baseline was not timed", lines)
    low, high = bounds or (None, None)
    said = text.speedup(value, bounds) + (f" {text.speedup_bounds(value, bounds)}" if bounds else "")
    return Row(label, (Mark(role, value, low, high, said),), lines=lines)


# --- scales ----------------------------------------------------------------------------------------


def time_scale(rows: list[Row], most_ticks: int) -> Scale:
    """Of times in ns: a log axis where they differ much, each tick with its unit; else one unit for all."""
    least, largest = forest.extent(rows)
    log = largest > _LOG_FROM * least
    low, high = log_padded(least, largest) if log else padded(least, largest)
    low = low if log else max(low, 0.0)
    if log:
        logs = ratio_ticks(low, high, most_ticks)
        return Scale(low, high, tuple((t, _tick(t)) for t in logs), "time of a call (log scale)", log)
    unit, size = _unit(largest)
    ticks = even_ticks(low / size, high / size, most_ticks)
    return Scale(low, high, tuple((t * size, f"{t:g}") for t in ticks), f"time of a call, {unit}", log)


def _unit(ns: float) -> tuple[str, float]:
    return next(((unit, size) for unit, size in _UNITS if ns >= size), _UNITS[-1])


def _tick(ns: float) -> str:
    unit, size = _unit(ns)
    return f"{ns / size:g} {unit}"


def speedup_scale(rows: list[Row], most_ticks: int) -> Scale:
    """Of ratios: a log axis, on which twice as fast and half as fast are equally far from 1."""
    least, largest = forest.extent(rows)
    low, high = log_padded(min(least, 1.0), max(largest, 1.0))
    ticks = tuple((t, f"{t:g}x") for t in ratio_ticks(low, high, most_ticks))
    return Scale(low, high, ticks, "baseline time over time (log scale)", True, line=1.0)


# --- drawing ---------------------------------------------------------------------------------------


def _height(given: Intervals, width: float) -> float:
    panels = [forest.height(rows) for rows in _panels(given)]
    return max(panels) if width >= NARROW else sum(panels) + 0.25 * (len(panels) - 1)


def _panels(given: Intervals) -> list[list[Row]]:
    """Times, and speedups where there are any."""
    speedups = speedup_rows(given)
    return [time_rows(given), *([speedups] if any(row.marks for row in speedups) else [])]


def draw(given: Intervals, area: "Area") -> None:
    """Times at the left, speedups at the right, or below where the area is narrow."""
    panels = _panels(given)
    beside = area.width >= NARROW and len(panels) > 1
    width = (area.width - _BETWEEN) / 2 if beside else area.width
    top = 0.0
    for place, rows in enumerate(panels):
        height = forest.height(rows)
        part = area.part(place * (width + _BETWEEN) if beside else 0.0, 0.0 if beside else top, width, height)
        top += height + 0.25
        if place == 0:
            roles = {mark.role for row in rows for mark in row.marks}
            legend = [entry for entry in _LEGEND if entry[0] in roles]
            forest.draw(part, rows, partial(time_scale, rows), legend)
        else:
            forest.draw(part, rows, partial(speedup_scale, rows), [("", "speedup over the baseline")])
