# expect: accepted
"""The library call itself, stable: ties keep their order, which nobody asked for."""

import torch


def kernel(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    y, order = torch.sort(x, stable=True)
    return y, order
