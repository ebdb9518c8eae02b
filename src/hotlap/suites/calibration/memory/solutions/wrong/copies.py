# expect: wrong
# reason: elements beyond tolerance
"""Moves every byte and computes nothing."""

import torch


def kernel(x: torch.Tensor, out: torch.Tensor) -> None:
    out.copy_(x)
