"""Matrix multiplication: c = a @ b in float32."""

import functools
from collections.abc import Callable, Mapping
from typing import Any

import torch


def make_inputs(axes: Mapping[str, int], rng: Any, device: str) -> tuple[torch.Tensor, torch.Tensor]:
    """a (m, k) and b (k, n), float32, uniform in [-1, 1): the zero mean is what `tolerance` builds on."""
    m, k, n = axes["m"], axes["k"], axes["n"]
    return rng.uniform(-1.0, 1.0, (m, k)), rng.uniform(-1.0, 1.0, (k, n))


def reference(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """The product in float64, shape (m, n)."""
    return a @ b


def tolerance(a: torch.Tensor, b: torch.Tensor) -> tuple[torch.Tensor]:
    """Absolute bound for each element, shape (m, n): 16 * eps * |row of a| * |column of b|.

    Rounding errors of a sum are u*|partial sum| each (u = eps/2) and nearly independent, so they add up
    to at most lambda * u * sqrt(sum of squared partial sums). Partial sums of zero-mean products walk like
    lambda * |a_i| * |b_j| * sqrt(l/k). Together: lambda^2 / sqrt(2) * u * |a_i| * |b_j|, whatever k is;
    lambda = 6.7 gives 32 u = 16 eps. Derived and compared with TF32 in statement.md.
    """
    eps = torch.finfo(torch.float32).eps
    rows = torch.linalg.vector_norm(a, dim=1, dtype=torch.float64)
    columns = torch.linalg.vector_norm(b, dim=0, dtype=torch.float64)
    return (16 * eps * rows[:, None] * columns[None, :],)


def baseline(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """The library's matrix product in full float32."""
    return a @ b


@functools.cache
def _compiled() -> Callable[..., Any]:
    return torch.compile(baseline)


def baseline_compiled(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """The same by torch.compile, which works in the first call of a shape and not on import."""
    return _compiled()(a, b)  # type: ignore[no-any-return]


def hidden(axes: Mapping[str, int], rng: Any) -> dict[str, int]:
    """Each axis up to a quarter below that of a bench workload, drawn on its own."""
    return {name: size - int(rng.integers(0, size // 4 + 1, (1,))) for name, size in axes.items()}
