"""EXPECT: accepted
PROBLEM: basics/vectoradd
DEVICE: gpu
NEEDS: cupy
FAMILY: odd but honest
HOW: a CuPy RawKernel on the same memory, through __cuda_array_interface__, on torch's current stream.
"""

import cupy
import torch

add = cupy.RawKernel(
    r"""
extern "C" __global__ void add(const float* a, const float* b, float* y, long long n) {
  const long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
  if (i < n) y[i] = a[i] + b[i];
}
""",
    "add",
)


def prepare(axes):
    add.compile()


def kernel(a, b, out):
    n = a.numel()
    with cupy.cuda.ExternalStream(torch.cuda.current_stream().cuda_stream):
        add(((n + 255) // 256,), (256,), (cupy.asarray(a), cupy.asarray(b), cupy.asarray(out), cupy.int64(n)))
