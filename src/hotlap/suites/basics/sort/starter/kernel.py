"""Sort with order: y ascending, x[order] == y. Correct and simple; make it faster."""

import torch


def kernel(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    order = torch.argsort(x)
    return x[order], order
