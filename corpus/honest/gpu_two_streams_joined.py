"""EXPECT: accepted
PROBLEM: basics/vectoradd
DEVICE: gpu
FAMILY: twin of gpu_side_stream
HOW: does half of the work on a second stream, which waits for the current one first and is waited for at the end.
"""

import torch

side = torch.cuda.Stream()


def kernel(a, b, out):
    half, current = a.numel() // 2, torch.cuda.current_stream()
    side.wait_stream(current)
    with torch.cuda.stream(side):
        torch.add(a[:half], b[:half], out=out[:half])
    torch.add(a[half:], b[half:], out=out[half:])
    current.wait_stream(side)
