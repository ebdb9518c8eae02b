"""Small addition: y[i] = a[i] + b[i], so short that starting it is what takes time."""

from collections.abc import Mapping
from typing import Any

import torch


def make_inputs(axes: Mapping[str, int], rng: Any, device: str) -> tuple[torch.Tensor, torch.Tensor]:
    """a and b, float32 of shape (n,), uniform in [-3, 3): sums are rounded, and some cancel."""
    n = axes["n"]
    return rng.uniform(-3.0, 3.0, (n,)), rng.uniform(-3.0, 3.0, (n,))


def reference(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """The sum in float64, shape (n,)."""
    return a + b


def baseline(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """What most people would write; its result is a new tensor."""
    return a + b


def hidden(axes: Mapping[str, int], rng: Any) -> dict[str, int]:
    """Axes up to a quarter below those of a bench workload, so that tails of every length occur."""
    n = axes["n"]
    return {"n": n - int(rng.integers(0, n // 4 + 1, (1,)))}
