"""EXPECT: accepted
PROBLEM: basics/vectoradd
DEVICE: gpu
FAMILY: odd but honest
HOW: has torch's allocator use expandable segments, which cannot be shared with another process, but only for a
    workspace; the answers go to `out`.
"""

import torch

torch.cuda.memory._set_allocator_settings("expandable_segments:True")


def kernel(a, b, out):
    workspace = torch.mul(b, 1)
    torch.add(a, workspace, out=out)
