# expect: wrong
# reason: elements beyond tolerance
"""Inputs cut to bfloat16: shape, dtype and the rough values are right."""

import torch


def kernel(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return a.bfloat16().float() @ b.bfloat16().float()
