# expect: wrong
# reason: elements beyond tolerance
"""Adds in float16 and converts back: shape and dtype are right, 13 bits are lost."""

import torch


def kernel(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return (a.half() + b.half()).float()
