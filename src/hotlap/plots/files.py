"""Charts on paper: one figure with title, reading and provenance, as PNG, SVG and CSV."""

import csv
import io
from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hotlap.plots.chart import Chart, Provenance

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WIDTH = 10.0  # inches: 1,200 pixels
_MARGIN = 0.4
_BETWEEN = 0.45


def compose(charts: Sequence[Chart], origin: Provenance, width: float = WIDTH) -> "Figure":
    """Charts one under the other: heading, each with its title and reading, then where the numbers come from.

    Call inside `canvas.style()`.
    """
    from hotlap.plots import canvas
    from hotlap.plots.canvas import Area

    inner = width - 2 * _MARGIN
    small, body = canvas.line_height(canvas.SMALL), canvas.line_height(canvas.TEXT)
    titles = [canvas.wrapped(chart.title, inner, canvas.TITLE, "bold") for chart in charts]
    readings = [canvas.wrapped(chart.reading, inner, canvas.SMALL) for chart in charts]
    origins = canvas.wrapped(origin.line, inner, canvas.SMALL)
    title = canvas.line_height(canvas.TITLE)
    heads = [title * len(t) + small * len(r) + 0.14 for t, r in zip(titles, readings, strict=True)]
    heights = [head + chart.height(inner) for head, chart in zip(heads, charts, strict=True)]
    height = _MARGIN + body + sum(heights) + _BETWEEN * len(charts) + len(origins) * small + 0.75 * _MARGIN
    figure = canvas.new_figure(width, height)
    page = Area(figure, _MARGIN, _MARGIN, inner, height - 2 * _MARGIN)
    ruler = page.ruler()
    ruler.text(0, 0, canvas.fitted(origin.heading, inner), color=canvas.MUTED, va="top")
    top = body
    for chart, named, read, head, needed in zip(charts, titles, readings, heads, heights, strict=True):
        y = top
        for line in named:
            ruler.text(0, y, line, size=canvas.TITLE, weight="bold", va="top")
            y += title
        for line in read:
            ruler.text(0, y, line, size=canvas.SMALL, color=canvas.MUTED, va="top")
            y += small
        chart.draw(page.part(0, top + head, inner, needed - head))
        top += needed + _BETWEEN
    ruler.plot([0, inner], [top - 0.18] * 2, color=canvas.RULE, linewidth=0.8, clip_on=False)
    for number, line in enumerate(origins):
        ruler.text(0, top - 0.08 + number * small, line, size=canvas.SMALL, color=canvas.MUTED, va="top")
    return figure


def picture(charts: Sequence[Chart], origin: Provenance, suffix: str) -> bytes:
    """The figure of these charts as a file's content. suffix: .png or .svg. The same bytes each time."""
    from hotlap.plots import canvas

    metadata: dict[str, Any] = {"Creator": None, "Date": None} if suffix == ".svg" else {"Software": None}
    content = io.BytesIO()
    with canvas.style():
        figure = compose(charts, origin)
        figure.savefig(content, format=suffix.lstrip("."), metadata=metadata)
    return content.getvalue()


def table(chart: Chart) -> str:
    """The numbers of a chart as CSV; the columns are its fields, units in their names."""
    content = io.StringIO()
    rows = [_flat(row) for row in chart.rows]
    header = list(dict.fromkeys(name for row in rows for name in row))
    writer = csv.DictWriter(content, header, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return content.getvalue()


def _flat(value: Any, name: str = "") -> dict[str, Any]:
    """Its leaves: `time_ns.estimate`. What is absent is an empty cell."""
    if is_dataclass(value):
        parts = {f.name: getattr(value, f.name) for f in fields(value)}
    elif isinstance(value, tuple):
        parts = {str(index): item for index, item in enumerate(value)}
    else:
        return {name: "" if value is None else value}
    return {k: v for key, item in parts.items() for k, v in _flat(item, f"{name}.{key}".lstrip(".")).items()}


def write_one(charts: Sequence[Chart], origin: Provenance, path: Path) -> list[Path]:
    """All charts in one picture; the ending of `path` says which kind. Raises OSError."""
    path.write_bytes(picture(charts, origin, path.suffix.lower()))
    return [path]


def write_each(charts: Sequence[Chart], origin: Provenance, prefix: str) -> list[Path]:
    """Each chart as `prefix` + its name, as PNG and SVG, its numbers as CSV. Raises OSError."""
    written = []
    for chart in charts:
        for suffix in (".png", ".svg"):
            path = Path(f"{prefix}{chart.name}{suffix}")
            path.write_bytes(picture([chart], origin, suffix))
            written.append(path)
        path = Path(f"{prefix}{chart.name}.csv")
        path.write_text(table(chart), encoding="utf-8")
        written.append(path)
    return written
