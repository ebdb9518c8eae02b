"""What a roofline chart holds: points, ceilings, and why something is missing."""

from dataclasses import replace

import pytest

from hotlap.model import Bandwidth, Calibration
from hotlap.plots import roofline
from hotlap.plots.chart import Absent
from hotlap.plots.roofline import Ceiling, Roofline
from tests.plots import samples
from tests.run_factory import self_reported


def of_matmul(calibration: Calibration | None = samples.CALIBRATION) -> Roofline:
    made = roofline.info(samples.judged(samples.matmul_run(), calibration), calibration)
    assert isinstance(made, Roofline)
    return made


def test_a_point_is_flop_a_byte_against_flop_a_second() -> None:
    run = samples.matmul_run()
    seen, judged = run.workloads[0], samples.judged(run).workloads[0]
    point = of_matmul().points[0]
    assert point.workload == "m=8192 n=8192 k=8192"
    assert point.intensity_flop_per_byte == pytest.approx(seen.flops / seen.bytes_moved)
    assert point.flops_per_s == pytest.approx(seen.flops / judged.time_ns.estimate * 1e9)


def test_the_interval_of_a_point_is_that_of_its_time() -> None:
    time = samples.judged(samples.matmul_run()).workloads[0].time_ns
    point = of_matmul().points[0]
    assert point.ci_low / point.flops_per_s == pytest.approx(time.estimate / time.ci_high)
    assert point.ci_high / point.flops_per_s == pytest.approx(time.estimate / time.ci_low)


def test_a_point_knows_its_share_of_the_limit() -> None:
    judged = samples.judged(samples.matmul_run()).workloads[0]
    assert of_matmul().points[0].of_limit == pytest.approx(judged.limit_ns / judged.time_ns.estimate)


def test_test_and_hidden_workloads_are_no_points() -> None:
    made = roofline.info(samples.judged(samples.softmax_run()), samples.CALIBRATION)
    assert [p.workload for p in made.points] == [
        "rows=16384 cols=4096",
        "rows=262144 cols=256",
        "rows=4096 cols=50257",
    ]


def test_ceilings_are_the_memory_the_cache_and_the_peaks_highest_first() -> None:
    made = of_matmul()
    assert made.slopes == (Ceiling("memory", 4.1e12), Ceiling("L2 cache", 8.9e12))
    assert [peak.label for peak in made.peaks] == ["float16", "bfloat16", "tf32", "float32"]
    assert made.notes == ()


def test_without_measured_ceilings_the_bandwidth_of_the_largest_footprint_is_the_memory_line() -> None:
    grid = (Bandwidth(1 << 20, 9, 9, 41.0, 9), Bandwidth(1 << 28, 9, 9, 40.0, 9))
    made = of_matmul(replace(samples.CALIBRATION, ceilings=(), bandwidth=grid))
    assert made.slopes == (Ceiling("copy at 268 MB", 40.0),)
    assert made.notes == ("no arithmetic peaks: not measured here; measure with `hotlap calibrate`",)


def test_a_cache_that_tells_itself_apart_is_a_line_of_its_own() -> None:
    grid = (Bandwidth(1 << 20, 9, 9, 80.0, 9), Bandwidth(1 << 28, 9, 9, 40.0, 9))
    made = of_matmul(replace(samples.CALIBRATION, ceilings=(), bandwidth=grid))
    assert made.slopes == (Ceiling("copy at 268 MB", 40.0), Ceiling("copy at 1.05 MB", 80.0))


def test_without_a_calibration_the_chart_says_why_its_lines_are_missing() -> None:
    assert of_matmul(None).notes == (
        "no memory line: not calibrated, run `hotlap calibrate`",
        "no arithmetic peaks: not calibrated, run `hotlap calibrate`",
    )


def test_workloads_without_arithmetic_are_left_out_and_counted() -> None:
    run = samples.matmul_run()
    run = replace(run, workloads=(replace(run.workloads[0], flops=None), *run.workloads[1:]))
    made = roofline.info(samples.judged(run), samples.CALIBRATION)
    assert len(made.points) == 2
    assert made.notes == ("1 of 3 workloads state no arithmetic and are left out",)


def test_a_problem_without_arithmetic_has_no_roofline() -> None:
    run = samples.without_flops(samples.softmax_run())
    made = roofline.info(samples.judged(run), samples.CALIBRATION)
    assert made == Absent("roofline", "the problem states no arithmetic")


def test_a_run_that_was_not_timed_has_no_roofline() -> None:
    made = roofline.info(samples.judged(self_reported()), samples.CALIBRATION)
    assert isinstance(made, Absent)
    assert "self-reported" in made.reason


def test_all_that_is_drawn_is_in_sight() -> None:
    made = of_matmul()
    shown = roofline.extent(made)
    assert all(shown.left < p.intensity_flop_per_byte < shown.right for p in made.points)
    assert all(shown.bottom < p.ci_low and p.ci_high < shown.top for p in made.points)
    assert all(shown.bottom < peak.value < shown.top for peak in made.peaks)
    assert shown.right > made.peaks[0].value / made.slopes[0].value  # the ridge


def test_the_ridge_is_in_sight_where_every_point_lies_right_of_it() -> None:
    made = of_matmul()
    made = replace(made, points=made.points[:2])
    ridges = [made.peaks[0].value / slope.value for slope in made.slopes]
    shown = roofline.extent(made)
    assert all(shown.left < ridge < shown.right for ridge in ridges)


def test_lines_that_nearly_touch_share_a_label() -> None:
    peaks = [Ceiling("float16", 800e12), Ceiling("bfloat16", 790e12), Ceiling("float32", 56e12)]
    assert roofline.together(peaks, 1.5) == [peaks[:2], peaks[2:]]
    assert roofline.peak_words(peaks[:2]) == "float16 800, bfloat16 790 TFLOP/s"
    assert roofline.peak_words([Ceiling("a", 2e15), Ceiling("b", 9e14)]) == "a 2 PFLOP/s, b 900 TFLOP/s"
