"""Bytes a second where there is no arithmetic to draw a roofline of."""

from dataclasses import replace

import pytest

from hotlap.plots import bandwidth
from hotlap.plots.chart import Absent
from tests.plots import samples


def of_softmax(calibrated: bool = True) -> tuple[bandwidth.Bar, ...]:
    run = samples.without_flops(samples.softmax_run())
    made = bandwidth.info(samples.judged(run, samples.CALIBRATION if calibrated else None))
    assert not isinstance(made, Absent)
    return made


def test_a_bar_is_compulsory_bytes_over_time_with_the_interval_of_the_time() -> None:
    run = samples.softmax_run()
    judged, seen = samples.judged(run).workloads[1], run.workloads[1]
    bar = of_softmax()[0]
    assert bar.bytes_per_s == pytest.approx(seen.bytes_moved / judged.time_ns.estimate * 1e9)
    assert bar.ci_low < bar.bytes_per_s < bar.ci_high


def test_it_stands_beside_the_fastest_traffic_at_its_footprint() -> None:
    assert of_softmax()[0].measured_bytes_per_s == pytest.approx(4.35e12)
    assert "% of 4.35 TB/s" in bandwidth.number_of(of_softmax()[0])


def test_without_a_calibration_a_bar_says_why_it_has_nothing_to_compare_with() -> None:
    bar = of_softmax(calibrated=False)[0]
    assert bar.measured_bytes_per_s is None
    assert "no measured bandwidth: not calibrated" in bandwidth.number_of(bar)


def test_the_scale_starts_at_zero_and_holds_all() -> None:
    shown = bandwidth.scale(of_softmax(), 5)
    assert shown.low == 0
    assert shown.high > 4.35e12
    assert shown.ticks[1] == (1e12, "1 TB/s")


def test_a_problem_that_states_no_bytes_has_no_bars() -> None:
    run = samples.softmax_run()
    run = replace(run, workloads=tuple(replace(w, bytes_moved=None) for w in run.workloads))
    assert bandwidth.info(samples.judged(run)) == Absent("bandwidth", "the problem states no bytes")
