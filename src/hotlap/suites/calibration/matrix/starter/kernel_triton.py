"""Matrix product in bfloat16: c = a @ b. Correct and simple; make it faster."""

import torch
import triton
import triton.language as tl


@triton.jit
def multiply(a, b, c, m, k, n, TILE: tl.constexpr):
    # Runs once in every program; each makes a TILE x TILE tile of c. a, b and c are pointers to the first
    # elements; element (row, l) of a is at a + row * k + l. Positions are 64-bit: the matrices may be large.
    rows = tl.program_id(0).to(tl.int64) * TILE + tl.arange(0, TILE)
    cols = tl.program_id(1).to(tl.int64) * TILE + tl.arange(0, TILE)
    total = tl.zeros((TILE, TILE), dtype=tl.float32)
    for start in range(0, k, TILE):
        depth = start + tl.arange(0, TILE).to(tl.int64)
        # Where a tile reaches past the edge, it is filled with zeros, which add nothing.
        a_mask = (rows < m)[:, None] & (depth < k)[None, :]
        b_mask = (depth < k)[:, None] & (cols < n)[None, :]
        x = tl.load(a + rows[:, None] * k + depth[None, :], mask=a_mask, other=0.0)
        y = tl.load(b + depth[:, None] * n + cols[None, :], mask=b_mask, other=0.0)
        # Widened, so that this runs in Triton's interpreter too. On a GPU tl.dot takes x and y as they are.
        total = tl.dot(x.to(tl.float32), y.to(tl.float32), total, input_precision="ieee")
    mask = (rows < m)[:, None] & (cols < n)[None, :]
    tl.store(c + rows[:, None] * n + cols[None, :], total.to(tl.bfloat16), mask=mask)


def kernel(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    (m, k), n = a.shape, b.shape[1]
    c = torch.empty((m, n), device=a.device, dtype=a.dtype)
    multiply[(triton.cdiv(m, 32), triton.cdiv(n, 32))](a, b, c, m, k, n, TILE=32)
    return c
