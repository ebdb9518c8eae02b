# expect: wrong
# reason: elements beyond tolerance
"""Inputs cut to float8: shape, dtype and the rough values are right."""

import torch


def cut(x: torch.Tensor) -> torch.Tensor:
    return x.to(torch.float8_e4m3fn).to(torch.bfloat16)


def kernel(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return cut(a) @ cut(b)
