# expect: wrong
# reason: elements beyond tolerance
"""Exact until the end, where each result is rounded to bfloat16."""

import torch


def kernel(x: torch.Tensor) -> torch.Tensor:
    return torch.softmax(x, dim=1).bfloat16().float()
