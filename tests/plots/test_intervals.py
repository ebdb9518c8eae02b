"""Times and speedups with their intervals."""

from dataclasses import replace

import pytest

from hotlap.plots import forest, intervals
from hotlap.plots.chart import Absent
from hotlap.plots.intervals import Intervals
from tests.cli import factory
from tests.plots import samples
from tests.run_factory import calibration, run, workload
from tests.run_factory import samples as rounds


def of(verdict: object) -> Intervals:
    made = intervals.info(verdict)
    assert isinstance(made, Intervals)
    return made


def test_a_row_is_a_workload_with_submission_baseline_and_limit() -> None:
    rows = intervals.time_rows(of(samples.judged(samples.softmax_run())))
    assert [row.label for row in rows] == [
        "rows=16384 cols=4096",
        "rows=262144 cols=256",
        "rows=4096 cols=50257",
    ]
    assert [mark.role for mark in rows[0].marks] == ["submission", "baseline", "limit"]


def test_the_limit_is_the_floor_where_the_roofline_has_none() -> None:
    made = of(factory.accepted(workloads=(factory.bench(limit_ns=None),)))
    assert made.workloads[0].limit_ns == factory.bench().floor_ns


def test_a_workload_without_baseline_or_limit_has_one_mark() -> None:
    bare = factory.bench(baseline_time_ns=None, speedup=None, speedup_ci=None, floor_ns=None)
    made = of(factory.accepted(workloads=(bare,), score=replace(factory.accepted().score, speedup=None)))
    (row,) = intervals.time_rows(made)
    assert [mark.role for mark in row.marks] == ["submission"]
    (missing,) = intervals.speedup_rows(made)
    assert missing.marks == ()
    assert "baseline" in missing.note


def test_the_number_beside_a_mark_reads_as_in_the_terminal() -> None:
    (row,) = intervals.time_rows(of(factory.accepted(workloads=(factory.bench(),))))
    assert row.marks[0].text == "312.4 µs [311.8, 313.1]"


def test_all_workloads_together_come_last_and_only_where_there_are_several() -> None:
    several = intervals.speedup_rows(of(samples.judged(samples.softmax_run())))
    assert [row.label for row in several][-1] == intervals.OVERALL
    assert several[-1].marks[0].role == "overall"
    assert len(intervals.speedup_rows(of(factory.accepted(workloads=(factory.bench(),))))) == 1


def test_a_speedup_lies_beside_its_time() -> None:
    made = of(samples.judged(samples.softmax_run()))
    pairs = zip(intervals.time_rows(made), intervals.speedup_rows(made), strict=False)
    assert all(time.height == speedup.height for time, speedup in pairs)


def test_times_that_differ_much_stand_on_a_log_axis_with_a_unit_at_each_tick() -> None:
    shown = intervals.time_scale(intervals.time_rows(of(samples.judged(samples.matmul_run()))), 4)
    assert shown.log
    assert "1 ms" in [said for _, said in shown.ticks]


def test_times_that_are_near_stand_on_an_even_axis_in_one_unit() -> None:
    rows = intervals.time_rows(of(samples.judged(run(workload(samples=rounds())), calibration())))
    rows = [replace(row, marks=row.marks[:2]) for row in rows]
    shown = intervals.time_scale(rows, 4)
    assert not shown.log
    assert shown.label == "time of a call, µs"


def test_the_scale_of_speedups_holds_1_on_a_log_axis() -> None:
    shown = intervals.speedup_scale(intervals.speedup_rows(of(samples.judged(samples.softmax_run()))), 5)
    assert shown.log
    assert shown.line == 1.0
    assert shown.low < 0.99
    assert shown.high > 1.49
    assert all(said.endswith("x") for _, said in shown.ticks)


def test_what_was_not_timed_has_no_intervals() -> None:
    verdict = factory.accepted(workloads=(factory.untimed(),), score=None, score_reason="checked, not timed")
    assert intervals.info(verdict) == Absent("intervals", "checked, not timed")


@pytest.mark.parametrize("width", [3.75, 10.0])
def test_panels_side_by_side_need_less_height(width: float) -> None:
    made = of(samples.judged(samples.softmax_run()))
    times = forest.height(intervals.time_rows(made))
    height = intervals.chart(made).height(width)
    assert height > times * (2 if width < 6 else 1)
