"""A copy, and a baseline that takes about as long as the kernel: it decides how many calls a round has."""

from collections.abc import Mapping
from typing import Any

import torch

CYCLES_PER_US = 1800


def make_inputs(axes: Mapping[str, int], rng: Any, device: str) -> tuple[torch.Tensor]:
    """x, float32 of shape (us,)."""
    return (rng.uniform(-1.0, 1.0, (axes["us"],)),)


def reference(x: torch.Tensor) -> torch.Tensor:
    """x itself."""
    return x.clone()


def baseline(x: torch.Tensor) -> torch.Tensor:
    """Waits about a microsecond an element."""
    torch.cuda._sleep(CYCLES_PER_US * x.numel())
    return x.clone()


def hidden(axes: Mapping[str, int], rng: Any) -> dict[str, int]:
    """Some other short time."""
    return {"us": 1 + int(rng.integers(0, 100, (1,)))}
