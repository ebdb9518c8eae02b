# expect: wrong
# reason: x[order] differs from y
"""Returns the rank of each element of x, the inverse of what was asked: a permutation, but the other one."""

import torch


def kernel(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    y, order = torch.sort(x)
    return y, torch.argsort(order)
