"""What a chart is, whoever drew it, and what stands under it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hotlap.model import Device, Duel, SubmissionInfo, Verdict

if TYPE_CHECKING:
    from hotlap.plots.canvas import Area

NARROW = 6.0  # inches: below, what stands side by side goes one under the other


@dataclass(frozen=True)
class Chart:
    """One picture: how to read it, what it needs, and the numbers in it."""

    name: str  # of its file
    title: str
    reading: str  # how to read it, in a sentence or two
    height: Callable[[float], float]  # inches that it needs at a width in inches
    draw: Callable[["Area"], None]
    rows: tuple[Any, ...]  # dataclasses of one class: the numbers, for a CSV


@dataclass(frozen=True)
class Absent:
    """A chart that cannot be drawn, and why."""

    name: str
    reason: str


@dataclass(frozen=True)
class Provenance:
    """What was measured (above the charts), and where, when and how (below)."""

    heading: str
    line: str


def provenance(verdict: Verdict) -> Provenance:
    """Of a verdict: problem and file; rounds, device, driver, clock, date, version, run."""
    rounds = sorted({w.time_ns.n for w in verdict.workloads if w.time_ns is not None})
    parts = [
        rounds_words(rounds),
        *device_words(verdict.device),
        verdict.started_at[:10],
        f"hotlap {verdict.hotlap_version}",
        f"run {verdict.run}",
    ]
    heading = f"{problem_name(verdict.problem)} · {verdict.submission.file}"
    return Provenance(heading, " · ".join(part for part in parts if part))


def duel_provenance(duel: Duel) -> Provenance:
    """Of a duel: problem; files, pairs, device, driver, clock, date, version."""
    pairs = f"n = {duel.pairs} process pair{'s' * (duel.pairs != 1)}"
    floor = f", floor of this machine ±{100 * duel.floor95:.2g} %" if duel.floor95 is not None else ""
    parts = [
        f"a = {side(duel.a)}, b = {side(duel.b)}",
        f"{pairs}, tier {duel.tier}" if duel.tier else pairs,
        f"margin ±{100 * duel.margin:.2g} %, {'calibrated' if duel.calibrated else 'not calibrated'}{floor}",
        *device_words(duel.device),
        duel.started_at[:10],
        f"hotlap {duel.hotlap_version}",
    ]
    return Provenance(f"{problem_name(duel.problem)} · {duel.a.file} and {duel.b.file}", " · ".join(parts))


def problem_name(problem_id: str) -> str:
    """`suite/name` of `suite/name@version`."""
    return problem_id.partition("@")[0]


def side(submission: SubmissionInfo) -> str:
    """A file and the start of its hash: two files may share a name."""
    return f"{submission.file} ({submission.sha256[:8]})"


def rounds_words(counts: list[int]) -> str:
    """`n = 12 rounds`, `n = 12 to 24 rounds`; empty where nothing was timed. counts: sorted."""
    if not counts:
        return ""
    few, many = counts[0], counts[-1]
    return f"n = {few} rounds" if few == many else f"n = {few} to {many} rounds"


def device_words(device: Device) -> list[str]:
    """What the times depend on: name, driver, and of a GPU its clock while timing."""
    if device.kind == "cpu":
        return [f"{device.name}, {device.cores} cores", f"{device.os} {device.driver}"]
    words = [device.name, f"driver {device.driver}"]
    if device.sm_clock_mhz is not None:
        low, high = device.sm_clock_mhz
        words.append(f"SM clock {low if low == high else f'{low} to {high}'} MHz while timing")
    return words
