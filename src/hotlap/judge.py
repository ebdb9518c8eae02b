"""The judge: one pure function from a run to a verdict, and the redaction of what must stay hidden."""

import math
from collections.abc import Sequence
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
    Verdict,
    WorkloadRun,
    WorkloadVerdict,
)
from hotlap.stats.geomean import geomean, geomean_interval, widen
from hotlap.stats.hodges_lehmann import hodges_lehmann, hodges_lehmann_interval
from hotlap.stats.interval import quantile_interval

FLOOR_SLACK = 0.05
ESCAPE = 1e-6  # the chance at which a share of wrong calls counts as excluded
FEWEST_ROUNDS = 6  # for an interval of 95 %
PROCESS_PART = 0.002  # relative half-width that one process adds, where no calibration says better


def judge(run: Run, findings: Sequence[Finding] = (), calibration: Calibration | None = None) -> Verdict:
    """The verdict on a run. Pure: the same arguments give the same verdict, on any machine."""
    workloads = tuple(_workload(w, calibration) for w in run.workloads)
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
            f"{_axes(first)}: faster than this machine can move the bytes; held for a human to look at "
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
        findings=tuple(findings),
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
    return f"{hidden}{' '.join(f'{k}={v}' for k, v in where.axes.items())}: {failure.message}"


def _axes(workload: WorkloadVerdict) -> str:
    return " ".join(f"{k}={v}" for k, v in (workload.axes or {}).items())


# --- workloads -------------------------------------------------------------------------------------


def _workload(run: WorkloadRun, calibration: Calibration | None) -> WorkloadVerdict:
    errors = run.errors
    base = WorkloadVerdict(
        axes=dict(run.axes),
        kind=run.kind,
        status=_status(run.failure),
        mode=run.mode,
        checked_calls=run.checked_calls,
        excluded_share=_excluded_share(run),
        max_abs_error=errors.max_abs_error if errors else None,
        max_rel_error=errors.max_rel_error if errors else None,
        error_over_tolerance=errors.error_over_tolerance if errors else None,
        error=run.failure.message if run.failure else None,
    )
    samples = run.samples
    if samples is None or run.failure is not None or not samples.submission_ns:
        return base
    part = calibration.process_part if calibration else PROCESS_PART
    floor_ns, floor_reason = _floor(run, calibration)
    speedup = _speedup(samples, part)
    return replace(
        base,
        time_ns=_time(samples.submission_ns, samples.empty_ns, samples.calls_per_round, part),
        calls_per_round=samples.calls_per_round,
        baseline_time_ns=_time(samples.baseline_ns, samples.empty_ns, samples.calls_per_round, part),
        speedup=speedup[0] if speedup else None,
        speedup_ci=speedup[1:] if speedup else None,
        floor_ns=floor_ns,
        floor_reason=floor_reason,
        bound="memory" if floor_ns is not None else None,
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


def per_call_ns(rounds_ns: Sequence[int], empty_ns: Sequence[int], calls: int) -> list[float] | None:
    """Time of one call in each round, the median empty round taken off; None when a round was no longer than
    that, so that the calls are too short to be told from it."""
    empty = _median(empty_ns)
    times = [(t - empty) / calls for t in rounds_ns]
    return times if times and min(times) > 0 else None


def _time(
    rounds_ns: Sequence[int], empty_ns: Sequence[int], calls: int, process_part: float
) -> Interval | None:
    """Median over rounds, its order-statistic interval widened by the process part and by c; None when the
    calls are too short or the rounds too few (under 6) for an interval."""
    times = per_call_ns(rounds_ns, empty_ns, calls)
    if times is None:
        return None
    estimate = _median(times)
    low, high = quantile_interval(times)
    empty_low, empty_high = quantile_interval(empty_ns)
    c_part = (empty_high - empty_low) / 2 / calls / estimate
    if not all(map(math.isfinite, (low, high, c_part))):
        return None
    low, high = widen(estimate, low, high, math.hypot(process_part, c_part))
    return Interval(estimate, low, high, len(times), _quantile(times, 0.05))


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


# --- score -----------------------------------------------------------------------------------------


def _score(
    run: Run, workloads: Sequence[WorkloadVerdict], failure: Failure | None
) -> tuple[Score | None, str | None]:
    if failure is not None:
        return None, "not accepted"
    if not run.timed:
        return None, "checked, not timed"
    benches = [w for w in workloads if w.kind is Kind.bench]
    times = [w.time_ns for w in benches if w.time_ns is not None]
    if not benches or len(times) < len(benches):
        timed = [w.samples for w in run.workloads if w.kind is Kind.bench and w.samples is not None]
        if len(timed) < len(benches) or any(len(s.submission_ns) < FEWEST_ROUNDS for s in timed):
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
