"""Sort with order: y is x in ascending order, and order says where each element of y came from."""

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch


def make_inputs(axes: Mapping[str, int], rng: Any, device: str) -> tuple[torch.Tensor]:
    """x, float32 of shape (n,), in [-1, 1], without NaN and -0; every second element is a multiple of 1/256.

    So half of the elements share 513 values and ties are many, while the other half hardly repeats: neither
    counting the values nor ignoring ties is an answer.
    """
    x = rng.uniform(-1.0, 1.0, (axes["n"],))
    x[::2] = torch.round(x[::2] * 256) / 256
    return (x.add_(0.0),)  # -0 + 0 is +0


def reference(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """One right answer of many: sorted values, and the order that keeps ties as they came."""
    y, order = torch.sort(x, stable=True)
    return y, order


def check(inputs: Sequence[torch.Tensor], outputs: Sequence[torch.Tensor]) -> list[str]:
    """What is wrong with (y, order), a message of at most 200 characters each; [] says that it is right.

    inputs: (x,) of shape (n,). outputs: y float32 (n,), order int64 (n,), both of any content. Right means:
    y never descends, order holds each of 0 .. n-1 once, and x[order] has the bits of y.
    """
    (x,), (y, order) = inputs, outputs
    n, x = len(x), x.to(torch.float32)
    violations = []
    descents = int((~(y[:-1] <= y[1:])).sum())  # negated, so that NaN counts
    if descents:
        violations.append(f"output y: {descents} of {n - 1} neighbours are not in ascending order")
    outside = int(((order < 0) | (order >= n)).sum())
    if outside:
        return [*violations, f"output order: {outside} of {n} entries are outside 0 .. {n - 1}"]
    missing = n - int(torch.zeros(n, dtype=torch.bool, device=x.device).index_fill_(0, order, True).sum())
    if missing:
        violations.append(f"output order: not a permutation, {missing} of {n} positions are missing")
    differing = int((x[order].view(torch.int32) != y.view(torch.int32)).sum())
    if differing:
        violations.append(f"output order: x[order] differs from y at {differing} of {n} positions")
    return violations


def baseline(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The library's sort, which need not keep ties as they came."""
    y, order = torch.sort(x)
    return y, order


@functools.cache
def _compiled() -> Callable[..., Any]:
    return torch.compile(baseline)


def baseline_compiled(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The same by torch.compile, which works in the first call of a shape and not on import."""
    return _compiled()(x)  # type: ignore[no-any-return]


def hidden(axes: Mapping[str, int], rng: Any) -> dict[str, int]:
    """Axes up to a quarter below those of a bench workload."""
    n = axes["n"]
    return {"n": n - int(rng.integers(0, n // 4 + 1, (1,)))}
