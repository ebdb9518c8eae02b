# expect: accepted
"""The library call itself. It allocates its result, as the baseline does, so expect a speedup of about 1."""

import torch


def kernel(x: torch.Tensor) -> torch.Tensor:
    return torch.softmax(x, dim=1)
