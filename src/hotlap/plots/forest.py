"""A forest plot: a row a thing, its estimates with their intervals, and the numbers at the right."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from hotlap.plots.canvas import Area

_HEAD, _MARK, _GAP = 0.26, 0.22, 0.1  # heights of a row's label, of an estimate, and between rows
_DOTS = 0.15  # what single values take under an estimate
_AXIS, _LEGEND = 0.48, 0.3
_BETWEEN = 0.14  # from the axes to the numbers
_TICKS_AN_INCH = 1.5


@dataclass(frozen=True)
class Mark:
    """One estimate. `role`: submission, baseline, limit or overall. `dots`: single values behind it."""

    role: str
    estimate: float
    low: float | None
    high: float | None
    text: str
    dots: tuple[float, ...] = ()

    @property
    def height(self) -> float:
        """Inches."""
        return _MARK + (_DOTS if self.dots else 0.0)


@dataclass(frozen=True)
class Row:
    """A label and the estimates under it; `note` stands where there is none. `lines`: at least so many, so
    that it lies beside a row of another panel."""

    label: str
    marks: tuple[Mark, ...]
    note: str = ""
    lines: int = 1

    @property
    def lane(self) -> float:
        """Inches of its estimates."""
        return max(_MARK * max(1, self.lines), sum(mark.height for mark in self.marks))

    @property
    def height(self) -> float:
        """Inches, with its label and the gap below."""
        return _HEAD + self.lane + _GAP


@dataclass(frozen=True)
class Scale:
    """The x axis: its range, where its ticks are and what they say."""

    low: float
    high: float
    ticks: tuple[tuple[float, str], ...]
    label: str
    log: bool
    line: float | None = None  # where nothing differs
    band: tuple[float, float] | None = None  # too near to it to matter


def height(rows: Sequence[Row]) -> float:
    """Inches that the rows need, with legend and axis."""
    return _LEGEND + _rows_height(rows) + _AXIS


def _rows_height(rows: Sequence[Row]) -> float:
    return sum(row.height for row in rows)


def extent(rows: Sequence[Row]) -> tuple[float, float]:
    """The least and the largest value that a row shows. Raises ValueError where there is none."""
    values = [v for row in rows for mark in row.marks for v in _values(mark)]
    return min(values), max(values)


def _values(mark: Mark) -> list[float]:
    return [v for v in (mark.estimate, mark.low, mark.high, *mark.dots) if v is not None and math.isfinite(v)]


def draw(
    area: "Area", rows: Sequence[Row], scale_of: Callable[[int], Scale], legend: Sequence[tuple[str, str]]
) -> None:
    """Rows from top to bottom; the column of numbers is as wide as its widest.

    scale_of: the scale with at most so many ticks.
    """
    from hotlap.plots import canvas

    texts = [mark.text for row in rows for mark in row.marks if mark.text]
    numbers = max((canvas.text_width(text, canvas.SMALL) for text in texts), default=0.0)
    plot_width = area.width - (numbers + _BETWEEN if numbers else 0.0)
    draw_legend(area.part(0, 0, area.width, _LEGEND), legend)
    axes = area.part(0, _LEGEND, plot_width, _rows_height(rows)).axes()
    scale = scale_of(max(3, int(_TICKS_AN_INCH * plot_width)))
    draw_axis(axes, scale, _rows_height(rows))
    top = 0.0
    for row in rows:
        overall = any(mark.role == "overall" for mark in row.marks)
        weight = "bold" if overall else "normal"
        label = canvas.fitted(row.label, area.width, canvas.TEXT, weight)
        _write(axes, 0, top + _HEAD / 2, label, weight=weight)
        y = top + _HEAD
        draw_lane(axes, scale, y, y + row.lane)
        if not row.marks:
            note = canvas.fitted(row.note, area.width, canvas.SMALL)
            _write(axes, 0, y + _MARK / 2, note, size=canvas.SMALL, color=canvas.MUTED)
        for mark in row.marks:
            _draw_mark(axes, mark, y + _MARK / 2)
            _write(axes, 1 + _BETWEEN / plot_width, y + _MARK / 2, mark.text, size=canvas.SMALL)
            y += mark.height
        top += row.height


def _write(axes: "Axes", x: float, y: float, text: str, **look: Any) -> None:
    """A text at a share of the width and a height in inches."""
    axes.text(x, y, text, transform=axes.get_yaxis_transform(), va="center_baseline", **look)


def draw_axis(axes: "Axes", scale: Scale, height: float) -> None:
    """The x axis of a scale; y is inches from the top."""
    axes.set_xscale("log" if scale.log else "linear")
    axes.set_xlim(scale.low, scale.high)
    axes.set_ylim(height, 0)
    axes.set_xticks([x for x, _ in scale.ticks], [said for _, said in scale.ticks])
    axes.minorticks_off()
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    axes.set_xlabel(scale.label, labelpad=3, loc="left")


def draw_lane(axes: "Axes", scale: Scale, top: float, bottom: float) -> None:
    """Ground, grid, band and line of one row: they stop where its label stands."""
    from hotlap.plots import canvas

    width = (scale.low, scale.high)
    axes.fill_between(width, top, bottom, facecolor=canvas.LANE, edgecolor="none", zorder=0.1)
    if scale.band is not None:
        axes.fill_between(scale.band, top, bottom, facecolor=canvas.BAND, edgecolor="none", zorder=0.2)
    axes.vlines([x for x, _ in scale.ticks], top, bottom, color=canvas.RULE, linewidth=0.7, zorder=0.3)
    if scale.line is not None:
        axes.vlines([scale.line], top, bottom, color=canvas.INK, linewidth=1.1, zorder=1.5)


def _draw_mark(axes: "Axes", mark: Mark, y: float) -> None:
    look = _look(mark.role)
    if mark.dots:
        first, step = y + 0.12, (_DOTS - 0.02) / len(mark.dots)
        heights = [first + step * place for place in range(len(mark.dots))]
        axes.plot(mark.dots, heights, linestyle="none", **_look("pair"))
    if mark.low is not None and mark.high is not None:
        ends, ys = (mark.low, mark.high), (y, y)
        axes.plot(ends, ys, color=look["color"], linewidth=1.6, solid_capstyle="butt")
        axes.plot(ends, ys, linestyle="none", marker="|", markersize=7, color=look["color"], mew=1.4)
    axes.plot([mark.estimate], [y], linestyle="none", **look)


def draw_legend(area: "Area", entries: Sequence[tuple[str, str]]) -> None:
    """Markers and what they stand for, in a line: (role, words); words alone where the role is empty."""
    from hotlap.plots import canvas

    ruler = area.ruler()
    x = 0.0
    for role, words in entries:
        if role:
            ruler.plot([x + 0.06], [0.1], linestyle="none", clip_on=False, **_look(role))
            x += 0.19
        ruler.text(x, 0.1, words, size=canvas.SMALL, color=canvas.MUTED, va="center_baseline")
        x += canvas.text_width(words, canvas.SMALL) + 0.3


def _look(role: str) -> dict[str, Any]:
    """Colour and marker of a role: no two share either."""
    from hotlap.plots import canvas

    looks: dict[str, dict[str, Any]] = {
        "submission": {"color": canvas.SUBMISSION, "marker": "o", "markersize": 6.5},
        "baseline": {
            "color": canvas.BASELINE,
            "marker": "D",
            "markersize": 5.5,
            "markerfacecolor": canvas.PAPER,
            "markeredgewidth": 1.5,
        },
        "limit": {"color": canvas.LIMIT, "marker": "|", "markersize": 11, "markeredgewidth": 2.4},
        "overall": {"color": canvas.INK, "marker": "d", "markersize": 8},
        "pair": {"color": canvas.SUBMISSION, "marker": "o", "markersize": 3.8, "alpha": 0.7, "mew": 0},
        "band": {"color": canvas.BAND, "marker": "s", "markersize": 8},
        "bar": {"color": canvas.SUBMISSION, "marker": "s", "markersize": 8},
    }
    return looks[role]
