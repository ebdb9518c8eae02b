# expect: failed
# reason: output y has dtype float64, expected float32
"""More precise than asked, and of another dtype than asked."""

import torch


def kernel(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return a.double() + b.double()
