"""EXPECT: accepted
PROBLEM: basics/vectoradd
FAMILY: odd but honest
HOW: returns one column of a wider table: right shape, dtype and values, stride 2.
"""

import torch


def kernel(a, b):
    return torch.stack((a + b, a - b), dim=1)[:, 0]
