"""Small addition: y[i] = a[i] + b[i]. Correct and simple; make it faster."""

import torch
import triton
import triton.language as tl


@triton.jit
def add(a, b, y, n, BLOCK: tl.constexpr):
    # Runs once in every program; each makes BLOCK elements. a, b and y are pointers to the first elements.
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)  # positions, in 64 bits: n may be large
    mask = i < n  # the last program reaches past the end
    tl.store(y + i, tl.load(a + i, mask=mask) + tl.load(b + i, mask=mask), mask=mask)


def kernel(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    y = torch.empty_like(a)
    n = a.numel()
    add[(triton.cdiv(n, 1024),)](a, b, y, n, BLOCK=1024)  # rounded up: every element has a program
    return y
