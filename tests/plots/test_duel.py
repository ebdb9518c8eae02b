"""What a duel's chart says."""

import math
from dataclasses import replace

import pytest

from hotlap.model import Outcome
from hotlap.plots import duel
from hotlap.plots.chart import duel_provenance
from tests.plots import samples


def test_effects_are_per_cent_that_b_is_slower() -> None:
    made = duel.info(samples.duel((0.0124,), 0.0004))
    workload, overall = made.effects
    assert workload.percent == pytest.approx(100 * math.expm1(0.0124))
    assert workload.ci_percent == pytest.approx((100 * math.expm1(0.012), 100 * math.expm1(0.0128)))
    assert len(workload.pairs_percent) == 8
    assert overall.workload == duel.OVERALL


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({}, "two_pass.py is 0.511 % slower than online.py [0.491, 0.531]"),
        (
            {"effect": -0.01, "ci": (-0.011, -0.009), "faster": "b"},
            "online.py is 1.01 % slower than two_pass.py",
        ),
        ({"verdict": Outcome.equivalent}, "online.py and two_pass.py are equally fast, within ±0.05 %"),
        ({"verdict": Outcome.unresolved}, "Not decided which of online.py and two_pass.py is faster"),
        ({"verdict": Outcome.void, "reason": "foreign processes"}, "No verdict: foreign processes"),
    ],
)
def test_the_title_is_the_outcome_in_a_sentence(changes: dict[str, object], said: str) -> None:
    assert duel.title(replace(samples.duel(), **changes)).startswith(said)


def test_two_files_of_one_name_are_told_apart() -> None:
    made = samples.duel()
    made = replace(made, b=replace(made.b, file=made.a.file))
    assert duel.title(made).startswith("b (online.py) is 0.511 % slower than a (online.py)")
    assert "online.py (cdcdcdcd)" in duel_provenance(made).line


def test_a_row_says_who_is_faster_or_what_came_out() -> None:
    first, _, third, overall = duel.rows(duel.info(samples.duel()))
    assert first.marks[0].text.endswith("a faster")
    assert third.marks[0].text.endswith("equivalent")
    assert third.marks[0].text.startswith(duel.MINUS)
    assert overall.marks[0].role == "overall"


def test_what_was_not_measured_says_so() -> None:
    made = samples.duel()
    made = replace(
        made,
        verdict=Outcome.void,
        reason="order effect",
        effect=None,
        ci=None,
        workloads=tuple(replace(w, verdict=Outcome.void, effect=None, ci=None) for w in made.workloads),
    )
    info = duel.info(made)
    assert all(row.marks == () and row.note == "void: not measured" for row in duel.rows(info))
    shown = duel.scale(info, 5)
    assert shown.low < 0 < shown.high


def test_the_scale_holds_zero_the_margin_and_every_pair() -> None:
    info = duel.info(samples.duel((0.0001,), 0.00005))
    shown = duel.scale(info, 5)
    assert shown.line == 0
    assert shown.band == pytest.approx((-0.05, 0.05), rel=1e-3)
    assert shown.low < -0.05 < 0.05 < shown.high


def test_the_provenance_has_pairs_margin_floor_device_driver_clock_date_and_version() -> None:
    line = duel_provenance(samples.duel()).line
    for part in (
        *("n = 8 process pairs", "tier duel", "margin ±0.05 %", "floor of this machine ±0.011 %"),
        *("NVIDIA H200", "driver 580.159.04", "SM clock 1980 MHz", "2026-11-30", "hotlap 0.1.0"),
    ):
        assert part in line


def test_whiskers_are_told_with_the_level_that_they_have() -> None:
    record = samples.duel((0.0124,), 0.0004)
    assert "96 % intervals of tier duel" in duel.chart(duel.info(record)).reading
    assert "intervals" not in duel.chart(duel.info(replace(record, level=None, tier=None))).reading
