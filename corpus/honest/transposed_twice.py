"""EXPECT: accepted
PROBLEM: basics/vectoradd
FAMILY: odd but honest
HOW: returns a view of a view: an answer that starts in the middle of its storage.
"""

import torch


def kernel(a, b):
    table = torch.empty((3, a.numel()))
    torch.add(a, b, out=table[1])
    return table.t().t()[1]
