"""Checks of the inputs: does each of them matter, and is it what it seems?"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from hotlap.audit.report import Severity
from hotlap.audit.seen import Scope, Seen, Skip
from hotlap.audit.trial import Trial, accepts, answers, in_output_dtypes, same_bits
from hotlap.errors import ProblemError

FEW = 16  # so many whole numbers in a row may be chance


def inputs_matter(trial: Trial) -> Iterator[Seen | Skip]:
    """Each input changes between calls, and the answer with it by more than the tolerance."""
    for index, spec in enumerate(trial.problem.inputs):
        value, other = trial.first.inputs[index], trial.second.inputs[index]
        what = f"input {spec.name}"
        is_fixed = same_bits(value, other)
        if is_fixed and trial.problem.contract == "custom_kernel" and _is_room(value):
            continue
        if spec.shape is not None:  # a number that never changes is a parameter
            yield Seen(
                "inputs change",
                f"{what} is the same in every call: a kernel can know it beforehand",
                is_fixed,
                Severity.weak if value.is_floating_point() else Severity.note,
                Scope.every,
            )
        if not trial.has_time:
            yield Skip("inputs matter", f"{what}: time was up")
            continue
        try:
            matters = [_matters(trial, index, changed) for changed in _changes(value, other)]
        except ProblemError as error:
            yield Skip("inputs matter", f"{what} cannot be changed on its own: {error}")
            continue
        yield Seen(
            "inputs matter",
            f"{what} does not matter: neither other values nor zeros change the answer beyond the tolerance",
            bool(matters) and not any(matters),
            Severity.broken,
            Scope.every,
        )
        if not is_fixed:
            yield Seen(
                "inputs matter",
                f"{what} hardly matters: other values leave the answer within the tolerance",
                not matters[0] and any(matters),
                Severity.weak,
                Scope.every,
            )


def _is_room(value: Any) -> bool:
    """Whether a tensor holds one number all over, as memory does that a folder hands over for answers."""
    import torch

    if not isinstance(value, torch.Tensor) or not value.numel():
        return False
    first = value.reshape(-1)[0]
    return bool((value == first).all()) or (value.is_floating_point() and bool(value.isnan().all()))


def _changes(value: Any, other: Any) -> Iterator[Any]:
    """What to put in an input's place: the one of another call first, where it differs; then zeros."""
    import torch

    if not isinstance(value, torch.Tensor):
        if other != value:
            yield other
        elif isinstance(value, float):
            yield 2.0 * value + 1.0
        return
    if not same_bits(value, other):
        yield other
    zeros = torch.zeros_like(value)
    if not same_bits(value, zeros):
        yield zeros


def _matters(trial: Trial, index: int, changed: Any) -> bool:
    """Whether the answer to the inputs is wrong for those with one changed. Raises ProblemError."""
    inputs = list(trial.first.inputs)
    inputs[index] = changed
    truths = answers(trial.problem, trial.reference, trial.axes, tuple(inputs))
    draw = replace(
        trial.first,
        inputs=tuple(inputs),
        truths=truths,
        answer=in_output_dtypes(trial.problem, truths),
    )
    return not accepts(trial, draw, trial.first.answer)


def types(trial: Trial) -> Iterator[Seen]:
    """Types say what is in a tensor."""
    for spec, value in zip(trial.problem.inputs, trial.first.inputs, strict=True):
        if spec.shape is not None and value.is_floating_point() and value.numel() >= FEW:
            yield Seen(
                "types",
                f"input {spec.name} is {spec.dtype} and holds only whole numbers: indices, or a mask?",
                bool((value == value.round()).all()),
                Severity.note,
                Scope.every,
            )
    for spec in trial.problem.outputs:
        yield Seen(
            "types",
            f"output {spec.name} is int64: half of what is written for it may be zeros",
            spec.dtype == "int64",
            Severity.note,
            Scope.every,
        )
