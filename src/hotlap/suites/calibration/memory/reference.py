"""Scale: y[i] = 3 * x[i], STREAM's second kernel."""

from collections.abc import Mapping
from typing import Any

import torch

FACTOR = 3.0


def make_inputs(axes: Mapping[str, int], rng: Any, device: str) -> tuple[torch.Tensor]:
    """x, float32 of shape (n,), uniform in [-3, 3)."""
    return (rng.uniform(-3.0, 3.0, (axes["n"],)),)


def reference(x: torch.Tensor) -> torch.Tensor:
    """The product in float64, shape (n,)."""
    return FACTOR * x


def baseline(x: torch.Tensor) -> torch.Tensor:
    """What most people would write; its result is a new tensor."""
    return FACTOR * x


def hidden(axes: Mapping[str, int], rng: Any) -> dict[str, int]:
    """Axes up to a quarter below those of a bench workload, so that tails of every length occur."""
    n = axes["n"]
    return {"n": n - int(rng.integers(0, n // 4 + 1, (1,)))}
