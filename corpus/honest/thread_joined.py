"""EXPECT: accepted
PROBLEM: basics/vectoradd
FAMILY: twin of thread_left_working
TWIN_OF: thread-start
HOW: starts a thread in each call and joins it before it returns.
"""

import threading

import torch


def kernel(a, b, out):
    half = a.numel() // 2
    helper = threading.Thread(target=lambda: torch.add(a[:half], b[:half], out=out[:half]))
    helper.start()
    torch.add(a[half:], b[half:], out=out[half:])
    helper.join()
