# expect: failed
# reason: wrote to input x
"""Subtracts the maximum in place: the input is read-only."""

import torch


def kernel(x: torch.Tensor) -> torch.Tensor:
    x -= x.max(dim=1, keepdim=True).values
    return torch.softmax(x, dim=1)
