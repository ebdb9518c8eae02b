"""Sort with order: y ascending, x[order] == y. Correct and simple; make it faster.

A merge sort: runs of 1 are merged in pairs to runs of 2, these to runs of 4, and so on. In a merge every
element finds its own place: where it is in its run, plus how many of the other run come before it.
"""

import torch
import triton
import triton.language as tl

BLOCK = 8192


@triton.jit
def merge(values, order, values_out, order_out, n, run, steps, BLOCK: tl.constexpr):
    # Runs once in every program; each looks after BLOCK elements. The first four arguments are pointers.
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n  # the last program reaches past the end
    value = tl.load(values + i, mask=mask)
    start = i // (2 * run) * (2 * run)  # of the two runs that are merged
    middle = tl.minimum(start + run, n)
    end = tl.minimum(start + 2 * run, n)
    is_left = i < middle
    # Binary search in the other run, in all elements at once. Of equals those of the left run come first.
    other = tl.where(is_left, middle, start)
    low, high = other, tl.where(is_left, end, middle)
    for _ in range(steps):
        probe = (low + high) // 2
        is_open = mask & (low < high)
        found = tl.load(values + probe, mask=is_open)
        is_before = tl.where(is_left, found < value, found <= value)
        low = tl.where(is_open & is_before, probe + 1, low)
        high = tl.where(is_open & ~is_before, probe, high)
    place = start + (i - tl.where(is_left, start, middle)) + (low - other)
    tl.store(values_out + place, value, mask=mask)
    tl.store(order_out + place, tl.load(order + i, mask=mask), mask=mask)


def kernel(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    n = x.numel()
    values, order = x.clone(), torch.arange(n, device=x.device)
    values_out, order_out = torch.empty_like(values), torch.empty_like(order)
    run = 1
    while run < n:
        # A search among `run` elements is over after run.bit_length() halvings.
        steps, grid = run.bit_length(), (triton.cdiv(n, BLOCK),)
        merge[grid](values, order, values_out, order_out, n, run, steps, BLOCK=BLOCK, num_warps=16)
        values, order, values_out, order_out = values_out, order_out, values, order
        run *= 2
    return values, order
