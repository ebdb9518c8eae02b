# expect: accepted
"""A thousand elements a program, 4 warps: at 2^20 elements every multiprocessor has some programs."""

import torch
import triton
import triton.language as tl


@triton.jit
def add(a, b, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    tl.store(y + i, tl.load(a + i, mask=mask) + tl.load(b + i, mask=mask), mask=mask)


def kernel(a: torch.Tensor, b: torch.Tensor, out: torch.Tensor) -> None:
    n = a.numel()
    add[(triton.cdiv(n, 1024),)](a, b, out, n, BLOCK=1024, num_warps=4)
