"""Audit one problem on the CPU: its workloads one by one, every check on each, within memory and time.

What this finds: answers that pass without the work, inputs, stages and weights that do not matter, tolerances
that are too wide or too tight, references that cannot be relied on.
What it does not: whether the reference computes what the statement says, and faults of sizes that are only
used on a GPU.
"""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from time import monotonic

from hotlap.audit import inputs, outputs, precision, shape, stages
from hotlap.audit.budget import Budget, is_memory_error, memory_limit
from hotlap.audit.conclude import Look, findings_of, measures_of, verdict_of
from hotlap.audit.report import NotAudited, ProblemAudit, Severity, Soundness
from hotlap.audit.seen import Scope, Seen, Skip
from hotlap.audit.trial import Trial, Unanswerable, audit_bytes, call_bytes, make_trial
from hotlap.errors import DeviceError, ProblemError
from hotlap.model import Kind, Problem
from hotlap.problems.reference import Reference, load_reference
from hotlap.text import si

Progress = Callable[[str, float | None], None]
Check = Callable[[Trial], Iterator[Seen | Skip]]

# What does not call the reference again is made whatever the time.
FREE_CHECKS: Mapping[str, Check] = {
    "right answer": outputs.right_answer,
    "trivial output": outputs.trivial,
    "all outputs of another call": outputs.all_stale,
    "finite": outputs.finite,
    "uniform output": outputs.uniform,
    "types": inputs.types,
    "cost": shape.cost_fits,
}
# In order of weight: time may end anywhere.
COSTLY_CHECKS: Mapping[str, Check] = {
    "repeatable": outputs.repeatable,
    "tolerance wide enough": precision.honest,
    "inputs matter": inputs.inputs_matter,
    "tolerance narrow enough": precision.narrower,
    "constant output": outputs.constant,
    "stages matter": stages.stages_matter,
    "weights matter": stages.weights_matter,
}
MANY_BYTES = 1 << 26  # of a call that is worth more than one core
TELLING_S = 0.2  # a workload that took longer tells what larger ones will take
PROFILE = "cpu"


def audit_problem(
    problem: Problem, memory_bytes: int, seconds: float, progress: Progress = lambda text, part: None
) -> ProblemAudit:
    """What can be said of a problem with so much memory and time. Raises ProblemError where its reference
    cannot even be loaded, DeviceError where torch is missing."""
    import torch

    start = monotonic()
    reference = load_reference(problem)
    budget = Budget(start + seconds, memory_bytes)
    audited = _Audited()
    with torch.no_grad(), memory_limit(memory_bytes):
        _audit_workloads(problem, reference, budget, audited, progress)
        _audit_words(problem, reference, audited)
    findings = findings_of(audited.looks)
    return ProblemAudit(
        problem=problem.id,
        verdict=verdict_of(findings, audited.looks),
        findings=findings,
        not_audited=_merged(audited.skipped),
        checks=tuple(dict.fromkeys(look.seen.check for look in audited.looks)),
        audited=tuple(trial.axes for trial in audited.trials),
        workloads=len(_workloads(problem)),
        measures=measures_of(audited.looks),
        call_bytes=shape.largest_calls(problem, audited.trials),
        seconds=monotonic() - start,
    )


class _Audited:
    """What was seen so far."""

    def __init__(self) -> None:
        self.looks: list[Look] = []
        self.skipped: list[NotAudited] = []
        self.trials: list[Trial] = []

    def take(self, seen: Seen | Skip, axes: Mapping[str, int] | None, decides: bool) -> None:
        if isinstance(seen, Skip):
            self.skipped.append(NotAudited(seen.check, axes, seen.reason))
        else:
            self.looks.append(Look(seen, axes, decides))


# --- workloads -------------------------------------------------------------------------------------


def _audit_workloads(
    problem: Problem, reference: Reference, budget: Budget, audited: _Audited, progress: Progress
) -> None:
    plan = _plan(problem, budget, audited)
    longest_s, its_bytes = 0.0, 1
    for number, (index, decides) in enumerate(plan):
        axes = problem.workloads[index].axes
        size = call_bytes(problem, axes)
        # What took no time says nothing of larger ones: it is the cost of calling that was seen there.
        foreseen_s = longest_s * size / its_bytes if longest_s > TELLING_S else 0.0
        if not budget.allows(foreseen_s):
            audited.skipped.append(NotAudited(None, dict(axes), "too slow for the time that is left"))
            continue
        progress(f"{problem.suite}/{problem.name} {_words(axes)}", number / len(plan))
        began = monotonic()
        try:
            with _threads_for(size):
                trial = make_trial(problem, reference, index, decides, budget)
                _audit_trial(trial, audited)
        except Unanswerable as reason:
            audited.skipped.append(NotAudited(None, dict(axes), str(reason)))
            return  # so it is with every workload
        except (ProblemError, DeviceError) as error:
            _take_error(error, dict(axes), audited)
            continue
        audited.trials.append(trial)
        if (took_s := monotonic() - began) > longest_s:
            longest_s, its_bytes = took_s, max(1, size)


def _plan(problem: Problem, budget: Budget, audited: _Audited) -> list[tuple[int, bool]]:
    """(workload, whether it decides) of those that fit in memory: a small one first, then those that decide,
    then the rest, each from small to large."""
    fitting = []
    for index in _workloads(problem):
        axes = problem.workloads[index].axes
        needed = audit_bytes(problem, axes)
        if needed <= budget.memory_bytes:
            fitting.append(index)
        else:
            allowed = si(budget.memory_bytes, "B")
            reason = f"needs {si(needed, 'B')}, allowed are {allowed}; allow more with --memory"
            audited.skipped.append(NotAudited(None, dict(axes), reason))
    fitting.sort(key=lambda index: call_bytes(problem, problem.workloads[index].axes))
    has_bench = any(workload.kind is Kind.bench for workload in problem.workloads)
    deciding = {i for i in fitting if problem.workloads[i].kind is Kind.bench}
    if not has_bench:
        deciding = set(fitting[-1:])
    first = fitting[:1]
    rest = [i for i in fitting if i in deciding] + [i for i in fitting if i not in deciding]
    return [(index, index in deciding) for index in dict.fromkeys(first + rest)]


def _workloads(problem: Problem) -> list[int]:
    """Those of the CPU; all where a problem has none for it."""
    own = [i for i, workload in enumerate(problem.workloads) if workload.profile == PROFILE]
    return own or list(range(len(problem.workloads)))


def _audit_trial(trial: Trial, audited: _Audited) -> None:
    for name, check in {**FREE_CHECKS, **COSTLY_CHECKS}.items():
        if name in COSTLY_CHECKS and not trial.has_time:
            audited.take(Skip(name, "time was up"), trial.axes, trial.decides)
            continue
        try:
            for seen in check(trial):
                audited.take(seen, trial.axes, trial.decides)
        except (ProblemError, DeviceError) as error:
            reason = "it needs more memory than is allowed" if is_memory_error(error) else str(error)
            audited.take(Skip(name, reason), trial.axes, trial.decides)
        except (MemoryError, RuntimeError) as error:
            if not is_memory_error(error):
                raise
            audited.take(Skip(name, "it needs more memory than is allowed"), trial.axes, trial.decides)


def _take_error(error: ProblemError | DeviceError, axes: dict[str, int], audited: _Audited) -> None:
    """A workload that cannot be computed: too large for the memory, or a fault of the problem's."""
    if is_memory_error(error):
        reason = "needs more memory than is allowed; allow more with --memory"
        audited.skipped.append(NotAudited(None, axes, reason))
        return
    if isinstance(error, DeviceError):
        audited.skipped.append(NotAudited(None, axes, str(error)))
        return
    fault = Seen("runs", f"the reference cannot be computed ({error})", True, Severity.broken, Scope.any)
    audited.take(fault, axes, True)


def _audit_words(problem: Problem, reference: Reference, audited: _Audited) -> None:
    """What a problem says of itself."""
    try:
        for seen in (
            *shape.sizes_vary(problem, reference, audited.trials),
            *shape.hidden_exist(reference),
        ):
            audited.take(seen, None, True)
    except ProblemError as error:
        fault = Seen("runs", f"hidden workloads cannot be drawn ({error})", True, Severity.broken, Scope.any)
        audited.take(fault, None, True)


def _merged(skipped: Sequence[NotAudited]) -> tuple[NotAudited, ...]:
    """Workloads as they are; a check that was left out of several for one reason is one entry."""
    workloads = [item for item in skipped if item.check is None]
    groups: dict[tuple[str, str], list[NotAudited]] = {}
    for item in skipped:
        if item.check is not None:
            groups.setdefault((item.check, item.reason), []).append(item)
    checks = [
        group[0] if len(group) == 1 else NotAudited(check, None, reason)
        for (check, reason), group in groups.items()
    ]
    return (*workloads, *checks)


def _words(axes: Mapping[str, int]) -> str:
    return " ".join(f"{name}={value}" for name, value in axes.items())


@contextmanager
def _threads_for(size: int) -> Iterator[None]:
    """Have torch use all cores for a call of so many bytes (0: unknown), or one, where others would spin."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1 if 0 < size < MANY_BYTES else len(os.sched_getaffinity(0)))
    try:
        yield
    finally:
        torch.set_num_threads(before)


def counts_of(problems: Sequence[ProblemAudit]) -> dict[Soundness, int]:
    """How many problems got each verdict; those that none got are left out."""
    return {
        verdict: count
        for verdict in Soundness
        if (count := sum(problem.verdict is verdict for problem in problems))
    }


def unusable(problem: str, error: ProblemError | DeviceError) -> ProblemAudit:
    """What an audit says of a problem of a suite that cannot be loaded, by its own fault or the machine's."""
    is_faulty = isinstance(error, ProblemError)
    fault = Look(Seen("loads", str(error), is_faulty, Severity.broken, Scope.any), None, True)
    return ProblemAudit(
        problem=problem,
        verdict=Soundness.broken if is_faulty else Soundness.not_audited,
        findings=findings_of([fault]),
        not_audited=() if is_faulty else (NotAudited(None, None, str(error)),),
        checks=("loads",),
        audited=(),
        workloads=0,
        measures={},
        call_bytes={},
        seconds=0.0,
    )
