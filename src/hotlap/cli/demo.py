"""`hotlap demo`: honest and dishonest kernels judged on this machine, each verdict in plain words."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

import typer
from rich.console import Group
from rich.table import Table
from rich.text import Text

from hotlap import text
from hotlap.cli import console, options, render
from hotlap.cli.judging import DEFAULT_DEVICE
from hotlap.cli.progress import Reporter, reporting
from hotlap.errors import HarnessError
from hotlap.model import Calibration, Problem, Status, Verdict
from hotlap.text import clean

if TYPE_CHECKING:
    from hotlap.referee.device import Device

EPILOG = options.examples("hotlap demo", "hotlap demo --json | jq '.[] | [.submission.file, .status]'")

_LIARS = Path(__file__).parent / "demo_kernels"


class Sort(StrEnum):
    """What a kernel of the demo is there to show."""

    right = "right"
    fast = "fast"
    wrong = "wrong"
    cheating = "cheating"


@dataclass(frozen=True)
class Case:
    """One kernel: where it is, what it does, the status it must get, and what that shows.

    `{pace}` in `shows` becomes what the interval of the measured speedup says.
    """

    sort: Sort
    problem: str
    file: str  # within the problem's solutions/, or a liar of demo_kernels/
    does: str
    expected: Status
    shows: str


CASES = (
    Case(
        Sort.right,
        "basics/vectoradd",
        "correct/torch_add.py",
        "calls the library",
        Status.accepted,
        "right, and {pace}, which is the same library call",
    ),
    Case(
        Sort.fast,
        "basics/vectoradd",
        "correct/streaming.cpp",
        "adds eight at a time in C++ and writes past the caches",
        Status.accepted,
        "right, and {pace}: what nobody reads again need not pass through the caches",
    ),
    Case(
        Sort.fast,
        "basics/softmax",
        "correct/vector_exp.cpp",
        "takes eight exponentials at once, in C++",
        Status.accepted,
        "right, and {pace}: its registers hold eight at a time",
    ),
    Case(
        Sort.wrong,
        "basics/softmax",
        "wrong/no_max.py",
        "computes the formula of the textbook",
        Status.wrong,
        "wrong: rows of large numbers are tested, and there it divides infinity by infinity",
    ),
    Case(
        Sort.wrong,
        "basics/vectoradd",
        "wrong/skips_tail.cpp",
        "adds eight at a time and forgets the rest",
        Status.wrong,
        "wrong: odd sizes are tested, and the last elements were never written",
    ),
    Case(
        Sort.cheating,
        "basics/vectoradd",
        "cached.py",
        "adds once, then repeats its first answer",
        Status.wrong,
        "caught: every call gets fresh inputs, so an old answer is a wrong one",
    ),
    Case(
        Sort.cheating,
        "basics/vectoradd",
        "returns_early.py",
        "says that it is done, and leaves the work to a thread",
        Status.wrong,
        "caught: the process is frozen when it says done, and the answer was not there",
    ),
    Case(
        Sort.cheating,
        "basics/vectoradd",
        "patched_clock.py",
        "stops every clock of its process, then adds five times",
        Status.accepted,
        "harmless: the clock is the referee's, so it got the slow time that it took",
    ),
)


def demo(json: options.JsonFlag = False, verbose: options.Verbose = False) -> None:
    """Judge bundled kernels on this machine: right, fast, wrong and cheating ones, and say why.

    Takes about a minute. Exit code: 0 when every verdict is as it must be, else 1, or 3 for a void one.
    """
    from hotlap.referee.device import open_device

    with (
        reporting(verbose=verbose) as report,
        open_device(DEFAULT_DEVICE, on_wait=report.waiting) as opened,
    ):
        teller = None if json else Teller(report)
        calibration = _calibration(opened, report, teller)
        verdicts = [judge_case(case, opened, calibration, report, teller) for case in CASES]
    if json:
        from hotlap.schema import to_dict

        console.print_json([to_dict(verdict) for verdict in verdicts])
    else:
        console.stdout().print(summary(CASES, verdicts))
    raise typer.Exit(exit_code(CASES, verdicts))


class Teller:
    """Tells a person what is being judged and what came of it, as it happens."""

    def __init__(self, report: Reporter) -> None:
        self._report = report
        self._out = console.stdout()
        self._told = 0

    def say(self, line: str) -> None:
        """One plain line."""
        self._report.hide()
        self._out.print(Text(clean(line)), soft_wrap=True)

    def judged(self, case: Case, verdict: Verdict) -> None:
        """Which kernel, what it does, and the line of verdict."""
        self._told += 1
        self.say(f"[{self._told}/{len(CASES)}] {case.sort}: {Path(case.file).name} {case.does}")
        # In a group, the line keeps its own rule of not being wrapped.
        self._out.print(Group(render.verdict_line(verdict), Text("")), crop=False)


def _calibration(opened: "Device", report: Reporter, teller: Teller | None) -> Calibration:
    """The stored calibration of the device, or a new one, which is then stored."""
    from hotlap.calibrate import calibrate, load_calibration

    stored = load_calibration(opened.info)
    if stored is not None:
        return stored
    if teller is not None:
        teller.say("this machine is not calibrated yet: measuring its bandwidth once, for the floors\n")
    return calibrate(opened, report)


def judge_case(
    case: Case, opened: "Device", calibration: Calibration, report: Reporter, teller: Teller | None
) -> Verdict:
    """The verdict on one kernel of the demo, told to whoever watches."""
    from hotlap.problems.find import find
    from hotlap.verdict import read_submission, verdict

    opened.warm_up(1)  # the next contestant starts while this one is looked up
    problem = find(case.problem)
    submission = read_submission(path_of(case, problem), "demo")
    given = verdict(problem, submission, opened, calibration, progress=report)
    if teller is not None:
        teller.judged(case, given)
    return given


def path_of(case: Case, problem: Problem) -> Path:
    """Where the kernel of a case lies. Raises HarnessError if the installation lacks it."""
    path = (_LIARS if "/" not in case.file else problem.folder / "solutions") / case.file
    if not path.is_file():
        raise HarnessError(f"{path}: a kernel of the demo is missing; install hotlap again")
    return path


def summary(cases: Sequence[Case], verdicts: Sequence[Verdict]) -> Group:
    """The closing table: kernel, verdict, speedup, one line in plain words."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for header in ("", "kernel", "verdict", "speedup", "in plain words"):
        table.add_column(header, overflow="fold")
    for case, verdict in zip(cases, verdicts, strict=True):
        table.add_row(
            case.sort.value,
            Path(case.file).name,
            Text(verdict.status.value, style=render.STATUS_STYLES[verdict.status]),
            text.speedup(verdict.score.speedup, verdict.score.speedup_ci) if verdict.score else text.ABSENT,
            Text(clean(in_plain_words(case, verdict))),
        )
    return Group(table, Text(""), _closing(cases, verdicts))


def in_plain_words(case: Case, verdict: Verdict) -> str:
    """What the verdict shows, or how it differs from the one that the case must get."""
    if verdict.status is case.expected:
        return case.shows.format(pace=pace(verdict))
    reason = (verdict.reason or "no reason given").splitlines()[0]
    if verdict.status is Status.void:
        return f"not judged: {reason}"
    return f"expected {case.expected}: {reason}"


def pace(verdict: Verdict) -> str:
    """The speedup in words, none of which says more than its interval does."""
    if verdict.score is None or verdict.score.speedup_ci is None:
        return "not compared with the baseline"
    low, high = verdict.score.speedup_ci
    if low > 1:
        return "faster than the baseline"
    return "slower than the baseline" if high < 1 else "about as fast as the baseline"


def _closing(cases: Sequence[Case], verdicts: Sequence[Verdict]) -> Text:
    if exit_code(cases, verdicts) == console.ACCEPTED:
        return Text("every verdict is the one it must be. Your turn:  hotlap init basics/vectoradd")
    advice = "not every verdict is the one it must be: `hotlap doctor` says what this machine lacks"
    return Text(advice, style="bold red")


def exit_code(cases: Sequence[Case], verdicts: Sequence[Verdict]) -> int:
    """0 when all statuses are as expected, 1 when one is not, 3 when that is because one is void."""
    missed = [v for case, v in zip(cases, verdicts, strict=True) if v.status is not case.expected]
    if not missed:
        return console.ACCEPTED
    return console.VOID if any(v.status is Status.void for v in missed) else console.REJECTED
