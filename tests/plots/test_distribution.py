"""Every round of a run, as the verdict counted it."""

from dataclasses import replace

import pytest

from hotlap.model import Interval
from hotlap.plots import distribution
from hotlap.plots.chart import Absent
from hotlap.plots.distribution import Strip
from tests.plots import samples
from tests.run_factory import gpu_run, self_reported, workload
from tests.run_factory import samples as rounds


def strips(run: object) -> tuple[Strip, ...]:
    made = distribution.info(samples.judged(run), run)
    assert not isinstance(made, Absent)
    return made


def strip(times: list[float]) -> Strip:
    median = sorted(times)[len(times) // 2]
    return Strip(
        "n=1", "submission", tuple(times), Interval(median, 0.99 * median, 1.01 * median, len(times)), 1
    )


def test_each_workload_has_the_rounds_of_both_sides_in_their_order() -> None:
    run = samples.softmax_run()
    made = strips(run)
    assert [s.side for s in made] == ["submission", "baseline"] * 3
    assert len(made[0].times_ns) == 12
    order = sorted(range(12), key=made[0].times_ns.__getitem__)
    assert order == sorted(range(12), key=run.workloads[1].samples.submission_ns.__getitem__)


def test_the_empty_round_is_taken_off_so_that_the_median_is_the_verdict_s() -> None:
    for made in strips(samples.softmax_run()):
        ordered = sorted(made.times_ns)
        middle = (ordered[len(ordered) // 2 - 1] + ordered[len(ordered) // 2]) / 2
        assert middle == pytest.approx(made.time_ns.estimate)


def test_where_calls_overlapped_the_rounds_of_one_call_are_shown() -> None:
    run = gpu_run(workload(samples=rounds(submission_ns=50_000, single_ns=200_000)))
    submission, baseline = strips(run)
    assert submission.calls_per_round == 1
    assert submission.times_ns == pytest.approx([200_000] * 12)
    assert baseline.calls_per_round == 10


@pytest.mark.parametrize("n", [12, 64])
def test_as_many_rounds_as_there_are_get_a_row_in_the_table(n: int) -> None:
    run = gpu_run(workload(samples=rounds(rounds=n)))
    rows = distribution.chart(strips(run)).rows
    assert len(rows) == 2 * n
    assert [row.round for row in rows[:n]] == list(range(n))


def test_a_run_that_is_not_stored_has_no_distribution() -> None:
    made = distribution.info(samples.judged(samples.softmax_run()), None)
    assert made == Absent("distribution", "the rounds of this run are not stored")


def test_a_run_that_was_not_timed_has_no_distribution() -> None:
    assert isinstance(distribution.info(samples.judged(self_reported()), self_reported()), Absent)


def test_all_rounds_are_in_sight_where_they_lie_together() -> None:
    low, high = distribution.spread([strip([99, 100, 100, 101, 102, 98, 100, 100, 100, 100])])
    assert low < 0.98
    assert high > 1.02


def test_two_states_of_a_machine_are_both_in_sight() -> None:
    _, high = distribution.spread([strip([100.0] * 8 + [150.0] * 4)])
    assert high > 1.5


def test_one_far_round_does_not_squeeze_the_others() -> None:
    _, high = distribution.spread([strip([100.0, 101.0] * 10 + [450.0])])
    assert high < 1.1


def test_rounds_of_one_time_still_have_a_range() -> None:
    low, high = distribution.spread([strip([100.0] * 12)])
    assert low < 1 < high


def test_strips_of_one_workload_stand_together() -> None:
    one, other = strip([1.0] * 6), replace(strip([1.0] * 6), workload="n=2")
    assert distribution.by_workload([one, other, one]) == [[one, one], [other]]
