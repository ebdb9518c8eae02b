"""Every timed round of submission and baseline: where they lie, in the order in which they were taken."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from hotlap import text
from hotlap.model import Interval, Run, Verdict, WorkloadRun, WorkloadVerdict
from hotlap.plots.chart import NARROW, Absent, Chart
from hotlap.plots.layout import even_ticks

if TYPE_CHECKING:
    from hotlap.plots.canvas import Area

NAME = "distribution"
_HEAD, _STRIP, _AXIS, _GAP = 0.25, 0.95, 0.5, 0.2  # inches
_BETWEEN = 0.3
_UNITS = (("s", 1e9), ("ms", 1e6), ("µs", 1e3), ("ns", 1.0))


@dataclass(frozen=True)
class Strip:
    """Rounds of one side of a workload, ns a call in the order of the rounds, and the verdict's time."""

    workload: str
    side: str  # submission or baseline
    times_ns: tuple[float, ...]
    time_ns: Interval
    calls_per_round: int


@dataclass(frozen=True)
class Round:
    """One round, for a table."""

    workload: str
    side: str
    round: int
    time_ns: float
    calls_per_round: int


def info(verdict: Verdict, run: Run | None) -> tuple[Strip, ...] | Absent:
    """The rounds that the verdict's times come from, the empty round taken off, as the verdict did."""
    if not any(w.time_ns for w in verdict.workloads):
        return Absent(NAME, verdict.score_reason or "no workload was timed")
    if run is None:
        return Absent(NAME, "the rounds of this run are not stored")
    pairs = zip(verdict.workloads, run.workloads, strict=True)
    return tuple(strip for judged, seen in pairs for strip in _strips(judged, seen))


def _strips(judged: WorkloadVerdict, seen: WorkloadRun) -> list[Strip]:
    samples, empty, calls = seen.samples, judged.empty_round_ns, judged.calls_per_round
    if samples is None or empty is None or calls is None:
        return []
    alone = judged.time_ns is not None and judged.time_ns == judged.single_call_ns  # its calls overlapped
    sides = (
        ("submission", samples.single_ns, judged.time_ns, 1)
        if alone
        else ("submission", samples.submission_ns, judged.time_ns, calls),
        ("baseline", samples.baseline_ns, judged.baseline_time_ns, calls),
    )
    return [
        Strip(text.axes(judged.axes), side, tuple((t - empty.estimate) / n for t in rounds), time, n)
        for side, rounds, time, n in sides
        if time is not None
    ]


def chart(strips: tuple[Strip, ...]) -> Chart:
    """The chart of these strips."""
    return Chart(
        NAME,
        "Every timed round",
        "A dot is the time of a call in one round, the first round on top: drift shows as a slope. The line "
        "is the median, the shade its 95 % interval, with what the process and the empty round add to it. "
        "All panels are equally wide in per cent of their median; a triangle is a round beyond the edge.",
        partial(_height, strips),
        partial(draw, strips),
        tuple(
            Round(s.workload, s.side, number, time, s.calls_per_round)
            for s in strips
            for number, time in enumerate(s.times_ns)
        ),
    )


def by_workload(strips: Sequence[Strip]) -> list[list[Strip]]:
    """Strips of the same workload together, in their order."""
    groups: dict[str, list[Strip]] = {}
    for strip in strips:
        groups.setdefault(strip.workload, []).append(strip)
    return list(groups.values())


def spread(strips: Sequence[Strip]) -> tuple[float, float]:
    """The range of all panels, as factors of each one's median: intervals and rounds, but those so far away
    that they would squeeze the rest.

    Far is more than the width of the middle (four fifths of all rounds, and the intervals) outside of it.
    """
    rounds = sorted(time / strip.time_ns.estimate for strip in strips for time in strip.times_ns)
    bounds = [b / s.time_ns.estimate for s in strips for b in (s.time_ns.ci_low, s.time_ns.ci_high)]
    tenth = len(rounds) // 10
    first, last = _ends([*rounds[tenth : len(rounds) - tenth], *bounds])
    reach = last - first
    low, high = _ends([first, last, *(r for r in rounds if first - reach <= r <= last + reach)])
    pad = 0.05 * (high - low)
    return low - pad, high + pad


def _ends(values: Sequence[float]) -> tuple[float, float]:
    return min(values), max(values)


def _height(strips: Sequence[Strip], width: float) -> float:
    return len(by_workload(strips)) * (_HEAD + _STRIP + _axis(width) + _GAP) - _GAP


def _axis(width: float) -> float:
    """Height of an axis with its label, which takes two lines where the chart is narrow."""
    return _AXIS if width >= NARROW else _AXIS + 0.17


def draw(strips: tuple[Strip, ...], area: "Area") -> None:
    """A row a workload: submission at the left, baseline at the right."""
    from hotlap.plots import canvas

    low, high = spread(strips)
    width = (area.width - _BETWEEN) / 2
    top = 0.0
    for group in by_workload(strips):
        ruler = area.part(0, top, area.width, _HEAD).ruler()
        ruler.text(0, _HEAD / 2, canvas.fitted(group[0].workload, area.width), va="center_baseline")
        for strip in group:
            left = 0.0 if strip.side == "submission" else width + _BETWEEN
            part = area.part(left, top + _HEAD, width, _STRIP)
            _draw_strip(strip, part, low, high, _label(strip, area.width))
        top += _HEAD + _STRIP + _axis(area.width) + _GAP


def _label(strip: Strip, width: float) -> str:
    calls = "call" if strip.calls_per_round == 1 else "calls"
    unit, _ = _unit(strip)
    gap = "  " if width >= NARROW else "\n"
    return f"{strip.side}, {unit}{gap}(n = {len(strip.times_ns)} rounds of {strip.calls_per_round} {calls})"


def _unit(strip: Strip) -> tuple[str, float]:
    return next(((unit, size) for unit, size in _UNITS if strip.time_ns.estimate >= size), _UNITS[-1])


def _draw_strip(strip: Strip, area: "Area", low: float, high: float, label: str) -> None:
    from hotlap.plots import canvas

    colour, marker = (canvas.SUBMISSION, "o") if strip.side == "submission" else (canvas.BASELINE, "D")
    _, size = _unit(strip)
    median, n = strip.time_ns.estimate, len(strip.times_ns)
    axes = area.axes()
    axes.set_xlim(low * median, high * median)
    axes.set_ylim(n - 0.2, -0.8)
    axes.set_facecolor(canvas.LANE)
    inset = 0.03 * (high - low)  # a tick at the very edge would have its number beside the panel
    ends = ((low + inset) * median / size, (high - inset) * median / size)
    ticks = even_ticks(*ends, max(2, int(area.width * 1.3)))
    axes.set_xticks([t * size for t in ticks], [f"{t:g}" for t in ticks])
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    axes.grid(axis="x")
    axes.set_xlabel(label, labelpad=3, loc="left")
    axes.axvspan(
        strip.time_ns.ci_low, strip.time_ns.ci_high, facecolor=canvas.BAND, edgecolor="none", zorder=0.5
    )
    axes.axvline(median, color=canvas.INK, linewidth=1.2, zorder=1.5)
    look: dict[str, Any] = {
        "linestyle": "none",
        "color": colour,
        "markersize": 4.2 if n <= 32 else 3.2,
        "markeredgewidth": 1,
    }
    filled = colour if strip.side == "submission" else canvas.PAPER
    axes.plot(strip.times_ns, range(n), marker=marker, markerfacecolor=filled, **look)
    for side, edge, sign in ((-1, low, "<"), (1, high, ">")):
        beyond = [i for i, time in enumerate(strip.times_ns) if side * time > side * edge * median]
        axes.plot([(edge - side * inset / 3) * median] * len(beyond), beyond, marker=sign, **look)
