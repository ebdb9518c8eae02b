"""What the expressions of a problem come to for given axes: shapes, bytes, cost, tolerance."""

import math
from collections.abc import Mapping

from hotlap.errors import ProblemError
from hotlap.model import Problem, TensorSpec
from hotlap.problems import expr
from hotlap.problems.dtypes import DTYPES


def all_axes(problem: Problem, workload_axes: Mapping[str, int]) -> dict[str, int]:
    """Every axis with its value, constants included, in [axes] order.

    Raises ValueError when the workload gives no value to a var axis.
    """
    missing = [
        name for name, constant in problem.axes.items() if constant is None and name not in workload_axes
    ]
    if missing:
        raise ValueError(f"{problem.id}: no value for axis {', '.join(missing)} in {dict(workload_axes)}")
    return {
        name: workload_axes[name] if constant is None else constant for name, constant in problem.axes.items()
    }


def shape_of(spec: TensorSpec, axes: Mapping[str, int]) -> tuple[int, ...]:
    """The shape of a tensor, () for one of no dimensions. `axes` holds the constants too.

    Raises ValueError for a scalar, which has no shape, and ProblemError if a size is not a positive integer.
    """
    if spec.shape is None:
        raise ValueError(f"{spec.name} is a scalar and has no shape")
    return tuple(_size(spec, index, size, axes) for index, size in enumerate(spec.shape))


def elements_of(spec: TensorSpec, axes: Mapping[str, int]) -> int:
    """How many elements a tensor has; 0 for a scalar, which has no buffer and travels by value."""
    return 0 if spec.shape is None else math.prod(shape_of(spec, axes))


def bytes_of(spec: TensorSpec, axes: Mapping[str, int]) -> int:
    """Bytes of the buffer of one tensor; 0 for a scalar, which has no buffer and travels by value."""
    return elements_of(spec, axes) * itemsize(spec.dtype)


def itemsize(dtype: str) -> int:
    """Bytes of one element."""
    return DTYPES[dtype].itemsize


def cost(problem: Problem, axes: Mapping[str, int]) -> tuple[int | None, int | None]:
    """Compulsory bytes and arithmetic operations of one call, rounded; None where [cost] does not say."""
    names = all_axes(problem, axes)
    return _cost("cost.bytes", problem.cost.bytes, names), _cost("cost.flops", problem.cost.flops, names)


def tolerance(problem: Problem, output: TensorSpec, axes: Mapping[str, int]) -> tuple[float, float]:
    """(rtol, atol) of |out - ref| <= atol + rtol*|ref| for one output; (0, 0) for integers and bool.

    In the expressions `eps` is the machine epsilon of the output's dtype, and `eps_in` that of the widest
    floating tensor among the inputs (scalars are doubles by convention and say nothing about the data).
    """
    eps = DTYPES[output.dtype].eps
    if eps is None:
        return 0.0, 0.0
    names: dict[str, int | float] = {**all_axes(problem, axes), "eps": eps}
    # Of two types of one size (float16, bfloat16) the finer counts: the stricter bound.
    epsilons = [
        eps_in for spec in problem.inputs if spec.shape is not None and (eps_in := DTYPES[spec.dtype].eps)
    ]
    if epsilons:
        names["eps_in"] = min(epsilons)
    bounds = problem.tolerance
    return _bound("tolerance.rtol", bounds.rtol, names), _bound("tolerance.atol", bounds.atol, names)


def _size(spec: TensorSpec, index: int, size: str | int, axes: Mapping[str, int]) -> int:
    value = size if isinstance(size, int) else _evaluated(f"{spec.name}.shape[{index}]", size, axes)
    if not isinstance(value, int) or value < 1:
        remedy = "use // to divide" if isinstance(value, float) else "correct the shape or the axes"
        raise ProblemError(
            f"{spec.name}.shape[{index}] = {size!r}: found {value} with {_given(axes)}; "
            f"allowed: a positive integer; {remedy}"
        )
    return value


def _cost(key: str, text: str | None, names: Mapping[str, int]) -> int | None:
    return None if text is None else round(_non_negative(key, text, names))


def _bound(key: str, text: str, names: Mapping[str, int | float]) -> float:
    return float(_non_negative(key, text, names))


def _non_negative(key: str, text: str, names: Mapping[str, int | float]) -> int | float:
    value = _evaluated(key, text, names)
    if value < 0:
        raise ProblemError(
            f"{key} = {text!r}: found {value} with {_given(names)}; allowed: 0 or more; correct it"
        )
    return value


def _evaluated(key: str, text: str, names: Mapping[str, int | float]) -> int | float:
    try:
        return expr.evaluate(text, names)
    except ProblemError as error:
        raise ProblemError(f"{key}: {error}") from None


def _given(names: Mapping[str, int | float]) -> str:
    return ", ".join(f"{name}={value}" for name, value in names.items()) or "no axes"
