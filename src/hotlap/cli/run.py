"""`hotlap run`: the whole verdict, correctness and time."""

from pathlib import Path
from typing import Annotated

import typer

from hotlap.cli import console, options, report
from hotlap.cli.judging import judge_target, print_verdict
from hotlap.cli.target import resolve

EPILOG = options.examples(
    "hotlap run basics/softmax kernel.py",
    "hotlap run kernel.py    when it starts with: #! hotlap problem basics/softmax",
    "hotlap run basics/softmax kernel.py --device cuda",
    "hotlap run basics/softmax kernel.cpp --json | jq .score.speedup",
    "hotlap run basics/softmax kernel.cpp --plot softmax.png --report softmax.html",
)


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
    json: options.JsonFlag = False,
    verbose: options.Verbose = False,
) -> None:
    """Judge a kernel: is it right, how fast is it, how sure is that, how far from the limit.

    Exit code: 0 accepted; 1 wrong, failed or suspect; 2 usage or problem; 3 void (not the kernel's fault).
    """
    target = resolve(first, second)
    papers = report.plan(plot, page)
    verdict = judge_target(
        target, timed=True, device=device, author=author, baseline=baseline, verbose=verbose
    )
    print_verdict(verdict, as_json=json)
    report.write(papers, verdict)
    raise typer.Exit(console.exit_code(verdict))
