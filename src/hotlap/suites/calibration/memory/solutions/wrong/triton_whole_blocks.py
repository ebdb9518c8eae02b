# expect: wrong
# reason: output y:
"""Divides n by the block size and rounds down: the last elements belong to no program."""

import torch
import triton
import triton.language as tl


@triton.jit
def scale(x, y, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, 3.0 * tl.load(x + i))


def kernel(x: torch.Tensor, out: torch.Tensor) -> None:
    scale[(x.numel() // 64,)](x, out, BLOCK=64)
