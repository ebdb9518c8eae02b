# expect: wrong
# reason: neighbours are not in ascending order
"""Returns the input as it is: x[order] is y, order is a permutation, and nothing is sorted."""

import torch


def kernel(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    return x.clone(), torch.arange(len(x), device=x.device)
