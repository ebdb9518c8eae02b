"""EXPECT: accepted
PROBLEM: basics/vectoradd
DEVICE: gpu
FAMILY: odd but honest
HOW: captures its work once for each workload, on buffers of its own, and replays it in every call between copies
    in and out. Where a replay cannot be captured in turn, it is timed in a stream.
"""

import torch

captured = {}


def prepare(axes):
    captured.clear()
    a, b, y = (torch.zeros(axes["n"], device="cuda") for _ in range(3))
    torch.add(a, b, out=y)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        torch.add(a, b, out=y)
    captured["now"] = graph, a, b, y


def kernel(a, b, out):
    graph, own_a, own_b, own_y = captured["now"]
    own_a.copy_(a)
    own_b.copy_(b)
    graph.replay()
    out.copy_(own_y)
