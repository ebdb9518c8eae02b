#! hotlap problem basics/vectoradd
"""A kernel that is right, and nothing special."""

import torch


def kernel(a: torch.Tensor, b: torch.Tensor, out: torch.Tensor) -> None:
    torch.add(a, b, out=out)
