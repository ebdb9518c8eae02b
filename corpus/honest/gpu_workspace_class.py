"""EXPECT: accepted
PROBLEM: basics/vectoradd
DEVICE: gpu
MODE: graph
FAMILY: twin of gpu_one_answer_for_all
HOW: an object that keeps a workspace from call to call and computes everything anew in it.
"""

import torch


class Adder:
    """y = a + b by way of a buffer of its own."""

    def __init__(self):
        self.workspace = torch.empty(0, device="cuda")

    def __call__(self, a, b, out):
        if self.workspace.shape != a.shape:
            self.workspace = torch.empty_like(a)
        self.workspace.copy_(a)
        torch.add(self.workspace, b, out=out)


kernel = Adder()
