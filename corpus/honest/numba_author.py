"""EXPECT: accepted
PROBLEM: basics/vectoradd
FAMILY: odd but honest
HOW: a Numba loop, compiled at load for read-only and writable arrays alike.
"""

import numba


@numba.njit
def add_into(a, b, y):
    for i in range(y.size):
        y[i] = a[i] + b[i]


def kernel(a, b, out):
    add_into(a.numpy(), b.numpy(), out.numpy())


def prepare(axes):
    import numpy as np

    ones = np.ones(8, np.float32)
    add_into(ones, ones, np.empty_like(ones))
