"""The judge: one pure function from a run to a verdict, and the redaction of what must stay hidden."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from hotlap.model import (
    Calibration,
    Failure,
    Finding,
    Interval,
    Kind,
    Run,
    Samples,
    Score,
    Status,
    SubmissionInfo,
    Trust,
    Verdict,
    WorkloadRun,
    WorkloadVerdict,
)
from hotlap.roofline import roofline
from hotlap.stats.geomean import geomean, geomean_interval, widen
from hotlap.stats.hodges_lehmann import hodges_lehmann, hodges_lehmann_interval
from hotlap.stats.interval import quantile_interval

FLOOR_SLACK = 0.05
ESCAPE = 1e-6  # the chance at which a share of wrong calls counts as excluded
FEWEST_ROUNDS = 6  # for an interval of 95 %
PROCESS_PART = 0.002  # relative half-width that one process adds, where no calibration says better
# Calls one after another may take this share of the time of one alone, and that much less: a round's first
# call also pays a launch (5 us of a graph), and after GO the time in which the host sees it (200 us). What
# takes less than both allow has been done together.
OVERLAP_SHARE, OVERLAP_SLACK_NS, AFTER_GO_SLACK_NS = 0.8, 5000.0, 250_000.0


def judge(run: Run, findings: Sequence[Finding] = (), calibration: Calibration | None = None) -> Verdict:
    """The verdict on a run. Pure: the same arguments give the same verdict, on any machine."""
    workloads = tuple(_workload(w, run.trust, calibration) for w in run.workloads)
    failure = _first_failure(run)
    score, score_reason = _score(run, workloads, failure)
    status, reason, fault = Status.accepted, None, None
    if failure is not None:
        status, fault = failure.status, failure.fault
        reason = _reason(run, failure)
    elif below := [w for w in workloads if _below_floor(w)]:
        status = Status.suspect
        first = below[0]
        reason = (
            f"{_named(first.axes)}: faster than this machine can move the bytes; held for a human to look at "
            f"(floor {first.floor_ns:.0f} ns)"
        )
    return Verdict(
        run=run.id,
        status=status,
        reason=reason,
        fault=fault,
        detail=failure.detail if failure else None,
        output=failure.output if failure else None,
        problem=run.problem,
        submission=SubmissionInfo(
            sha256=run.submission.sha256,
            file=run.submission.file,
            lang=run.submission.lang,
            style=run.style,
            author=run.submission.author,
        ),
        device=run.device,
        trust=run.trust,
        trust_reason=run.trust_reason,
        sandbox=run.sandbox,
        score=score,
        score_reason=score_reason,
        workloads=workloads,
        findings=(*findings, *_overlaps(run)),
        timing=run.timing,
        started_at=run.started_at,
        hotlap_version=run.hotlap_version,
    )


def redact(verdict: Verdict) -> Verdict:
    """The verdict without what would tell hidden workloads apart: their axes, errors and messages."""
    workloads = tuple(_redacted(w) if w.kind is Kind.hidden else w for w in verdict.workloads)
    shown = next((w for w in verdict.workloads if w.error is not None), None)
    if shown is None or shown.kind is not Kind.hidden:
        return replace(verdict, workloads=workloads)
    reason = f"hidden workload: {shown.status}"
    return replace(verdict, workloads=workloads, reason=reason, detail=None, output=None)


def _redacted(workload: WorkloadVerdict) -> WorkloadVerdict:
    return WorkloadVerdict(axes=None, kind=workload.kind, status=workload.status)


# --- failures --------------------------------------------------------------------------------------


def _first_failure(run: Run) -> Failure | None:
    return next((w.failure for w in run.workloads if w.failure is not None), run.failure)


def _reason(run: Run, failure: Failure) -> str:
    where = next((w for w in run.workloads if w.failure is failure or w.failure == failure), None)
    if where is None:
        return failure.message
    hidden = "hidden workload " if where.kind is Kind.hidden else ""
    return f"{hidden}{_named(where.axes)}: {failure.message}"


def _named(axes: Mapping[str, int] | None) -> str:
    return " ".join(f"{name}={value}" for name, value in (axes or {}).items())


# --- workloads -------------------------------------------------------------------------------------


def _workload(run: WorkloadRun, trust: Trust, calibration: Calibration | None) -> WorkloadVerdict:
    errors = run.errors
    base = WorkloadVerdict(
        axes=dict(run.axes),
        kind=run.kind,
        status=_status(run.failure),
        mode=run.mode,
        mode_reason=run.mode_reason,
        checked_calls=run.checked_calls,
        excluded_share=_excluded_share(run),
        max_abs_error=errors.max_abs_error if errors else None,
        max_rel_error=errors.max_rel_error if errors else None,
        error_over_tolerance=errors.error_over_tolerance if errors else None,
        error=run.failure.message if run.failure else None,
    )
    if run.failure is not None:
        return base
    base = replace(base, claimed_time_ns=_claimed(run.claimed_time_ns))
    samples = run.samples
    if trust is Trust.self_reported or samples is None or not samples.submission_ns:
        return base
    part = calibration.process_part if calibration else PROCESS_PART
    floor_ns, floor_reason = _floor(run, calibration)
    calls, empty_ns = samples.calls_per_round, samples.empty_ns
    among = _time(per_call_ns(samples.submission_ns, empty_ns, calls), empty_ns, calls, part)
    alone = _time(_less_empty(samples.single_ns, empty_ns, 1), empty_ns, 1, part)
    theirs = _time(per_call_ns(samples.baseline_ns, empty_ns, calls), empty_ns, calls, part)
    overlap = calls_overlap(samples, run.mode)
    speedup = _unpaired_speedup(alone, theirs) if overlap else _speedup(samples, part)
    time_ns = alone if overlap else among
    reached = roofline(
        run,
        time_ns.estimate if time_ns else None,
        floor_ns,
        calibration.ceilings if calibration else (),
    )
    return replace(
        base,
        time_ns=time_ns,
        calls_per_round=calls,
        single_call_ns=alone,
        empty_round_ns=_empty_round(empty_ns),
        baseline_time_ns=theirs,
        speedup=speedup[0] if speedup else None,
        speedup_ci=speedup[1:] if speedup else None,
        floor_ns=floor_ns,
        floor_reason=floor_reason,
        bytes_per_s=reached.bytes_per_s,
        flops_per_s=reached.flops_per_s,
        limit_ns=reached.limit_ns,
        bound=reached.bound,
        headroom_ns=reached.headroom_ns,
    )


def _status(failure: Failure | None) -> str:
    if failure is None:
        return "correct"
    return {Status.wrong: "wrong", Status.void: "void"}.get(failure.status, "failed")


def _excluded_share(run: WorkloadRun) -> float | None:
    if not run.checked_calls:
        return None
    if run.checked_calls >= run.total_calls:
        return 0.0
    return float(1 - ESCAPE ** (1 / run.checked_calls))


def _claimed(time_ns: float | None) -> float | None:
    """What a contestant said of its own time, where that is a time at all."""
    return time_ns if time_ns is not None and math.isfinite(time_ns) and time_ns > 0 else None


def per_call_ns(rounds_ns: Sequence[int], empty_ns: Sequence[int], calls: int) -> list[float] | None:
    """Time of one call in each round, the median empty round taken off; None when a round was no longer than
    that, so that the calls are too short to be told from it."""
    times = _less_empty(rounds_ns, empty_ns, calls)
    return times if times and min(times) > 0 else None


def _less_empty(rounds_ns: Sequence[int], empty_ns: Sequence[int], calls: int) -> list[float]:
    """Time of one call in each round. A round of one short call may come out negative: c scatters too."""
    empty = _median(empty_ns)
    return [(t - empty) / calls for t in rounds_ns]


def _time(
    times: Sequence[float] | None, empty_ns: Sequence[int], calls: int, process_part: float
) -> Interval | None:
    """Median over rounds, its order-statistic interval widened by the process part and by c; None when the
    calls are too short or the rounds too few (under 6) for an interval.

    times: of one call in each round, shape (rounds,), ns.
    """
    if times is None:
        return None
    low, high = quantile_interval(times)
    if low <= 0:
        return None
    estimate, p05 = _median(times), _quantile(times, 0.05)
    empty_low, empty_high = quantile_interval(empty_ns)
    c_part = (empty_high - empty_low) / 2 / calls / estimate
    if not all(map(math.isfinite, (low, high, c_part))):
        return None
    low, high = widen(estimate, low, high, math.hypot(process_part, c_part))
    return Interval(estimate, low, high, len(times), p05 if p05 > 0 else None)


def _empty_round(empty_ns: Sequence[int]) -> Interval | None:
    """c: the median empty round with its order-statistic interval; None under 6 rounds."""
    low, high = quantile_interval(empty_ns)
    if not (math.isfinite(low) and math.isfinite(high)):
        return None
    return Interval(_median(empty_ns), low, high, len(empty_ns), _quantile(empty_ns, 0.05))


def _speedup(samples: Samples, process_part: float) -> tuple[float, float, float] | None:
    """Baseline time over submission time, from paired rounds, with its 95 % interval."""
    calls = samples.calls_per_round
    mine = per_call_ns(samples.submission_ns, samples.empty_ns, calls)
    theirs = per_call_ns(samples.baseline_ns, samples.empty_ns, calls)
    if mine is None or theirs is None:
        return None
    ratios = [math.log(b / a) for a, b in zip(mine, theirs, strict=True)]
    low, high = hodges_lehmann_interval(ratios)
    if not (math.isfinite(low) and math.isfinite(high)):
        return None
    estimate = math.exp(hodges_lehmann(ratios))
    return estimate, *widen(estimate, math.exp(low), math.exp(high), process_part)


def _unpaired_speedup(mine: Interval | None, theirs: Interval | None) -> tuple[float, float, float] | None:
    """Baseline time over submission time, of rounds that are no pairs, with its 95 % interval.

    Half-widths add in quadrature on the log scale. Both hold the uncertainty of the same c, which would
    cancel in part: the interval is rather too wide than too narrow.
    """
    if mine is None or theirs is None or mine.ci_low <= 0 or theirs.ci_low <= 0:
        return None
    down = math.hypot(math.log(theirs.estimate / theirs.ci_low), math.log(mine.ci_high / mine.estimate))
    up = math.hypot(math.log(theirs.ci_high / theirs.estimate), math.log(mine.estimate / mine.ci_low))
    estimate = theirs.estimate / mine.estimate
    return estimate, estimate * math.exp(-down), estimate * math.exp(up)


def _floor(run: WorkloadRun, calibration: Calibration | None) -> tuple[float | None, str | None]:
    """Least time for the compulsory bytes at this workload's footprint, or why there is none."""
    if run.bytes_moved is None:
        return None, "the problem states no bytes"
    if calibration is None or not calibration.bandwidth:
        return None, "not calibrated: run `hotlap calibrate`"
    footprint = run.footprint_bytes or 0
    grid = sorted(calibration.bandwidth, key=lambda b: b.footprint_bytes)
    if footprint < grid[0].footprint_bytes:
        return None, f"a footprint of {footprint} bytes is below the smallest calibrated one"
    below = [b for b in grid if b.footprint_bytes <= footprint][-1]
    # Bandwidth falls with the footprint, so the smaller neighbour's is an upper bound.
    best = max(below.read, below.write, below.copy, below.add)
    return run.bytes_moved / best * 1e9, None


def _below_floor(workload: WorkloadVerdict) -> bool:
    if workload.floor_ns is None or workload.time_ns is None:
        return False
    return workload.time_ns.ci_high < (1 - FLOOR_SLACK) * workload.floor_ns


# --- calls that overlap ----------------------------------------------------------------------------


def calls_overlap(samples: Samples, mode: str | None) -> bool:
    """Whether a round of N calls was so short that they were not made one after another.

    T(N)/N < 0.8 T(1) - 5 us (250 us after GO), both medians without the empty round. Then N calls were
    merged, or ran side by side, and their time over N is not the time of a call. Needs single rounds, which a
    GPU has.
    """
    calls, empty = samples.calls_per_round, samples.empty_ns
    if calls == 1 or not (samples.submission_ns and samples.single_ns):
        return False
    slack_ns = AFTER_GO_SLACK_NS if mode == "after-go" else OVERLAP_SLACK_NS
    return _call_ns(samples.submission_ns, empty, calls) < (
        OVERLAP_SHARE * _call_ns(samples.single_ns, empty, 1) - slack_ns
    )


def _call_ns(rounds_ns: Sequence[int], empty_ns: Sequence[int], calls: int) -> float:
    return (_median(rounds_ns) - _median(empty_ns)) / calls


def _overlaps(run: Run) -> list[Finding]:
    """A finding for each workload whose calls overlap."""
    if run.trust is Trust.self_reported:
        return []
    return [
        Finding("overlapped-calls", run.submission.file, None, _overlap_fact(w, w.samples))
        for w in run.workloads
        if w.failure is None and w.samples is not None and calls_overlap(w.samples, w.mode)
    ]


def _overlap_fact(workload: WorkloadRun, samples: Samples) -> str:
    calls, empty = samples.calls_per_round, samples.empty_ns
    alone = _call_ns(samples.single_ns, empty, 1) / 1000
    among = _call_ns(samples.submission_ns, empty, calls) / 1000
    return (
        f"{_named(workload.axes)}: a call takes {alone:.2f} µs when it is a round's only one, {among:.2f} µs "
        f"among {calls}: calls were merged or ran side by side, so the time of one alone ranks"
    )


def _ranking_rounds(samples: Samples, mode: str | None) -> int:
    """How many rounds the time that ranks comes from."""
    return len(samples.single_ns if calls_overlap(samples, mode) else samples.submission_ns)


# --- score -----------------------------------------------------------------------------------------


def _score(
    run: Run, workloads: Sequence[WorkloadVerdict], failure: Failure | None
) -> tuple[Score | None, str | None]:
    if failure is not None:
        return None, "not accepted"
    if not run.timed:
        return None, "checked, not timed"
    if run.trust is Trust.self_reported:
        return None, f"self-reported: {run.trust_reason or 'the referee did not hold the clock'}"
    benches = [w for w in workloads if w.kind is Kind.bench]
    times = [w.time_ns for w in benches if w.time_ns is not None]
    if not benches or len(times) < len(benches):
        timed = [(w.samples, w.mode) for w in run.workloads if w.kind is Kind.bench and w.samples is not None]
        if len(timed) < len(benches) or any(_ranking_rounds(*one) < FEWEST_ROUNDS for one in timed):
            return None, f"fewer than {FEWEST_ROUNDS} rounds were timed: no interval"
        return None, "a call is too short to be told from an empty round"
    estimate, low, high = geomean_interval(
        [t.estimate for t in times], [t.ci_low for t in times], [t.ci_high for t in times]
    )
    speedups = [
        (w.speedup, *w.speedup_ci) for w in benches if w.speedup is not None and w.speedup_ci is not None
    ]
    speedup = speedup_ci = None
    if len(speedups) == len(benches):
        speedup, *ends = geomean_interval(
            [s[0] for s in speedups], [s[1] for s in speedups], [s[2] for s in speedups]
        )
        speedup_ci = (ends[0], ends[1])
    fractions = [
        w.floor_ns / t.estimate for w, t in zip(benches, times, strict=True) if w.floor_ns is not None
    ]
    floor_fraction = geomean(fractions) if len(fractions) == len(benches) else None
    return Score(estimate, low, high, "geomean", speedup, speedup_ci, floor_fraction), None


def _median(values: Sequence[float]) -> float:
    return _quantile(values, 0.5)


def _quantile(values: Sequence[float], q: float) -> float:
    ordered = sorted(values)
    place = q * (len(ordered) - 1)
    low = math.floor(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (place - low) * (ordered[high] - ordered[low])
