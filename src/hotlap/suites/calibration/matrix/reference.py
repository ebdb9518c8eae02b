"""Matrix multiplication in bfloat16 with sums in float32: c = a @ b."""

from collections.abc import Mapping
from typing import Any

import torch

# Off: the library may otherwise round parts of a sum to bfloat16 before it adds them, which is wrong here.
torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False


def make_inputs(axes: Mapping[str, int], rng: Any, device: str) -> tuple[torch.Tensor, torch.Tensor]:
    """a (m, k) and b (k, n), bfloat16, uniform in [-1, 1]: the zero mean is what `tolerance` builds on."""
    m, k, n = axes["m"], axes["k"], axes["n"]
    return rng.uniform(-1.0, 1.0, (m, k), "bfloat16"), rng.uniform(-1.0, 1.0, (k, n), "bfloat16")


def reference(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """The product of the bfloat16 values in float64, shape (m, n)."""
    return a @ b


def tolerance(a: torch.Tensor, b: torch.Tensor) -> tuple[torch.Tensor]:
    """Absolute bound for each element, shape (m, n), of what the sum is off by before it is rounded:
    128 * eps32 * |row of a| * |column of b|, eps32 = 2^-23.

    A float32 sum of zero-mean products is within 16 * eps32 of these norms, whatever k is (derived in
    statement.md of basics/matmul). Eight times that admits tensor cores, which round towards zero.
    """
    eps = torch.finfo(torch.float32).eps
    rows = torch.linalg.vector_norm(a, dim=1, dtype=torch.float64)
    columns = torch.linalg.vector_norm(b, dim=0, dtype=torch.float64)
    return (128 * eps * rows[:, None] * columns[None, :],)


def baseline(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """The library's matrix product."""
    return a @ b


def hidden(axes: Mapping[str, int], rng: Any) -> dict[str, int]:
    """Each axis up to a quarter below that of a bench workload, drawn on its own."""
    return {name: size - int(rng.integers(0, size // 4 + 1, (1,))) for name, size in axes.items()}
