# expect: wrong
# reason: elements beyond tolerance
"""Normalises each column instead of each row."""

import torch


def kernel(x: torch.Tensor) -> torch.Tensor:
    return torch.softmax(x, dim=0)
