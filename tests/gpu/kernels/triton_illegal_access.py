# expect: failed
# fault: submission
# reason: illegal
# problem: basics/vectoradd
# An error on the device is seen later, in a call that has nothing to do with it.
import torch
import triton
import triton.language as tl


@triton.jit
def add(a, b, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at + (1 << 41), tl.load(a + at, mask=at < n) + tl.load(b + at, mask=at < n), mask=at < n)


def kernel(a, b):
    y = torch.empty_like(a)
    add[(triton.cdiv(a.numel(), 1024),)](a, b, y, a.numel(), BLOCK=1024)
    return y
