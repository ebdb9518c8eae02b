"""Checks of the tolerance: wide enough for honest arithmetic, too narrow for cheaper arithmetic."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from hotlap.audit.report import Severity
from hotlap.audit.seen import Scope, Seen, Skip, known
from hotlap.audit.trial import Trial, answers, in_output_dtypes, judged, same_bits, widest_float
from hotlap.errors import ProblemError

NARROWER = {"float64": ("float32",), "float32": ("tf32", "bfloat16", "float16")}
TF32_DROPPED_BITS = 13  # of float32's 23 in the mantissa


def honest(trial: Trial) -> Iterator[Seen | Skip]:
    """The same computation in the inputs' own precision is within the tolerance."""
    try:
        outputs = honest_answer(trial)
    except ProblemError as error:
        yield Skip("tolerance wide enough", str(error))
        return
    found = judged(trial, trial.first, outputs)
    yield Seen(
        "tolerance wide enough",
        f"too tight: the baseline's own rounding is rejected ({found.wrong})",
        found.wrong is not None,
        Severity.broken,
        Scope.any,
        known(honest_error_over_tolerance=found.errors.error_over_tolerance),
    )


def honest_answer(trial: Trial) -> tuple[Any, ...]:
    """What the baseline gives, or where there is none the reference on the inputs as they are.

    Raises ProblemError where neither can be computed, or would be the truth itself.
    """
    problem, reference = trial.problem, trial.reference
    if "baseline" in reference.baselines:
        reference = replace(reference, reference=reference.baselines["baseline"])
    elif problem.reference_dtype == "native":
        raise ProblemError("there is no baseline, and the reference itself is what answers are compared with")
    native = replace(problem, reference_dtype="native")
    return in_output_dtypes(problem, answers(native, reference, trial.axes, trial.first.inputs))


def narrower(trial: Trial) -> Iterator[Seen | Skip]:
    """Inputs, and where torch can the computation, in a cheaper precision are beyond the tolerance."""
    widest = widest_float(trial.problem.inputs)
    for name in NARROWER.get(widest or "", ()):
        if name == trial.problem.precision:
            continue  # declared: it may pass
        check = "tolerance narrow enough"
        if not trial.has_time:
            yield Skip(check, f"{name}: time was up")
            continue
        try:
            outputs = _computed_in(trial, name)
        except ProblemError as error:
            yield Skip(check, f"{name}: {error}")
            continue
        found = judged(trial, trial.first, outputs)
        yield Seen(
            check,
            f"lets {name} through: the answer in {name} to inputs in {name} is accepted",
            found.wrong is None,
            Severity.weak,
            Scope.deciding,
            known(**{f"{name}_error_over_tolerance": found.errors.error_over_tolerance}),
        )


def _computed_in(trial: Trial, name: str) -> tuple[Any, ...]:
    """The reference's answer in a narrower type to inputs in it. Raises ProblemError."""
    native = replace(trial.problem, reference_dtype="native")
    inputs = tuple(_map_floats(value, _rounding(name)) for value in trial.first.inputs)
    try:
        given = answers(native, trial.reference, trial.axes, inputs)
    except ProblemError:
        # A module whose weights have a type of their own: have torch choose where to round.
        given = answers(native, _by_autocast(trial, name), trial.axes, trial.first.inputs)
        outputs = in_output_dtypes(trial.problem, given)
        plain = in_output_dtypes(
            trial.problem, answers(native, trial.reference, trial.axes, trial.first.inputs)
        )
        if all(same_bits(a, b) for a, b in zip(outputs, plain, strict=True)):
            raise ProblemError("torch.autocast has nothing to round here") from None
        return outputs
    # TF32 is for what goes into products: their sums are float32.
    narrow = given if name == "tf32" else tuple(_map_floats(value, _rounding(name)) for value in given)
    return in_output_dtypes(trial.problem, narrow)


def _by_autocast(trial: Trial, name: str) -> Any:
    import torch

    if name not in ("bfloat16", "float16"):
        raise ProblemError("the reference takes no inputs of this precision")

    def reference(*inputs: Any) -> Any:
        with torch.autocast("cpu", dtype=getattr(torch, name)):
            return trial.reference.reference(*inputs)

    return replace(trial.reference, reference=reference)


def _rounding(name: str) -> Callable[[Any], Any]:
    import torch

    return to_tf32 if name == "tf32" else lambda value: value.to(getattr(torch, name))


def _map_floats(value: Any, function: Callable[[Any], Any]) -> Any:
    import torch

    return function(value) if isinstance(value, torch.Tensor) and value.is_floating_point() else value


def to_tf32(value: Any) -> Any:
    """A float32 tensor rounded to nearest, ties to even, in TF32's 10 bits; other floats as they are."""
    import torch

    if value.dtype != torch.float32:
        return value
    bits = value.contiguous().view(torch.int32)
    half = (1 << (TF32_DROPPED_BITS - 1)) - 1
    tie = (bits >> TF32_DROPPED_BITS) & 1
    return ((bits + half + tie) & -(1 << TF32_DROPPED_BITS)).view(torch.float32)
