# expect: accepted
"""The same library call, writing into the given output: no allocation, no page faults."""

import torch


def kernel(a: torch.Tensor, b: torch.Tensor, out: torch.Tensor) -> None:
    torch.add(a, b, out=out)
