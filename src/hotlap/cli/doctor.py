"""`hotlap doctor`: what works on this machine, what does not, and how to fix it."""

from dataclasses import asdict
from typing import TYPE_CHECKING

import typer
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from hotlap.cli import console, options
from hotlap.text import clean

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hotlap.referee.probe import Probe

EPILOG = options.examples("hotlap doctor", "hotlap doctor --json | jq '.probes[] | select(.ok | not)'")


def doctor(json: options.JsonFlag = False) -> None:
    """Probe this machine: sandbox, freezer, limits, compilers, GPU, libraries.

    Exit code: 0 when everything essential works, else 3.
    """
    from hotlap.referee.doctor import probe

    probes = probe()
    healthy = is_healthy(probes)
    if json:
        console.print_json({"healthy": healthy, "probes": [asdict(p) for p in probes]})
    else:
        console.stdout().print(report(probes))
    raise typer.Exit(console.ACCEPTED if healthy else console.VOID)


def is_healthy(probes: "Sequence[Probe]") -> bool:
    """Whether every essential probe is ok."""
    return all(probe.ok for probe in probes if probe.essential)


def report(probes: "Sequence[Probe]") -> Group:
    """A row a probe, then a line that sums up."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_header=False)
    table.add_column()
    table.add_column(no_wrap=True)
    table.add_column()
    for probe in probes:
        table.add_row(_mark(probe), Text(clean(probe.name)), Text(clean(probe.fact)))
        if not probe.ok and probe.fix:
            table.add_row(Text(""), Text(""), Text(f"fix: {clean(probe.fix)}", style="cyan"))
    parts: list[RenderableType] = [table, Text(""), _summary(probes)]
    return Group(*parts)


def _mark(probe: "Probe") -> Text:
    if probe.ok:
        return Text("✓", style="green")
    return Text("✗", style="bold red" if probe.essential else "yellow")


def _summary(probes: "Sequence[Probe]") -> Text:
    broken = [probe.name for probe in probes if probe.essential and not probe.ok]
    lesser = [probe.name for probe in probes if not probe.essential and not probe.ok]
    if broken:
        return Text(clean(f"no kernel can be judged here until fixed: {', '.join(broken)}"), style="bold red")
    if lesser:
        return Text(clean(f"kernels can be judged here; missing, but not needed: {', '.join(lesser)}"))
    return Text("kernels can be judged here, with nothing missing", style="green")
