# expect: accepted
"""Rows of up to 16,384 columns in registers, several short ones a program; longer rows are read twice, with a
running maximum and sum in the first reading."""

import torch
import triton
import triton.language as tl

TILE, LONGEST, CHUNK = 4096, 16384, 8192  # elements


@triton.jit
def short_rows(x, y, rows, cols, HEIGHT: tl.constexpr, WIDTH: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * HEIGHT + tl.arange(0, HEIGHT)
    col = tl.arange(0, WIDTH)
    at = row[:, None] * cols + col[None, :]
    mask = (row < rows)[:, None] & (col < cols)[None, :]
    values = tl.load(x + at, mask=mask, other=float("-inf"))
    # Rows beyond the last hold nothing but -inf, and -inf - -inf is NaN: harmless, but an interpreter warns.
    highest = tl.maximum(tl.max(values, axis=1), -1e38)
    exponentials = tl.exp(values - highest[:, None])
    factor = 1.0 / tl.maximum(tl.sum(exponentials, axis=1), 1e-38)
    tl.store(y + at, exponentials * factor[:, None], mask=mask)


@triton.jit
def long_row(x, y, cols, CHUNK: tl.constexpr):
    start = tl.program_id(0).to(tl.int64) * cols
    col = tl.arange(0, CHUNK)
    highest = tl.full((CHUNK,), -1e38, tl.float32)
    total = tl.zeros((CHUNK,), tl.float32)
    for offset in range(0, cols, CHUNK):
        values = tl.load(x + start + offset + col, mask=offset + col < cols, other=float("-inf"))
        before = highest
        highest = tl.maximum(before, values)
        total = total * tl.exp(before - highest) + tl.exp(values - highest)
    most = tl.max(highest, axis=0)
    factor = 1.0 / tl.sum(total * tl.exp(highest - most), axis=0)
    for offset in range(0, cols, CHUNK):
        mask = offset + col < cols
        values = tl.load(x + start + offset + col, mask=mask, other=0.0)
        tl.store(y + start + offset + col, tl.exp(values - most) * factor, mask=mask)


def kernel(x: torch.Tensor, out: torch.Tensor) -> None:
    rows, cols = x.shape
    if cols > LONGEST:
        long_row[(rows,)](x, out, cols, CHUNK=CHUNK, num_warps=16)
        return
    width = triton.next_power_of_2(cols)
    height = max(1, min(TILE // width, 64))
    warps = 16 if width > 8192 else 8 if width > 2048 else 4
    short_rows[(triton.cdiv(rows, height),)](x, out, rows, cols, HEIGHT=height, WIDTH=width, num_warps=warps)
