"""`hotlap duel`: which of two kernels is faster, and how sure that is; the places of more than two."""

import itertools
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Group
from rich.table import Table
from rich.text import Text

from hotlap import text
from hotlap.cli import console, options, render
from hotlap.cli import report as report_files
from hotlap.cli.judging import DEFAULT_DEVICE, FIRST_GPU, default_device, print_verdict
from hotlap.cli.progress import reporting
from hotlap.cli.target import resolve
from hotlap.errors import UsageError
from hotlap.model import Duel, DuelWorkload, Outcome, SubmissionInfo
from hotlap.text import ABSENT, clean

if TYPE_CHECKING:
    from hotlap.model import Problem, Submission
    from hotlap.referee.case import Progress
    from hotlap.referee.device import Device

EPILOG = options.examples(
    "hotlap duel basics/softmax mine.py theirs.py",
    "hotlap duel basics/softmax a.cu b.cu --tier final --margin 0.1%",
    "hotlap duel basics/softmax a.py b.py c.py    ranks three",
    "hotlap duel basics/softmax a.py b.py --json | jq .verdict",
)

WARM = 6


class TierName(StrEnum):
    """The tiers, in the order in which a duel goes through them."""

    screen = "screen"
    confirm = "confirm"
    duel = "duel"
    final = "final"


STYLES = {
    Outcome.decided: "bold green",
    Outcome.equivalent: "bold cyan",
    Outcome.unresolved: "bold yellow",
    Outcome.void: "bold magenta",
}


def duel(
    problem: options.ProblemName,
    files: Annotated[list[Path], typer.Argument(metavar="A B …", help="The kernels.", show_default=False)],
    device: options.DeviceName = None,
    margin: Annotated[
        str | None,
        typer.Option(
            "--margin",
            help="Differences below it count as equal, such as 0.1%. Default: what this machine tells apart.",
            show_default=False,
        ),
    ] = None,
    tier: Annotated[
        TierName, typer.Option("--tier", help="How far to escalate, if need be.")
    ] = TierName.duel,
    max_seconds: Annotated[
        float | None,
        typer.Option(
            "--max-seconds",
            help="Start no pair of processes after so long; of each two kernels.",
            min=1.0,
            show_default=False,
        ),
    ] = None,
    plot: Annotated[
        str | None,
        typer.Option(
            "--plot",
            metavar="PATH",
            help="Draw it, two kernels only: PATH.png or PATH.svg, or a folder for PNG, SVG and CSV.",
            show_default=False,
        ),
    ] = None,
    json: options.JsonFlag = False,
    verbose: options.Verbose = False,
) -> None:
    """Compare kernels: who is faster, by how much, how sure.

    Exit code: 0 for every comparison that was completed; 1 when a kernel is not right; 2 usage; 3 void.
    """
    from hotlap.duel import INTERRUPTED, NotAccepted
    from hotlap.problems.find import find
    from hotlap.referee.device import open_device
    from hotlap.verdict import read_submission

    if len(files) < 2 or Path(problem).is_file():
        raise UsageError("duel needs the problem, then two kernels or more: hotlap duel PROBLEM A B")
    wanted = parsed_margin(margin)
    if plot is not None and len(files) > 2:
        raise UsageError("--plot draws a duel of two kernels; leave it out, or compare two")
    papers = report_files.plan(plot, None)
    found = find(problem)
    submissions = [read_submission(file) for file in files]
    name = device or _device(problem, files, submissions)
    try:
        with (
            reporting(verbose=verbose) as report,
            open_device(name, on_wait=report.waiting, warm=0 if name == "cpu" else WARM) as opened,
        ):
            duels = _duels(found, submissions, opened, wanted, tier.value, max_seconds, report)
    except KeyboardInterrupt:
        console.error("interrupted before a pair of processes was finished: nothing is known")
        raise typer.Exit(console.INTERRUPTED) from None
    except NotAccepted as refused:
        if refused.verdict is not None:
            print_verdict(refused.verdict, as_json=json)
        elif json:  # right when it was checked, and not in a timed round: there is no verdict on it
            told = {"side": refused.side, "file": refused.file, "reason": refused.reason}
            console.print_json({"schema": "hotlap.refusal/1", **told})
        console.error(str(refused))
        raise typer.Exit(console.REJECTED) from None
    _print(submissions, duels, as_json=json)
    for one in duels.values():
        report_files.write_duel(papers, one)
    if any((one.reason or "").startswith(INTERRUPTED) for one in duels.values()):
        raise typer.Exit(console.INTERRUPTED)
    if any(one.verdict is Outcome.void for one in duels.values()):
        raise typer.Exit(console.VOID)


def parsed_margin(given: str | None) -> float | None:
    """A log-ratio from `0.1%` or `0.1 %`. Raises UsageError, also without the sign: 0.1 could be either."""
    if given is None:
        return None
    number = given.strip()
    try:
        margin = float(number.removesuffix("%")) / 100 if number.endswith("%") else -1.0
    except ValueError:
        margin = -1.0
    if not 0 < margin < 1:
        raise UsageError(f"--margin {given!r}: not a percentage; give one such as 0.1%")
    return margin


def _device(problem: str, files: list[Path], submissions: "list[Submission]") -> str:
    """What the files' directives say, else where they are judged by default; a GPU if any needs one."""
    names = {
        resolve(problem, file).device or default_device(submission)
        for file, submission in zip(files, submissions, strict=True)
    }
    if len(names - {FIRST_GPU, DEFAULT_DEVICE}) > 0 and len(names) > 1:
        raise UsageError(f"the files ask for different devices ({', '.join(sorted(names))}); give --device")
    return FIRST_GPU if FIRST_GPU in names else names.pop()


def _duels(
    problem: "Problem",
    submissions: "list[Submission]",
    device: "Device",
    margin: float | None,
    tier: str,
    max_seconds: float | None,
    report: "Progress",
) -> dict[tuple[int, int], Duel]:
    """Every pair of them; the chance of any wrong decision is 5 % over all."""
    from hotlap.calibrate import load_calibration
    from hotlap.duel import ERROR, INTERRUPTED, duel

    calibration = load_calibration(device.info)
    pairs = list(itertools.combinations(range(len(submissions)), 2))
    given: dict[tuple[int, int], Duel] = {}
    for done, (i, j) in enumerate(pairs):

        def progress(phase: str, fraction: float | None, done: int = done, i: int = i, j: int = j) -> None:
            who = f"{submissions[i].file} against {submissions[j].file}: " if len(pairs) > 1 else ""
            report(who + phase, None if fraction is None else (done + fraction) / len(pairs))

        given[i, j] = duel(
            problem,
            submissions[i],
            submissions[j],
            device,
            calibration,
            margin=margin,
            last_tier=tier,
            max_seconds=max_seconds,
            error=ERROR / len(pairs),
            progress=progress,
        )
        if (given[i, j].reason or "").startswith(INTERRUPTED):
            break
    return given


# --- what is printed -------------------------------------------------------------------------------


def _print(submissions: "list[Submission]", duels: dict[tuple[int, int], Duel], *, as_json: bool) -> None:
    from hotlap.schema import to_dict

    places = _places(len(submissions), duels) if len(submissions) > 2 else None
    if as_json:
        if places is None:
            console.print_json(to_dict(next(iter(duels.values()))))
            return
        console.print_json(
            {
                "schema": "hotlap.ranking/1",
                "places": [
                    {"file": s.file, "sha256": s.sha256, "best": best, "worst": worst}
                    for s, (best, worst) in sorted(
                        zip(submissions, places, strict=True), key=lambda one: one[1]
                    )
                ],
                "duels": [to_dict(one) for one in duels.values()],
            }
        )
        return
    out = console.stdout()
    if places is None:
        out.print(result(next(iter(duels.values()))), crop=False)
        return
    for one in duels.values():
        out.print(line(one), soft_wrap=True)
    out.print(Text(""))
    out.print(ranking([s.file for s in submissions], places))
    out.print(Text(""))
    for part in _about(next(iter(duels.values()))):
        out.print(Text(clean(part, one_line=True), style="dim"))


def _places(count: int, duels: dict[tuple[int, int], Duel]) -> list[tuple[int, int]]:
    from hotlap.stats.ranks import rank_intervals

    decided = {
        pair: one.ci for pair, one in duels.items() if one.verdict is Outcome.decided and one.ci is not None
    }
    return rank_intervals(count, decided)


def ranking(files: list[str], places: list[tuple[int, int]]) -> Table:
    """Places, best first; those that are not told apart share them, in the order in which they were given."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("place", justify="right")
    table.add_column("kernel")
    for (best, worst), file in sorted(zip(places, files, strict=True), key=lambda one: one[0]):
        table.add_row(f"{best}" if best == worst else f"{best}-{worst}", Text(clean(file, one_line=True)))
    return table


def result(given: Duel) -> Group:
    """The table of workloads, the line of the duel, then what it rests on."""
    parts: list[Table | Text] = []
    if given.workloads:
        parts += [_table(given), Text("")]
    parts.append(line(given))
    parts += [Text(clean(part, one_line=True), style="dim") for part in _details(given)]
    return Group(*parts)


def line(given: Duel) -> Text:
    """One line to act on: `decided  b.py is 1.24 % slower than a.py [1.20 %, 1.28 %]`."""
    said = Text.assemble((given.verdict.value, STYLES[given.verdict]), "  ", _sentence(given))
    if given.reason is not None:
        said.append(f"  ({clean(given.reason, one_line=True)})")
    return said


def _sentence(given: Duel) -> str:
    a, b = names(given.a, given.b)
    if given.verdict is Outcome.void:
        return f"{a} and {b} were not compared"
    if given.effect is None:
        return f"{a} and {b}"
    if given.ci is None:
        slower, faster = (b, a) if given.effect > 0 else (a, b)
        return (
            f"{slower} takes {_percent(abs(given.effect))} longer than {faster} so far, too few pairs to tell"
        )
    slower, faster, low, high = (b, a, *given.ci) if given.effect > 0 else (a, b, -given.ci[1], -given.ci[0])
    interval = f"[{_percent(low)}, {_percent(high)}]"
    if given.verdict is Outcome.decided:
        return f"{slower} is {_percent(abs(given.effect))} slower than {faster} {interval}"
    within = f"within {_share(given.margin)}"
    if given.verdict is Outcome.equivalent:
        longer = f"{slower} {_percent(abs(given.effect))} longer {interval}"
        return f"{a} and {b} take the same time {within}: {longer}"
    return (
        f"{slower} takes {_percent(abs(given.effect))} longer than {faster} {interval}, which may be nothing"
    )


def names(a: SubmissionInfo, b: SubmissionInfo) -> tuple[str, str]:
    """What to call both: their files, told apart where they have one name."""
    first, second = clean(a.file, one_line=True), clean(b.file, one_line=True)
    return (first, second) if first != second else (f"a ({first})", f"b ({second})")


def _percent(log_ratio: float) -> str:
    """Of a log-ratio, in per cent with as many digits as make sense."""
    share = 100 * (2.718281828459045**log_ratio - 1)
    digits = 3 if abs(share) < 0.1 else 2 if abs(share) < 10 else 1
    return f"{share:.{digits}f} %"


def _share(margin: float) -> str:
    return f"{100 * margin:.2g} %"


def _table(given: Duel) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    with_mode = any(w.a_mode is not None for w in given.workloads)
    for head in ("axes", *(("mode",) if with_mode else ()), "a", "b", "b takes longer by", "verdict"):
        table.add_column(head, no_wrap=head != "axes")
    digits = 4 if given.device.kind == "cpu" else 5
    for w in given.workloads:
        cells = [Text(clean(text.axes(w.axes), one_line=True))]
        if with_mode:
            cells.append(Text(w.a_mode if w.a_mode == w.b_mode else f"{w.a_mode} / {w.b_mode}"))  # type: ignore[arg-type]
        cells += [Text(text.time(w.a_ns, digits)), Text(text.time(w.b_ns, digits)), Text(_effect(w))]
        cells.append(Text(_who(w), style=STYLES[w.verdict].removeprefix("bold ")))
        table.add_row(*cells)
    return table


def _effect(w: DuelWorkload) -> str:
    if w.effect is None:
        return ABSENT
    if w.ci is None:
        return _percent(w.effect)
    return f"{_percent(w.effect)} [{_percent(w.ci[0])}, {_percent(w.ci[1])}]"


def _who(w: DuelWorkload) -> str:
    return f"{w.faster} is faster" if w.verdict is Outcome.decided else w.verdict.value


def _details(given: Duel) -> list[str]:
    said = list(given.notes)
    if given.tier is not None:
        unit = "GPU" if given.device.kind == "cuda" else "CPU"
        pairs = f"{given.pairs} pair{'s' if given.pairs != 1 else ''} of processes"
        if given.pairs_in_all > given.pairs:
            pairs += f" ({given.pairs_in_all} in all tiers)"
        took = f"{given.gpu_s:.2f} {unit}-seconds timed · {given.total_s:.1f} s in all"
        said.append(f"tier {given.tier} · {pairs} · {took}")
    return said + _about(given)


def _about(given: Duel) -> list[str]:
    """Margin and device."""
    margin = f"margin {_share(given.margin)}"
    if given.floor95 is not None:
        said = f"{margin} · this machine's floor95 is {_share(given.floor95)} (hotlap calibrate)"
    else:
        said = f"{margin} · what this machine tells apart is not measured: hotlap calibrate --pairs 8"
    return [said, render.device_line(given.device) or render.device_name(given.device)]
