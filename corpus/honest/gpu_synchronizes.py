"""EXPECT: accepted
PROBLEM: basics/vectoradd
DEVICE: gpu
MODE: after-go
FAMILY: odd but honest
HOW: waits for the device at the end of every call, as those do who have learnt to distrust asynchronous launches.
"""

import torch


def kernel(a, b):
    y = a + b
    torch.cuda.synchronize()
    return y
