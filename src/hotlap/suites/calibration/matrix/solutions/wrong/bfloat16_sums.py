# expect: wrong
# reason: elements beyond tolerance
"""Adds up parts of 32 steps in bfloat16, which loses what float32 keeps."""

import torch


def kernel(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    total = torch.zeros((a.shape[0], b.shape[1]), dtype=a.dtype, device=a.device)
    for start in range(0, a.shape[1], 32):
        total += a[:, start : start + 32] @ b[start : start + 32]
    return total
