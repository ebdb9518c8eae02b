# expect: accepted
# device: gpu
"""Tiles of 128 x 128 by tensor cores, in bands of 8 tile rows: programs that run at once share slices.

Not in Triton's interpreter: its tl.dot takes the bits of bfloat16 numbers for integers.
"""

import torch
import triton
import triton.language as tl

ROWS, COLS, DEPTH, BAND = 128, 128, 64, 8


@triton.jit
def multiply(
    a, b, c, m, k, n, ROWS: tl.constexpr, COLS: tl.constexpr, DEPTH: tl.constexpr, BAND: tl.constexpr
):
    program = tl.program_id(0)
    tiles_down, tiles_across = tl.cdiv(m, ROWS), tl.cdiv(n, COLS)
    band = program // (BAND * tiles_across)
    height = tl.minimum(tiles_down - band * BAND, BAND)
    inside = program % (BAND * tiles_across)
    rows = (band * BAND + inside % height).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    cols = (inside // height).to(tl.int64) * COLS + tl.arange(0, COLS)
    depth = tl.arange(0, DEPTH)

    row_mask, col_mask = (rows < m)[:, None], (cols < n)[None, :]
    a_slice = a + rows[:, None] * k + depth[None, :]
    b_slice = b + depth[:, None].to(tl.int64) * n + cols[None, :]
    total = tl.zeros((ROWS, COLS), dtype=tl.float32)
    for start in range(0, k, DEPTH):
        x = tl.load(a_slice, mask=row_mask & (depth < k - start)[None, :], other=0.0)
        y = tl.load(b_slice, mask=(depth < k - start)[:, None] & col_mask, other=0.0)
        total = tl.dot(x, y, total)
        a_slice += DEPTH
        b_slice += DEPTH * n
    tl.store(c + rows[:, None] * n + cols[None, :], total.to(tl.bfloat16), mask=row_mask & col_mask)


def kernel(a: torch.Tensor, b: torch.Tensor, out: torch.Tensor) -> None:
    (m, k), n = a.shape, b.shape[1]
    grid = (triton.cdiv(m, ROWS) * triton.cdiv(n, COLS),)
    multiply[grid](
        a, b, out, m, k, n, ROWS=ROWS, COLS=COLS, DEPTH=DEPTH, BAND=BAND, num_warps=8, num_stages=3
    )
