"""A verdict as one page of HTML that needs nothing else: no script, no request, its pictures inside.

Defends against: text of an author read as markup (everything is escaped; the page's policy forbids scripts
and requests besides), and text so long that it breaks the page.
"""

import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from hotlap import text
from hotlap.model import Calibration, Ceiling, Device, Finding, Run, Status, Trust, Verdict, WorkloadVerdict
from hotlap.plots import words
from hotlap.plots.chart import Absent, Chart, device_words, problem_name
from hotlap.plots.charts import charts
from hotlap.plots.html import Html, element, inline_svg, joined
from hotlap.stats.geomean import geomean

POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
WIDE, NARROW = 8.5, 3.75  # inches of a chart, on a screen and on a phone
_DIGITS = {"cpu": 4, "cuda": 5}
_SIGNS = {
    Status.accepted: "✓",
    Status.wrong: "✗",
    Status.failed: "✗",
    Status.suspect: "?",
    Status.void: "○",
}


def report(
    verdict: Verdict, run: Run | None, calibration: Calibration | None, source: str | None = None
) -> str:
    """The page. run: for the rounds, where they are stored. source: shown at the end, folded.

    Hidden workloads are shown like all others: the page is for who may see the verdict. Needs matplotlib.
    """
    title = f"{problem_name(verdict.problem)} · {verdict.submission.file} · {verdict.status.value}"
    style = Path(__file__).with_name("report.css").read_text(encoding="utf-8")
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", http_equiv="Content-Security-Policy", content=POLICY),
        element("meta", name="color-scheme", content="light dark"),
        element("meta", name="generator", content=f"hotlap {verdict.hotlap_version}"),
        element("title", title),
        element("style", Html(style)),
    )
    roof, times, rounds = figures(verdict, run, calibration)
    sections = (
        reason_section(verdict),
        workload_section(verdict),
        limit_section(verdict, calibration, roof),
        times,
        rounds,
        findings_section(verdict.findings),
        element("div", measured_section(verdict), machine_section(verdict.device, verdict), class_="pair"),
        reproduce_section(verdict, source),
    )
    body = element("body", header(verdict), element("main", *sections), footer(verdict))
    return f"<!doctype html>\n{element('html', head, body, lang='en')}\n"


# --- the top ---------------------------------------------------------------------------------------


def header(verdict: Verdict) -> Html:
    """Status, file, the verdict in words, where it ran, warnings, and the numbers that matter."""
    author = f"by {verdict.submission.author}" if verdict.submission.author else None
    where = [*device_words(verdict.device), verdict.started_at[:10], author]
    badge = f"{_SIGNS[verdict.status]} {words.HEADINGS[verdict.status]}"
    return element(
        "header",
        element(
            "p",
            element("span", badge, class_=f"badge {verdict.status.value}"),
            element("span", problem_name(verdict.problem)),
            class_="eyebrow",
        ),
        element("h1", verdict.submission.file),
        element("p", words.sentence(verdict), class_="lead"),
        element("p", " · ".join(part for part in where if part), class_="where"),
        *warnings(verdict),
        tiles(verdict),
    )


def warnings(verdict: Verdict) -> list[Html]:
    """Loud: self-reported, no sandbox. Else a line for each thing that the sandbox could not enforce."""
    found = []
    if verdict.trust is Trust.self_reported:
        why = verdict.trust_reason or "the referee did not hold the clock"
        said = f"Self-reported: {why}. Times are what the kernel's own process claims; they never rank."
        found.append(element("p", said, class_="warning loud"))
    if verdict.sandbox.kind == "none":
        said = "No sandbox: the kernel ran with the rights of who started it, files and network included."
        found.append(element("p", said, class_="warning loud"))
    found += [
        element("p", f"The sandbox did not enforce: {gap}", class_="warning") for gap in verdict.sandbox.gaps
    ]
    return found


def tiles(verdict: Verdict) -> Html | None:
    """The score in large type; None where there is none."""
    score = verdict.score
    if score is None:
        return None
    digits = _DIGITS.get(verdict.device.kind, 4)
    bounds = text.time_bounds(score.time_ns, score.ci_low_ns, score.ci_high_ns, digits)
    timed = sum(w.time_ns is not None for w in verdict.workloads)
    mean = f", geometric mean of {timed} workloads" if timed > 1 else ""
    shown = [_tile("Time of a call", text.time(score.time_ns, digits), f"{bounds}{mean}")]
    if score.speedup is not None:
        interval = text.speedup_bounds(score.speedup, score.speedup_ci) if score.speedup_ci else ""
        shown.append(
            _tile("Speedup over the baseline", text.speedup(score.speedup, score.speedup_ci), interval)
        )
    if (share := _of_limit(verdict.workloads)) is not None:
        under = "what memory, arithmetic and launches allow"
        shown.append(_tile("Of the roofline", text.percent(share), under))
    elif score.floor_fraction is not None:
        under = "what moving the compulsory bytes takes"
        shown.append(_tile("Of the floor", text.percent(score.floor_fraction), under))
    errors = [w.error_over_tolerance for w in verdict.workloads if w.error_over_tolerance is not None]
    if errors:
        shown.append(_tile("Largest error", text.number(max(errors)), "of what the tolerance allows"))
    return element("dl", *shown, class_="tiles")


def _of_limit(workloads: Iterable[WorkloadVerdict]) -> float | None:
    """Limit over time, geometric mean; None where a timed workload has no limit."""
    timed = [(w.limit_ns, w.time_ns.estimate) for w in workloads if w.time_ns is not None]
    shares = [limit / time for limit, time in timed if limit is not None]
    return geomean(shares) if shares and len(shares) == len(timed) else None


def _tile(label: str, value: str, under: str) -> Html:
    return element(
        "div",
        element("dt", label),
        element("dd", value, class_="value"),
        element("dd", under, class_="bounds") if under else None,
    )


# --- sections --------------------------------------------------------------------------------------


def section(title: str, *children: Html | None) -> Html:
    """A part of the page under its heading."""
    return element("section", element("h2", title), *children)


def reason_section(verdict: Verdict) -> Html | None:
    """Why it is not accepted, in full, with what the author needs to repair it."""
    faulty = [w for w in verdict.workloads if w.error]
    lines = (verdict.reason or "").splitlines()[1:]
    blocks = [element("pre", "\n".join(lines), class_="wrap")] if lines else []
    if faulty:
        rows = [(text.axes(w.axes), w.status, w.error or "") for w in faulty]
        blocks.append(
            element(
                "ul",
                *(
                    element("li", element("code", axes), f" {status}: {error}")
                    for axes, status, error in rows
                ),
                class_="findings",
            )
        )
    for title, body in (("Detail", verdict.detail), ("Output of the kernel", verdict.output)):
        if body:
            blocks.append(element("p", title, class_="note"))
            blocks.append(element("pre", body.rstrip("\n"), class_="wrap"))
    return section("What went wrong", *blocks) if blocks else None


@dataclass(frozen=True)
class Column:
    """A column: its header, and what it holds: kind, axes, number (at the right), status."""

    header: str
    kind: str = ""


def table(columns: Sequence[Column], rows: Iterable[tuple[Sequence[str], str | None]]) -> Html:
    """A table that becomes cards on a phone. rows: (cells, class of the row)."""
    heads = [element("th", column.header, scope="col", class_=column.kind or None) for column in columns]
    body = [
        element(
            "tr",
            *(_cell(column, cell) for column, cell in zip(columns, cells, strict=True)),
            class_=kind,
        )
        for cells, kind in rows
    ]
    return element(
        "div",
        element("table", element("thead", element("tr", *heads)), element("tbody", *body), class_="cards"),
        class_="scroll",
    )


def _cell(column: Column, cell: str) -> Html:
    empty = " empty" if cell == text.ABSENT else ""
    kind = f"{column.kind}{empty}".strip() or None
    content = cell if isinstance(cell, Html) else element("span", cell)
    if column.kind == "status":
        content = element("span", cell, class_=cell)
    return element("td", content, data_label=column.header, class_=kind)


def workload_section(verdict: Verdict) -> Html | None:
    """A row a workload, with the columns of the terminal."""
    if not verdict.workloads:
        return None
    digits = _DIGITS.get(verdict.device.kind, 4)
    timed = any(w.time_ns is not None for w in verdict.workloads)
    claimed = not timed and any(w.claimed_time_ns is not None for w in verdict.workloads)
    modes = any(w.mode is not None for w in verdict.workloads)
    columns = [Column("workload", "kind"), Column("axes", "axes")]
    columns += [Column("mode")] if modes else []
    columns += [Column("time CLAIMED", "number")] if claimed else []
    if timed:
        columns += [Column("time", "number")] + ([] if modes else [Column("p5", "number")])
        columns += [Column("vs baseline", "number"), Column("of floor", "number")]
    columns += [Column("error/tol", "number"), Column("status", "status")]
    rows = []
    for w in verdict.workloads:
        cells: list[str] = [w.kind.value, text.axes(w.axes)]
        cells += [w.mode or text.ABSENT] if modes else []
        cells += [text.time(w.claimed_time_ns, digits)] if claimed else []
        if timed:
            cells += [_time(w, digits)] + ([] if modes else [text.time(w.time_ns.p05 if w.time_ns else None)])
            cells += [_speedup(w), text.percent(_of_floor(w))]
        cells += [text.number(w.error_over_tolerance), w.status]
        rows.append((cells, "timed" if w.time_ns is not None else None))
    notes = [element("p", f"{text.ABSENT} {why}", class_="note") for why in words.absences(verdict)]
    return section("Workloads", table(columns, rows), *notes)


def _time(workload: WorkloadVerdict, digits: int) -> str:
    time = workload.time_ns
    if time is None:
        return text.ABSENT
    bounds = text.time_bounds(time.estimate, time.ci_low, time.ci_high, digits)
    return _bounded(text.time(time.estimate, digits), bounds)


def _speedup(workload: WorkloadVerdict) -> str:
    if workload.speedup is None:
        return text.ABSENT
    said = text.speedup(workload.speedup, workload.speedup_ci)
    bounds = workload.speedup_ci
    return _bounded(said, text.speedup_bounds(workload.speedup, bounds)) if bounds else said


def _bounded(estimate: str, bounds: str) -> Html:
    return element("span", estimate, element("span", bounds, class_="bounds"))


def _of_floor(workload: WorkloadVerdict) -> float | None:
    if workload.floor_ns is None or workload.time_ns is None:
        return None
    return workload.floor_ns / workload.time_ns.estimate


def limit_section(verdict: Verdict, calibration: Calibration | None, roof: Html | None) -> Html | None:
    """The roofline in numbers under its chart, and the ceilings that it stands on."""
    timed = [w for w in verdict.workloads if w.time_ns is not None]
    if not timed:
        return None
    digits = _DIGITS.get(verdict.device.kind, 4)
    columns = [Column("axes", "axes"), Column("bytes a second", "number"), Column("FLOP a second", "number")]
    columns += [Column("limit", "number"), Column("of limit", "number"), Column("headroom", "number")]
    columns += [Column("bound")]
    rows = []
    for w in timed:
        limit = w.floor_ns if w.limit_ns is None else w.limit_ns
        share = limit / w.time_ns.estimate if limit is not None and w.time_ns is not None else None
        cells = [text.axes(w.axes), text.si(w.bytes_per_s, "B/s"), text.si(w.flops_per_s, "FLOP/s")]
        cells += [text.time(limit, digits), text.percent(share), text.time(w.headroom_ns, digits)]
        rows.append(([*cells, w.bound or text.ABSENT], None))
    return element("section", roof, table(columns, rows), _ceilings(calibration))


def _ceilings(calibration: Calibration | None) -> Html:
    if calibration is None:
        return element(
            "p", "No ceilings: this machine is not calibrated; run hotlap calibrate.", class_="note"
        )
    said = f"Ceilings of this machine, measured {calibration.measured_at[:10]}"
    rows = [([ceiling.name, *_ceiling(ceiling)], None) for ceiling in calibration.ceilings] or [
        (
            [f"{kind} at {text.si(b.footprint_bytes, 'B')}", text.si(getattr(b, kind), "B/s"), "best seen"],
            None,
        )
        for b in calibration.bandwidth
        for kind in ("read", "write", "copy", "add")
    ]
    columns = [Column("ceiling"), Column("value", "number"), Column("95 % interval", "number")]
    return element("details", element("summary", said), table(columns, rows))


def _ceiling(ceiling: Ceiling) -> tuple[str, str]:
    """Its median, and the interval of that."""
    value = ceiling.value
    bounds = (value.estimate, value.ci_low, value.ci_high)
    if ceiling.unit == "ns":
        return text.time(value.estimate), text.time_bounds(*bounds)
    said, _, interval = text.si_interval(*bounds, ceiling.unit).partition(" [")
    return said, f"[{interval}"


def figures(verdict: Verdict, run: Run | None, calibration: Calibration | None) -> list[Html | None]:
    """The charts; none where nothing was timed, which the table has said already."""
    drawn = charts(verdict, run, calibration)
    timed = any(w.time_ns is not None for w in verdict.workloads)
    return [figure(chart) if timed else None for chart in drawn]


def figure(chart: Chart | Absent) -> Html:
    """A chart in two sizes under its title, or why there is none."""
    if isinstance(chart, Absent):
        return section(chart.name.capitalize(), element("p", f"Not drawn: {chart.reason}.", class_="muted"))
    wide, narrow = (
        element("div", picture(chart, width, name), class_=name)
        for width, name in ((WIDE, "wide"), (NARROW, "narrow"))
    )
    return section(
        chart.title, element("p", chart.reading, class_="reading"), element("figure", wide, narrow)
    )


def picture(chart: Chart, width: float, name: str) -> Html:
    """A chart alone, without title and provenance, in the page's colours and type."""
    from hotlap.plots import canvas
    from hotlap.plots.canvas import Area

    content = io.BytesIO()
    height = chart.height(width)
    with canvas.style():
        drawing = canvas.new_figure(width, height)
        chart.draw(Area(drawing, 0, 0, width, height))
        drawing.savefig(content, format="svg", transparent=True, metadata={"Creator": None, "Date": None})
    roles = ("ink", "muted", "rule", "paper", "submission", "baseline", "limit", "band", "lane")
    colours = {getattr(canvas, role.upper()): f"var(--{role})" for role in roles}
    return inline_svg(content.getvalue(), f"{chart.name}-{name}", f"{chart.title}. {chart.reading}", colours)


def findings_section(findings: Sequence[Finding]) -> Html | None:
    """Facts with their lines; they never decide."""
    if not findings:
        return None
    items = [
        element(
            "li",
            element("strong", found.rule),
            f" {found.fact}",
            element("span", _place(found), class_="where"),
        )
        for found in findings
    ]
    lead = element(
        "p", "Facts about the source or the run, for a reader. They never decide.", class_="reading"
    )
    return section("Findings", lead, element("ul", *items, class_="findings"))


def _place(found: Finding) -> str:
    return found.file if found.line is None else f"{found.file}, line {found.line}"


def facts(pairs: Iterable[tuple[str, str | None]]) -> Html:
    """Names and what they are; what is not known is left out."""
    shown = [joined(element("dt", name), element("dd", said)) for name, said in pairs if said]
    return element("dl", *shown, class_="facts")


def measured_section(verdict: Verdict) -> Html:
    """Who held the clock, how often, what was checked, and how long it took."""
    spent = verdict.timing
    spans = {"queued": spent.queued_s, "build": spent.build_s, "check": spent.check_s}
    spans |= {"measure": spent.measure_s, "total": spent.total_s}
    took = ", ".join(f"{name} {text.seconds(s)}" for name, s in spans.items() if s >= 0.05 or name == "total")
    return section("How it was measured", facts([*words.measured(verdict), ("Took", took)]))


def machine_section(device: Device, verdict: Verdict) -> Html:
    """The fingerprint of the device, and what made the verdict."""
    low, high = device.sm_clock_mhz or (0, 0)
    clock = f"{low if low == high else f'{low} to {high}'} MHz while timing" if high else None
    cores = "multiprocessors" if device.kind == "cuda" else "cores"
    contestant = ", ".join(map(str, device.contestant_cpus))
    pairs = [
        ("Device", device.name),
        ("UUID", device.uuid),
        (cores.capitalize(), str(device.cores)),
        ("Memory", text.si(device.memory_bytes, "B")),
        ("Capability", device.capability),
        ("SM clock", clock),
        ("Driver", device.driver if device.kind == "cuda" else None),
        ("CUDA", device.cuda),
        ("System", device.os if device.kind == "cuda" else f"{device.os} {device.driver}"),
        ("Contestant on", f"CPU {contestant}, frozen by {device.freezer}" if contestant else None),
        ("Python", device.python),
        ("PyTorch", device.torch),
        ("hotlap", f"{verdict.hotlap_version}, judge {verdict.judge_version}"),
    ]
    return section("Machine and versions", facts(pairs))


def reproduce_section(verdict: Verdict, source: str | None) -> Html:
    """The command, what it must be given, and the source, folded."""
    pairs = [
        ("Problem", verdict.problem),
        (
            "Submission",
            f"{verdict.submission.file} ({verdict.submission.lang}), sha256 {verdict.submission.sha256}",
        ),
        ("Run", verdict.run),
        ("Started", verdict.started_at),
    ]
    shown = None
    if source:
        shown = element("details", element("summary", "Source"), element("pre", source.rstrip("\n")))
    return section("Reproduce", element("pre", words.reproduce(verdict), class_="wrap"), facts(pairs), shown)


def footer(verdict: Verdict) -> Html:
    """What made the page."""
    said = (
        f"Judged by hotlap {verdict.hotlap_version} on {verdict.started_at[:10]}. Intervals hold 95 %. "
        "A time speaks of this machine during this run."
    )
    return element("footer", said)
