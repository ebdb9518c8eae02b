"""Model objects to what a terminal shows. Pure: no printing, no clock, no files.

Every cell is `rich.text.Text` of cleaned text, so nothing that an author wrote is read as markup.
"""

from collections.abc import Iterable, Mapping, Sequence

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from hotlap import text
from hotlap.model import (
    Bandwidth,
    Calibration,
    Ceiling,
    Device,
    Finding,
    Interval,
    Kind,
    Status,
    Trust,
    Verdict,
    WorkloadVerdict,
)
from hotlap.text import ABSENT, clean

STATUS_STYLES = {
    "accepted": "bold green",
    "correct": "green",
    "wrong": "bold red",
    "failed": "bold red",
    "suspect": "bold yellow",
    "void": "bold magenta",
}

# Below these widths an interval goes under its estimate; the 5th percentile goes, or on a GPU the error, and
# the mode goes under the kind. A table with modes needs more.
_WIDE = 108
_ROOMY = 92
_FOR_MODE = 12

_FAULTS_SHOWN = 3

# Significant digits of a time. Intervals of a GPU may be ±0.1 %, which four digits of 1.000 ms would hide.
_DIGITS = {"cpu": 4, "cuda": 5}

_NO_SANDBOX = (
    "warning: NO SANDBOX. The kernel ran with your rights: your files, your network. "
    "`hotlap doctor` says what to install"
)


def verdict(given: Verdict, width: int) -> Group:
    """The table of workloads, the line of verdict, then the detail."""
    parts: list[RenderableType] = []
    if given.workloads:
        digits = _DIGITS.get(given.device.kind, 4)
        parts += [workload_table(given.workloads, width, digits), *rooflines(given.workloads)]
        parts += [*absences(given), Text("")]
    parts += [verdict_line(given), *details(given)]
    return Group(*parts)


# --- the line ------------------------------------------------------------------------------------


def verdict_line(given: Verdict) -> Text:
    """One line to act on: status, problem, then the score, or why there is none, and the device."""
    line = Text.assemble(
        (given.status.value, STATUS_STYLES[given.status]),
        "  ",
        _text(given.problem.partition("@")[0]),
        no_wrap=True,  # a terminal may break it, a pipe gets one line
        overflow="ignore",
    )
    for part in [*_reason_head(given), *_score_parts(given), *_claim(given), device_name(given.device)]:
        line.append("  ").append_text(_text(part))
    return line


def _reason_head(given: Verdict) -> list[str]:
    if given.status is Status.accepted:
        return []
    return [(given.reason or "no reason given").splitlines()[0]]


def _claim(given: Verdict) -> list[str]:
    return ["SELF-REPORTED, no score"] if given.trust is Trust.self_reported else []


def _score_parts(given: Verdict) -> list[str]:
    score = given.score
    if score is None:
        return []
    n = _fewest_rounds(given.workloads)
    digits = _DIGITS.get(given.device.kind, 4)
    bounds = text.time_bounds(score.time_ns, score.ci_low_ns, score.ci_high_ns, digits)
    parts = [f"{text.time(score.time_ns, digits)} {bounds}" + (f" n={n}" if n is not None else "")]
    if score.speedup is not None:
        parts.append(f"{_speedup(score.speedup, score.speedup_ci, ' ', ' vs baseline')}")
    if score.floor_fraction is not None:
        parts.append(f"{text.percent(score.floor_fraction)} of floor")
    return parts


def _fewest_rounds(workloads: Iterable[WorkloadVerdict]) -> int | None:
    return min((w.time_ns.n for w in workloads if w.time_ns is not None), default=None)


def device_name(device: Device) -> str:
    """`NVIDIA H200`, or for a CPU its name and number of cores."""
    return f"{device.name}, {device.cores} cores" if device.kind == "cpu" else device.name


def device_line(device: Device) -> str | None:
    """What a GPU's times depend on: name, driver, clock while timing. None for a CPU."""
    if device.kind == "cpu":
        return None
    parts = [device.name, f"driver {device.driver}"]
    if device.sm_clock_mhz is not None:
        low, high = device.sm_clock_mhz
        clock = f"{low}" if low == high else f"{low} to {high}"
        parts.append(f"SM clock {clock} MHz while timing")
    return " · ".join(parts)


# --- the table -----------------------------------------------------------------------------------


def workload_table(workloads: Sequence[WorkloadVerdict], width: int, digits: int = 4) -> Table:
    """A row a workload, times with so many significant digits.

    Columns of times appear only where something was timed, claims only where nothing was, modes only on a
    GPU, the 5th percentile only on a CPU, where the scatter of rounds is wide.
    """
    timed = any(w.time_ns is not None for w in workloads)
    claimed = not timed and any(w.claimed_time_ns is not None for w in workloads)
    with_mode = any(w.mode is not None for w in workloads)
    width -= _FOR_MODE if with_mode else 0
    roomy = width >= _ROOMY
    with_p05 = roomy and not with_mode and any(w.time_ns and w.time_ns.p05 is not None for w in workloads)
    with_error = roomy or not with_mode
    gap = " " if width >= _WIDE else "\n"
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("workload", no_wrap=True)
    table.add_column("axes", overflow="fold", min_width=_longest_word(text.axes(w.axes) for w in workloads))
    if with_mode and roomy:
        table.add_column("mode", no_wrap=True)
    if claimed:
        table.add_column("time CLAIMED", no_wrap=True)
    if timed:
        table.add_column("time", no_wrap=True)
        if with_p05:
            table.add_column("p5", no_wrap=True)
        table.add_column("vs baseline", no_wrap=True)
        table.add_column("of floor", justify="right", no_wrap=True)
    if with_error:
        table.add_column("error/tol", justify="right", no_wrap=True)
    table.add_column("status", no_wrap=True)
    for workload in workloads:
        under = f"\n{workload.mode}" if workload.mode and not roomy else ""
        cells = [_text(workload.kind.value + under), _text(text.axes(workload.axes))]
        if with_mode and roomy:
            cells.append(_text(workload.mode or ABSENT))
        if claimed:
            cells.append(_text(text.time(workload.claimed_time_ns, digits)))
        if timed:
            cells.append(_text(_time(workload.time_ns, gap, digits)))
            if with_p05:
                cells.append(_text(text.time(workload.time_ns.p05 if workload.time_ns else None)))
            cells.append(_text(_speedup(workload.speedup, workload.speedup_ci, gap)))
            cells.append(_text(text.percent(floor_fraction(workload))))
        if with_error:
            cells.append(_text(text.number(workload.error_over_tolerance)))
        cells.append(_status(workload.status))
        table.add_row(*cells)
    return table


def _longest_word(texts: Iterable[str]) -> int:
    """Characters: a column as wide breaks between axes, never within a number."""
    return max((len(word) for line in texts for word in line.split()), default=1)


def floor_fraction(workload: WorkloadVerdict) -> float | None:
    """Floor over time: 1 where the kernel is as fast as the machine can move the bytes."""
    if workload.floor_ns is None or workload.time_ns is None:
        return None
    return workload.floor_ns / workload.time_ns.estimate


def _time(interval: Interval | None, gap: str, digits: int) -> str:
    if interval is None:
        return ABSENT
    bounds = text.time_bounds(interval.estimate, interval.ci_low, interval.ci_high, digits)
    return f"{text.time(interval.estimate, digits)}{gap}{bounds}"


def _speedup(value: float | None, bounds: tuple[float, float] | None, gap: str, after: str = "") -> str:
    if value is None:
        return ABSENT
    estimate = text.speedup(value, bounds) + after
    return estimate if bounds is None else f"{estimate}{gap}{text.speedup_bounds(value, bounds)}"


def _status(status: str) -> Text:
    return Text(clean(status, one_line=True), style=STATUS_STYLES.get(status, ""))


def rooflines(workloads: Iterable[WorkloadVerdict]) -> list[Text]:
    """A line a workload whose limit is known: rates that it reached, what bounds it, how far away that is."""
    return [
        _roofline(w, w.limit_ns / w.time_ns.estimate, w.headroom_ns)
        for w in workloads
        if w.time_ns is not None and w.limit_ns is not None and w.headroom_ns is not None
    ]


def _roofline(workload: WorkloadVerdict, share: float, headroom_ns: float) -> Text:
    rates = ((workload.bytes_per_s, "B/s"), (workload.flops_per_s, "FLOP/s"))
    reached = ", ".join(text.si(value, unit) for value, unit in rates if value is not None)
    away = f"{text.time(abs(headroom_ns), 2)} {'below' if headroom_ns < 0 else 'above'} it"
    return _text(
        f"{text.axes(workload.axes)}: {reached} · "
        f"{workload.bound}-bound, {text.percent(share)} of the roofline, {away}"
    )


def absences(given: Verdict) -> list[Text]:
    """Why a dash stands in the table: each reason once."""
    bench = [w for w in given.workloads if w.kind is Kind.bench]
    timed = any(w.time_ns is not None for w in given.workloads)
    reasons = [f"no floor: {r}" for r in _unique(w.floor_reason for w in bench if w.floor_ns is None)]
    if given.score is None and given.score_reason:
        reasons.append(f"no score: {given.score_reason}")
    if timed and any(w.kind is not Kind.bench for w in given.workloads):
        reasons.append("test and hidden workloads are checked, never timed")
    reasons += [f"mode {w.mode}: {w.mode_reason}" for w in _leavings(bench)]
    return [_absence(reason) for reason in reasons]


def _absence(reason: str) -> Text:
    return Text(f"{ABSENT} {clean(reason, one_line=True)}", style="dim")


def _leavings(bench: Iterable[WorkloadVerdict]) -> list[WorkloadVerdict]:
    """The first workload of each mode that was not the first choice."""
    found: dict[str | None, WorkloadVerdict] = {}
    for workload in bench:
        if workload.mode_reason is not None:
            found.setdefault(workload.mode, workload)
    return list(found.values())


# --- the detail ----------------------------------------------------------------------------------


def details(given: Verdict) -> list[RenderableType]:
    """What belongs under the line: reasons, traceback, output, findings, gaps, and where the time went."""
    parts: list[RenderableType] = []
    parts += self_reported_warning(given)
    parts += _rest_of_reason(given)
    parts += _workload_errors(given)
    if given.fault is not None and given.status is Status.void:
        blame = f"fault of the {given.fault.value}, not of the kernel: this never counts against it"
        parts.append(Text(blame, style="dim"))
    if given.detail:
        parts += _block("detail", given.detail)
    if given.output:
        parts += _block("output of the kernel", given.output)
    parts += [_finding(found) for found in given.findings]
    parts += sandbox_warnings(given)
    parts += _checked(given)
    if given.status is Status.wrong:
        parts.append(
            Text(f"next: hotlap check --replay {given.run}    writes what went in and came out", style="dim")
        )
    if (line := device_line(given.device)) is not None:
        parts.append(Text(clean(line, one_line=True), style="dim"))
    parts.append(_footer(given))
    return parts


def self_reported_warning(given: Verdict) -> list[Text]:
    """Loud where the times are the kernel's own word, with the reason."""
    if given.trust is not Trust.self_reported:
        return []
    why = given.trust_reason or "the referee did not hold the clock"
    said = f"warning: SELF-REPORTED: {why}. Times are what the kernel's own process claims; they never rank"
    return [Text(clean(said), style="bold red")]


def _rest_of_reason(given: Verdict) -> list[Text]:
    lines = (given.reason or "").splitlines()
    shown_in_line = 0 if given.status is Status.accepted else 1
    return [_text(line) for line in lines[shown_in_line:]]


def _workload_errors(given: Verdict) -> list[Text]:
    """The message of the first faulty workloads, unless the line of verdict has said it already."""
    said = given.reason or ""
    faulty = [w for w in given.workloads if w.error and f"{text.axes(w.axes)}: {w.error}" != said]
    lines = [
        Text.assemble((w.status, STATUS_STYLES.get(w.status, "")), _text(f"  {text.axes(w.axes)}: {w.error}"))
        for w in faulty[:_FAULTS_SHOWN]
    ]
    if len(faulty) > _FAULTS_SHOWN:
        lines.append(Text(f"and {len(faulty) - _FAULTS_SHOWN} more; --json has them all", style="dim"))
    return lines


def _block(title: str, body: str) -> list[RenderableType]:
    return [
        Rule(Text(title, style="dim"), align="left", style="dim", characters="─"),
        Padding(Text(clean(body).rstrip("\n")), (0, 0, 0, 2)),
    ]


def _finding(found: Finding) -> Text:
    where = found.file if found.line is None else f"{found.file}:{found.line}"
    return Text.assemble(("finding  ", "cyan"), _text(f"{where}  {found.rule}: {found.fact}"))


def sandbox_warnings(given: Verdict) -> list[Text]:
    """Loud where there was no sandbox, a note for each thing that the one there could not enforce."""
    gaps = given.sandbox.gaps
    if given.sandbox.kind == "none":
        return [Text(_NO_SANDBOX, style="bold red"), *(_text(f"  not enforced: {gap}") for gap in gaps)]
    return [_warning(f"the sandbox did not enforce: {gap}") for gap in gaps]


def _warning(message: str) -> Text:
    return Text(f"warning: {clean(message)}", style="yellow")


def _checked(given: Verdict) -> list[Text]:
    """How many timed calls were compared in full, and what that excludes."""
    timed = [w for w in given.workloads if w.time_ns is not None]
    if not timed:
        return []
    least = min(timed, key=lambda w: w.checked_calls)
    if least.excluded_share == 0:
        return [Text("every timed call was checked in full", style="dim")]
    line = f"checked in full: at least {least.checked_calls} secretly chosen calls of each bench workload"
    if least.excluded_share is not None:
        line += f"; had {text.percent(least.excluded_share)} of the calls been wrong, it would have been seen"
    return [Text(line, style="dim")]


def _footer(given: Verdict) -> Text:
    spent = given.timing
    spans = {
        "queued": spent.queued_s,
        "build": spent.build_s,
        "check": spent.check_s,
        "measure": spent.measure_s,
    }
    parts = [f"{name} {text.seconds(value)}" for name, value in spans.items() if value >= 0.05]
    line = " · ".join([f"run {given.run}", *parts, f"total {text.seconds(spent.total_s)}"])
    return Text(clean(line), style="dim")


# --- calibration ---------------------------------------------------------------------------------


def calibration(given: Calibration, absent: Mapping[str, str]) -> Group:
    """Bandwidth by footprint, the ceilings, and what a process adds to an interval. absent: why a ceiling is
    left out, by its name."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for header in ("footprint", "read", "write", "copy", "add"):
        table.add_column(header, justify="right")
    for row in given.bandwidth:
        table.add_row(*(Text(cell) for cell in _bandwidth_cells(row)))
    return Group(
        table,
        Text(""),
        ceiling_table(given.ceilings),
        *(_absence(f"no {name}: {reason}") for name, reason in absent.items()),
        Text(""),
        Text(f"process to process: ±{text.percent(given.process_part)} is added to the interval of a run"),
        Text(clean(f"measured {given.measured_at} on {given.device_uuid}"), style="dim"),
    )


def ceiling_table(ceilings: Iterable[Ceiling]) -> Table:
    """A row a ceiling: its name, its median with the interval of that, and of how many measurements."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("ceiling")
    table.add_column("median")
    table.add_column("n", justify="right")
    for one in ceilings:
        table.add_row(_text(one.name), _text(ceiling_value(one)), _text(str(one.value.n)))
    return table


def ceiling_value(one: Ceiling) -> str:
    """The median with its interval: `4.142 TB/s [4.139, 4.145]`."""
    value = one.value
    if one.unit == "ns":
        return _time(value, " ", 4)
    return text.si_interval(value.estimate, value.ci_low, value.ci_high, one.unit)


def _bandwidth_cells(row: Bandwidth) -> list[str]:
    return [
        text.si(row.footprint_bytes, "B"),
        *(text.si(v, "B/s") for v in (row.read, row.write, row.copy, row.add)),
    ]


# --- shared --------------------------------------------------------------------------------------


def _text(value: str) -> Text:
    return Text(clean(value))


def _unique(values: Iterable[str | None]) -> list[str]:
    return list(dict.fromkeys(value for value in values if value))
