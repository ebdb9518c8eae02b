# expect: accepted
"""A block of elements a program; 8 warps, so 16 elements a thread, four 16-byte loads in flight."""

import torch
import triton
import triton.language as tl

BLOCK = 4096


@triton.jit
def scale(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    tl.store(y + i, 3.0 * tl.load(x + i, mask=mask), mask=mask)


def kernel(x: torch.Tensor, out: torch.Tensor) -> None:
    n = x.numel()
    scale[(triton.cdiv(n, BLOCK),)](x, out, n, BLOCK=BLOCK, num_warps=8)
