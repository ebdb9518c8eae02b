# expect: wrong
# reason: output y:
"""One block of 1,024 columns a row and no loop: right up to there, and the rest of a longer row is never written."""

import torch
import triton
import triton.language as tl


@triton.jit
def softmax(x, y, cols, WIDTH: tl.constexpr):
    start = tl.program_id(0).to(tl.int64) * cols
    col = tl.arange(0, WIDTH)
    values = tl.load(x + start + col, mask=col < cols, other=float("-inf"))
    exponentials = tl.exp(values - tl.max(values, axis=0))
    tl.store(y + start + col, exponentials / tl.sum(exponentials, axis=0), mask=col < cols)


def kernel(x: torch.Tensor, out: torch.Tensor) -> None:
    rows, cols = x.shape
    softmax[(rows,)](x, out, cols, WIDTH=1024)
