# expect: failed
# reason: output y has dtype float16, expected float32
"""Computes in float16 and answers in it."""

import torch


def kernel(x: torch.Tensor) -> torch.Tensor:
    return torch.softmax(x - x.max(dim=1, keepdim=True).values, dim=1).half()
