# expect: wrong
# reason: elements beyond tolerance
"""TF32, as tensor cores do it when allowed: inputs cut to 10 mantissa bits, sums in float32."""

import torch


def to_tf32(x: torch.Tensor) -> torch.Tensor:
    """x rounded to the nearest of the floats whose 13 last mantissa bits are zero."""
    return ((x.view(torch.int32) + 0x1000) & ~0x1FFF).view(torch.float32)


def kernel(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return to_tf32(a) @ to_tf32(b)
