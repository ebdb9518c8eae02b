# expect: wrong
# reason: neighbours are not in ascending order
"""Compares in float16: faster keys, and neighbours that differ in the last 13 bits end up in any order."""

import torch


def kernel(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    order = torch.argsort(x.half())
    return x[order], order
