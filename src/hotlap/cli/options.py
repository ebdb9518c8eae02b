"""Arguments and options that several verbs share, so that they read and behave the same everywhere."""

from typing import Annotated

import typer

from hotlap.model import Problem


def examples(*lines: str) -> str:
    """An epilogue for `--help`: one example a line (typer joins lines unless a blank one is between)."""
    return "\n\n".join(("Examples:", *(f"  $ {line}" for line in lines)))


def complete_problem(incomplete: str) -> list[str]:
    """Names of bundled problems that start with what was typed."""
    from hotlap.problems.find import bundled

    return [name for name in map(short_name, bundled()) if name.startswith(incomplete)]


def short_name(problem: Problem) -> str:
    """`suite/name`: how people and command lines name a problem."""
    return f"{problem.suite}/{problem.name}"


ProblemName = Annotated[
    str,
    typer.Argument(
        metavar="PROBLEM",
        help="suite/name, or the path of a problem folder.",
        show_default=False,
        autocompletion=complete_problem,
    ),
]
SECOND = typer.Argument(metavar="FILE", help="The kernel, after a problem.", show_default=False)

JsonFlag = Annotated[bool, typer.Option("--json", help="Print one JSON document on stdout, nothing else.")]
DeviceName = Annotated[
    str | None,
    typer.Option(
        "--device",
        metavar="cpu|cuda|cuda:N",
        help="Where to judge; cuda is cuda:0. Default: what the FILE's directive names; else cuda:0 for .cu, "
        "and for Triton where there is a GPU; else cpu.",
        show_default=False,
    ),
]
AuthorName = Annotated[
    str | None, typer.Option("--author", help="Whose kernel it is, for the record.", show_default=False)
]
Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="One plain line on stderr for each phase.")]
