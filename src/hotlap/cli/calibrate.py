"""`hotlap calibrate`: what this machine can do and tell apart, measured and kept."""

import itertools
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Group
from rich.table import Table
from rich.text import Text

from hotlap.cli import console, options, render
from hotlap.cli.judging import DEFAULT_DEVICE
from hotlap.cli.progress import Reporter, reporting
from hotlap.errors import UsageError
from hotlap.model import Calibration

if TYPE_CHECKING:
    from hotlap.calibrate.canary import Look
    from hotlap.calibrate.duels import KindFound, Step
    from hotlap.referee.device import Device
    from hotlap.stats.decision import AaErrors, OrderEffect

EPILOG = options.examples(
    "hotlap calibrate",
    "hotlap calibrate --device cuda --pairs 8 --periods 20 --ladder",
    "hotlap calibrate --pairs 0    bandwidth and ceilings only, seconds",
    "hotlap calibrate --check      has the machine changed?",
    "hotlap calibrate --json | jq .ceilings",
)

LADDER = {"cuda": (0.0005, 0.001), "cpu": (0.02, 0.05)}  # by which shares B is slowed
WARM = 6


def calibrate(
    device: Annotated[
        str, typer.Option("--device", metavar="cpu|cuda|cuda:N", help="What to measure; cuda is cuda:0.")
    ] = DEFAULT_DEVICE,
    pairs: Annotated[
        int,
        typer.Option("--pairs", min=0, help="Pairs of processes a kind of kernel, added to those before."),
    ] = 8,
    periods: Annotated[
        int,
        typer.Option("--periods", min=1, help="How often to do that: each time in memory of its own."),
    ] = 1,
    kind: Annotated[
        list[str] | None,
        typer.Option(
            "--kind",
            help="Only pairs of this kind: memory, matrix or launch. Default: all three, and ceilings.",
            show_default=False,
        ),
    ] = None,
    ladder: Annotated[
        bool, typer.Option("--ladder", help="Also duels against a kernel that is slower by a known part.")
    ] = False,
    check: Annotated[
        bool, typer.Option("--check", help="Only look whether the machine has changed since.")
    ] = False,
    json: options.JsonFlag = False,
    verbose: options.Verbose = False,
) -> None:
    """Measure what a device can do (bandwidth, ceilings) and tell apart (kernels against themselves).

    Verdicts get their floor and roofline from it, duels their margin. Do it once a device, when nothing else
    runs; again after new memory, kernel or driver. Takes minutes; seconds with --pairs 0. Exit
    code 1: --check found a change.
    """
    from hotlap.calibrate.duels import KINDS
    from hotlap.referee.device import open_device

    unknown = [name for name in kind or () if name not in KINDS]
    if unknown:
        raise UsageError(f"--kind {unknown[0]!r} does not exist; allowed: {', '.join(KINDS)}")
    with (
        reporting(verbose=verbose) as report,
        open_device(
            device, on_wait=report.waiting, warm=WARM if pairs and device != "cpu" and not check else 0
        ) as opened,
    ):
        if check:
            _check(opened, report, as_json=json)
            return
        calibration, absent = _measure(
            opened, report, (pairs, periods), kind or list(KINDS), not kind, ladder=ladder
        )
    if json:
        from hotlap.schema import to_dict

        console.print_json(to_dict(calibration))
        return
    out = console.stdout()
    out.print(render.calibration(calibration, absent))
    out.print(told_apart(calibration))


def _measure(
    device: "Device",
    report: Reporter,
    how_many: tuple[int, int],
    kinds: list[str],
    ceilings: bool,
    *,
    ladder: bool,
) -> tuple[Calibration, dict[str, str]]:
    from hotlap.calibrate import calibrate as measure
    from hotlap.calibrate import load_calibration, measure_ceilings, update
    from hotlap.calibrate.duels import duel_with_itself

    pairs, periods = how_many
    absent: dict[str, str] = {}
    if ceilings:
        measure(device, report)
        absent = measure_ceilings(device, report)[1]
    slower = (0.0, *(LADDER[device.info.kind] if ladder else ())) if pairs else ()
    for share, name in itertools.product(slower * periods, kinds):
        duel_with_itself(device, name, pairs, share, report)
    return load_calibration(device.info) or update(device.info), absent


def _check(device: "Device", report: Reporter, *, as_json: bool) -> None:
    from hotlap.calibrate import load_calibration
    from hotlap.calibrate.canary import check

    looks = check(device, load_calibration(device.info), report)
    report.hide()
    if as_json:
        console.print_json([asdict(look) for look in looks])
    else:
        console.stdout().print(seen_again(looks))
    if any(look.has_changed for look in looks):
        raise typer.Exit(console.REJECTED)


# --- what is printed -------------------------------------------------------------------------------


def seen_again(looks: "list[Look]") -> Group:
    """A row a ceiling: then, now, and whether it moved; then what to do."""
    from hotlap.text import si, time

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for header in ("ceiling", "then", "now", "change", ""):
        table.add_column(header)
    for look in looks:
        then, now = (time(v) if look.unit == "ns" else si(v, look.unit) for v in (look.then, look.now))
        mark = Text("changed", style="bold yellow") if look.has_changed else Text("")
        table.add_row(look.name, then, now, f"{look.now / look.then - 1:+.1%}".replace("%", " %"), mark)
    changed = any(look.has_changed for look in looks)
    said = "the machine has changed: run `hotlap calibrate` again" if changed else "the machine is as it was"
    return Group(table, Text(""), Text(said))


def told_apart(calibration: Calibration) -> Group:
    """What kernels against themselves, and slowed ones, say of this machine."""
    from hotlap.calibrate.duels import FEWEST_PAIRS, kinds_found, steps_found

    parts: list[Table | Text] = [Text("")]
    kinds = list(kinds_found(calibration.periods))
    if kinds:
        parts.append(_kinds(kinds))
    if calibration.floor95 is None:
        missing = f"what it tells apart: not known yet, at least {FEWEST_PAIRS} pairs of a kind are needed"
        return Group(*parts, Text(missing, style="dim"))
    steps = steps_found(calibration.periods)
    if steps:
        parts += [Text(""), _steps(steps)]
    if calibration.floor95 is not None:
        parts += [
            Text(""),
            Text(f"duels here tell apart {_percent(max(0.0005, calibration.floor95))} and more"),
        ]
    return Group(*parts)


def _kinds(kinds: "list[KindFound]") -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    heads = (
        "kernel with itself",
        "pairs",
        "floor95 (8 pairs)",
        "block sd",
        "pair's own part",
        "order",
        "placement",
    )
    for header in (*heads, "wrong duels"):
        table.add_column(header)
    for found in kinds:
        table.add_row(
            found.kind,
            str(found.pairs),
            f"{_percent(found.floor95.estimate)} (at most {_percent(found.floor95.high)})",
            _percent(found.block_sd),
            _percent(found.components.between),
            _give_or_take(found.order),
            _give_or_take(found.placement),
            _errors(found.errors),
        )
    return table


def _steps(steps: "list[Step]") -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for header in ("slowed", "truly by", "measured", "pairs", "found"):
        table.add_column(header)
    for step in steps:
        measured = _signed(step.measured) if step.ci is None else _with_interval(step.measured, *step.ci)
        table.add_row(
            step.kind, _signed(step.true_effect), measured, str(step.pairs), "yes" if step.found else "no"
        )
    return table


def _errors(errors: "AaErrors | None") -> str:
    if errors is None:
        return "—"
    return f"{errors.wrong} of {errors.duels} (at most {errors.high:.0%}), {errors.equivalent} equivalent"


def _with_interval(estimate: float, low: float, high: float) -> str:
    return f"{_signed(estimate)} [{_signed(low)}, {_signed(high)}]"


def _give_or_take(found: "OrderEffect") -> str:
    return f"{_signed(found.estimate)} ±{_percent((found.high - found.low) / 2)}"


def _percent(share: float) -> str:
    return f"{100 * share:.2g} %"


def _signed(share: float) -> str:
    return f"{100 * share:+.3f} %"
