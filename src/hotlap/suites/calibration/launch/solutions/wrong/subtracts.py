# expect: wrong
# reason: elements beyond tolerance
"""As much work, another answer."""

import torch


def kernel(a: torch.Tensor, b: torch.Tensor, out: torch.Tensor) -> None:
    torch.sub(a, b, out=out)
