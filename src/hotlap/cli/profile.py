"""`hotlap profile`: why a kernel takes the time that it takes."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from hotlap.cli import console, options
from hotlap.cli.judging import default_device, print_verdict
from hotlap.cli.progress import reporting
from hotlap.cli.target import Target, resolve
from hotlap.errors import UsageError
from hotlap.model import Status, Verdict
from hotlap.text import clean

if TYPE_CHECKING:
    from hotlap.profiling.report import Profile

EPILOG = options.examples(
    "hotlap profile basics/softmax kernel.py",
    "hotlap profile basics/softmax kernel.cu --sanitize --sass",
    "hotlap profile basics/softmax kernel.cpp --workload rows=64,cols=1024",
    "hotlap profile kernel.cu --json | jq .bottleneck",
)


def profile(
    first: Annotated[
        str,
        typer.Argument(
            metavar="PROBLEM|FILE",
            help="The problem and the kernel; the kernel alone when its first line names the problem.",
            show_default=False,
            autocompletion=options.complete_problem,
        ),
    ],
    second: Annotated[Path | None, options.SECOND] = None,
    device: options.DeviceName = None,
    workload: Annotated[
        str | None,
        typer.Option(
            "--workload",
            metavar="N|AXES",
            help="A bench workload of the device by its number from 0, or axes: rows=64,cols=1024. "
            "Default: the largest.",
            show_default=False,
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="DIR",
            help="Where raw files go. Default: a folder in $HOTLAP_HOME/profiles.",
            show_default=False,
        ),
    ] = None,
    sanitize: Annotated[
        bool, typer.Option("--sanitize", help="GPU: look for wrong accesses and races too. Slow.")
    ] = False,
    sass: Annotated[bool, typer.Option("--sass", help="GPU: keep the kernels' machine code.")] = False,
    ptx: Annotated[bool, typer.Option("--ptx", help="GPU: keep the kernels' PTX.")] = False,
    json: options.JsonFlag = False,
    verbose: options.Verbose = False,
) -> None:
    """Explain a kernel's time: what limits it, the evidence, raw files of the profilers. It gives no verdict.

    Exit code: 0 profiled; 1 the kernel is wrong or fails; 2 usage or problem; 3 void (not its fault).
    """
    checked, made = profile_target(
        resolve(first, second),
        device=device,
        workload=workload,
        out=out,
        sanitized=sanitize,
        sass=sass,
        ptx=ptx,
        verbose=verbose,
    )
    if made is None:
        print_verdict(checked, as_json=json)
        raise typer.Exit(console.exit_code(checked))
    print_profile(made, as_json=json)
    raise typer.Exit(console.REJECTED if made.failure is not None else console.exit_code(checked))


def profile_target(
    target: Target,
    *,
    device: str | None = None,
    workload: str | None = None,
    out: Path | None = None,
    sanitized: bool = False,
    sass: bool = False,
    ptx: bool = False,
    checked: Verdict | None = None,
    verbose: bool = False,
) -> "tuple[Verdict, Profile | None]":
    """What `check` says of a kernel, and its profile; none of one that fails, unless it is to be sanitized.

    checked: a verdict on it, where there is one already.
    Raises UsageError (no such problem, file, device, workload), ProblemError, DeviceError, HarnessError.
    """
    from hotlap.calibrate import load_calibration
    from hotlap.problems.find import find
    from hotlap.profiling.profile import profile as make
    from hotlap.profiling.workload import choose
    from hotlap.referee.device import open_device
    from hotlap.verdict import read_submission, verdict

    problem = find(target.problem)
    if problem.contract != "kernel":
        raise UsageError(f"{problem.id}: `hotlap profile` takes native problems only; use check, run or duel")
    submission = read_submission(target.file)
    name = device or target.device or default_device(submission)
    with reporting(verbose=verbose) as report, open_device(name, on_wait=report.waiting) as opened:
        choose(problem, opened.info.kind, workload)  # a mistake there is told before anything runs
        checked = checked or verdict(problem, submission, opened, timed=False, progress=report)
        if checked.status is Status.void or (checked.status is Status.failed and not sanitized):
            return checked, None
        made = make(
            problem,
            submission,
            opened,
            workload=workload,
            out=out,
            sanitized=sanitized,
            sass=sass,
            ptx=ptx,
            checked=checked,
            calibration=load_calibration(opened.info),
            progress=report,
        )
    return checked, made


def print_profile(made: "Profile", *, as_json: bool) -> None:
    """A profile on stdout, as one JSON object or as its summary and files."""
    if as_json:
        from hotlap.schema import to_dict

        console.print_json(to_dict(made))
        return
    from hotlap.profiling.summary import artefacts, summary

    out = console.stdout()
    for line in (*summary(made), *artefacts(made)):
        out.print(Text(clean(line, one_line=True)), soft_wrap=True)
