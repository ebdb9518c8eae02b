# expect: accepted
# device: cpu
"""A plain loop compiled by Numba when the file is loaded, before any input exists."""

import numba
import torch


@numba.njit(["void(float32[::1], float32[::1], float32[::1])"])
def add(a, b, y):  # type: ignore[no-untyped-def]
    for i in range(a.size):
        y[i] = a[i] + b[i]


def kernel(a: torch.Tensor, b: torch.Tensor, out: torch.Tensor) -> None:
    add(a.numpy(), b.numpy(), out.numpy())
