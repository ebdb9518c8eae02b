"""The one table that a run of the GPU tests ends with: a row a verdict."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from hotlap.model import Kind, Verdict, WorkloadVerdict

HEAD = ("case", "expected", "status", "fault", "modes", "largest bench", "speedup", "wall s", "")
RIGHT = frozenset((5, 6, 7))  # columns of numbers


@dataclass(frozen=True)
class Row:
    """What one verdict is in the table; cells that say nothing are empty."""

    case: str
    expected: str
    status: str
    fault: str
    modes: str
    time: str  # of a call of the largest bench workload, with the half-width of its interval
    speedup: str
    wall_s: float

    def cells(self) -> tuple[str, ...]:
        mark = "" if self.status in self.expected.split("|") else "<-- not as expected"
        judged = (self.case, self.expected, self.status, self.fault, self.modes, self.time, self.speedup)
        return (*judged, f"{self.wall_s:.1f}", mark)


def row(case: str, expected: str, given: Verdict, wall_s: float) -> Row:
    """The row of a verdict. expected: a status, or several with | between them."""
    largest = largest_bench(given)
    speedup = given.score.speedup if given.score else None
    return Row(
        case,
        expected,
        given.status.value,
        given.fault.value if given.fault else "",
        " ".join(dict.fromkeys(w.mode for w in given.workloads if w.mode is not None)),
        "" if largest is None else time_text(largest),
        "" if speedup is None else f"{speedup:.2f}x",
        wall_s,
    )


def largest_bench(given: Verdict) -> WorkloadVerdict | None:
    """The bench workload with the largest product of axes, where any was timed."""
    timed = [w for w in given.workloads if w.kind is Kind.bench and w.time_ns is not None]
    return max(timed, key=lambda w: math.prod((w.axes or {}).values()), default=None)


def time_text(workload: WorkloadVerdict) -> str:
    """Such as `812.3 us ±0.21 %`."""
    time = workload.time_ns
    if time is None:
        return ""
    half_width = (time.ci_high - time.ci_low) / 2 / time.estimate
    return f"{time.estimate / 1e3:.4g} us ±{half_width:.2%}".replace("%", " %")


def table(rows: Iterable[Row]) -> list[str]:
    """Lines of aligned text, the heads first."""
    cells = [HEAD, *(one.cells() for one in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return [line(one, widths) for one in cells]


def line(cells: Sequence[str], widths: Sequence[int]) -> str:
    aligned = [
        cell.rjust(width) if place in RIGHT else cell.ljust(width)
        for place, (cell, width) in enumerate(zip(cells, widths, strict=True))
    ]
    return "  ".join(aligned).rstrip()
