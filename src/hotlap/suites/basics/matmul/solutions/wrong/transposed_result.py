# expect: failed
# reason: output c has shape
"""Returns the transpose of the product. A test that uses square matrices only would call it a value error."""

import torch


def kernel(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return b.T @ a.T
