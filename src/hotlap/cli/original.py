"""`hotlap run --protocol original`: what a KernelBot folder's own eval script says, labelled as such."""

import re
from pathlib import Path
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from hotlap import text
from hotlap.cli import console
from hotlap.cli.judging import DEFAULT_DEVICE, FIRST_GPU
from hotlap.cli.progress import reporting
from hotlap.cli.target import Target
from hotlap.errors import UsageError
from hotlap.text import ABSENT, clean

if TYPE_CHECKING:
    from hotlap.original.report import Original, Stage
    from hotlap.problems.kernelbot import Task

EXIT_CODES = {"passed": console.ACCEPTED, "failed": console.REJECTED, "void": console.VOID}
_STYLES = {"passed": "bold green", "failed": "bold red", "void": "bold magenta"}
_LINES_SHOWN, _LINE_CHARS = 8, 300
_INDEX = re.compile("0|[1-9][0-9]{0,3}")


def run_original(
    target: Target, *, device: str | None = None, author: str | None = None, verbose: bool = False
) -> "Original":
    """What the folder's eval script says of a file, with progress on stderr.

    Raises UsageError (no KernelBot folder, no such file, device), ProblemError, DeviceError, HarnessError.
    """
    from hotlap.original.run import original
    from hotlap.referee.device import open_device
    from hotlap.referee.doctor_cuda import has_gpu
    from hotlap.verdict import read_submission

    task = _task(target.problem)
    submission = read_submission(target.file, author)
    name = device or target.device or (FIRST_GPU if has_gpu() else DEFAULT_DEVICE)
    with (
        reporting(verbose=verbose) as report,
        open_device(name, on_wait=report.waiting, shares=False) as opened,
    ):
        return original(task, submission, opened, report)


def _task(name: str) -> "Task":
    from hotlap.problems.kernelbot import STRICT, TASK, read_task

    if name.endswith(f"@{STRICT}"):
        raise UsageError(f"{name}: its own script reads words, not truth values; leave @{STRICT} out")
    path = Path(name)
    folder = path.parent if path.name == TASK else path
    if not (folder / TASK).is_file():
        raise UsageError(
            f"{name}: --protocol original takes a KernelBot folder, which holds {TASK}; give the path of "
            "one, or leave the option out"
        )
    return read_task(folder.resolve())


def print_original(given: "Original", *, as_json: bool) -> None:
    """A result on stdout, as one JSON object or as tables, a line and detail."""
    if as_json:
        from hotlap.schema import to_dict

        console.print_json(to_dict(given))
        return
    out = console.stdout()
    out.print(_stages(given))
    if given.public[-1].mode != "test":
        out.print()
        out.print(_benchmarks(given.public[-1]))
    out.print()
    for line in (_status(given), *_detail(given)):
        out.print(line, soft_wrap=True)
    out.print(Text(f"self-reported: {given.trust_reason}; it never ranks"), soft_wrap=True)


def _stages(given: "Original") -> Table:
    table = _table("run", "stage", "said", "exit", "wall time")
    for run, stages in (("public", given.public), ("secret seed", given.secret)):
        for stage in stages:
            table.add_row(
                run,
                stage.mode,
                _said(stage),
                ABSENT if stage.exit_code is None else str(stage.exit_code),
                text.seconds(stage.seconds),
            )
    return table


def _said(stage: "Stage") -> Text:
    if stage.mode == "build":
        return Text(
            "done" if stage.passed else f"{clean(stage.reason or '', one_line=True)} (decides nothing)"
        )
    if stage.passed:
        return Text("pass", style="green")
    return Text(clean(stage.reason or "", one_line=True)[:_LINE_CHARS], style="red")


def _benchmarks(stage: "Stage") -> Table:
    """Of the last stage of the public run; a benchmark without numbers shows none."""
    table = _table(stage.mode, "mean", "best", "worst", "runs", "case")
    for number in _numbers(stage):
        key = f"benchmark.{number}"
        times = (_time(stage.lines.get(f"{key}.{name}")) for name in ("mean", "best", "worst"))
        others = (stage.lines.get(f"{key}.{name}", ABSENT) for name in ("runs", "spec"))
        table.add_row(str(number), *times, *(Text(one[:_LINE_CHARS]) for one in others))
    return table


def _numbers(stage: "Stage") -> list[int]:
    parts = (key.split(".") for key in stage.lines)
    found = {p[1] for p in parts if len(p) == 3 and p[0] == "benchmark"}
    return sorted(int(number) for number in found if _INDEX.fullmatch(number))


def _time(ns: str | None) -> str:
    try:
        return text.time(float(ns)) if ns is not None else ABSENT
    except (ValueError, OverflowError):  # not a number, or one that is no time
        return "?"


def _status(given: "Original") -> Text:
    line = Text.assemble((given.status.value, _STYLES[given.status.value]), "  ", clean(given.problem))
    if given.score_s is not None:
        line.append(f"  {text.time(given.score_s * 1e9)} ({given.ranking_by})")
    else:
        line.append(f"  no score: {clean(given.reason or given.score_reason or '', one_line=True)}")
    return line.append(f"  {clean(given.device.name)}  {text.seconds(given.seconds)}")


def _detail(given: "Original") -> list[Text]:
    """Of the stage that ended the run: what its lines say of errors, and the last that it printed."""
    if given.status.value == "passed":
        return []
    last = (given.secret or given.public)[-1]
    errors = [
        f"{key}: {value}"
        for key, value in last.lines.items()
        if key.rpartition(".")[2] in ("error", "message")
    ]
    shown = [*errors[:_LINES_SHOWN], *last.output.strip().splitlines()[-_LINES_SHOWN:]]
    return [Text(f"  {clean(line, one_line=True)[:_LINE_CHARS]}") for line in shown]


def _table(*headers: str) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for header in headers:
        table.add_column(header)
    return table
