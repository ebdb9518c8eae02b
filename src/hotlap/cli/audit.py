"""`hotlap audit`: is a problem fit to judge kernels by?"""

import re
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from hotlap import __version__
from hotlap.cli import console, options
from hotlap.cli.options import short_name
from hotlap.cli.progress import Reporter, reporting
from hotlap.errors import DeviceError, ProblemError, UsageError
from hotlap.model import Problem
from hotlap.text import ABSENT, axes, clean, number, percent, seconds, si

if TYPE_CHECKING:
    from hotlap.audit.report import Audit, AuditFinding, NotAudited, ProblemAudit

EPILOG = options.examples(
    "hotlap audit basics/softmax",
    "hotlap audit basics",
    "hotlap audit path/to/suite --seconds 60 --memory 16GB",
    "hotlap audit KernelBench/level1 --shrink",
    "hotlap audit basics --json | jq '.problems[] | select(.verdict != \"sound\") | .problem'",
)

_UNITS = {
    "B": 1,
    "KB": 10**3,
    "MB": 10**6,
    "GB": 10**9,
    "TB": 10**12,
    "KIB": 2**10,
    "MIB": 2**20,
    "GIB": 2**30,
}
_STYLES = {"sound": "green", "weak": "yellow", "broken": "bold red", "not audited": "dim", "note": "dim"}
_MOST_PLACES = 3  # workloads named beside a finding
_REASON_CHARS = 70  # of a suite's line
_FAILS = ("weak", "broken")
CALLS_OF_AN_AUDIT = 130  # of the reference, about


def audit(
    target: Annotated[
        str,
        typer.Argument(
            metavar="PROBLEM|SUITE",
            help="A problem (suite/name or a path), a bundled suite, or a folder of problems.",
            show_default=False,
            autocompletion=options.complete_problem,
        ),
    ],
    memory: Annotated[
        str, typer.Option("--memory", metavar="SIZE", help="Memory that the audit of a problem may take.")
    ] = "4GB",
    limit_s: Annotated[
        float, typer.Option("--seconds", min=0.1, help="Time that the audit of a problem may take.")
    ] = 20.0,
    shrink: Annotated[
        bool,
        typer.Option(
            "--shrink", help="Of KernelBench files: make their constants smaller until they fit first."
        ),
    ] = False,
    json: options.JsonFlag = False,
    verbose: options.Verbose = False,
) -> None:
    """Judge problems, not kernels: would a kernel that does not do the work pass, would a right one fail?

    Runs on the CPU, with its workloads. What exceeds memory or time is not audited, and says so. Exit code: 0
    sound; 1 weak or broken; 2 usage, or a problem that cannot be read; 3 nothing could be audited.
    """
    from hotlap.referee.device import open_device

    memory_bytes = size_in_bytes(memory)
    names = targets_of(target)
    with (
        reporting(verbose=verbose) as report,
        open_device("cpu", on_wait=report.waiting),
        tempfile.TemporaryDirectory(prefix="hotlap-audit-") as folder,
    ):
        room = Room(memory_bytes, limit_s, Path(folder) if shrink else None)
        made = _audit(target, names, room, report)
    if json:
        from hotlap.schema import to_dict

        console.print_json(to_dict(made))
    else:
        console.stdout().print(report_of(made))
    raise typer.Exit(exit_code(made))


def exit_code(made: "Audit") -> int:
    """1 when a problem is weak or broken, 3 when none could be audited, else 0."""
    verdicts = {problem.verdict.value for problem in made.problems}
    if verdicts & set(_FAILS):
        return console.REJECTED
    return console.ACCEPTED if "sound" in verdicts else console.VOID


def size_in_bytes(text: str) -> int:
    """`4GB`, `512 MiB` or `1e9` as a number of bytes. Raises UsageError."""
    match = re.fullmatch(r"\s*([0-9.]+(?:[eE][0-9]+)?)\s*([A-Za-z]*)\s*", text)
    unit = _UNITS.get((match[2] or "B").upper()) if match else None
    try:
        found = int(float(match[1]) * unit) if match and unit else 0
    except (ValueError, OverflowError):
        found = 0
    if found < 1:
        raise UsageError(
            f"--memory {text!r} is not a size; allowed: a number with B, kB, MB, GB, TB, KiB, MiB or GiB; "
            "write for example 4GB"
        )
    return found


# --- which problems --------------------------------------------------------------------------------


def targets_of(target: str) -> list[str | Problem]:
    """The problems that a name or path stands for, as problems, or as paths that `find` understands: one that
    cannot be read must not keep the others of its suite from being audited.

    Raises UsageError, and ProblemError for a single problem that cannot be read.
    """
    from hotlap.problems.find import bundled, find

    if "/" not in target and target in {problem.suite for problem in bundled()}:
        return list(bundled(target))
    folder = Path(target)
    inside = _problems_in(folder) if folder.is_dir() else []
    return list(inside) or [find(target)]


def _problems_in(folder: Path) -> list[str]:
    """Paths of the problems of a folder that is a suite; none where it is a problem itself."""
    from hotlap.problems.kernelbench import recognises

    if _is_problem(folder):
        return []
    inside = (
        entry
        for entry in folder.iterdir()
        if _is_problem(entry) or (entry.suffix == ".py" and entry.is_file() and recognises(entry))
    )
    return [str(path) for path in sorted(inside, key=_in_order)]


def _is_problem(folder: Path) -> bool:
    return any((folder / name).is_file() for name in ("problem.toml", "task.yml"))


def _in_order(path: Path) -> tuple[int, str]:
    """By the number that a name starts with, then by name."""
    match = re.match(r"\d+", path.name)
    return (int(match[0]) if match else 0, path.name)


@dataclass(frozen=True)
class Room:
    """What the audit of a problem may take, and where smaller copies of KernelBench files go, if any."""

    memory_bytes: int
    limit_s: float
    shrunk: Path | None


def _audit(target: str, targets: Sequence[str | Problem], room: Room, report: Reporter) -> "Audit":
    from hotlap.audit.audit import counts_of
    from hotlap.audit.report import Audit

    start = monotonic()
    made = []
    for count, one in enumerate(targets, start=1):
        place = f"{count}/{len(targets)} " if len(targets) > 1 else ""

        def told(text: str, part: float | None, place: str = place) -> None:
            report(f"{place}{text}", part)

        made.append(_audit_one(one, room, told, alone=len(targets) == 1))
    report.hide()
    return Audit(target, counts_of(made), tuple(made), monotonic() - start, __version__)


def _audit_one(
    one: str | Problem,
    room: Room,
    progress: "Callable[[str, float | None], None]",
    *,
    alone: bool,
) -> "ProblemAudit":
    """One problem; of several, one that cannot be read is broken and the others go on."""
    from hotlap.audit.audit import audit_problem, unusable
    from hotlap.problems.find import find

    name = "/".join(Path(one).parts[-2:]) if isinstance(one, str) else short_name(one)
    try:
        problem = find(one) if isinstance(one, str) else one
        if problem.contract == "ModelNew" and room.shrunk is not None:
            problem = _shrunk(problem, room)
        return audit_problem(problem, room.memory_bytes, room.limit_s, progress)
    except (ProblemError, DeviceError) as error:
        if alone:
            raise
        return unusable(name, error)
    except Exception as error:  # the boundary: of a suite, the others go on
        if alone:
            raise
        return unusable(name, ProblemError(f"{type(error).__name__}: {error}"))


def _shrunk(problem: Problem, room: Room) -> Problem:
    """A KernelBench problem with smaller constants, or as it is where it fits. Raises DeviceError where its
    constants cannot be made small enough."""
    from hotlap.problems.find import find
    from hotlap.problems.shrink import Budget, shrink_file

    source, folder = problem.folder, room.shrunk or Path()
    made = shrink_file(source, folder, Budget(room.memory_bytes, room.limit_s / CALLS_OF_AN_AUDIT))
    if made.reason is not None:
        raise DeviceError(f"{source.name}: {made.reason}")
    return find(str(folder / source.parent.name / source.name))


# --- what is printed -------------------------------------------------------------------------------


def report_of(made: "Audit") -> Group:
    """One problem in full; of several a line each, what is wrong, and how many there are of each."""
    if len(made.problems) == 1:
        return Group(*_in_full(made.problems[0]))
    parts: list[RenderableType] = [_lines(made.problems), Text("")]
    for problem in made.problems:
        if problem.verdict.value in _FAILS:
            parts += [*_in_full(problem), Text("")]
    return Group(*parts, Text(_summary(made)))


def _summary(made: "Audit") -> str:
    counts = ", ".join(f"{count} {verdict.value}" for verdict, count in made.counts.items())
    return f"{len(made.problems)} problems: {counts or 'none'} · {seconds(made.seconds)}"


def _lines(problems: "Sequence[ProblemAudit]") -> Table:
    table = _table("verdict")
    table.add_column("problem", no_wrap=True)
    table.add_column("workloads", no_wrap=True)
    table.add_column("why")
    for problem in problems:
        table.add_row(
            _word(problem.verdict.value),
            Text(clean(problem.problem.partition("@")[0], one_line=True)),
            f"{len(problem.audited)} of {problem.workloads}",
            Text(_clipped(clean(_reason(problem), one_line=True))),
        )
    return table


def _clipped(text: str) -> str:
    """What fits; it stands in full below."""
    return text if len(text) <= _REASON_CHARS else f"{text[: _REASON_CHARS - 1]}…"


def _reason(problem: "ProblemAudit") -> str:
    faults = [finding for finding in problem.findings if finding.severity.value in _FAILS]
    if faults:
        more = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
        return f"{faults[0].check}: {faults[0].fact}{more}"
    if problem.not_audited and problem.verdict.value == "not audited":
        return _not_audited(problem.not_audited)[0]
    return ""


def _in_full(problem: "ProblemAudit") -> list[RenderableType]:
    parts: list[RenderableType] = [_headline(problem)]
    if problem.findings:
        table = _table("", "check", "what was found", "where")
        for finding in problem.findings:
            table.add_row(
                _word(finding.severity.value),
                finding.check,
                Text(clean(_fact(finding), one_line=True)),
                Text(_places(finding, problem)),
            )
        parts.append(table)
    parts += [Text(clean(line, one_line=True), style="dim") for line in _footnotes(problem)]
    return parts


def _headline(problem: "ProblemAudit") -> Text:
    done = f"{len(problem.audited)} of {problem.workloads} workloads"
    said = f"  {problem.problem}  {done}, {seconds(problem.seconds)}"
    return Text.assemble(_word(problem.verdict.value), clean(said, one_line=True))


def _fact(finding: "AuditFinding") -> str:
    numbers = ", ".join(f"{_words(name)} {_shown(name, value)}" for name, value in finding.numbers.items())
    return f"{finding.fact}; {numbers}" if numbers else finding.fact


def _places(finding: "AuditFinding", problem: "ProblemAudit") -> str:
    if not finding.workloads:
        return ""
    if len(finding.workloads) == len(problem.audited) > 1:
        return "all workloads"
    shown = "; ".join(axes(each) for each in finding.workloads[:_MOST_PLACES])
    more = len(finding.workloads) - _MOST_PLACES
    return f"{shown}; {more} more" if more > 0 else shown


def _footnotes(problem: "ProblemAudit") -> list[str]:
    lines = _not_audited(problem.not_audited)
    passed = [
        check for check in problem.checks if check not in {finding.check for finding in problem.findings}
    ]
    if passed:
        lines.append(f"nothing found by: {', '.join(passed)}")
    if problem.measures:
        shown = (f"{_words(name)} {_shown(name, value)}" for name, value in problem.measures.items())
        lines.append(f"measured: {', '.join(shown)}")
    if problem.call_bytes:
        sizes = (f"{profile} {si(size, 'B')}" for profile, size in problem.call_bytes.items())
        lines.append(f"largest call, inputs and outputs: {', '.join(sizes)}")
    return lines


def _not_audited(items: "Sequence[NotAudited]") -> list[str]:
    """A line for each reason and workload, with the checks that were left out for it."""
    groups: dict[tuple[str, str], list[str]] = {}
    for item in items:
        place = axes(item.axes) if item.axes else ""
        groups.setdefault((place, item.reason), []).extend([item.check] if item.check else [])
    return [
        f"not audited: {'; '.join(part for part in (place, ', '.join(checks)) if part)}: {reason}"
        for (place, reason), checks in groups.items()
    ]


def _words(name: str) -> str:
    return name.replace("_", " ")


def _shown(name: str, value: float) -> str:
    return percent(value) if "share" in name else number(value) if value is not None else ABSENT


def _word(word: str) -> Text:
    return Text(word, style=_STYLES.get(word, ""))


def _table(*headers: str) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for header in headers:
        table.add_column(header)
    return table
