"""Is an answer right? Full comparison against the reference, and samples of words at the end stamp.

Defends against: NaN that compares as equal to everything (a comparison must succeed to count as right),
infinite tolerances, unwritten and late outputs. Every element of a compared call decides alone: there is
no mean in which one bad row could hide.
"""

import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from hotlap.errors import HotlapError, ProblemError
from hotlap.model import Errors, Problem
from hotlap.problems import shapes
from hotlap.problems.reference import Reference, compute_reference
from hotlap.referee.buffers import NAN_BITS, POISON_WORD_BYTES, Layout

if TYPE_CHECKING:
    import torch

Compare = Callable[[str, Any, Any, float, Any], tuple[str | None, Errors]]
MESSAGE_CHARS = 1000
NO_ERRORS = Errors(None, None, None)


@dataclass(frozen=True)
class Comparison:
    """Of one call: what is wrong, in words, or None; and its errors."""

    wrong: str | None
    errors: Errors


def compare_call(
    problem: Problem,
    reference: Reference,
    axes: dict[str, int],
    inputs: tuple[Any, ...],
    outputs: tuple[Any, ...],
    compare: "Compare | None" = None,
) -> Comparison:
    """Compare every element of one call's outputs with the reference. inputs are the referee's own.

    compare: how one output is compared, by default `compare_tensor`. Raises ProblemError when the reference,
    `tolerance` or `check` raises or gives what cannot be used.
    """
    if reference.check is not None:
        found = _guarded(problem, "check", reference.check, inputs, outputs)
        return Comparison(_first(problem, found), NO_ERRORS)
    truths = compute_reference(reference, problem, inputs, axes)
    bounds = None if reference.tolerance is None else _bounds(problem, reference.tolerance, inputs, truths)
    worst = NO_ERRORS
    for index, (spec, out, truth) in enumerate(zip(problem.outputs, outputs, truths, strict=True)):
        rtol, atol = shapes.tolerance(problem, spec, axes)
        allowed_atol: Any = atol if bounds is None else bounds[index] + atol
        wrong, errors = (compare or compare_tensor)(spec.name, out, truth, rtol, allowed_atol)
        worst = merge(worst, errors)
        if wrong is not None:
            return Comparison(wrong, worst)
    return Comparison(None, worst)


def compare_tensor(
    name: str, out: "torch.Tensor", truth: "torch.Tensor", rtol: float, atol: "torch.Tensor | float"
) -> tuple[str | None, Errors]:
    """Compare one output. Floats: |out - truth| <= atol + rtol*|truth|, NaN and infinities exactly where
    the truth has them. Integers and bools: equal."""
    import torch

    if not (truth.is_floating_point() or out.is_floating_point()):
        bad = out.to(torch.int64) != truth.to(torch.int64)
        return complaint(name, out.shape, faults(bad, out, truth, None)), NO_ERRORS
    true = truth.to(torch.float64)
    # In float64: the wider operand decides. torch does not mix types of one byte with others.
    difference = torch.sub(true, out if out.element_size() > 1 else out.to(torch.float64)).abs_()
    scale = true.abs()
    allowed = scale * rtol
    if not isinstance(atol, float) or atol != 0.0:
        allowed += atol
    if _within(difference, allowed):
        return None, _errors(difference, scale, allowed)
    found, errors = element_faults(out, true, difference, scale, allowed)
    return complaint(name, out.shape, found), errors


@dataclass(frozen=True)
class Faults:
    """Elements beyond tolerance: how many, where the first is in C order, and what it is and should be."""

    count: int
    first: int
    what: str


def element_faults(
    out: Any, true: Any, difference: Any, scale: Any, allowed: Any
) -> tuple[Faults | None, Errors]:
    """Of floats that are not all right, element by element. All but `out` are float64, of one shape."""
    import torch

    got = out.to(torch.float64)
    # `<=` is false for NaN, so a NaN is wrong unless the reference has one at the same place.
    right = (difference <= allowed) & torch.isfinite(true) & torch.isfinite(got)
    right |= (got == true) & torch.isinf(true)
    right |= torch.isnan(got) & torch.isnan(true)
    finite = torch.isfinite(difference) & torch.isfinite(allowed)
    errors = _errors(difference[finite], scale[finite], allowed[finite])
    return faults(~right, got, true, allowed), errors


def _within(difference: Any, allowed: Any) -> bool:
    """Whether all is finite and within what is allowed; a NaN or an infinite bound is not."""
    return bool((difference <= allowed).all()) and (
        allowed.numel() == 0 or math.isfinite(float(allowed.max()))
    )


def _errors(difference: Any, scale: Any, allowed: Any) -> Errors:
    """Largest absolute error, relative error where the truth is not 0, and share of what is allowed."""
    if not difference.numel():
        return NO_ERRORS  # nothing that has a size was compared
    largest = float(difference.max())
    if largest == 0.0:
        return Errors(0.0, 0.0, 0.0)
    # 0/0 is an exact answer of 0 where nothing else is allowed: no error, whatever the ratio says.
    over = _largest_ratio(difference, allowed)
    relative = _largest_ratio(difference, scale)
    return Errors(largest, relative, over)


def _largest_ratio(difference: Any, bound: Any) -> float | None:
    """max(difference / bound) over places where the bound is not 0; None when that alone hides an error, or
    when no number is large enough."""
    ratio = float(difference.div(bound).max())
    if math.isfinite(ratio):
        return ratio
    bounded = bound > 0
    if not bool(bounded.any()) or bool((difference[~bounded] > 0).any()):
        return None
    ratio = float((difference[bounded] / bound[bounded]).max())
    return ratio if math.isfinite(ratio) else None


def faults(bad: Any, out: Any, truth: Any, allowed: Any) -> Faults | None:
    """What the first of the bad elements is; None if there is none."""
    count = int(bad.sum())
    if count == 0:
        return None
    first = int(bad.reshape(-1).nonzero()[0])
    limit = (
        "" if allowed is None else f" (allowed error {float(allowed.expand_as(bad).reshape(-1)[first]):.3g})"
    )
    shown = f"{_shown(out.reshape(-1)[first])}, expected {_shown(truth.reshape(-1)[first])}{limit}"
    return Faults(count, first, shown)


def complaint(name: str, shape: Sequence[int], found: Faults | None) -> str | None:
    """What is wrong with an output of this shape, in words; None for no faults."""
    if found is None:
        return None
    place = np.unravel_index(found.first, tuple(shape))
    where = f"[{', '.join(str(int(i)) for i in place)}]" if place else ""
    text = f"output {name}: {found.count} of {math.prod(shape)} elements beyond tolerance"
    return f"{text}; first at {name}{where}: {found.what}"


def _shown(element: Any) -> str:
    value = element.item()
    return f"{value:.9g}" if isinstance(value, float) else str(int(value))


def merge(a: Errors, b: Errors) -> Errors:
    """The larger of each error."""
    return Errors(
        _larger(a.max_abs_error, b.max_abs_error),
        _larger(a.max_rel_error, b.max_rel_error),
        _larger(a.error_over_tolerance, b.error_over_tolerance),
    )


def _larger(a: float | None, b: float | None) -> float | None:
    known = [x for x in (a, b) if x is not None]
    return max(known) if known else None


def _wide(value: Any) -> Any:
    import torch

    return value.to(torch.float64) if isinstance(value, torch.Tensor) and value.is_floating_point() else value


def _bounds(
    problem: Problem, tolerance: Callable[..., Any], inputs: tuple[Any, ...], truths: Sequence[Any]
) -> list[Any]:
    """What the problem's own `tolerance` allows each output, float64. Raises ProblemError for a bound that is
    none: infinite, NaN or negative, or of another shape."""
    import torch

    given = _guarded(problem, "tolerance", tolerance, *(_wide(x) for x in inputs))
    bounds = list(given) if isinstance(given, tuple | list) else [given]
    where = f"{problem.folder / 'reference.py'}: tolerance"
    if len(bounds) != len(truths):
        raise ProblemError(f"{where} returned {len(bounds)} bounds; allowed: {len(truths)}, one an output")
    for spec, bound, truth in zip(problem.outputs, bounds, truths, strict=True):
        if wrong := _bound_fault(bound, truth):
            raise ProblemError(f"{where} for output {spec.name}: {wrong}; correct it")
    return [torch.as_tensor(bound, dtype=torch.float64) for bound in bounds]


def _bound_fault(bound: Any, truth: Any) -> str | None:
    import torch

    if not isinstance(bound, torch.Tensor | float | int):
        return f"found {type(bound).__name__}; allowed: a tensor or a number"
    values = torch.as_tensor(bound)
    try:
        fits = np.broadcast_shapes(values.shape, truth.shape) == truth.shape
    except ValueError:
        fits = False
    if not fits:
        return f"found shape {list(values.shape)}; allowed: {list(truth.shape)}, or what broadcasts to it"
    if values.numel() and not (values.min() >= 0 and math.isfinite(values.max())):
        return f"found bounds from {float(values.min())} to {float(values.max())}; allowed: 0 or more, finite"
    return None


def _first(problem: Problem, violations: Any) -> str | None:
    if not isinstance(violations, list | tuple):
        raise ProblemError(
            f"{problem.folder / 'reference.py'}: check returned {type(violations).__name__}; "
            "allowed: a list of violations, empty where there is none; return []"
        )
    found = [str(v) for v in violations]
    if not found:
        return None
    more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
    return found[0][:MESSAGE_CHARS] + more


def _guarded(problem: Problem, name: str, function: Callable[..., Any], *arguments: Any) -> Any:
    try:
        return function(*arguments)
    except HotlapError:
        raise  # a foreign format's own words
    except (Exception, SystemExit) as error:
        raise ProblemError(
            f"{problem.folder / 'reference.py'}: {name} raised {type(error).__name__}: {error}"
        ) from error


# --- samples at the end stamp ---------------------------------------------------------------------


@dataclass(frozen=True)
class Places:
    """Secretly drawn words of one output over the calls of a round. `words`: shape (calls, k)."""

    words: np.ndarray
    poison: int
    mask: int
    is_telling: bool = True


def draw_places(layout: Layout, calls: int, samples: int, poison: int) -> Places:
    """At least `samples` words over all calls, and one in each; a tiny array counts as one part of a word."""
    count = max(1, layout.bytes // POISON_WORD_BYTES)
    each = min(max(1, -(-samples // calls)), count)
    words = secret_generator().integers(0, count, size=(calls, each))
    return Places(words, poison, word_mask(layout), poison_is_telling(layout))


def secret_generator() -> np.random.Generator:
    """A generator whose key comes from the operating system: nobody can know what it will choose."""
    return np.random.Generator(np.random.Philox(key=int.from_bytes(os.urandom(16), "little")))


def word_mask(layout: Layout) -> int:
    """The bits of an array's first word that are the array's."""
    return (1 << (8 * min(layout.bytes, POISON_WORD_BYTES))) - 1


def poison_is_telling(layout: Layout) -> bool:
    """Whether an array that holds the poison was not written: 8 bytes are never an answer by chance, nor is a
    NaN with a random payload; a few bytes of integers may be."""
    return layout.bytes >= POISON_WORD_BYTES or layout.dtype in NAN_BITS


def poisoned(places: Places, words: np.ndarray) -> np.ndarray:
    """Which of the sampled words hold the poison, bool of their shape."""
    mask = np.uint64(places.mask)
    return np.asarray((words & mask) == (np.uint64(places.poison) & mask))


def unwritten(places: Places, words: np.ndarray) -> int:
    """How many of the sampled words were not written; 0 where the poison may be an answer."""
    return int(poisoned(places, words).sum()) if places.is_telling else 0
