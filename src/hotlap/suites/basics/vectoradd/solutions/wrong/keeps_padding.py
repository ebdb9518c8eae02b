# expect: failed
# reason: output y has shape
"""Pads to a multiple of eight and forgets to cut the padding off."""

import torch
from torch.nn.functional import pad


def kernel(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    missing = -len(a) % 8
    return pad(a, (0, missing)) + pad(b, (0, missing))
