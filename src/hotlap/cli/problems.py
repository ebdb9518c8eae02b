"""`hotlap problems`: what there is to solve."""

from typing import Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from hotlap.cli import console, options
from hotlap.cli.options import short_name
from hotlap.model import Problem
from hotlap.text import clean

EPILOG = options.examples("hotlap problems --suite basics", "hotlap problems --json | jq '.[].id'")


def problems(
    suite: Annotated[
        str | None, typer.Option("--suite", help="Only the problems of this suite.", show_default=False)
    ] = None,
    json: options.JsonFlag = False,
) -> None:
    """List the bundled problems."""
    from hotlap.problems.find import bundled

    found = bundled(suite)
    if json:
        console.print_json([summary(problem) for problem in found])
        return
    out = console.stdout()
    out.print(table(found))
    if found:
        out.print(Text(f"\nnext: hotlap show {short_name(_easiest(found))}", style="dim"))


def _easiest(found: list[Problem]) -> Problem:
    return next((p for p in found if "beginner" in p.tags), found[0])


def summary(problem: Problem) -> dict[str, Any]:
    """What `problems --json` says of one problem."""
    return {
        "id": problem.id,
        "suite": problem.suite,
        "name": problem.name,
        "version": problem.version,
        "title": problem.title,
        "tags": list(problem.tags),
        "profiles": profiles(problem),
    }


def profiles(problem: Problem) -> list[str]:
    """The kinds of device that the problem has workloads for, in file order."""
    return list(dict.fromkeys(workload.profile for workload in problem.workloads))


def table(found: list[Problem]) -> Table:
    """Name, title, devices and tags, a row a problem."""
    rows = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for header in ("problem", "title", "devices", "tags"):
        rows.add_column(header)
    for problem in found:
        cells = (short_name(problem), problem.title, " ".join(profiles(problem)), " ".join(problem.tags))
        rows.add_row(*(Text(clean(cell, one_line=True)) for cell in cells))
    return rows
