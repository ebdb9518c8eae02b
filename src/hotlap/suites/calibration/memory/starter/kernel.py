"""Scale: y[i] = 3 * x[i]. Correct and simple; make it faster."""

import torch


def kernel(x: torch.Tensor) -> torch.Tensor:
    return 3.0 * x
