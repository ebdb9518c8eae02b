# expect: accepted
"""A block of elements a program. The mask keeps the last one inside; offsets are 64-bit, for any n."""

import torch
import triton
import triton.language as tl

BLOCK = 4096  # 8 warps: 16 elements a thread, four 16-byte loads of each input in flight


@triton.jit
def add(a, b, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    left = tl.load(a + i, mask=mask)
    right = tl.load(b + i, mask=mask)
    tl.store(y + i, left + right, mask=mask)


def kernel(a: torch.Tensor, b: torch.Tensor, out: torch.Tensor) -> None:
    n = a.numel()
    add[(triton.cdiv(n, BLOCK),)](a, b, out, n, BLOCK=BLOCK, num_warps=8)
