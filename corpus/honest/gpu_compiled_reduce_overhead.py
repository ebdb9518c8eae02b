"""EXPECT: accepted
PROBLEM: basics/vectoradd
DEVICE: gpu
FAMILY: odd but honest
HOW: torch.compile with graphs of its own (mode="reduce-overhead"), warmed up in `prepare`; its result lies in
    memory that the next call uses again, so it is copied into `out`.
"""

import torch


@torch.compile(mode="reduce-overhead")
def add(a, b):
    return a + b


def prepare(axes):
    a, b = (torch.ones(axes["n"], device="cuda") for _ in range(2))
    for _ in range(3):  # compile, record, replay
        torch.compiler.cudagraph_mark_step_begin()
        add(a, b)
    torch.cuda.synchronize()


def kernel(a, b, out):
    torch.compiler.cudagraph_mark_step_begin()
    out.copy_(add(a, b))
