"""`hotlap run`: the whole verdict, correctness and time."""

from collections.abc import Mapping
from enum import StrEnum
from json import dumps
from pathlib import Path
from typing import Annotated

import typer

from hotlap.cli import console, options, report
from hotlap.cli.judging import judge_target, print_verdict
from hotlap.cli.original import EXIT_CODES, print_original, run_original
from hotlap.cli.target import Target, resolve
from hotlap.errors import UsageError
from hotlap.model import Verdict

EPILOG = options.examples(
    "hotlap run basics/softmax kernel.py",
    "hotlap run kernel.py    when it starts with: #! hotlap problem basics/softmax",
    "hotlap run basics/softmax kernel.py --device cuda",
    "hotlap run basics/softmax kernel.cpp --json | jq .score.speedup",
    "hotlap run basics/softmax kernel.cpp --plot softmax.png --report softmax.html",
    "hotlap run problems/pmpp_v2/vectoradd_py kernel.py --protocol original",
)


class Protocol(StrEnum):
    """Who times and checks: hotlap's referee, or the eval script that comes with a KernelBot folder."""

    referee = "referee"
    original = "original"


def run(
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
    author: options.AuthorName = None,
    baseline: Annotated[
        str | None,
        typer.Option("--baseline", help="Which baseline of the problem to compare with.", show_default=False),
    ] = None,
    plot: report.Plot = None,
    page: report.Page = None,
    trace: Annotated[
        Path | None,
        typer.Option(
            "--trace", help="Of a flashinfer definition: append a Trace a workload.", show_default=False
        ),
    ] = None,
    protocol: Annotated[
        Protocol,
        typer.Option(
            "--protocol", help="original: of a KernelBot folder, run its own eval script. It never ranks."
        ),
    ] = Protocol.referee,
    json: options.JsonFlag = False,
    verbose: options.Verbose = False,
) -> None:
    """Judge a kernel: is it right, how fast is it, how sure is that, how far from the limit.

    Exit code: 0 accepted; 1 wrong, failed or suspect; 2 usage or problem; 3 void (not the kernel's fault).
    """
    target = resolve(first, second)
    if protocol is Protocol.original:
        _refuse_with_original({"--plot": plot, "--report": page, "--trace": trace, "--baseline": baseline})
        said = run_original(target, device=device, author=author, verbose=verbose)
        print_original(said, as_json=json)
        raise typer.Exit(EXIT_CODES[said.status.value])
    papers = report.plan(plot, page)
    if trace is not None and not target.problem.endswith(".json"):
        raise UsageError("--trace: only a flashinfer definition (a .json file) has traces; leave it out")
    verdict = judge_target(
        target, timed=True, device=device, author=author, baseline=baseline, verbose=verbose
    )
    print_verdict(verdict, as_json=json)
    report.write(papers, verdict)
    if trace is not None:
        _append_traces(trace, target, verdict)
    raise typer.Exit(console.exit_code(verdict))


def _refuse_with_original(options_given: Mapping[str, object]) -> None:
    """Raises UsageError for options that need a verdict, which the original protocol does not give."""
    for option, value in options_given.items():
        if value is not None:
            raise UsageError(f"{option}: --protocol original gives no verdict; leave one of the two out")


def _append_traces(path: Path, target: Target, verdict: Verdict) -> None:
    """A line of JSON for each workload. Raises UsageError for a path that cannot be written."""
    from hotlap.problems import flashinfer
    from hotlap.problems.find import find

    name = flashinfer.solution_name(target.file)
    lines = [dumps(one) for one in flashinfer.traces(find(target.problem), verdict, name)]
    try:
        with path.open("a", encoding="utf-8") as file:
            file.writelines(f"{line}\n" for line in lines)
    except OSError as error:
        raise UsageError(f"--trace {path}: cannot be written ({error.strerror or error})") from None
