# expect: failed
# reason: this kernel is for square matrices
"""Refuses what its author did not think of. Every shape that the problem lists must work."""

import torch


def kernel(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    if a.shape != b.shape:
        raise ValueError("this kernel is for square matrices")
    return a @ b
