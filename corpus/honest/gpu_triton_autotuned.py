"""EXPECT: accepted
PROBLEM: basics/vectoradd
DEVICE: gpu
MODE: graph
FAMILY: odd but honest
HOW: a Triton kernel that times its configurations itself in the first call of each size, and is slow in that one.
"""

import triton
import triton.language as tl

CONFIGS = [triton.Config({"BLOCK": block}, num_warps=warps) for block in (1024, 4096) for warps in (4, 8)]


@triton.autotune(configs=CONFIGS, key=["n"])
@triton.jit
def add(a, b, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    tl.store(y + at, tl.load(a + at, mask=inside) + tl.load(b + at, mask=inside), mask=inside)


def kernel(a, b, out):
    n = a.numel()
    add[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](a, b, out, n)
