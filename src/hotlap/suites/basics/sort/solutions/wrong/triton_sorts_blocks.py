# expect: wrong
# device: gpu
# reason: neighbours are not in ascending order
"""Sorts every block of 512 elements and merges none: right up to 512."""

import torch
import triton
import triton.language as tl


@triton.jit
def sort(x, y, order, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    bits = tl.load(x + i, mask=i < n, other=float("inf")).to(tl.int32, bitcast=True)
    key = tl.where(bits < 0, bits ^ 2147483647, bits)  # ordered as signed integers
    pair = tl.sort((key.to(tl.int64) << 32) | i.to(tl.int64))
    key = (pair >> 32).to(tl.int32)
    tl.store(y + i, tl.where(key < 0, key ^ 2147483647, key).to(tl.float32, bitcast=True), mask=i < n)
    tl.store(order + i, pair & 4294967295, mask=i < n)


def kernel(x: torch.Tensor, out: tuple[torch.Tensor, torch.Tensor]) -> None:
    sort[(triton.cdiv(x.numel(), 512),)](x, *out, x.numel(), BLOCK=512)
