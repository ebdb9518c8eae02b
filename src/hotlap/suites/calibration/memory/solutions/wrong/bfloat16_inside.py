# expect: wrong
# reason: elements beyond tolerance
"""Scales in bfloat16: shape and dtype are right, 16 bits are lost."""

import torch


def kernel(x: torch.Tensor, out: torch.Tensor) -> None:
    out.copy_(x.bfloat16() * 3.0)
