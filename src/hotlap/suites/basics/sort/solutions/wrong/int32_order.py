# expect: failed
# reason: output order has dtype int32, expected int64
"""The right positions in the wrong dtype."""

import torch


def kernel(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    y, order = torch.sort(x)
    return y, order.int()
