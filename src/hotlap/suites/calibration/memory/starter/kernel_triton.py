"""Scale: y[i] = 3 * x[i]. Correct and simple; make it faster."""

import torch
import triton
import triton.language as tl


@triton.jit
def scale(x, y, n, BLOCK: tl.constexpr):
    # Runs once in every program; each makes BLOCK elements. x and y are pointers to the first elements.
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)  # positions, in 64 bits: n may be large
    mask = i < n  # the last program reaches past the end
    tl.store(y + i, 3.0 * tl.load(x + i, mask=mask), mask=mask)


def kernel(x: torch.Tensor) -> torch.Tensor:
    y = torch.empty_like(x)
    n = x.numel()
    scale[(triton.cdiv(n, 1024),)](x, y, n, BLOCK=1024)  # rounded up: every element has a program
    return y
