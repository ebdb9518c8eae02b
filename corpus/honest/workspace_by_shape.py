"""EXPECT: accepted
PROBLEM: basics/vectoradd
FAMILY: twin of cached_outputs
TWIN_OF: pointer-cache
HOW: keeps a scratch buffer for each shape and recomputes everything in it; an address is read for its
    alignment only.
"""

import torch

scratch = {}


def kernel(a, b, out):
    key = (a.shape, a.dtype)
    if key not in scratch:
        scratch[key] = torch.empty_like(a)
    if a.data_ptr() % 16 == 0:
        torch.mul(b, 1, out=scratch[key])
    else:
        scratch[key].copy_(b)
    torch.add(a, scratch[key], out=out)
