"""Small addition: y[i] = a[i] + b[i]. Correct and simple; make it faster."""

import torch


def kernel(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return a + b
