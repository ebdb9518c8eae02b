"""Checks of the right answers: does anything pass that took no work?"""

from collections.abc import Iterator
from typing import Any

from hotlap.audit.report import Severity
from hotlap.audit.seen import Scope, Seen, Skip, known
from hotlap.audit.trial import (
    Draw,
    Trial,
    accepts,
    allowed_errors,
    answers,
    draw_inputs,
    in_output_dtypes,
    judged,
    key_of,
    make_draw,
    same_bits,
)

N_KEYS = 4  # calls over which an answer may stay the same
MOSTLY = 0.9  # share of elements that need not be computed, above which a problem is weak


def right_answer(trial: Trial) -> Iterator[Seen]:
    """The reference's own answer, in the outputs' dtypes, is accepted."""
    found = judged(trial, trial.first, trial.first.answer)
    yield Seen(
        "right answer",
        f"the reference's own answer, rounded to the outputs' types, is rejected ({found.wrong})",
        found.wrong is not None,
        Severity.broken,
        Scope.any,
        known(error_over_tolerance=found.errors.error_over_tolerance),
    )


def repeatable(trial: Trial) -> Iterator[Seen]:
    """The same inputs give the same answer, and the same key the same inputs."""
    again = answers(trial.problem, trial.reference, trial.axes, trial.first.inputs)
    found = judged(trial, trial.first, in_output_dtypes(trial.problem, again))
    yield Seen(
        "repeatable",
        "the reference gives another answer when it is given the same inputs again",
        found.wrong is not None,
        Severity.broken,
        Scope.any,
        known(error_over_tolerance=found.errors.error_over_tolerance),
    )
    key = key_of(trial.problem, trial.index, 0)
    drawn = draw_inputs(trial.problem, trial.reference, trial.axes, key)
    names = [
        spec.name
        for spec, one, other in zip(trial.problem.inputs, trial.first.inputs, drawn, strict=True)
        if not same_bits(one, other)
    ]
    yield Seen(
        "repeatable",
        f"make_inputs gives other inputs ({', '.join(names)}) for the same key: it draws from something else "
        "than rng",
        bool(names),
        Severity.weak,
        Scope.any,
    )


def finite(trial: Trial) -> Iterator[Seen]:
    """The answers are numbers."""
    import torch

    for index, spec in enumerate(trial.problem.outputs):
        truth = trial.first.truths[index]
        if truth.is_floating_point():
            share = 1.0 - float(torch.isfinite(truth).double().mean()) if truth.numel() else 0.0
            yield Seen(
                "finite",
                f"output {spec.name} holds NaN or infinity on ordinary inputs",
                share > 0,
                Severity.weak,
                Scope.any,
                {"share_not_finite": share},
            )


def trivial(trial: Trial) -> Iterator[Seen]:
    """Answers that anyone can give without work are rejected, for each output beside right ones."""
    several = len(trial.problem.outputs) > 1
    for index, spec in enumerate(trial.problem.outputs):
        for name, value in _fills(trial, index):
            outputs = list(trial.first.answer)
            outputs[index] = value
            found = judged(trial, trial.first, tuple(outputs))
            where = f" for output {spec.name}" if several else ""
            is_copy = name.startswith("a copy")
            yield Seen(
                "trivial output",
                f"accepted{where}: {name}",
                found.wrong is None,
                Severity.weak if is_copy else Severity.broken,
                Scope.deciding,
                known(error_over_tolerance=found.errors.error_over_tolerance),
            )


def _fills(trial: Trial, index: int) -> Iterator[tuple[str, Any]]:
    """(what it is, tensor) of the shape and dtype of an output."""
    import torch

    right, truth = trial.first.answer[index], trial.first.truths[index]
    yield "zeros", torch.zeros_like(right)
    yield "ones", torch.ones_like(right)
    yield "the answer to other inputs", trial.second.answer[index]
    if right.numel() > 1:  # a single number is its own mean
        yield "the same number everywhere", torch.full_like(right, _middle(truth))
        yield "its first element everywhere", right.reshape(-1)[0].expand(right.shape).clone()
    for spec, value in zip(trial.problem.inputs, trial.first.inputs, strict=True):
        if isinstance(value, torch.Tensor) and value.shape == right.shape:
            yield f"a copy of input {spec.name}", value.to(right.dtype)


def _middle(truth: Any) -> Any:
    """The number that is right most often: the mean of floats, the most frequent of others."""
    import torch

    if truth.is_floating_point():
        return float(truth.nanmean())
    values, counts = torch.unique(truth, return_counts=True)
    return values[counts.argmax()].item()


def constant(trial: Trial) -> Iterator[Seen | Skip]:
    """Over several keys the answer changes by more than the tolerance, in more than a few elements."""
    import torch

    if not trial.decides:
        return
    low = [torch.minimum(a.double(), b.double()) for a, b in _pairs(trial.first, trial.second)]
    high = [torch.maximum(a.double(), b.double()) for a, b in _pairs(trial.first, trial.second)]
    for call in range(2, N_KEYS):
        if not trial.has_time:
            yield Skip("constant output", f"time was up after {call} of {N_KEYS} keys")
            return
        draw = make_draw(trial.problem, trial.reference, trial.axes, key_of(trial.problem, trial.index, call))
        low = [torch.minimum(a, b.double()) for a, b in zip(low, draw.truths, strict=True)]
        high = [torch.maximum(a, b.double()) for a, b in zip(high, draw.truths, strict=True)]
    allowed = allowed_errors(trial, trial.first)
    for index, spec in enumerate(trial.problem.outputs):
        # Twice: a number in the middle would be right for both ends.
        share = float((high[index] - low[index] <= 2 * allowed[index]).double().mean())
        numbers = {"constant_share": share}
        yield Seen(
            "constant output",
            f"output {spec.name} is the same for all inputs, within its tolerance",
            share == 1.0,
            Severity.broken,
            Scope.deciding,
            numbers,
        )
        yield Seen(
            "constant output",
            f"more than {MOSTLY:.0%} of output {spec.name} is the same for all inputs, within its tolerance",
            MOSTLY < share < 1.0,
            Severity.weak,
            Scope.deciding,
            numbers,
        )


def _pairs(first: Draw, second: Draw) -> Iterator[tuple[Any, Any]]:
    return zip(first.truths, second.truths, strict=True)


def uniform(trial: Trial) -> Iterator[Seen]:
    """No axis of an output holds the same numbers all along: one slice of them would be enough to compute."""
    if not trial.decides:
        return
    allowed = allowed_errors(trial, trial.first), allowed_errors(trial, trial.second)
    for index, spec in enumerate(trial.problem.outputs):
        for axis, size in enumerate(trial.first.truths[index].shape):
            if size > 1:
                same = all(
                    _is_uniform(draw.truths[index].double(), bound[index], axis)
                    for draw, bound in zip((trial.first, trial.second), allowed, strict=True)
                )
                yield Seen(
                    "uniform output",
                    f"output {spec.name} is the same all along its axis {axis}, within its tolerance",
                    same,
                    Severity.weak,
                    Scope.deciding,
                )


def _is_uniform(truth: Any, allowed: Any, axis: int) -> bool:
    spread = truth.amax(dim=axis) - truth.amin(dim=axis)
    return bool((spread <= 2 * allowed.amin(dim=axis)).all())


def all_stale(trial: Trial) -> Iterator[Seen]:
    """All outputs of another call at once are rejected, as what is right together may pass together."""
    if len(trial.problem.outputs) > 1:
        yield Seen(
            "trivial output",
            "accepted: all outputs of a call with other inputs",
            accepts(trial, trial.first, trial.second.answer),
            Severity.broken,
            Scope.deciding,
        )
