"""`hotlap check`: correctness only, and the replay of a call that went wrong."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from hotlap import text
from hotlap.cli import console, options
from hotlap.cli.judging import DEFAULT_DEVICE, FIRST_GPU, judge_target, print_verdict
from hotlap.cli.progress import reporting
from hotlap.cli.target import resolve
from hotlap.errors import UsageError
from hotlap.model import Run
from hotlap.text import clean

if TYPE_CHECKING:
    from hotlap.referee.replay import ReplayResult

EPILOG = options.examples(
    "hotlap check basics/softmax kernel.py",
    "hotlap check kernel.py",
    "hotlap check basics/softmax kernel.py --device cuda",
    "hotlap check --replay 01JD3W8Q4N:2    dumps the inputs of the failing call",
)

RIGHT_ALONE = "right this time, called once: does the kernel keep something from earlier calls?"


def check(
    first: Annotated[
        str | None,
        typer.Argument(
            metavar="PROBLEM|FILE",
            help="The problem and the kernel; the kernel alone when its first line names the problem.",
            show_default=False,
            autocompletion=options.complete_problem,
        ),
    ] = None,
    second: Annotated[Path | None, options.SECOND] = None,
    device: options.DeviceName = None,
    author: options.AuthorName = None,
    replay: Annotated[
        str | None,
        typer.Option(
            "--replay",
            metavar="RUN[:WORKLOAD]",
            help="Run the failing call of an earlier run again and dump its inputs and outputs.",
            show_default=False,
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", help="Where --replay writes. Default: ./replay-RUN", show_default=False),
    ] = None,
    json: options.JsonFlag = False,
    verbose: options.Verbose = False,
) -> None:
    """Check that a kernel is right, without timing it. On a CPU Triton files are interpreted.

    Exit code: 0 accepted; 1 wrong or failed; 2 usage or problem; 3 void (not the kernel's fault).
    """
    if replay is not None:
        _replay(replay, first, device, out, as_json=json, verbose=verbose)
        return
    if first is None:
        raise UsageError("no kernel named. Say `hotlap check PROBLEM FILE` or `hotlap check --replay RUN`")
    if out is not None:
        raise UsageError("--out belongs to --replay: without it nothing is dumped")
    verdict = judge_target(resolve(first, second), timed=False, device=device, author=author, verbose=verbose)
    print_verdict(verdict, as_json=json)
    raise typer.Exit(console.exit_code(verdict))


def parse_replay(named: str) -> tuple[str, int | None]:
    """`RUN` or `RUN:WORKLOAD` -> the run and the index of the workload. Raises UsageError."""
    run_id, colon, index = named.partition(":")
    if not run_id or (colon and not index.isdecimal()):
        raise UsageError(
            f"--replay {named}: allowed is RUN or RUN:WORKLOAD, WORKLOAD an index from 0, as in 01JD3W8Q4N:2"
        )
    return run_id, int(index) if colon else None


def _replay(
    named: str, first: str | None, device: str | None, out: Path | None, *, as_json: bool, verbose: bool
) -> None:
    run_id, workload = parse_replay(named)
    if first is not None:
        raise UsageError(f"--replay {run_id} takes problem and kernel from the run: leave {first!r} out")
    from hotlap import runs
    from hotlap.referee.device import open_device
    from hotlap.verdict import replay

    name = device or device_of(runs.load(run_id))
    with reporting(verbose=verbose) as report, open_device(name, on_wait=report.waiting) as opened:
        result = replay(run_id, workload, opened, out or Path(f"replay-{run_id}"))
    if as_json:
        console.print_json(replay_summary(result))
    else:
        console.stdout().print(Text(clean(told(result))), soft_wrap=True)
    raise typer.Exit(console.ACCEPTED if result.wrong is None else console.REJECTED)


def device_of(run: Run) -> str:
    """Where a run is replayed unless the command line says: on the kind of device that it ran on."""
    return FIRST_GPU if run.device.kind == "cuda" else DEFAULT_DEVICE


def replay_summary(result: "ReplayResult") -> dict[str, Any]:
    """What `check --replay --json` prints."""
    return asdict(result) | {"files": [str(path) for path in result.files]}


def told(result: "ReplayResult") -> str:
    """Which call was made again, what was wrong with it now, and where its tensors are."""
    where = f"workload {result.workload} ({text.axes(result.axes)}), round {result.round}, call {result.call}"
    what = RIGHT_ALONE if result.wrong is None else f"wrong: {result.wrong}"
    files = "\n".join(f"  {path}" for path in result.files)
    return f"replayed {result.problem}, {where}\n{what}\nwrote, for numpy.load:\n{files}"
