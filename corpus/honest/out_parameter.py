"""EXPECT: accepted
PROBLEM: basics/vectoradd
FAMILY: control
HOW: the plain kernel that writes where it is told to and returns the same object.
"""

import torch


def kernel(a, b, out):
    return torch.add(a, b, out=out)
