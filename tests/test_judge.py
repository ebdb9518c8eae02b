"""From a run to its verdict: pure tables, and intervals that hold what they claim."""

import json
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest

from hotlap import schema
from hotlap.judge import ESCAPE, FLOOR_SLACK, calls_overlap, judge, redact
from hotlap.model import (
    Bandwidth,
    Calibration,
    Fault,
    Finding,
    Interval,
    Kind,
    Run,
    Samples,
    Status,
    Trust,
    WorkloadVerdict,
)
from hotlap.roofline import ceiling
from tests.run_factory import (
    CALLS,
    EMPTY_NS,
    calibration,
    failure,
    gpu_run,
    run,
    samples,
    self_reported,
    workload,
)
from tests.stats.coverage import ar1

WRONG = failure(Status.wrong, Fault.submission, "output y: 3 of 9 elements beyond tolerance")
CRASH = failure(Status.failed, Fault.submission, "was killed by SIGSEGV")
BROKEN = failure(Status.void, Fault.problem, "the reference raised")


# --- status ----------------------------------------------------------------------------------------


def test_a_run_in_which_all_went_well_is_accepted() -> None:
    verdict = judge(run(workload(Kind.test), workload(Kind.hidden), workload()))
    assert (verdict.status, verdict.reason, verdict.fault) == (Status.accepted, None, None)
    assert verdict.score is not None
    assert verdict.score_reason is None
    assert [w.status for w in verdict.workloads] == ["correct"] * 3


@pytest.mark.parametrize(
    ("found", "status", "fault", "word"),
    [
        (WRONG, Status.wrong, Fault.submission, "wrong"),
        (CRASH, Status.failed, Fault.submission, "failed"),
        (BROKEN, Status.void, Fault.problem, "void"),
        (failure(Status.void, Fault.device), Status.void, Fault.device, "void"),
        (failure(Status.void, Fault.harness), Status.void, Fault.harness, "void"),
    ],
)
@pytest.mark.parametrize("kind", Kind)
def test_a_workload_s_failure_is_the_verdict_s(
    found: "object", status: Status, fault: Fault, word: str, kind: Kind
) -> None:
    verdict = judge(run(workload(Kind.test), workload(kind, failure=found), workload()))
    assert (verdict.status, verdict.fault) == (status, fault)
    assert (verdict.detail, verdict.output) == ("a traceback", "some output")
    assert (verdict.score, verdict.score_reason) == (None, "not accepted")
    assert [w.status for w in verdict.workloads] == ["correct", word, "correct"]


def test_a_run_that_failed_before_any_workload_says_why() -> None:
    verdict = judge(run(failure=CRASH, workloads=()))
    assert (verdict.status, verdict.reason, verdict.workloads) == (Status.failed, "was killed by SIGSEGV", ())


def test_a_workload_that_was_wrong_outweighs_a_harness_that_failed_later() -> None:
    verdict = judge(run(workload(failure=WRONG), failure=failure(Status.void, Fault.harness)))
    assert verdict.status == Status.wrong


def test_the_reason_names_the_axes_of_the_first_workload_that_failed() -> None:
    first = workload(Kind.test, axes={"rows": 3, "cols": 5}, failure=WRONG)
    verdict = judge(run(workload(Kind.test), first, workload(failure=CRASH)))
    assert verdict.reason == "rows=3 cols=5: output y: 3 of 9 elements beyond tolerance"


def test_the_reason_says_that_a_workload_was_hidden() -> None:
    verdict = judge(run(workload(Kind.hidden, failure=WRONG)))
    assert verdict.reason == "hidden workload n=1000: output y: 3 of 9 elements beyond tolerance"


def test_a_run_that_was_only_checked_has_no_score() -> None:
    verdict = judge(run(workload(samples=None), timed=False))
    assert verdict.status == Status.accepted
    assert (verdict.score, verdict.score_reason) == (None, "checked, not timed")


def test_what_the_run_says_of_itself_is_carried_over() -> None:
    given = run()
    verdict = judge(given)
    for name in ("device", "trust", "sandbox", "timing", "started_at", "hotlap_version", "problem"):
        assert getattr(verdict, name) == getattr(given, name)
    assert verdict.run == given.id
    assert (verdict.submission.sha256, verdict.submission.style) == (given.submission.sha256, "out")


def test_the_master_key_and_the_source_are_nowhere_in_a_verdict() -> None:
    given = run()
    text = schema.to_json(judge(given, (), calibration()))
    assert given.master_key not in text
    assert given.submission.source.strip() not in text


# --- the floor -------------------------------------------------------------------------------------


def verdict_at(time_ns: float, given: Calibration | None, **changes: Any) -> tuple[Status, WorkloadVerdict]:
    verdict = judge(run(workload(samples=samples(time_ns), **changes)), (), given)
    return verdict.status, verdict.workloads[0]


def test_a_time_below_the_floor_is_suspect_and_keeps_its_score() -> None:
    # 1 MB at 10 GB/s: 100 us.
    verdict = judge(run(workload(samples=samples(80_000))), (), calibration(1e10))
    assert verdict.status == Status.suspect
    assert verdict.fault is None
    assert verdict.reason is not None
    assert "n=1000" in verdict.reason
    assert "floor 100000 ns" in verdict.reason
    assert verdict.score is not None


@pytest.mark.parametrize(
    ("time_ns", "status"),
    [
        (101_000, Status.accepted),
        (99_000, Status.accepted),
        (95_200, Status.accepted),
        (94_000, Status.suspect),
    ],
)
def test_within_the_slack_below_the_floor_nothing_is_suspect(time_ns: float, status: Status) -> None:
    assert FLOOR_SLACK == 0.05
    assert verdict_at(time_ns, calibration(1e10))[0] == status


def test_a_noisy_time_is_suspect_only_if_its_whole_interval_is_below_the_floor() -> None:
    noisy = samples(80_000, wobble=(-0.3, 0.3, 0.0, 0.25))
    assert judge(run(workload(samples=noisy)), (), calibration(1e10)).status == Status.accepted


@pytest.mark.parametrize(
    ("given", "changes", "reason"),
    [
        (None, {}, "not calibrated: run `hotlap calibrate`"),
        (replace(calibration(), bandwidth=()), {}, "not calibrated: run `hotlap calibrate`"),
        (calibration(), {"bytes_moved": None}, "the problem states no bytes"),
        (calibration(), {"footprint_bytes": 1000}, "a footprint of 1000 bytes is below the smallest"),
        (calibration(), {"footprint_bytes": None}, "a footprint of 0 bytes is below the smallest"),
    ],
)
def test_where_there_is_no_floor_the_reason_is_given(
    given: Calibration | None, changes: dict[str, object], reason: str
) -> None:
    status, one = verdict_at(1.0, given, **changes)
    assert status == Status.accepted
    assert (one.floor_ns, one.bound) == (None, None)
    assert one.floor_reason is not None
    assert one.floor_reason.startswith(reason)


@pytest.mark.parametrize(
    ("footprint", "floor_ns"), [(4 << 20, 1e5), (63 << 20, 1e5), (64 << 20, 2e5), (1 << 40, 2e5)]
)
def test_the_floor_uses_the_best_bandwidth_at_the_footprint_or_the_next_smaller(
    footprint: int, floor_ns: float
) -> None:
    _, one = verdict_at(1e6, calibration(1e10), footprint_bytes=footprint)
    assert one.floor_ns == pytest.approx(floor_ns)
    assert (one.floor_reason, one.bound) == (None, "memory")


def test_the_floor_fraction_is_the_share_of_the_time_that_cannot_be_avoided() -> None:
    verdict = judge(run(workload(samples=samples(400_000))), (), calibration(1e10))
    assert verdict.score is not None
    assert verdict.score.floor_fraction == pytest.approx(0.25)


def test_there_is_no_floor_fraction_unless_every_workload_has_a_floor() -> None:
    verdict = judge(run(workload(), workload(bytes_moved=None)), (), calibration(1e10))
    assert verdict.score is not None
    assert verdict.score.floor_fraction is None


# --- the roofline ----------------------------------------------------------------------------------


def with_ceilings(**per_s: float) -> Calibration:
    found = tuple(ceiling(f"peak-{name}", [value] * 6) for name, value in per_s.items())
    return replace(calibration(1e10), ceilings=found)


@pytest.mark.parametrize(
    ("peak", "bound", "limit_ns"), [(1e12, "memory", 1e5), (1e10, "memory", 1e5), (5e6, "compute", 2e5)]
)
def test_a_workload_is_bound_by_what_needs_longest(peak: float, bound: str, limit_ns: float) -> None:
    # 1 MB at 10 GB/s, and 1,000 operations.
    _, one = verdict_at(400_000, with_ceilings(float32=peak), arithmetic="float32")
    assert (one.bound, one.limit_ns) == (bound, pytest.approx(limit_ns))
    assert one.headroom_ns == pytest.approx(400_000 - limit_ns)
    assert one.bytes_per_s == pytest.approx(1e6 / 400_000 * 1e9)
    assert one.flops_per_s == pytest.approx(1e3 / 400_000 * 1e9)
    assert one.floor_ns == pytest.approx(1e5)


def test_a_time_below_the_roofline_and_above_the_floor_is_accepted() -> None:
    status, one = verdict_at(150_000, with_ceilings(float32=5e6), arithmetic="float32")
    assert status == Status.accepted
    assert one.headroom_ns == pytest.approx(-50_000)


def test_a_workload_without_a_time_has_no_rates() -> None:
    (one,) = judge(run(workload(samples=samples(rounds=3))), (), calibration()).workloads
    assert (one.bytes_per_s, one.flops_per_s, one.headroom_ns) == (None, None, None)


def test_the_roofline_of_calls_that_overlap_is_that_of_the_time_that_ranks() -> None:
    one, _ = of(samples(30_000, single_ns=120_000), calibration(1e10))
    assert one.bytes_per_s == pytest.approx(1e6 / 120_000 * 1e9)
    assert one.headroom_ns == pytest.approx(20_000)


def test_a_run_that_was_stored_without_its_arithmetic_is_judged_as_ever() -> None:
    document = json.loads(schema.to_json(run()))
    for one in document["workloads"]:
        del one["arithmetic"]
    stored = schema.from_json(Run, json.dumps(document))
    (one,) = judge(stored, (), with_ceilings(float32=1.0)).workloads
    assert (one.bound, one.limit_ns) == ("memory", pytest.approx(1e5))


# --- how sure the answers are ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("checked", "total", "share"),
    [(0, 10, None), (10, 10, 0.0), (270, 10_000, 0.0499), (1375, 100_000, 0.00999), (1, 10, 1 - ESCAPE)],
)
def test_the_excluded_share_is_what_escapes_one_time_in_a_million(
    checked: int, total: int, share: float | None
) -> None:
    (one,) = judge(run(workload(checked_calls=checked, total_calls=total))).workloads
    assert one.excluded_share == (None if share is None else pytest.approx(share, rel=2e-3))
    if share:
        assert (1 - share) ** checked == pytest.approx(ESCAPE, rel=0.2)


def test_errors_are_absent_where_nothing_was_compared() -> None:
    (one,) = judge(run(workload(errors=None))).workloads
    assert (one.max_abs_error, one.max_rel_error, one.error_over_tolerance) == (None, None, None)


# --- times -----------------------------------------------------------------------------------------


def test_the_time_of_a_call_is_a_round_without_the_empty_one_by_calls() -> None:
    (one,) = judge(run(workload(samples=samples(123_000)))).workloads
    assert one.time_ns is not None
    assert one.baseline_time_ns is not None
    assert one.time_ns.estimate == pytest.approx(123_000)
    assert one.baseline_time_ns.estimate == pytest.approx(200_000)
    assert (one.time_ns.n, one.calls_per_round) == (12, CALLS)


def test_an_interval_without_any_noise_is_as_wide_as_one_process_scatters() -> None:
    (one,) = judge(run(workload()), (), calibration(process_part=0.01)).workloads
    assert one.time_ns is not None
    assert one.time_ns.ci_low == pytest.approx(one.time_ns.estimate / 1.01)
    assert one.time_ns.ci_high == pytest.approx(one.time_ns.estimate * 1.01)


def test_an_uncertain_empty_round_widens_the_interval_of_a_time() -> None:
    exact = samples()
    unsure = replace(exact, empty_ns=tuple(EMPTY_NS + (i % 2) * 20_000 - 10_000 for i in range(12)))
    narrow, wide = (judge(run(workload(samples=s))).workloads[0].time_ns for s in (exact, unsure))
    assert narrow is not None
    assert wide is not None
    assert wide.ci_high - wide.ci_low > 2 * (narrow.ci_high - narrow.ci_low)


@pytest.mark.parametrize(("rounds", "is_enough"), [(0, False), (1, False), (5, False), (6, True)])
def test_with_too_few_rounds_for_an_interval_there_is_no_time(rounds: int, is_enough: bool) -> None:
    verdict = judge(run(workload(samples=samples(rounds=rounds, wobble=(0.0, 0.2, -0.1)))))
    (one,) = verdict.workloads
    assert verdict.status == Status.accepted
    assert (one.time_ns is not None) == is_enough
    assert (one.speedup is not None) == is_enough
    assert (verdict.score is not None) == is_enough
    assert verdict.score_reason == (None if is_enough else "fewer than 6 rounds were timed: no interval")


def test_a_call_too_short_to_be_told_from_an_empty_round_has_no_time_and_no_score() -> None:
    short = replace(samples(), submission_ns=(EMPTY_NS - 5, *samples().submission_ns[1:]))
    verdict = judge(run(workload(), workload(samples=short)))
    assert verdict.status == Status.accepted
    assert verdict.score is None
    assert verdict.score_reason == "a call is too short to be told from an empty round"
    first, second = verdict.workloads
    assert first.time_ns is not None
    assert (second.time_ns, second.speedup) == (None, None)
    assert second.baseline_time_ns is not None


@pytest.mark.parametrize(("rounds", "is_enough"), [(5, False), (6, True)])
def test_the_empty_round_is_told_with_its_interval(rounds: int, is_enough: bool) -> None:
    drawn = tuple(EMPTY_NS + 1000 * i for i in range(rounds))
    (one,) = judge(run(workload(samples=replace(samples(rounds=rounds), empty_ns=drawn)))).workloads
    empty = Interval(52_500, 50_000, 55_000, 6, 50_250) if is_enough else None
    assert one.empty_round_ns == empty


def test_a_workload_that_was_wrong_while_timed_shows_no_time() -> None:
    (one,) = judge(run(workload(failure=WRONG))).workloads
    assert (one.time_ns, one.speedup, one.floor_ns, one.floor_reason) == (None, None, None, None)


def test_the_score_is_the_geometric_mean_over_the_bench_workloads() -> None:
    verdict = judge(
        run(workload(Kind.test), workload(samples=samples(1e5, 4e5)), workload(samples=samples(4e5, 4e5)))
    )
    assert verdict.score is not None
    assert verdict.score.aggregate == "geomean"
    assert verdict.score.time_ns == pytest.approx(2e5)
    assert verdict.score.speedup == pytest.approx(2.0)
    assert verdict.score.ci_low_ns < 2e5 < verdict.score.ci_high_ns


def test_what_slows_both_sides_of_a_pair_leaves_the_speedup_alone() -> None:
    (one,) = judge(run(workload(samples=samples(wobble=(0.0, 0.5, 2.0, 0.1))))).workloads
    assert one.speedup == pytest.approx(2.0, rel=1e-3)
    assert one.speedup_ci is not None
    assert one.speedup_ci == pytest.approx((2 / 1.002, 2 * 1.002), rel=1e-3)


def test_no_number_in_a_verdict_is_infinite_or_nan() -> None:
    for rounds in (0, 3, 12):
        text = schema.to_json(judge(run(workload(samples=samples(rounds=rounds)))))
        json.loads(text, parse_constant=pytest.fail)


# --- single calls, on a GPU ------------------------------------------------------------------------


def of(given: Samples, calibrated: Calibration | None = None) -> tuple[WorkloadVerdict, list[Finding]]:
    verdict = judge(gpu_run(workload(samples=given)), (), calibrated)
    return verdict.workloads[0], list(verdict.findings)


@pytest.mark.parametrize(
    ("among_ns", "alone_ns", "overlap"),
    [
        (100_000, 100_000, False),
        (100_000, 120_000, False),
        (75_500, 100_000, False),  # 0.8 * 100 us - 5 us = 75 us
        (74_500, 100_000, True),
        (10_000, 100_000, True),
        (4_370, 9_400, False),  # an addition on an H200 in a graph, alone and among 512
        (1_000, 7_400, False),  # launches alone explain it
        (2_200, 9_400, True),  # two such additions merged into one
        (100_000, 50_000, False),
    ],
)
def test_calls_overlap_where_many_take_less_than_single_ones_and_a_launch_explain(
    among_ns: float, alone_ns: float, overlap: bool
) -> None:
    given = samples(among_ns, single_ns=alone_ns)
    one, findings = of(given)
    assert calls_overlap(given, "graph") is overlap
    assert [f.rule for f in findings] == ["overlapped-calls"] * overlap
    assert one.time_ns is not None
    assert one.time_ns.estimate == pytest.approx(alone_ns if overlap else among_ns)


@pytest.mark.parametrize(
    ("among_ns", "alone_ns", "overlap"),
    [(24_300, 195_000, False), (72_000, 217_000, False), (813_000, 947_000, False), (400_000, 947_000, True)],
)
def test_after_go_a_single_call_may_take_as_much_longer_as_the_host_needs_to_see_go(
    among_ns: float, alone_ns: float, overlap: bool
) -> None:
    assert calls_overlap(samples(among_ns, single_ns=alone_ns), "after-go") is overlap


def test_a_round_of_one_call_overlaps_with_nothing() -> None:
    assert not calls_overlap(samples(10_000, calls=1, single_ns=100_000), "graph")


def test_without_single_rounds_nothing_is_said_of_overlap() -> None:
    one, findings = of(samples(10_000))
    assert (one.single_call_ns, findings) == (None, [])


def test_overlap_that_hides_below_an_empty_round_is_seen() -> None:
    hidden = replace(samples(single_ns=100_000), submission_ns=(EMPTY_NS - 10,) * 12)
    one, _ = of(hidden)
    assert calls_overlap(hidden, "graph")
    assert one.time_ns is not None
    assert one.time_ns.estimate == pytest.approx(100_000)


def test_the_finding_names_both_times_the_file_and_no_line() -> None:
    _, (finding,) = of(samples(30_000, single_ns=120_000))
    assert (finding.file, finding.line) == ("kernel.py", None)
    assert finding.fact.startswith(
        "n=1000: a call takes 120.00 µs when it is a round's only one, 30.00 µs among 10:"
    )


def test_what_the_guard_found_comes_before_what_the_run_shows() -> None:
    guard = Finding("timer-rebinding", "kernel.py", 1, "assigns time.time")
    given = gpu_run(workload(samples=samples(30_000, single_ns=120_000)))
    assert [f.rule for f in judge(given, [guard]).findings] == ["timer-rebinding", "overlapped-calls"]


def test_each_workload_that_overlaps_has_its_finding() -> None:
    overlapped = workload(samples=samples(30_000, single_ns=120_000))
    verdict = judge(gpu_run(workload(Kind.test), overlapped, workload(), replace(overlapped, axes={"n": 7})))
    assert [f.fact.partition(":")[0] for f in verdict.findings] == ["n=1000", "n=7"]


def test_the_time_of_a_single_call_is_told_where_nothing_overlaps_too() -> None:
    one, findings = of(samples(100_000, single_ns=110_000))
    assert findings == []
    assert one.single_call_ns is not None
    assert one.single_call_ns.estimate == pytest.approx(110_000)
    assert one.single_call_ns.n == 12
    assert one.time_ns is not None
    assert one.time_ns.estimate == pytest.approx(100_000)
    assert one.speedup == pytest.approx(2.0, rel=1e-3)


def test_the_single_call_s_time_ranks_where_calls_overlap() -> None:
    verdict = judge(gpu_run(workload(samples=samples(30_000, 240_000, single_ns=120_000, single_rounds=7))))
    (one,) = verdict.workloads
    assert one.time_ns == one.single_call_ns
    assert one.time_ns is not None
    assert (one.time_ns.n, one.calls_per_round) == (7, CALLS)
    assert one.speedup == pytest.approx(2.0, rel=1e-3)
    assert verdict.status == Status.accepted
    assert verdict.score is not None
    assert verdict.score.time_ns == pytest.approx(120_000)
    assert verdict.score.speedup == pytest.approx(2.0, rel=1e-3)


def test_the_speedup_of_a_single_call_has_the_uncertainty_of_both_sides() -> None:
    part = calibration(process_part=0.01)
    one, _ = of(samples(30_000, 240_000, single_ns=120_000), part)
    assert one.speedup_ci is not None
    assert np.log(np.array(one.speedup_ci) / 2) == pytest.approx(
        np.array([-1, 1]) * np.sqrt(2) * np.log1p(0.01), rel=1e-3
    )


@pytest.mark.parametrize("single_rounds", [1, 5])
def test_overlap_seen_in_too_few_single_rounds_leaves_no_time_that_could_rank(single_rounds: int) -> None:
    given = samples(30_000, single_ns=120_000, single_rounds=single_rounds)
    verdict = judge(gpu_run(workload(samples=given)))
    (one,) = verdict.workloads
    assert (one.time_ns, one.single_call_ns, one.speedup) == (None, None, None)
    assert [f.rule for f in verdict.findings] == ["overlapped-calls"]
    assert (verdict.score, verdict.score_reason) == (None, "fewer than 6 rounds were timed: no interval")


@pytest.mark.parametrize(("short_rounds", "is_told"), [(1, True), (2, True), (3, False), (6, False)])
def test_a_single_call_has_a_time_where_its_whole_interval_is_above_an_empty_round(
    short_rounds: int, is_told: bool
) -> None:
    alone = (*(EMPTY_NS - 1,) * short_rounds, *(EMPTY_NS + 2_000,) * (12 - short_rounds))
    one, _ = of(replace(samples(2_000), single_ns=alone))
    assert (one.single_call_ns is not None) is is_told
    assert one.time_ns is not None
    if one.single_call_ns is not None:
        assert one.single_call_ns.ci_low > 0
        assert one.single_call_ns.p05 is None or one.single_call_ns.p05 > 0


def test_a_workload_that_failed_is_not_said_to_overlap() -> None:
    given = workload(samples=samples(30_000, single_ns=120_000), failure=WRONG)
    assert judge(gpu_run(given)).findings == ()


@pytest.mark.parametrize("mode", ["graph", "stream", "after-go", None])
def test_the_mode_of_a_workload_is_carried_over(mode: str | None) -> None:
    assert [w.mode for w in judge(run(workload(mode=mode))).workloads] == [mode]


@pytest.mark.parametrize(("footprint", "floor_ns"), [(255 << 20, None), (256 << 20, 1e5), (4 << 30, 1e5)])
def test_a_gpu_has_a_floor_only_where_the_footprint_is_beyond_its_cache(
    footprint: int, floor_ns: float | None
) -> None:
    measured = Bandwidth(256 << 20, 4e12, 4e12, 4e12, 3e12)
    given = replace(calibration(), bandwidth=(measured,))
    moved = workload(bytes_moved=400_000_000, footprint_bytes=footprint)
    (one,) = judge(gpu_run(moved), (), given).workloads
    assert one.floor_ns == (None if floor_ns is None else pytest.approx(floor_ns))
    assert (one.floor_reason is None) == (floor_ns is not None)


# --- self-reported ---------------------------------------------------------------------------------


def test_a_self_reported_run_is_accepted_without_a_score_and_shows_what_was_claimed() -> None:
    verdict = judge(self_reported())
    (one,) = verdict.workloads
    assert (verdict.status, verdict.trust, verdict.score) == (Status.accepted, Trust.self_reported, None)
    assert verdict.score_reason == "self-reported: this GPU cannot share memory between processes"
    assert (one.status, one.claimed_time_ns, one.time_ns, one.floor_ns) == ("correct", 125_000.0, None, None)


def test_no_time_ranks_in_a_self_reported_run_even_where_rounds_came_with_it() -> None:
    given = workload(samples=samples(30_000, single_ns=120_000), claimed_time_ns=1.0)
    verdict = judge(gpu_run(given, trust=Trust.self_reported, trust_reason="no IPC"), (), calibration(1e10))
    (one,) = verdict.workloads
    assert (verdict.status, verdict.score, verdict.findings) == (Status.accepted, None, ())
    assert (one.time_ns, one.speedup, one.baseline_time_ns, one.claimed_time_ns) == (None, None, None, 1.0)


def test_wrong_answers_are_wrong_whoever_holds_the_clock() -> None:
    wrong = workload(samples=None, claimed_time_ns=5.0, failure=WRONG)
    verdict = judge(gpu_run(wrong, trust=Trust.self_reported, trust_reason="no IPC"))
    assert (verdict.status, verdict.score_reason) == (Status.wrong, "not accepted")
    assert verdict.workloads[0].claimed_time_ns is None


@pytest.mark.parametrize("claimed", [float("nan"), float("inf"), 0.0, -1.0, None])
def test_a_claim_that_is_no_time_is_absent(claimed: float | None) -> None:
    assert judge(self_reported(claimed)).workloads[0].claimed_time_ns is None


# --- coverage --------------------------------------------------------------------------------------

TRIALS = 1000


def paired_rounds(rng: np.random.Generator, speedup: float, rounds: int, process_part: float) -> Samples:
    """A machine whose speed wanders for both sides alike, with outliers, for each side alone."""
    drift = np.exp(0.05 * ar1(rng, rounds, 0.9))
    process = np.exp(rng.normal(0, process_part / 2, 2))

    def side(time_ns: float, part: float) -> tuple[int, ...]:
        noise = np.exp(0.01 * rng.standard_t(3, rounds))
        return tuple(round(x) for x in EMPTY_NS + CALLS * time_ns * part * drift * noise)

    empty = tuple(round(x) for x in EMPTY_NS * np.exp(0.02 * rng.standard_t(3, rounds)))
    return Samples(CALLS, side(1e5, process[0]), side(1e5 * speedup, process[1]), empty)


@pytest.mark.parametrize(("speedup", "rounds"), [(1.0, 12), (1.7, 40)])
def test_the_speedup_s_interval_covers_the_truth_where_both_sides_drift_together(
    speedup: float, rounds: int
) -> None:
    rng = np.random.default_rng(20261130)
    hits, widths = 0, []
    for _ in range(TRIALS):
        given = workload(samples=paired_rounds(rng, speedup, rounds, 0.002))
        (one,) = judge(run(given)).workloads
        assert one.speedup_ci is not None
        hits += one.speedup_ci[0] <= speedup <= one.speedup_ci[1]
        widths.append(one.speedup_ci[1] / one.speedup_ci[0])
    assert hits / (TRIALS) >= 0.93
    assert np.median(widths) < 1.05  # a drift of 5 % a round did not widen it


@pytest.mark.parametrize("speedup", [1.0, 3.0])
def test_the_intervals_of_single_calls_cover_the_truth_where_the_empty_round_is_uncertain(
    speedup: float,
) -> None:
    """Calls of 40 us in rounds whose cost without calls is 290 us, plus or minus 1 %."""
    rng = np.random.default_rng(20261201)
    hits = np.zeros(2)
    alone_ns, calls = 40_000, 16

    def rounds(time_ns: float, n: int) -> tuple[int, ...]:
        return tuple(round(x) for x in 290_000 * np.exp(0.01 * rng.standard_t(5, n)) + time_ns)

    for _ in range(TRIALS):
        mine, theirs = np.exp(rng.normal(0, 0.001, 2))  # what each process is dealt
        given = Samples(
            calls,
            submission_ns=rounds(calls * alone_ns * 0.3, 24),
            baseline_ns=rounds(calls * alone_ns * speedup * theirs, 24),
            empty_ns=rounds(0, 24),
            single_ns=rounds(alone_ns * mine, 16),
        )
        (one,) = judge(gpu_run(workload(samples=given))).workloads
        assert one.time_ns is not None
        assert one.speedup_ci is not None
        hits += [
            one.time_ns.ci_low <= alone_ns <= one.time_ns.ci_high,
            one.speedup_ci[0] <= speedup <= one.speedup_ci[1],
        ]
    assert (hits / TRIALS).min() >= 0.93


# --- redaction -------------------------------------------------------------------------------------


def verdict_with(first: Kind, **changes: Any) -> Run:
    hidden = workload(Kind.hidden, axes={"n": 4321})
    return run(workload(first, axes={"n": 77}, **changes), hidden, workload())


def test_redaction_takes_axes_errors_and_checks_of_hidden_workloads_and_nothing_else() -> None:
    verdict = judge(verdict_with(Kind.test), (), calibration())
    hidden = redact(verdict)
    assert hidden.workloads[0] == verdict.workloads[0]
    assert hidden.workloads[2] == verdict.workloads[2]
    assert hidden.workloads[1] == WorkloadVerdict(axes=None, kind=Kind.hidden, status="correct")
    same = [f.name for f in fields(verdict) if f.name != "workloads"]
    assert all(getattr(hidden, name) == getattr(verdict, name) for name in same)


def test_redaction_takes_mode_and_times_of_hidden_workloads_on_a_gpu() -> None:
    hidden = workload(Kind.hidden, axes={"n": 4321}, claimed_time_ns=7.0)
    verdict = redact(judge(gpu_run(hidden, workload(samples=samples(30_000, single_ns=120_000)))))
    assert verdict.workloads[0] == WorkloadVerdict(axes=None, kind=Kind.hidden, status="correct")
    assert verdict.workloads[1].mode == "graph"
    assert [f.rule for f in verdict.findings] == ["overlapped-calls"]


@pytest.mark.parametrize(
    ("found", "word"), [(WRONG, "wrong"), (CRASH, "failed"), (BROKEN, "void")], ids=["wrong", "crash", "void"]
)
def test_of_a_hidden_workload_that_failed_only_the_class_is_told(found: object, word: str) -> None:
    verdict = judge(verdict_with(Kind.hidden, failure=found))
    hidden = redact(verdict)
    assert hidden.status == verdict.status
    assert hidden.fault == verdict.fault
    assert hidden.reason == f"hidden workload: {word}"
    assert (hidden.detail, hidden.output) == (None, None)
    text = schema.to_json(hidden)
    for secret in ("77", "4321", "said so", "a traceback", "some output", "beyond tolerance", "SIGSEGV"):
        assert secret not in text.replace("sha256", "").replace("01JD3W8Q4N", "")


def test_the_reason_of_an_open_workload_stays() -> None:
    verdict = judge(verdict_with(Kind.test, failure=WRONG))
    assert redact(verdict).reason == verdict.reason
    assert redact(verdict).detail == verdict.detail


def test_redaction_of_a_redacted_verdict_changes_nothing() -> None:
    for given in (verdict_with(Kind.hidden, failure=WRONG), verdict_with(Kind.test)):
        hidden = redact(judge(given))
        assert redact(hidden).workloads == hidden.workloads
        assert redact(hidden).status == hidden.status


def test_the_same_run_gives_the_same_verdict() -> None:
    given = verdict_with(Kind.test)
    assert judge(given, (), calibration()) == judge(given, (), calibration())
    assert schema.to_json(judge(given)) == schema.to_json(judge(schema.from_json(Run, schema.to_json(given))))
