"""What a verdict says, in sentences for a reader who has never seen one."""

import shlex

from hotlap import text
from hotlap.model import Kind, Status, Trust, Verdict, WorkloadVerdict
from hotlap.plots.chart import problem_name

HEADINGS = {
    Status.accepted: "Accepted",
    Status.wrong: "Wrong",
    Status.failed: "Failed",
    Status.suspect: "Suspect",
    Status.void: "Void",
}


def sentence(verdict: Verdict) -> str:
    """The verdict in a sentence or two."""
    if verdict.status is Status.accepted:
        return f"The answers are right{_speed(verdict)}."
    reason = (verdict.reason or "no reason given").splitlines()[0].rstrip(".")
    if verdict.status is Status.suspect:
        return f"The answers are right, but {reason}. It is no accusation, and it is not ranked."
    if verdict.status is Status.void:
        fault = verdict.fault.value if verdict.fault else "harness"
        return (
            f"Nothing can be said of this kernel: {reason}. Fault of the {fault}; it never counts against it."
        )
    return f"{'An answer is wrong' if verdict.status is Status.wrong else 'The kernel failed'}: {reason}."


def _speed(verdict: Verdict) -> str:
    """What follows `The answers are right`."""
    score = verdict.score
    if score is None:
        return f"; no score: {verdict.score_reason}" if verdict.score_reason else "; it was not timed"
    if score.speedup is None or score.speedup_ci is None:
        return f"; a call takes {text.time(score.time_ns)}"
    low, high = score.speedup_ci
    said = text.speedup(score.speedup, score.speedup_ci).removesuffix("x")
    if low <= 1 <= high:
        return ", and no difference from the speed of the baseline was found"
    return (
        f", and it is {said} times as fast as the baseline"
        if low > 1
        else (f", but it is slower than the baseline: {said} times as fast")
    )


def measured(verdict: Verdict) -> list[tuple[str, str]]:
    """How it was measured: (what, in words)."""
    timed = [w for w in verdict.workloads if w.time_ns is not None]
    facts = [
        ("Clock", _TRUST[verdict.trust] + (f" ({verdict.trust_reason})" if verdict.trust_reason else ""))
    ]
    if timed:
        facts.append(("Rounds", _rounds(timed)))
        facts.append(("Empty round", _empty(timed)))
    facts.append(("Checked", _checked(verdict, timed)))
    if any(w.baseline_time_ns for w in timed):
        facts.append(("Baseline", "timed in the same run, its rounds between those of the kernel"))
    modes = sorted({w.mode for w in verdict.workloads if w.mode})
    if modes:
        facts.append(("Launch", f"mode {' and '.join(modes)}" + _why(timed)))
    facts.append(("Sandbox", _SANDBOX.get(verdict.sandbox.kind, verdict.sandbox.kind)))
    return [(what, said) for what, said in facts if said]


_TRUST = {
    Trust.referee_gpu: "the referee's own stamps on the GPU, around calls of another process",
    Trust.referee_host: "the referee's own stamps on the host's clock, around calls of another process",
    Trust.self_reported: "SELF-REPORTED by the kernel's own process; it never ranks",
}
_SANDBOX = {
    "bwrap": "bubblewrap: no network, no files but what the kernel needs",
    "none": "NONE: the kernel ran with the rights of who started it",
}


def _rounds(timed: list[WorkloadVerdict]) -> str:
    parts = [
        f"{w.time_ns.n} of {w.calls_per_round} call{'s' * (w.calls_per_round != 1)} each"
        for w in timed
        if w.time_ns is not None
    ]
    return "; ".join(dict.fromkeys(parts))


def _empty(timed: list[WorkloadVerdict]) -> str:
    costs = [w.empty_round_ns.estimate for w in timed if w.empty_round_ns is not None]
    return f"{text.time(min(costs))} and more; already taken off" if costs else ""


def _checked(verdict: Verdict, timed: list[WorkloadVerdict]) -> str:
    if not timed:
        return f"{sum(w.checked_calls for w in verdict.workloads)} calls compared in full with the reference"
    least = min(timed, key=lambda w: w.checked_calls)
    if least.excluded_share == 0:
        return "every timed call, in full, against the reference"
    said = f"at least {least.checked_calls} secretly chosen calls of each timed workload, in full"
    if least.excluded_share is not None:
        said += f"; had {text.percent(least.excluded_share)} of the calls been wrong, it would have been seen"
    return said


def _why(timed: list[WorkloadVerdict]) -> str:
    reasons = list(dict.fromkeys(w.mode_reason for w in timed if w.mode_reason))
    return f" ({'; '.join(reasons)})" if reasons else ""


def reproduce(verdict: Verdict) -> str:
    """The command line that judges the same file again."""
    words = ["hotlap", "run", problem_name(verdict.problem), verdict.submission.file]
    words += ["--device", "cuda" if verdict.device.kind == "cuda" else "cpu"]
    return shlex.join(words)


def absences(verdict: Verdict) -> list[str]:
    """Why a dash stands in a table: each reason once."""
    bench = [w for w in verdict.workloads if w.kind is Kind.bench]
    reasons = [f"no floor: {w.floor_reason}" for w in bench if w.floor_ns is None and w.floor_reason]
    if verdict.score is None and verdict.score_reason:
        reasons.append(f"no score: {verdict.score_reason}")
    if any(w.time_ns is not None for w in bench) and len(bench) < len(verdict.workloads):
        reasons.append("test and hidden workloads are checked, never timed")
    return list(dict.fromkeys(reasons))
