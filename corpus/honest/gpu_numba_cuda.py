"""EXPECT: accepted
PROBLEM: basics/vectoradd
DEVICE: gpu
NEEDS: numba_cuda numpy.row_stack
FAMILY: odd but honest
HOW: a Numba CUDA kernel on the same memory, through __cuda_array_interface__, on torch's current stream.
     Numba of 2026 looks for np.row_stack, which NumPy 2.5 no longer has: there it cannot compile.
"""

import torch
from numba import cuda


@cuda.jit
def add(a, b, y):
    i = cuda.grid(1)
    if i < y.size:
        y[i] = a[i] + b[i]


def current_stream():
    handle = torch.cuda.current_stream().cuda_stream
    return cuda.external_stream(handle) if handle else cuda.default_stream()


def prepare(axes):
    ones = torch.ones(256, device="cuda")
    kernel(ones, ones, torch.empty_like(ones))
    torch.cuda.synchronize()


def kernel(a, b, out):
    views = [cuda.as_cuda_array(tensor, sync=False) for tensor in (a, b, out)]
    add[(a.numel() + 255) // 256, 256, current_stream()](*views)
