"""What all charts share: colours, type, an area to draw in, and text that fits. Needs matplotlib.

Lengths are inches, y counts down from the top. No pyplot: a figure belongs to who made it. Settings hold
inside `style()` alone, whatever a user's matplotlibrc says.

Defends against: text of others read as mathtext ('$' is a character), and text too long for its place.
"""

import warnings
from bisect import bisect_left
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import text_to_path

from hotlap.text import clean

# Okabe and Ito's colours, which readers of any colour vision can tell apart; markers and line styles differ
# too. Each is used for one thing, so that a page can give it another shade in the dark.
INK, MUTED, RULE, PAPER = "#1c2128", "#57606a", "#d8dee4", "#ffffff"
SUBMISSION, BASELINE, LIMIT = "#0072b2", "#d55e00", "#009e73"
BAND, LANE = "#fbe8c4", "#f5f7f9"

TEXT, SMALL, TITLE = 9.5, 8.5, 13.0  # points
LINE = 1.45  # height of a line of text over its size
DPI = 120  # 10 inches are 1,200 pixels

_FONT = "DejaVu Sans"  # comes with matplotlib: the same picture on every machine
_SETTINGS: Any = {
    "font.family": "sans-serif",
    "font.sans-serif": [_FONT],
    "font.size": TEXT,
    "text.parse_math": False,
    "text.color": INK,
    "axes.edgecolor": MUTED,
    "axes.labelcolor": MUTED,
    "axes.labelsize": SMALL,
    "axes.linewidth": 0.8,
    "axes.axisbelow": True,
    "axes.facecolor": "none",
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.labelsize": SMALL,
    "ytick.labelsize": SMALL,
    "grid.color": RULE,
    "grid.linewidth": 0.7,
    "svg.fonttype": "none",  # text stays text
    "svg.hashsalt": "hotlap",  # else ids are random
}


@contextmanager
def style() -> Iterator[None]:
    """Our settings, until the end of the block."""
    with matplotlib.rc_context(), warnings.catch_warnings():
        # A character that the font lacks is shown as a box: the picture is still the picture.
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_SETTINGS)
        yield


@dataclass(frozen=True)
class Area:
    """A rectangle of a figure: where it begins, from the figure's top left, and its size."""

    figure: Figure
    left: float
    top: float
    width: float
    height: float

    def part(self, left: float, top: float, width: float, height: float) -> "Area":
        """A rectangle within it, measured from its own top left."""
        return Area(self.figure, self.left + left, self.top + top, width, height)

    def axes(self) -> Axes:
        """Axes that fill it, without spines on top and right, ticks drawn inside none."""
        whole_width, whole_height = self.figure.get_size_inches()
        bottom = whole_height - self.top - self.height
        axes = self.figure.add_axes(
            (
                self.left / whole_width,
                bottom / whole_height,
                self.width / whole_width,
                self.height / whole_height,
            )
        )
        axes.spines[["top", "right"]].set_visible(False)
        axes.tick_params(length=3, width=0.8)
        return axes

    def ruler(self) -> Axes:
        """Invisible axes that fill it, whose data are inches from its top left."""
        axes = self.axes()
        axes.set_axis_off()
        axes.set_xlim(0, self.width)
        axes.set_ylim(self.height, 0)
        return axes


def new_figure(width: float, height: float) -> Figure:
    """An empty figure on paper. Call inside `style()`."""
    return Figure(figsize=(width, height), dpi=DPI, facecolor=PAPER)


def text_width(text: str, size: float = TEXT, weight: str = "normal") -> float:
    """How wide a line of text is."""
    font = FontProperties(family=_FONT, size=size, weight=weight)
    points, _, _ = text_to_path.get_text_width_height_descent(text, font, ismath=False)
    return float(points) / 72


def line_height(size: float) -> float:
    """From one line of text to the next."""
    return size * LINE / 72


def fitted(text: str, width: float, size: float = TEXT, weight: str = "normal") -> str:
    """The text on one line, cleaned; where it is wider than `width`, without its middle."""
    line = clean(text, one_line=True)
    if text_width(line, size, weight) <= width:
        return line

    def shorter(kept: int) -> str:
        head, tail = line[: (kept + 1) // 2], line[len(line) - kept // 2 :]
        return f"{head.rstrip()} … {tail.lstrip()}".strip()

    fits = bisect_left(
        range(len(line)), True, key=lambda kept: text_width(shorter(kept), size, weight) > width
    )
    return shorter(max(0, fits - 1))


def wrapped(text: str, width: float, size: float = TEXT, weight: str = "normal") -> list[str]:
    """The text, cleaned, in lines no wider than `width`; a word that is wider loses its middle."""
    lines: list[str] = []
    together = clean(text, one_line=True).replace(" %", "\N{NO-BREAK SPACE}%")
    for word in together.split(" "):
        longer = f"{lines[-1]} {word}" if lines else word
        if lines and text_width(longer, size, weight) <= width:
            lines[-1] = longer
        else:
            lines.append(fitted(word, width, size, weight))
    return lines
