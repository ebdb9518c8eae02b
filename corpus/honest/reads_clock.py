"""EXPECT: accepted
PROBLEM: basics/vectoradd
FAMILY: twin of patched_clocks
TWIN_OF: timer-rebinding
HOW: times two variants of its own in `prepare` and keeps the faster one; attributes named like clocks belong
    to its own object.
"""

import time
from types import SimpleNamespace

import torch


def add(a, b):
    return a + b


def add_scaled(a, b):
    return torch.add(a, b, alpha=1)


tuner = SimpleNamespace(time=time.perf_counter, perf_counter=0.0, best=add)


def seconds(variant, a, b):
    start = tuner.time()
    variant(a, b)
    return tuner.time() - start


def prepare(axes):
    a = b = torch.ones(1024)
    tuner.perf_counter = seconds(add, a, b)
    tuner.best = min((add, add_scaled), key=lambda variant: seconds(variant, a, b))


def kernel(a, b):
    return tuner.best(a, b)
