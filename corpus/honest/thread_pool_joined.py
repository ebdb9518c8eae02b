"""EXPECT: accepted
PROBLEM: basics/vectoradd
FAMILY: twin of thread_left_working
TWIN_OF: thread-start
HOW: halves each call over a pool of two threads and waits for both before it returns.
"""

from concurrent.futures import ThreadPoolExecutor

import torch

pool = ThreadPoolExecutor(max_workers=2)


def kernel(a, b, out):
    half = a.numel() // 2
    parts = [
        pool.submit(torch.add, a[:half], b[:half], out=out[:half]),
        pool.submit(torch.add, a[half:], b[half:], out=out[half:]),
    ]
    for part in parts:
        part.result()
