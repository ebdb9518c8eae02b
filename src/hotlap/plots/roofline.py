"""The roofline: what each workload achieves, under what the memory and the arithmetic of the machine allow.

Source of the model: Williams, Waterman, Patterson, "Roofline: an insightful visual performance model for
multicore architectures", CACM 52 (4), 2009.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import cycle
from math import atan2, cos, degrees, hypot, log, sin
from typing import TYPE_CHECKING

from hotlap import text
from hotlap.model import Calibration, Verdict
from hotlap.plots.chart import NARROW, Absent, Chart
from hotlap.plots.layout import Label, apart, log_ticks

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from hotlap.plots.canvas import Area

NAME = "roofline"
PEAK = "peak-"
MEMORY, CACHE = "memory-copy", "l2-read"  # reads and writes of memory alone lie close to its copy
_LEFT, _BOTTOM = 0.95, 0.5  # inches for the y axis and the x axis
_TELLS_APART = 1.2  # a factor between two lines that are worth drawing
_ROOM = 1.8  # a factor of empty room around what is drawn


@dataclass(frozen=True)
class Point:
    """One workload: FLOP a compulsory byte, and FLOP/s with what its time's interval makes of them.

    `of_limit`: the share of the speed that the roofline allows, where the verdict has a limit.
    """

    workload: str
    intensity_flop_per_byte: float
    flops_per_s: float
    ci_low: float
    ci_high: float
    of_limit: float | None


@dataclass(frozen=True)
class Ceiling:
    """A measured limit: bytes/s for a sloping line, FLOP/s for a level one."""

    label: str
    value: float


@dataclass(frozen=True)
class Roofline:
    """What is drawn; `notes` say why a line or a point is missing."""

    points: tuple[Point, ...]
    slopes: tuple[Ceiling, ...]
    peaks: tuple[Ceiling, ...]
    notes: tuple[str, ...]


def info(verdict: Verdict, calibration: Calibration | None) -> Roofline | Absent:
    """The timed workloads whose problem states bytes and arithmetic, and the ceilings of this machine."""
    timed = [w for w in verdict.workloads if w.time_ns is not None]
    if not timed:
        return Absent(NAME, verdict.score_reason or "no workload was timed")
    points = tuple(
        Point(
            text.axes(w.axes),
            w.flops_per_s / w.bytes_per_s,
            w.flops_per_s,
            w.flops_per_s * time.estimate / time.ci_high,
            w.flops_per_s * time.estimate / time.ci_low,
            w.limit_ns / time.estimate if w.limit_ns else None,
        )
        for w in timed
        if (time := w.time_ns) and w.flops_per_s and w.bytes_per_s
    )
    if not points:
        lacks = "arithmetic" if any(w.bytes_per_s for w in timed) else "bytes"
        return Absent(NAME, f"the problem states no {lacks}")
    slopes, peaks = _slopes(calibration), _peaks(calibration)
    notes = []
    if not slopes:
        notes.append("no memory line: not calibrated, run `hotlap calibrate`")
    if not peaks:
        why = "not calibrated, run" if calibration is None else "not measured here; measure with"
        notes.append(f"no arithmetic peaks: {why} `hotlap calibrate`")
    if left := len(timed) - len(points):
        notes.append(f"{left} of {len(timed)} workloads state no arithmetic and are left out")
    return Roofline(points, slopes, peaks, tuple(notes))


def _slopes(calibration: Calibration | None) -> tuple[Ceiling, ...]:
    """Memory: its ceiling, else the copy at the largest footprint. Then the cache: its ceiling, else the
    fastest copy at a smaller footprint, where that tells itself apart."""
    if calibration is None:
        return ()
    found = {c.name: c.value.estimate for c in calibration.ceilings}
    copies = sorted(calibration.bandwidth, key=lambda b: b.footprint_bytes)
    lines = []
    if MEMORY in found:
        lines.append(Ceiling("memory", found[MEMORY]))
    elif copies:
        lines.append(Ceiling(f"copy at {text.si(copies[-1].footprint_bytes, 'B')}", copies[-1].copy))
    if CACHE in found:
        lines.append(Ceiling("L2 cache", found[CACHE]))
    elif copies:
        fastest = max(copies, key=lambda b: b.copy)
        if fastest.copy > _TELLS_APART * lines[0].value:
            lines.append(Ceiling(f"copy at {text.si(fastest.footprint_bytes, 'B')}", fastest.copy))
    return tuple(lines)


def _peaks(calibration: Calibration | None) -> tuple[Ceiling, ...]:
    """Measured peaks, the highest first."""
    ceilings = calibration.ceilings if calibration else ()
    peaks = [
        Ceiling(c.name.removeprefix(PEAK), c.value.estimate) for c in ceilings if c.name.startswith(PEAK)
    ]
    return tuple(sorted(peaks, key=lambda peak: -peak.value))


def chart(given: Roofline) -> Chart:
    """The chart of this roofline."""
    return Chart(
        NAME,
        "Roofline",
        "Arithmetic done a second, against arithmetic a compulsory byte. The sloping line is what the memory "
        "allows, the level ones what the arithmetic of each type allows, as measured on this machine. A "
        "green bar is what this machine allows that very workload.",
        partial(height, given),
        partial(draw, given),
        given.points,
    )


def height(given: Roofline, width: float) -> float:
    """Inches of this roofline at this width."""
    from hotlap.plots import canvas

    return 4.6 if width >= NARROW else 3.9 + len(_key(given, width)) * canvas.line_height(canvas.SMALL)


# --- drawing ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Range:
    """What the axes show: intensity and FLOP/s, both above 0."""

    left: float
    right: float
    bottom: float
    top: float


def extent(given: Roofline, room: float = 0.0) -> Range:
    """Every point and each ridge in sight, with a share of the width for labels right of the points."""
    xs = [p.intensity_flop_per_byte for p in given.points]
    ys = [y for p in given.points for y in (p.ci_low, p.ci_high, p.flops_per_s / (p.of_limit or 1))]
    ridges = [peak.value / slope.value for peak in given.peaks[:1] for slope in given.slopes]
    left = min([*xs, *ridges]) / 4
    right = min(left * (max(xs) / left) ** (1 / (1 - room)), 40 * max(xs))
    right = max([right, 4 * max(xs), *(8 * ridge for ridge in ridges)])
    ys += [slope.value * left for slope in given.slopes]
    ys += [peak.value for peak in given.peaks] or [slope.value * right / 3 for slope in given.slopes]
    return Range(left, right, min(ys) / _ROOM, max(ys) * _ROOM)


def draw(given: Roofline, area: "Area") -> None:
    """Ceilings, then points with their labels beside them."""
    from hotlap.plots import canvas

    narrow = area.width < NARROW
    key = _key(given, area.width) if narrow else []
    below = _BOTTOM + (0.2 + len(key) * canvas.line_height(canvas.SMALL) if key else 0.0)
    plot = area.part(_LEFT, 0.05, area.width - _LEFT, area.height - 0.05 - below)
    labels = [
        str(number) if narrow else _words(point, 0.62 * plot.width)
        for number, point in enumerate(given.points, start=1)
    ]
    widest = max(canvas.text_width(label, canvas.SMALL) for label in labels)
    shown = extent(given, min(0.4, (widest + 0.3) / plot.width))
    axes = plot.axes()
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlim(shown.left, shown.right)
    axes.set_ylim(shown.bottom, shown.top)
    xs = log_ticks(shown.left, shown.right, max(3, int(plot.width * 1.1)))
    ys = log_ticks(shown.bottom, shown.top, int(plot.height * 1.5))
    axes.set_xticks(xs, [f"{x:g}" for x in xs])
    axes.set_yticks(ys, [text.si(y, "FLOP/s") for y in ys])
    axes.minorticks_off()
    axes.grid()
    axes.set_xlabel("arithmetic intensity, FLOP/byte", loc="left")
    ruler = plot.ruler()
    page = _Page(plot.width, plot.height, shown)
    _draw_slopes(axes, ruler, given, page)
    taken = _draw_peaks(axes, ruler, given, page, narrow=narrow)
    _draw_points(axes, ruler, given.points, labels, page, taken)
    line = canvas.line_height(canvas.SMALL)
    for number, note in enumerate(reversed(given.notes)):
        words = canvas.fitted(note, plot.width - 0.1, canvas.SMALL)
        y = plot.height - 0.1 - number * line
        ruler.text(plot.width - 0.05, y, words, ha="right", size=canvas.SMALL, color=canvas.MUTED)
    for number, words in enumerate(key):
        ruler.text(-_LEFT, plot.height + _BOTTOM + 0.1 + number * line, words, size=canvas.SMALL, va="top")


def _words(point: Point, width: float) -> str:
    """A point's label: its workload, and its share of the limit, in at most this width."""
    from hotlap.plots import canvas

    share = "" if point.of_limit is None else f" · {text.percent(point.of_limit)} of limit"
    return canvas.fitted(point.workload, width - canvas.text_width(share, canvas.SMALL), canvas.SMALL) + share


def _key(given: Roofline, width: float) -> list[str]:
    """Lines under a narrow chart, where labels find no room: what the numbers at its points stand for, and
    how high the peaks are."""
    from hotlap.plots import canvas

    points = [f"{number}  {_words(point, width - 0.2)}" for number, point in enumerate(given.points, start=1)]
    return points + (canvas.wrapped(peak_words(given.peaks), width, canvas.SMALL) if given.peaks else [])


@dataclass(frozen=True)
class _Page:
    """The plot in inches, y counted down, and what it shows."""

    width: float
    height: float
    shown: Range

    def at(self, intensity: float, flops_per_s: float) -> tuple[float, float]:
        """Where on the page these values lie."""
        right = log(intensity / self.shown.left) / log(self.shown.right / self.shown.left)
        up = log(flops_per_s / self.shown.bottom) / log(self.shown.top / self.shown.bottom)
        return right * self.width, (1 - up) * self.height


def _draw_slopes(axes: "Axes", ruler: "Axes", given: Roofline, page: _Page) -> None:
    """Lines from the left edge to the highest peak. Labels lie above the fastest, below all others."""
    from hotlap.plots import canvas

    shown = page.shown
    highest = given.peaks[0].value if given.peaks else shown.top
    fastest = max((slope.value for slope in given.slopes), default=0.0)
    for slope, line in zip(given.slopes, ("-", "--"), strict=False):
        end = min(highest / slope.value, shown.right)
        xs = (shown.left, end)
        axes.plot(xs, [x * slope.value for x in xs], line, color=canvas.INK, lw=1.5)
        (x0, y0), (x1, y1) = (page.at(x, x * slope.value) for x in xs)
        angle, length = atan2(y0 - y1, x1 - x0), hypot(x1 - x0, y0 - y1)
        words = f"{slope.label} {text.si(slope.value, 'B/s')}"
        reach = canvas.text_width(words, canvas.SMALL)
        points = [page.at(p.intensity_flop_per_byte, 1)[0] - x0 for p in given.points]
        along = _free([x / cos(angle) for x in points], length, reach)
        off = 0.06 if slope.value == fastest else -0.15  # across the line, to the baseline of the text
        along = max(along, (0.05 + off * sin(angle)) / cos(angle))  # not over the edge
        ruler.text(
            x0 + along * cos(angle) - off * sin(angle),
            y0 - along * sin(angle) - off * cos(angle),
            words,
            rotation=degrees(angle),
            rotation_mode="anchor",
            size=canvas.SMALL,
        )


def _free(points: Sequence[float], length: float, reach: float) -> float:
    """Where on a line of this length a label of this reach meets the fewest points (their places on it)."""

    def met(start: float) -> int:
        return sum(start - 0.2 < point < start + reach + 0.2 for point in points)

    return min((share * (length - reach) for share in (0.05, 0.3, 0.5, 0.7, 0.9)), key=met)


def _draw_peaks(axes: "Axes", ruler: "Axes", given: Roofline, page: _Page, *, narrow: bool) -> list[Label]:
    """Lines from the memory's slope to the right edge, labels above their right ends; where those are."""
    from hotlap.plots import canvas

    shown, labels = page.shown, []
    for peak, line in zip(given.peaks, cycle(("-", "--", "-.", ":")), strict=False):
        start = peak.value / given.slopes[0].value if given.slopes else shown.left
        axes.plot((start, shown.right), (peak.value,) * 2, line, color=canvas.INK, lw=1.2)
    for peaks in together(given.peaks, (shown.top / shown.bottom) ** (0.19 / page.height)):
        x, y = page.at(shown.right, peaks[0].value)
        words = ", ".join(peak.label for peak in peaks) if narrow else peak_words(peaks)
        ruler.text(x - 0.03, y - 0.05, words, ha="right", size=canvas.SMALL)
        labels.append(Label(x - 0.1 - canvas.text_width(words, canvas.SMALL), x, -(y - 0.05), fixed=True))
    return labels


def peak_words(peaks: Sequence[Ceiling]) -> str:
    """`float16 800, bfloat16 790 TFLOP/s`: the unit once where all have the same."""
    said = [text.si(peak.value, "FLOP/s").split(" ") for peak in peaks]
    same = len({unit for _, unit in said}) == 1
    words = [
        f"{peak.label} {value}" + ("" if same else f" {unit}")
        for peak, (value, unit) in zip(peaks, said, strict=True)
    ]
    return ", ".join(words) + (f" {said[0][1]}" if same else "")


def together(peaks: Sequence[Ceiling], factor: float) -> list[list[Ceiling]]:
    """Peaks, highest first, those in one list that are within a factor of the list's first: lines so near to
    each other share a label."""
    groups: list[list[Ceiling]] = []
    for peak in peaks:
        if groups and groups[-1][0].value < factor * peak.value:
            groups[-1].append(peak)
        else:
            groups.append([peak])
    return groups


def _draw_points(
    axes: "Axes",
    ruler: "Axes",
    points: Sequence[Point],
    words: Sequence[str],
    page: _Page,
    taken: list[Label],
) -> None:
    """Labels lie to the right of their points and below, for a good point touches the roof; to the left where
    the page ends; and clear of the labels of lines."""
    from hotlap.plots import canvas

    places = [page.at(p.intensity_flop_per_byte, p.flops_per_s) for p in points]
    labels = []
    for (x, y), said in zip(places, words, strict=True):
        width = canvas.text_width(said, canvas.SMALL)
        left = x + 0.2 if x + 0.2 + width < page.width else x - 0.2 - width
        labels.append(Label(left, left + width, -(y + 0.17)))
    ups = apart([*labels, *taken], 0.19)[: len(labels)]
    for (x, y), label, said, up in zip(places, labels, words, ups, strict=True):
        edge = label.left - 0.04 if label.left > x else label.right + 0.04
        ruler.plot((x, edge), (y, -up), color=canvas.MUTED, lw=0.7)
        ruler.text(label.left, -up, said, size=canvas.SMALL, va="center_baseline")
    for point in points:
        if point.of_limit is not None:
            xs, ys = (
                (point.intensity_flop_per_byte,) * 2,
                (point.flops_per_s, point.flops_per_s / point.of_limit),
            )
            axes.plot(xs, ys, color=canvas.LIMIT, lw=1)
            axes.plot(xs[1:], ys[1:], marker="_", markersize=12, mew=2.4, color=canvas.LIMIT, zorder=2.5)
        axes.errorbar(
            point.intensity_flop_per_byte,
            point.flops_per_s,
            yerr=[[point.flops_per_s - point.ci_low], [point.ci_high - point.flops_per_s]],
            fmt="o",
            color=canvas.SUBMISSION,
            markersize=6.5,
            capsize=3,
            zorder=3,
        )
