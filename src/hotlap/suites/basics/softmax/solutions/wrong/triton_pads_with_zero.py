# expect: wrong
# reason: elements beyond tolerance
"""Fills what lies beyond the row with 0 instead of -inf: each padding column adds exp(0 - max) to the sum."""

import torch
import triton
import triton.language as tl


@triton.jit
def softmax(x, y, cols, WIDTH: tl.constexpr):
    start = tl.program_id(0).to(tl.int64) * cols
    col = tl.arange(0, WIDTH)
    values = tl.load(x + start + col, mask=col < cols, other=0.0)
    exponentials = tl.exp(values - tl.max(values, axis=0))
    tl.store(y + start + col, exponentials / tl.sum(exponentials, axis=0), mask=col < cols)


def kernel(x: torch.Tensor) -> torch.Tensor:
    rows, cols = x.shape
    y = torch.empty_like(x)
    softmax[(rows,)](x, y, cols, WIDTH=triton.next_power_of_2(cols))
    return y
