# expect: accepted
# device: gpu
"""Radix sort in Triton, right for every size and not fast: eight stable passes over 4 bits of the key.

A pass counts the digits of every block, adds up the counts of the blocks before it, and moves each element to
where its digit starts, plus its rank among the equal digits of its block: a running sum over a 0/1 matrix.
"""

import torch
import triton
import triton.language as tl

BLOCK, DIGITS, CHUNK = 1024, 16, 4096


@triton.jit
def key_of(x):
    """Bits that sort, as unsigned integers, as x does: all are flipped if x is negative, else the sign."""
    bits = x.to(tl.int32, bitcast=True)
    return tl.where(bits < 0, ~bits, bits ^ -2147483648)


@triton.jit
def start(x, keys, positions, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(keys + i, key_of(tl.load(x + i, mask=i < n, other=0.0)), mask=i < n)
    tl.store(positions + i, i, mask=i < n)


@triton.jit
def count(keys, counts, n, blocks, shift, BLOCK: tl.constexpr, DIGITS: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    key = tl.load(keys + i, mask=i < n, other=0)
    digits = tl.arange(0, DIGITS)
    is_digit = (((key >> shift) & (DIGITS - 1))[:, None] == digits[None, :]) & (i < n)[:, None]
    tl.store(counts + digits * blocks + tl.program_id(0), tl.sum(is_digit.to(tl.int32), axis=0))


@triton.jit
def add_up(counts, totals, blocks, CHUNK: tl.constexpr):
    digit = tl.program_id(0)
    carry = tl.zeros((), tl.int32)
    for offset in range(0, blocks, CHUNK):
        i = offset + tl.arange(0, CHUNK)
        found = tl.load(counts + digit * blocks + i, mask=i < blocks, other=0)
        tl.store(counts + digit * blocks + i, carry + tl.cumsum(found, 0) - found, mask=i < blocks)
        carry += tl.sum(found, axis=0)
    tl.store(totals + digit, carry)


@triton.jit
def move(
    keys, positions, keys_out, positions_out, counts, totals, n, blocks, shift,
    BLOCK: tl.constexpr, DIGITS: tl.constexpr,
):  # fmt: skip
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    key = tl.load(keys + i, mask=i < n, other=0)
    position = tl.load(positions + i, mask=i < n, other=0)
    digits = tl.arange(0, DIGITS)
    is_digit = (((key >> shift) & (DIGITS - 1))[:, None] == digits[None, :]) & (i < n)[:, None]
    ranks = tl.cumsum(is_digit.to(tl.int32), 0) - 1
    total = tl.load(totals + digits)
    starts = tl.cumsum(total, 0) - total + tl.load(counts + digits * blocks + tl.program_id(0))
    place = tl.sum(tl.where(is_digit, ranks + starts[None, :], 0), axis=1)
    tl.store(keys_out + place, key, mask=i < n)
    tl.store(positions_out + place, position, mask=i < n)


@triton.jit
def finish(keys, positions, y, order, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    key = tl.load(keys + i, mask=i < n, other=0)
    bits = tl.where(key < 0, key ^ -2147483648, ~key)
    tl.store(y + i, bits.to(tl.float32, bitcast=True), mask=i < n)
    tl.store(order + i, tl.load(positions + i, mask=i < n, other=0).to(tl.int64), mask=i < n)


scratch: dict[int, list[torch.Tensor]] = {}


def scratch_for(n: int, blocks: int, device: torch.device) -> list[torch.Tensor]:
    """Keys, positions, keys, positions, counts and totals, kept for later calls of the same size alone."""
    if n not in scratch:
        scratch.clear()
        sizes = [n, n, n, n, DIGITS * blocks, DIGITS]
        scratch[n] = [torch.empty(size, dtype=torch.int32, device=device) for size in sizes]
    return scratch[n]


def kernel(x: torch.Tensor, out: tuple[torch.Tensor, torch.Tensor]) -> None:
    n = x.numel()
    blocks = triton.cdiv(n, BLOCK)
    keys, positions, keys_out, positions_out, counts, totals = scratch_for(n, blocks, x.device)
    start[(blocks,)](x, keys, positions, n, BLOCK=BLOCK)
    for shift in range(0, 32, 4):
        count[(blocks,)](keys, counts, n, blocks, shift, BLOCK=BLOCK, DIGITS=DIGITS, num_warps=8)
        add_up[(DIGITS,)](counts, totals, blocks, CHUNK=CHUNK, num_warps=8)
        move[(blocks,)](
            keys, positions, keys_out, positions_out, counts, totals, n, blocks, shift,
            BLOCK=BLOCK, DIGITS=DIGITS, num_warps=8,
        )  # fmt: skip
        keys, positions, keys_out, positions_out = keys_out, positions_out, keys, positions
    finish[(blocks,)](keys, positions, *out, n, BLOCK=BLOCK)
