# expect: wrong
# reason: output y:
"""Divides n by the block size and rounds down: the last elements belong to no program."""

import torch
import triton
import triton.language as tl


@triton.jit
def add(a, b, y, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(a + i) + tl.load(b + i))


def kernel(a: torch.Tensor, b: torch.Tensor, out: torch.Tensor) -> None:
    add[(a.numel() // 64,)](a, b, out, BLOCK=64)
