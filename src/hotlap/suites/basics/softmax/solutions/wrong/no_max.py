# expect: wrong
# reason: elements beyond tolerance
"""The textbook formula: right on paper, inf / inf or 0 / 0 in rows of large numbers."""

import torch


def kernel(x: torch.Tensor) -> torch.Tensor:
    exponentials = torch.exp(x)
    return exponentials / exponentials.sum(dim=1, keepdim=True)
