"""fast_p over p: the share of problems that are solved right and more than p times faster than a baseline."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from hotlap import text
from hotlap.plots import forest
from hotlap.plots.chart import Chart
from hotlap.plots.layout import log_padded, ratio_ticks

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from hotlap.plots.canvas import Area

NAME = "fast_p"
WIDEST = (0.05, 20.0)  # factors that an axis shows at most; what is beyond them is in the shares all the same
_LEGEND, _HEAD, _PLOT, _AXIS, _GAP = 0.3, 0.28, 1.7, 0.5, 0.2  # inches
_LEFT = 0.5  # for the numbers of the y axis
_SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)


@dataclass(frozen=True)
class Point:
    """A correct sample: its speedup, the lower bound of that, and its part of its problem (1 if alone)."""

    speedup: float
    ci_low: float | None
    part: float


@dataclass(frozen=True)
class Curve:
    """The correct samples of `problems` problems, those without one counted."""

    label: str
    points: tuple[Point, ...]
    problems: int


@dataclass(frozen=True)
class Step:
    """From this p on, until the next step, these are the shares; `sure_share` by lower bounds."""

    curve: str
    p: float
    share: float
    sure_share: float | None


def share(curve: Curve, p: float) -> float:
    """Of the problems, those with speedup > p, 0 to 1."""
    return math.fsum(point.part for point in curve.points if point.speedup > p) / curve.problems


def sure_share(curve: Curve, p: float) -> float | None:
    """The same by lower bounds; None where a sample has none."""
    lows = [(point.ci_low, point.part) for point in curve.points if point.ci_low is not None]
    if len(lows) < len(curve.points):
        return None
    return math.fsum(part for low, part in lows if low > p) / curve.problems


def steps(curve: Curve) -> list[Step]:
    """Where either share changes, from p = 0 on."""
    lows = [point.ci_low for point in curve.points if point.ci_low is not None]
    places = sorted({0.0, *(point.speedup for point in curve.points), *lows})
    return [Step(curve.label, p, share(curve, p), sure_share(curve, p)) for p in places]


def chart(curves: Sequence[Curve]) -> Chart:
    """The chart of these curves: a panel each. Raises ValueError for a curve of no problem."""
    for curve in curves:
        if curve.problems < 1:
            raise ValueError(f"fast_p: curve {curve.label!r} is of no problem")
    shown = tuple(curves)
    return Chart(
        NAME,
        "Share of problems solved right and more than p times faster",
        "The line at p is fast_p: a kernel as fast as p is not faster. The dashed line counts a kernel only "
        "when the lower bound of its speedup's interval is above p: between the two, noise could decide.",
        partial(_height, len(shown)),
        partial(draw, shown),
        tuple(step for curve in shown for step in steps(curve)),
    )


def _height(count: int, width: float) -> float:
    return _LEGEND + count * (_HEAD + _PLOT + _AXIS) + (count - 1) * _GAP


def p_range(curves: Sequence[Curve]) -> tuple[float, float]:
    """The p axis: all speedups with their lower bounds, and 1, but not beyond what is readable."""
    found = [v for c in curves for point in c.points for v in (point.speedup, point.ci_low) if v is not None]
    low, high = min([0.5, *found]), max([2.0, *found])
    return log_padded(max(low, WIDEST[0]), min(high, WIDEST[1]))


def draw(curves: tuple[Curve, ...], area: "Area") -> None:
    """Panels one under the other."""
    forest.draw_legend(
        area.part(0, 0, area.width, _LEGEND), [("bar", "share"), ("", "dashed: by lower bounds")]
    )
    ends = p_range(curves)
    top = _LEGEND
    for curve in curves:
        _draw_head(curve, area.part(0, top, area.width, _HEAD))
        _draw_curve(curve, area.part(_LEFT, top + _HEAD, area.width - _LEFT, _PLOT).axes(), ends, area.width)
        top += _HEAD + _PLOT + _AXIS + _GAP


def _draw_head(curve: Curve, area: "Area") -> None:
    from hotlap.plots import canvas

    ruler = area.ruler()
    said = canvas.fitted(number_of(curve), 0.75 * area.width, canvas.SMALL)
    room = area.width - canvas.text_width(said, canvas.SMALL) - 0.2
    look: dict[str, Any] = {"va": "center_baseline"}
    ruler.text(0, _HEAD / 2, canvas.fitted(curve.label, max(0.5, room)), **look)
    ruler.text(area.width, _HEAD / 2, said, size=canvas.SMALL, ha="right", **look)


def number_of(curve: Curve) -> str:
    """What stands beside a curve's label: the shares at p = 1, and of how many problems."""
    sure = sure_share(curve, 1.0)
    surely = "" if sure is None else f", surely {text.percent(sure)}"
    noun = "problem" if curve.problems == 1 else "problems"
    return f"fast_1 {text.percent(share(curve, 1.0))}{surely} of {curve.problems} {noun}"


def _draw_curve(curve: Curve, axes: "Axes", ends: tuple[float, float], width: float) -> None:
    from hotlap.plots import canvas

    low, high = ends
    axes.set_xscale("log")
    axes.set_xlim(low, high)
    axes.set_ylim(-0.02, 1.04)
    axes.set_facecolor(canvas.LANE)
    ticks = ratio_ticks(low, high, max(3, int(1.2 * width)))
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.minorticks_off()
    axes.set_yticks(_SHARES, [text.percent(value) for value in _SHARES])
    axes.grid()
    axes.set_xlabel("p, times the baseline's speed", labelpad=3, loc="left")
    axes.axvline(1.0, color=canvas.INK, linewidth=1.1, zorder=1.5)
    found = [step for step in steps(curve) if low < step.p < high]
    places = [low, *(step.p for step in found), high]
    shares = [share(curve, place) for place in places]
    sure = [known for place in places if (known := sure_share(curve, place)) is not None]
    if len(sure) == len(places):
        axes.fill_between(
            places, sure, shares, step="post", facecolor=canvas.BAND, edgecolor="none", zorder=1
        )
        axes.step(
            places,
            sure,
            where="post",
            color=canvas.SUBMISSION,
            linewidth=1.2,
            linestyle=(0, (4, 2)),
            zorder=2,
        )
    axes.step(places, shares, where="post", color=canvas.SUBMISSION, linewidth=2.0, zorder=2.5)
