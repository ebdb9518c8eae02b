# expect: wrong
# reason: elements beyond tolerance
"""Keeps the first product of each shape and returns it for every later input of that shape."""

import torch

first: dict[tuple[torch.Size, torch.Size], torch.Tensor] = {}


def kernel(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    shapes = a.shape, b.shape
    if shapes not in first:
        first[shapes] = a @ b
    return first[shapes].clone()
