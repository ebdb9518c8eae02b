"""EXPECT: accepted
PROBLEM: basics/vectoradd
FAMILY: odd but honest
HOW: compiles in its first call, which is a thousand times slower than the rest. That call is checked and not
    timed.
"""

import functools

import torch


@functools.cache
def compiled():
    import numba

    @numba.vectorize(["float32(float32, float32)"])
    def add(x, y):
        return x + y

    return add


def kernel(a, b):
    return torch.from_numpy(compiled()(a.numpy(), b.numpy()))
