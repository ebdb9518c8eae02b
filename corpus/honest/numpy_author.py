"""EXPECT: accepted
PROBLEM: basics/vectoradd
FAMILY: odd but honest
HOW: computes with NumPy and hands the array back as a tensor that shares its memory.
"""

import numpy as np
import torch


def kernel(a, b):
    return torch.from_numpy(np.add(a.numpy(), b.numpy()))
