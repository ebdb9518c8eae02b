# expect: wrong
# reason: output y:
"""A single program, to save launches: it makes the first block and there is no other."""

import torch
import triton
import triton.language as tl


@triton.jit
def add(a, b, y, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    mask = i < n
    tl.store(y + i, tl.load(a + i, mask=mask) + tl.load(b + i, mask=mask), mask=mask)


def kernel(a: torch.Tensor, b: torch.Tensor, out: torch.Tensor) -> None:
    add[(1,)](a, b, out, a.numel(), BLOCK=512)
