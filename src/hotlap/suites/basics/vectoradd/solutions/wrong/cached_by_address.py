# expect: wrong
# reason: elements beyond tolerance
"""Remembers the sum for each address. The address comes back with new contents, and the memory is stale."""

import torch

sums: dict[int, torch.Tensor] = {}


def kernel(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    if a.data_ptr() not in sums or sums[a.data_ptr()].shape != a.shape:
        sums[a.data_ptr()] = a + b
    return sums[a.data_ptr()].clone()
