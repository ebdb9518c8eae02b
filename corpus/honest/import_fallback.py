"""EXPECT: accepted
PROBLEM: basics/vectoradd
FAMILY: odd but honest
HOW: falls back where a library is missing, looks a function up by name, and turns the garbage collector off:
    habits that word lists take for cheating.
"""

import gc

import torch

try:
    import cupy
except ImportError:
    cupy = None

gc.collect()
gc.disable()


def kernel(a, b, out):
    add = getattr(torch, "".join(("a", "dd")))
    add(a, b, out=out)
