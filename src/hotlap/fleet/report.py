"""The table of a suite run as Markdown, as a page, as a chart and as Parquet."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from hotlap import text
from hotlap.errors import UsageError
from hotlap.fleet.results import (
    BEST,
    OVERALL,
    Against,
    Estimate,
    Group,
    Judged,
    PassAtK,
    Share,
    SuiteHeader,
    SuiteReport,
    SuiteRow,
    by_problem,
    group_name,
    is_correct,
    with_best,
)
from hotlap.plots import fast_p
from hotlap.plots.chart import Provenance, device_words
from hotlap.plots.html import Html, element
from hotlap.plots.report import POLICY, Column, figure, section, table

NO_PYARROW = "no rows.parquet: pyarrow is not installed; install it: pip install 'hotlap[parquet]'"
HOW = (
    "A share is of problems, with its 95 % interval (Clopper-Pearson) as if the problems were drawn from "
    "many more. fast_p counts a problem that is solved right with speedup > p; where it has several samples, "
    "by the share of them. Sure: the lower bound of the speedup's 95 % interval is > p."
)
SAMPLE_HEADS = ("problem", "sample", "status", "time", "speedup", "why")


# --- cells -----------------------------------------------------------------------------------------


def share_cell(found: Share | None) -> str:
    """`50 % [7, 93]`."""
    if found is None:
        return text.ABSENT
    return f"{text.percent(found.share)} [{100 * found.ci_low:.0f}, {100 * found.ci_high:.0f}]"


def speedup_cell(found: Estimate | None) -> str:
    """`1.42x [1.40, 1.44]`."""
    if found is None:
        return text.ABSENT
    if found.ci_low is None or found.ci_high is None:
        return text.speedup(found.value)
    bounds = (found.ci_low, found.ci_high)
    return f"{text.speedup(found.value, bounds)} {text.speedup_bounds(found.value, bounds)}"


def time_cell(found: Estimate | None) -> str:
    """`312.4 µs [311.8, 313.1]`."""
    if found is None:
        return text.ABSENT
    if found.ci_low is None or found.ci_high is None:
        return text.time(found.value)
    return f"{text.time(found.value)} {text.time_bounds(found.value, found.ci_low, found.ci_high)}"


def count_heads() -> tuple[str, ...]:
    """Columns of what was judged."""
    return (
        "suite",
        "problems",
        "samples",
        "accepted",
        "wrong",
        "failed",
        "suspect",
        "void",
        "missing",
        "correct",
    )


def count_cells(group: Group) -> tuple[str, ...]:
    """What was judged of a group; all but problems and correct are samples."""
    numbers = (
        *(group.problems, group.samples, group.accepted, group.wrong),
        *(group.failed, group.suspect, group.void, group.missing),
    )
    return (group.name, *map(str, numbers), share_cell(group.correct))


def fast_heads(p_values: Sequence[float]) -> tuple[str, ...]:
    """Columns of a table of fast_p."""
    return ("suite", "against", *(f"fast_{p:g}" for p in p_values), "geomean", "of problems")


def fast_cells(group: Group, against: Against, *, sure: bool) -> tuple[str, ...]:
    """fast_p of a group against one baseline, or of what is sure."""
    shares = [share_cell(each.sure if sure else each.share) for each in against.fast_p]
    if sure:
        return (group.name, f"{against.baseline}, sure", *shares, "", "")
    return (group.name, against.baseline, *shares, speedup_cell(against.geomean), str(against.problems))


def fast_rows(report: SuiteReport) -> list[tuple[str, ...]]:
    """Two rows a group and baseline: as measured, and what is sure."""
    return [
        fast_cells(group, against, sure=sure)
        for group in report.groups
        for against in group.against
        for sure in (False, True)
    ]


def p_values(report: SuiteReport) -> list[float]:
    return [each.p for each in report.groups[0].against[0].fast_p]


def pass_heads(found: PassAtK) -> tuple[str, ...]:
    return ("suite", "k", "pass@k", f"fast_1@k against {found.baseline}")


def pass_rows(report: SuiteReport) -> list[tuple[str, ...]]:
    """A row a group and k; none where every problem has one sample."""
    return [
        (group.name, str(each.k), share_cell(each.share), share_cell(each.fast))
        for group in report.groups
        for each in group.pass_at_k
    ]


def sample_rows(header: SuiteHeader, rows: Sequence[SuiteRow]) -> list[tuple[str, ...]]:
    """A row a sample, in the order of problems; a problem without one says so."""
    first = header.baselines[0]
    found: list[tuple[str, ...]] = []
    for one in by_problem(header, rows):
        name = one.problem.partition("@")[0]
        found += [
            (
                name,
                row.sample,
                row.status.value,
                time_cell(row.time_ns),
                speedup_cell(row.speedups.get(first)),
                _first_line(row.reason or row.no_speedup),
            )
            for row in one.rows
        ]
        if one.missing:
            absent = f"{one.missing} missing" if one.rows else "no sample"
            found.append((name, text.ABSENT, absent, text.ABSENT, text.ABSENT, ""))
    return found


def _first_line(reason: str | None) -> str:
    line = text.clean((reason or "").partition("\n")[0], one_line=True)
    return line if len(line) <= 160 else f"{line[:157]}..."


def where(report: SuiteReport) -> str:
    """Machine, versions and date, in a line."""
    device = device_words(report.device) if report.device else []
    version = f"hotlap {report.hotlap_version}" if report.hotlap_version else "imported"
    return " · ".join(part for part in (*device, version, (report.started_at or "")[:10]) if part)


# --- Markdown --------------------------------------------------------------------------------------


def markdown(report: SuiteReport, header: SuiteHeader, rows: Sequence[SuiteRow]) -> str:
    """The whole report."""
    parts = [f"# {_escaped(report.suite)}", _escaped(where(report))]
    parts += [_table(count_heads(), [count_cells(group) for group in report.groups])]
    parts += [_table(fast_heads(p_values(report)), fast_rows(report)), HOW]
    if at_k := pass_rows(report):
        parts += ["## Several samples", _table(pass_heads(report.groups[0].pass_at_k[0]), at_k)]
    if report.notes:
        parts += ["## Read this", "\n".join(f"- {_escaped(note)}" for note in report.notes)]
    parts += ["## Samples", f"Speedup against {_escaped(header.baselines[0])}."]
    parts += [_table(SAMPLE_HEADS, sample_rows(header, rows))]
    return "\n\n".join(parts) + "\n"


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(map(_escaped, line))} |" for line in lines)


def _escaped(cell: str) -> str:
    """Text of others that starts no markup: not a column, not a tag, not a link."""
    cleaned = text.clean(cell, one_line=True).replace("](", "]\\(")
    return "".join(f"\\{c}" if c in "|<>`*" else c for c in cleaned)


# --- chart -----------------------------------------------------------------------------------------


def curves(header: SuiteHeader, rows: Sequence[SuiteRow], report: SuiteReport) -> list[fast_p.Curve]:
    """One for each group and baseline that somebody was timed against."""
    judged = by_problem(header, (with_best(row, header.baselines) for row in rows))
    found = []
    for group in report.groups:
        mine = [one for one in judged if one.draws and group.name in (OVERALL, group_name(one.problem))]
        for baseline in report.baselines:
            if points := _points(mine, baseline):
                found.append(fast_p.Curve(f"{group.name} against {baseline}", points, len(mine)))
    return found


def _points(judged: Sequence[Judged], baseline: str) -> tuple[fast_p.Point, ...]:
    return tuple(
        fast_p.Point(found.value, found.ci_low, 1 / one.draws)
        for one in judged
        for row in one.counted
        if is_correct(row) and (found := row.speedups.get(baseline)) is not None
    )


def provenance(report: SuiteReport) -> Provenance:
    """Above and below the chart."""
    count = report.groups[-1].samples
    return Provenance(report.suite, f"n = {count} sample{'s' * (count != 1)} · {where(report)}")


# --- page ------------------------------------------------------------------------------------------


def page(report: SuiteReport, header: SuiteHeader, rows: Sequence[SuiteRow]) -> str:
    """One page that needs nothing else: no script, no request, the curves inside. Needs matplotlib."""
    from hotlap.plots import report as pages

    style = Path(pages.__file__).with_name("report.css").read_text(encoding="utf-8")
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", http_equiv="Content-Security-Policy", content=POLICY),
        element("meta", name="color-scheme", content="light dark"),
        element("title", f"{report.suite} · fast_p"),
        element("style", Html(style)),
    )
    drawn = curves(header, rows, report)
    top = element(
        "header",
        element("h1", report.suite),
        element("p", lead(report), class_="lead"),
        element("p", where(report), class_="where"),
        *(element("p", note, class_="warning") for note in report.notes),
    )
    main = element(
        "main",
        section("fast_p", element("p", HOW, class_="reading"), _fast_table(report)),
        figure(fast_p.chart(drawn)) if drawn else None,
        _pass_section(report),
        section("What was judged", _plain_table(count_heads(), [count_cells(g) for g in report.groups])),
        section(f"Samples, against {header.baselines[0]}", _sample_table(header, rows)),
    )
    foot = element("footer", "Judged by hotlap. A time speaks of this machine during this run.")
    return f"<!doctype html>\n{element('html', head, element('body', top, main, foot), lang='en')}\n"


def lead(report: SuiteReport) -> str:
    """The result in a sentence."""
    group = report.groups[-1]
    if group.correct is None:
        return f"Nothing of {_problems(group.problems)} could be judged."
    strict = group.against[-1]
    name = "the best of these baselines" if strict.baseline == BEST else f"the baseline ({strict.baseline})"
    drawn = "a sample drawn for each problem: " if group.pass_at_k or group.samples > group.problems else ""
    said = f"{drawn}{text.percent(group.correct.share)} of {_problems(group.correct.of)} solved right"
    one = next((each for each in strict.fast_p if each.p == 1), None)
    if one is not None and one.share is not None:
        sure = "" if one.sure is None else f", surely {text.percent(one.sure.share)}"
        said += f"; {text.percent(one.share.share)} right and faster than {name}{sure}"
    return f"{said[0].upper()}{said[1:]}."


def _problems(count: int) -> str:
    return "1 problem" if count == 1 else f"{count} problems"


def _plain_table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> Html:
    columns = [Column(heads[0], "axes"), *(Column(each, "number") for each in heads[1:])]
    return table(columns, [(row, None) for row in rows])


def _fast_table(report: SuiteReport) -> Html:
    heads = fast_heads(p_values(report))
    columns = [
        Column(heads[0], "kind"),
        Column(heads[1], "axes"),
        *(Column(each, "number") for each in heads[2:]),
    ]
    return table(columns, [(row, None) for row in fast_rows(report)])


def _pass_section(report: SuiteReport) -> Html | None:
    rows = pass_rows(report)
    if not rows:
        return None
    return section("Several samples", _plain_table(pass_heads(report.groups[0].pass_at_k[0]), rows))


def _sample_table(header: SuiteHeader, rows: Sequence[SuiteRow]) -> Html:
    kinds = ("kind", "axes", "status", "number", "number", "")
    columns = [Column(head, kind) for head, kind in zip(SAMPLE_HEADS, kinds, strict=True)]
    return table(columns, [(row, None) for row in sample_rows(header, rows)])


# --- files -----------------------------------------------------------------------------------------


def write_parquet(rows: Sequence[SuiteRow], baselines: Sequence[str], path: Path) -> None:
    """A row a sample, a column a field; speedups by baseline. Raises UsageError without pyarrow, OSError."""
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ModuleNotFoundError:
        raise UsageError(NO_PYARROW) from None
    columns: dict[str, tuple[Any, Callable[[SuiteRow], Any]]] = {
        "problem": (pa.string(), lambda row: row.problem),
        "sample": (pa.string(), lambda row: row.sample),
        "file": (pa.string(), lambda row: row.file),
        "sha256": (pa.string(), lambda row: row.sha256),
        "lang": (pa.string(), lambda row: row.lang),
        "status": (pa.string(), lambda row: row.status.value),
        "fault": (pa.string(), lambda row: row.fault.value if row.fault else None),
        "reason": (pa.string(), lambda row: row.reason),
        "compiled": (pa.bool_(), lambda row: row.compiled),
        "no_speedup": (pa.string(), lambda row: row.no_speedup),
        "attempts": (pa.int64(), lambda row: row.attempts),
        "runs": (pa.list_(pa.string()), lambda row: list(row.runs)),
        "trust": (pa.string(), lambda row: row.trust),
        "seconds": (pa.float64(), lambda row: row.seconds),
        "started_at": (pa.string(), lambda row: row.started_at),
        **_bounds(pa, "time_ns", lambda row: row.time_ns),
    }
    for name in baselines:
        columns |= _bounds(pa, f"speedup_{name}", partial(_speedup_of, name))
        columns[f"baseline_ns_{name}"] = (pa.float64(), partial(_baseline_ns_of, name))
    arrays = {name: pa.array([value(row) for row in rows], kind) for name, (kind, value) in columns.items()}
    parquet.write_table(pa.table(arrays), path)


def _speedup_of(baseline: str, row: SuiteRow) -> Estimate | None:
    return row.speedups.get(baseline)


def _baseline_ns_of(baseline: str, row: SuiteRow) -> float | None:
    return row.baseline_ns.get(baseline)


def _bounds(
    pa: Any, name: str, estimate: Callable[[SuiteRow], Estimate | None]
) -> dict[str, tuple[Any, Callable[[SuiteRow], Any]]]:
    def part(field: str) -> Callable[[SuiteRow], Any]:
        return lambda row: getattr(estimate(row), field, None)

    return {
        name: (pa.float64(), part("value")),
        f"{name}_ci_low": (pa.float64(), part("ci_low")),
        f"{name}_ci_high": (pa.float64(), part("ci_high")),
    }
