# expect: wrong
# reason: elements beyond tolerance
"""Subtracts the largest number of the whole matrix: no overflow, but rows far below it become 0 / 0."""

import torch


def kernel(x: torch.Tensor) -> torch.Tensor:
    exponentials = torch.exp(x - x.max())
    return exponentials / exponentials.sum(dim=1, keepdim=True)
