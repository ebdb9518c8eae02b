# expect: failed
# fault: submission
# reason: CompilationError
# problem: basics/vectoradd
import torch
import triton
import triton.language as tl


@triton.jit
def add(a, b, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, tl.load(a + at, mask=at < n) + c, mask=at < n)  # noqa: F821


def kernel(a, b):
    y = torch.empty_like(a)
    add[(triton.cdiv(a.numel(), 1024),)](a, b, y, a.numel(), BLOCK=1024)
    return y
