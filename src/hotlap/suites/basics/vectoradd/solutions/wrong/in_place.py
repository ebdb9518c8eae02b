# expect: failed
# reason: wrote to input a
"""Saves the output buffer by adding into an input, which is read-only."""

import torch


def kernel(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return a.add_(b)
