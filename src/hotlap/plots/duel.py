"""A duel: which side is faster, by how much and how sure, for each workload and overall."""

import math
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from hotlap import text
from hotlap.model import Duel, Outcome
from hotlap.plots import forest
from hotlap.plots.chart import Chart
from hotlap.plots.forest import Mark, Row, Scale
from hotlap.plots.layout import even_ticks, padded

if TYPE_CHECKING:
    from hotlap.plots.canvas import Area

NAME = "duel"
OVERALL = "all workloads"
MINUS = "\N{MINUS SIGN}"


@dataclass(frozen=True)
class Effect:
    """How much slower b is than a, in per cent: of a workload, or overall. Below 0 b is the faster one."""

    workload: str
    outcome: str
    faster: str | None
    percent: float | None
    ci_percent: tuple[float, float] | None
    pairs_percent: tuple[float, ...]


@dataclass(frozen=True)
class DuelInfo:
    """Effects in the order of the problem, the last one overall; the margin in per cent; the files."""

    title: str
    effects: tuple[Effect, ...]
    margin_percent: float
    level_percent: float | None
    tier: str | None
    a: str
    b: str


def info(duel: Duel) -> DuelInfo:
    """Of a duel, whatever its outcome."""
    effects = [
        Effect(
            text.axes(w.axes),
            w.verdict.value,
            w.faster,
            _percent(w.effect),
            _bounds(w.ci),
            tuple(100 * math.expm1(e) for e in w.pair_effects),
        )
        for w in duel.workloads
    ]
    effects.append(
        Effect(OVERALL, duel.verdict.value, duel.faster, _percent(duel.effect), _bounds(duel.ci), ())
    )
    return DuelInfo(
        title(duel),
        tuple(effects),
        100 * math.expm1(duel.margin),
        None if duel.level is None else round(100 * duel.level, 4),
        duel.tier,
        duel.a.file,
        duel.b.file,
    )


def _percent(effect: float | None) -> float | None:
    return None if effect is None else 100 * math.expm1(effect)


def _bounds(ci: tuple[float, float] | None) -> tuple[float, float] | None:
    return None if ci is None else (100 * math.expm1(ci[0]), 100 * math.expm1(ci[1]))


def title(duel: Duel) -> str:
    """What the duel says, in a sentence."""
    a, b = duel.a.file, duel.b.file
    if a == b:
        a, b = f"a ({a})", f"b ({b})"
    if duel.verdict is Outcome.void:
        return f"No verdict: {duel.reason or 'the duel is void'}"
    if duel.verdict is Outcome.equivalent:
        return f"{a} and {b} are equally fast, within ±{100 * duel.margin:.2g} %"
    if duel.verdict is Outcome.unresolved or duel.effect is None:
        return f"Not decided which of {a} and {b} is faster"
    slower, faster = (b, a) if duel.effect > 0 else (a, b)
    size = abs(duel.effect)
    bounds = sorted(abs(100 * math.expm1(math.copysign(1, duel.effect) * e)) for e in duel.ci or ())
    interval = f" [{', '.join(_digits(x, bounds) for x in bounds)}]" if bounds else ""
    return f"{slower} is {_digits(100 * math.expm1(size), bounds)} % slower than {faster}{interval}"


def _digits(value: float, bounds: list[float] | tuple[float, ...] = ()) -> str:
    """Two digits of the interval's half-width decide how many decimals there are."""
    width = (max(bounds) - min(bounds)) / 2 if bounds else abs(value) / 10
    decimals = 2 if width <= 0 else min(4, max(0, 1 - math.floor(math.log10(width))))
    return f"{value:.{decimals}f}".replace("-", MINUS)


def _whiskers(given: DuelInfo) -> str:
    """What they are, where there are any."""
    if given.level_percent is None or all(effect.ci_percent is None for effect in given.effects):
        return ""
    return f" Whiskers: {given.level_percent:g} % intervals of tier {given.tier}."


def chart(given: DuelInfo) -> Chart:
    """The chart of this duel."""
    return Chart(
        NAME,
        given.title,
        f"How much slower b is than a. Small dots: one process pair each.{_whiskers(given)} In the shade, "
        f"±{given.margin_percent:.2g} %, a difference does not matter.",
        lambda width: forest.height(rows(given)),
        partial(draw, given),
        given.effects,
    )


def rows(given: DuelInfo) -> list[Row]:
    """A row an effect; what was not measured says so."""
    return [_row(effect, effect.workload == OVERALL) for effect in given.effects]


def _row(effect: Effect, overall: bool) -> Row:
    if effect.percent is None:
        return Row(effect.workload, (), f"{effect.outcome}: not measured")
    low, high = effect.ci_percent or (None, None)
    bounds = effect.ci_percent or ()
    said = f"{'+' if effect.percent > 0 else ''}{_digits(effect.percent, bounds)} %"
    if bounds:
        said += f" [{', '.join(_digits(x, bounds) for x in bounds)}]"
    said += f" · {effect.faster} faster" if effect.faster else f" · {effect.outcome}"
    role = "overall" if overall else "submission"
    return Row(effect.workload, (Mark(role, effect.percent, low, high, said, effect.pairs_percent),))


def scale(given: DuelInfo, most_ticks: int) -> Scale:
    """Per cent, with 0, the margin and all that was measured in sight."""
    shown = [row for row in rows(given) if row.marks]
    ends = forest.extent(shown) if shown else (0.0, 0.0)
    margin = given.margin_percent
    low, high = padded(min(ends[0], -margin), max(ends[1], margin))
    ticks = tuple((t, f"{t:+g}".replace("-", MINUS) if t else "0") for t in even_ticks(low, high, most_ticks))
    label = "time of b over time of a, minus 1, %   (right of 0: a is faster)"
    return Scale(low, high, ticks, label, False, line=0.0, band=(-margin, margin))


def draw(given: DuelInfo, area: "Area") -> None:
    """Rows from top to bottom, overall last."""
    legend = [
        ("submission", "workload"),
        ("pair", "process pair"),
        ("overall", "overall"),
        ("band", "margin"),
    ]
    forest.draw(area, rows(given), partial(scale, given), legend)
