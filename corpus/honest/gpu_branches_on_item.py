"""EXPECT: accepted
PROBLEM: basics/vectoradd
DEVICE: gpu
MODE: after-go
FAMILY: odd but honest
HOW: reads one element on the host and chooses by it what to launch. Queued before GO it would wait for ever, so it
    is timed with its calls made after GO.
"""

import torch


def kernel(a, b, out):
    if a[0].item() > 0:
        torch.add(a, b, out=out)
    else:
        torch.add(b, a, out=out)
