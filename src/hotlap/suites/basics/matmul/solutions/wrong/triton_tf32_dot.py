# expect: wrong
# reason: elements beyond tolerance
# device: gpu
"""tl.dot as it comes: on float32 it multiplies in TF32. (The interpreter multiplies in float32: right on a CPU.)"""

import torch
import triton
import triton.language as tl


@triton.jit
def multiply(a, b, c, m, k, n, TILE: tl.constexpr, DEPTH: tl.constexpr):
    rows = tl.program_id(0).to(tl.int64) * TILE + tl.arange(0, TILE)
    cols = tl.program_id(1).to(tl.int64) * TILE + tl.arange(0, TILE)
    total = tl.zeros((TILE, TILE), dtype=tl.float32)
    for start in range(0, k, DEPTH):
        depth = start + tl.arange(0, DEPTH)
        x = tl.load(a + rows[:, None] * k + depth[None, :], mask=(rows < m)[:, None] & (depth < k)[None, :], other=0.0)
        y = tl.load(b + depth[:, None] * n + cols[None, :], mask=(depth < k)[:, None] & (cols < n)[None, :], other=0.0)
        total = tl.dot(x, y, total)
    tl.store(c + rows[:, None] * n + cols[None, :], total, mask=(rows < m)[:, None] & (cols < n)[None, :])


def kernel(a: torch.Tensor, b: torch.Tensor, out: torch.Tensor) -> None:
    (m, k), n = a.shape, b.shape[1]
    multiply[(triton.cdiv(m, 64), triton.cdiv(n, 64))](a, b, out, m, k, n, TILE=64, DEPTH=32)
