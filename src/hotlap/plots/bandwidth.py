"""Bytes a second of each workload against the bandwidth that was measured on this machine: for problems that
do no arithmetic worth a roofline."""

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from hotlap import text
from hotlap.model import Verdict
from hotlap.plots import forest
from hotlap.plots.chart import Absent, Chart
from hotlap.plots.forest import Scale
from hotlap.plots.layout import even_ticks

if TYPE_CHECKING:
    from hotlap.plots.canvas import Area

NAME = "bandwidth"
_LEGEND, _HEAD, _BAR, _GAP, _AXIS = 0.3, 0.26, 0.26, 0.1, 0.3  # inches
_ROW = _HEAD + _BAR + _GAP


@dataclass(frozen=True)
class Bar:
    """One workload: compulsory bytes over time, and the fastest traffic measured at its footprint."""

    workload: str
    bytes_per_s: float
    ci_low: float
    ci_high: float
    measured_bytes_per_s: float | None
    why_not_measured: str | None


def info(verdict: Verdict) -> tuple[Bar, ...] | Absent:
    """The timed workloads whose problem states its bytes."""
    bars = tuple(
        Bar(
            text.axes(w.axes),
            w.bytes_per_s,
            w.bytes_per_s * time.estimate / time.ci_high,
            w.bytes_per_s * time.estimate / time.ci_low,
            w.bytes_per_s * time.estimate / w.floor_ns if w.floor_ns else None,
            w.floor_reason,
        )
        for w in verdict.workloads
        if (time := w.time_ns) and w.bytes_per_s
    )
    if bars:
        return bars
    timed = any(w.time_ns for w in verdict.workloads)
    why = "the problem states no bytes" if timed else verdict.score_reason or "no workload was timed"
    return Absent(NAME, why)


def chart(bars: tuple[Bar, ...]) -> Chart:
    """The chart of these bars."""
    return Chart(
        NAME,
        "Achieved bandwidth",
        "Compulsory bytes over the time of a call, with its 95 % interval, beside the fastest traffic that "
        "was measured on this machine at the same footprint.",
        partial(_height, len(bars)),
        partial(draw, bars),
        bars,
    )


def _height(count: int, width: float) -> float:
    return _LEGEND + count * _ROW + _AXIS


def scale(bars: tuple[Bar, ...], most_ticks: int) -> Scale:
    """From 0, past the fastest."""
    high = 1.04 * max(value for bar in bars for value in (bar.ci_high, bar.measured_bytes_per_s or 0.0))
    ticks = even_ticks(0, high, most_ticks)
    return Scale(0, high, tuple((tick, text.si(tick, "B/s")) for tick in ticks), "", False)


def draw(bars: tuple[Bar, ...], area: "Area") -> None:
    """A bar a workload under its label, its number at the end of the label's line."""
    from hotlap.plots import canvas

    height = len(bars) * _ROW
    entries = [("bar", "submission"), ("limit", "measured bandwidth")]
    measured = any(bar.measured_bytes_per_s for bar in bars)
    forest.draw_legend(area.part(0, 0, area.width, _LEGEND), entries if measured else entries[:1])
    axes = area.part(0, _LEGEND, area.width, height).axes()
    shown = scale(bars, max(3, int(area.width)))
    forest.draw_axis(axes, shown, height)
    for place, bar in enumerate(bars):
        top = place * _ROW
        lane = top + _HEAD
        said = number_of(bar)
        number = canvas.fitted(said, 0.7 * area.width, canvas.SMALL)
        label = canvas.fitted(bar.workload, area.width - canvas.text_width(number, canvas.SMALL) - 0.2)
        look: dict[str, Any] = {"transform": axes.get_yaxis_transform(), "va": "center_baseline"}
        axes.text(0, top + _HEAD / 2, label, **look)
        axes.text(1, top + _HEAD / 2, number, size=canvas.SMALL, ha="right", **look)
        forest.draw_lane(axes, shown, lane, lane + _BAR)
        middle = lane + _BAR / 2
        axes.barh(middle, bar.bytes_per_s, height=0.6 * _BAR, color=canvas.SUBMISSION)
        ends = [[bar.bytes_per_s - bar.ci_low], [bar.ci_high - bar.bytes_per_s]]
        axes.errorbar(bar.bytes_per_s, middle, xerr=ends, fmt="none", color=canvas.INK, capsize=3, lw=1.4)
        if bar.measured_bytes_per_s is not None:
            axes.vlines(bar.measured_bytes_per_s, lane, lane + _BAR, color=canvas.LIMIT, linewidth=2.4)


def number_of(bar: Bar) -> str:
    """What stands beside a bar's label: bytes a second, and the share of the measured bandwidth."""
    said = text.si(bar.bytes_per_s, "B/s")
    if bar.measured_bytes_per_s is None:
        return f"{said}; no measured bandwidth: {bar.why_not_measured or 'not calibrated'}"
    share = text.percent(bar.bytes_per_s / bar.measured_bytes_per_s)
    return f"{said}, {share} of {text.si(bar.measured_bytes_per_s, 'B/s')}"
