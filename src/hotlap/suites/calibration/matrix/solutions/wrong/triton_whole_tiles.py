# expect: wrong
# reason: output c:
"""Rounds the grid down: what reaches past the last whole tile belongs to no program."""

import torch
import triton
import triton.language as tl


@triton.jit
def multiply(a, b, c, m, k, n, TILE: tl.constexpr):
    rows = tl.program_id(0).to(tl.int64) * TILE + tl.arange(0, TILE)
    cols = tl.program_id(1).to(tl.int64) * TILE + tl.arange(0, TILE)
    total = tl.zeros((TILE, TILE), dtype=tl.float32)
    for start in range(0, k, TILE):
        depth = start + tl.arange(0, TILE).to(tl.int64)
        x = tl.load(a + rows[:, None] * k + depth[None, :], mask=(depth < k)[None, :], other=0.0)
        y = tl.load(b + depth[:, None] * n + cols[None, :], mask=(depth < k)[:, None], other=0.0)
        total = tl.dot(x.to(tl.float32), y.to(tl.float32), total, input_precision="ieee")
    tl.store(c + rows[:, None] * n + cols[None, :], total.to(tl.bfloat16))


def kernel(a: torch.Tensor, b: torch.Tensor, out: torch.Tensor) -> None:
    (m, k), n = a.shape, b.shape[1]
    if m >= 16 and n >= 16:
        multiply[(m // 16, n // 16)](a, b, out, m, k, n, TILE=16)
