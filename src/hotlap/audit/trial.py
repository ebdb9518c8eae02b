"""One workload of a problem with its right answers, and how the problem itself judges any other answer."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from time import monotonic
from typing import Any

from hotlap.audit.budget import Budget
from hotlap.model import Problem, TensorSpec, Workload
from hotlap.problems import reference as references
from hotlap.problems import shapes
from hotlap.problems.dtypes import DTYPES, is_float
from hotlap.problems.reference import Reference
from hotlap.referee import check
from hotlap.referee.rng import Rng, derive

CPU = "cpu"


class Unanswerable(Exception):
    """The right answers to a workload are not to be had: its format can only judge other ones."""


@dataclass(frozen=True)
class Draw:
    """One call. truths: what the reference gives, float64 where floating; answer: in the outputs' dtypes."""

    inputs: tuple[Any, ...]
    truths: tuple[Any, ...]
    answer: tuple[Any, ...]


@dataclass(frozen=True)
class Trial:
    """One workload. first, second: calls of two keys. `decides`: whether it is one whose time counts."""

    problem: Problem  # with the specs of this workload
    reference: Reference
    workload: Workload
    index: int
    decides: bool
    first: Draw
    second: Draw
    reference_s: float  # one call of the reference
    budget: Budget

    @property
    def axes(self) -> dict[str, int]:
        return dict(self.workload.axes)

    @property
    def has_time(self) -> bool:
        """Whether one more call of the reference can be begun."""
        return self.budget.allows(self.reference_s)


def call_bytes(problem: Problem, axes: Mapping[str, int]) -> int:
    """Inputs and outputs of one call."""
    names = shapes.all_axes(problem, axes)
    return sum(shapes.bytes_of(spec, names) for spec in (*problem.inputs, *problem.outputs))


def audit_bytes(problem: Problem, axes: Mapping[str, int]) -> int:
    """About what a trial needs at once, the reference's own intermediate results apart."""
    names = shapes.all_axes(problem, axes)
    inputs = sum(shapes.bytes_of(spec, names) for spec in problem.inputs)
    in_float64 = sum(8 * shapes.elements_of(s, names) for s in problem.inputs if is_float(s.dtype))
    outputs = sum(shapes.elements_of(spec, names) for spec in problem.outputs)
    # Two calls and one more; truths of two, their range, and three intermediates of a comparison.
    return 3 * inputs + in_float64 + outputs * 8 * 8


def draw_inputs(problem: Problem, reference: Reference, axes: Mapping[str, int], key: int) -> tuple[Any, ...]:
    return references.make_inputs(reference, problem, axes, Rng(key), CPU)


def key_of(problem: Problem, index: int, call: int) -> int:
    """The same at every audit of a problem: a finding can be looked at again."""
    master = hashlib.blake2b(problem.id.encode(), digest_size=16).digest()
    return derive(master, index, call)


def answers(
    problem: Problem, reference: Reference, axes: Mapping[str, int], inputs: tuple[Any, ...]
) -> tuple[Any, ...]:
    """What the reference gives, which may write to mutable inputs: it gets copies of those."""
    given = tuple(
        value.clone() if spec.mutable and spec.shape is not None else value
        for spec, value in zip(problem.inputs, inputs, strict=True)
    )
    return references.compute_reference(reference, problem, given, axes)


def in_output_dtypes(problem: Problem, truths: tuple[Any, ...]) -> tuple[Any, ...]:
    import torch

    return tuple(
        truth.to(getattr(torch, spec.dtype)) for spec, truth in zip(problem.outputs, truths, strict=True)
    )


def make_draw(problem: Problem, reference: Reference, axes: Mapping[str, int], key: int) -> Draw:
    """Inputs from a key with their right answers. Raises ProblemError."""
    inputs = draw_inputs(problem, reference, axes, key)
    truths = answers(problem, reference, axes, inputs)
    return Draw(inputs, truths, in_output_dtypes(problem, truths))


def make_trial(problem: Problem, reference: Reference, index: int, decides: bool, budget: Budget) -> Trial:
    """Draw a workload twice. Raises ProblemError, DeviceError, Unanswerable."""
    workload = problem.workloads[index]
    own, its_reference, _ = references.pinned(problem, reference, workload.axes, CPU)
    is_its_own = its_reference.reference != reference.reference
    if reference.pin is not None and its_reference.check is not None and not is_its_own:
        raise Unanswerable("its format gives no right answers, it only judges other ones")
    first = make_draw(own, its_reference, workload.axes, key_of(problem, index, 0))
    start = monotonic()
    second = make_draw(own, its_reference, workload.axes, key_of(problem, index, 1))
    took_s = monotonic() - start
    return Trial(own, its_reference, workload, index, decides, first, second, took_s, budget)


def judged(trial: Trial, draw: Draw, outputs: tuple[Any, ...]) -> check.Comparison:
    """What the problem's own comparison says of outputs for the inputs of a draw."""
    known = replace(trial.reference, reference=lambda *_: draw.truths)
    # Native: the answers are there, so no input needs to be cast for them.
    native = replace(trial.problem, reference_dtype="native")
    return check.compare_call(native, known, trial.axes, draw.inputs, outputs)


def accepts(trial: Trial, draw: Draw, outputs: tuple[Any, ...]) -> bool:
    return judged(trial, draw, outputs).wrong is None


def allowed_errors(trial: Trial, draw: Draw) -> tuple[Any, ...]:
    """The tolerance of each element of each output, float64; 0 for integers and bools."""
    import torch

    wide = tuple(
        v.to(torch.float64) if isinstance(v, torch.Tensor) and v.is_floating_point() else v
        for v in draw.inputs
    )
    bounds: Any = (0.0,) * len(draw.truths)
    if trial.reference.tolerance is not None:
        given = trial.reference.tolerance(*wide)
        bounds = given if isinstance(given, tuple | list) else (given,)
    found = []
    for spec, truth, bound in zip(trial.problem.outputs, draw.truths, bounds, strict=True):
        rtol, atol = shapes.tolerance(trial.problem, spec, trial.axes)
        found.append(truth.to(torch.float64).abs() * rtol + atol + bound)
    return tuple(found)


def same_bits(a: Any, b: Any) -> bool:
    """Whether two inputs are the same, NaN too."""
    import torch

    if not isinstance(a, torch.Tensor):
        return bool(a == b)
    return torch.equal(_raw(a), _raw(b))


def _raw(tensor: Any) -> Any:
    import torch

    return tensor.contiguous().reshape(-1).view(torch.uint8)


def widest_float(specs: tuple[TensorSpec, ...]) -> str | None:
    """The widest floating dtype among tensors; None where there is none."""
    floats = [s.dtype for s in specs if s.shape is not None and is_float(s.dtype)]
    return max(floats, key=lambda dtype: DTYPES[dtype].itemsize, default=None)
