"""Checks of what a problem says of itself: sizes, cost, hidden workloads. None of them computes an answer."""

from collections.abc import Iterable, Iterator, Sequence

from hotlap.audit.report import Severity
from hotlap.audit.seen import Scope, Seen, Skip
from hotlap.audit.trial import CPU, Trial, call_bytes, key_of
from hotlap.errors import ProblemError
from hotlap.model import Kind, Problem
from hotlap.problems import shapes
from hotlap.problems.reference import Reference, hidden_axes
from hotlap.referee.rng import Rng

ALIGNED = 16  # what vectors, warps and tiles divide by
HIDDEN_DRAWS = 8
COST_RANGE = (0.5, 2.0)  # compulsory bytes over the size of all tensors


def sizes_vary(problem: Problem, reference: Reference, trials: Sequence[Trial]) -> Iterator[Seen]:
    """Some size of every axis is no multiple of 16, so that a kernel without tails is found out."""
    check = "odd sizes"
    settings = _sizes(problem, reference, trials)
    if len({tuple(sorted(setting.items())) for setting in settings}) == 1:
        yield Seen(
            check, "there is one size only: a kernel for just that is right", True, Severity.note, Scope.any
        )
        return
    for name in {name: None for setting in settings for name in setting}:
        values = {setting[name] for setting in settings if name in setting}
        # 1 and other small numbers (heads, batch) are sizes that no tile divides: they count as odd.
        yield Seen(
            check,
            f"{name} is always a multiple of {_common_divisor(values)}: a kernel without tails passes",
            all(value % ALIGNED == 0 for value in values),
            Severity.weak,
            Scope.any,
        )


def _common_divisor(values: Iterable[int]) -> int:
    return next((divisor for divisor in (64, 32, 16) if all(v % divisor == 0 for v in values)), 1)


def _sizes(problem: Problem, reference: Reference, trials: Sequence[Trial]) -> list[dict[str, int]]:
    """The axes of all workloads and some hidden ones; where tensors bring their own, their last sizes."""
    if not problem.inputs:
        return [
            {
                f"the last size of {spec.name}": int(spec.shape[-1])
                for spec in (*trial.problem.inputs, *trial.problem.outputs)
                if spec.shape
            }
            for trial in trials
        ]
    hidden = _hidden(problem, reference)
    return [dict(workload.axes) for workload in problem.workloads] + hidden


def _hidden(problem: Problem, reference: Reference) -> list[dict[str, int]]:
    profiles = {w.profile for w in problem.workloads if w.kind is Kind.bench}
    return [
        axes
        for number, profile in enumerate(sorted(profiles))
        for axes in hidden_axes(
            reference, problem, Rng(key_of(problem, -1 - number, 0)), profile, HIDDEN_DRAWS
        )
    ]


def hidden_exist(reference: Reference) -> Iterator[Seen]:
    yield Seen(
        "hidden workloads",
        "there are none: a kernel for just the written sizes is right",
        reference.hidden is None,
        Severity.note,
        Scope.any,
    )


def cost_fits(trial: Trial) -> Iterator[Seen | Skip]:
    """The compulsory bytes are about the size of all tensors."""
    try:
        stated, _ = shapes.cost(trial.problem, trial.axes)
    except ProblemError as error:
        yield Skip("cost", str(error))
        return
    if stated is None:
        yield Seen("cost", "says no bytes: there is no floor under times", True, Severity.note, Scope.every)
        return
    ratio = stated / max(1, call_bytes(trial.problem, trial.axes))
    low, high = COST_RANGE
    numbers = {"cost_bytes_over_tensor_bytes": ratio}
    yield Seen(
        "cost",
        f"bytes are more than {high:g} times the tensors: a right kernel may seem impossibly fast",
        ratio > high,
        Severity.weak,
        Scope.any,
        numbers,
    )
    yield Seen(
        "cost",
        f"bytes are less than {low:g} times the tensors: a low floor, unless most is not read",
        ratio < low,
        Severity.note,
        Scope.any,
        numbers,
    )


def largest_calls(problem: Problem, trials: Sequence[Trial]) -> dict[str, int]:
    """Bytes of inputs and outputs of the largest workload, by profile."""
    if not problem.inputs:  # each workload brings its own
        return {CPU: max(call_bytes(t.problem, t.axes) for t in trials)} if trials else {}
    found: dict[str, int] = {}
    for workload in problem.workloads:
        size = call_bytes(problem, workload.axes)
        found[workload.profile] = max(size, found.get(workload.profile, 0))
    return found
