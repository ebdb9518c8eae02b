"""EXPECT: accepted
PROBLEM: basics/vectoradd
DEVICE: gpu
NEEDS: cuda.bindings
MODE: graph
FAMILY: odd but honest
HOW: compiles CUDA source with NVRTC at load and launches it through the driver, on torch's current stream.
"""

import ctypes

import numpy as np
import torch
from cuda.bindings import driver, nvrtc

SOURCE = rb"""
extern "C" __global__ void add(const float* a, const float* b, float* y, long long n) {
  const long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
  if (i < n) y[i] = a[i] + b[i];
}
"""
TYPES = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_longlong)


def checked(answer):
    """What a driver or NVRTC function returned beside its code, which must be success."""
    code, *values = answer
    if code.value:
        raise RuntimeError(f"{code.name} ({code.value})")
    return values[0] if values else None


def cubin():
    major, minor = torch.cuda.get_device_capability()
    program = checked(nvrtc.nvrtcCreateProgram(SOURCE, b"add.cu", 0, [], []))
    options = [f"--gpu-architecture=sm_{major}{minor}".encode()]
    checked(nvrtc.nvrtcCompileProgram(program, len(options), options))
    image = b" " * checked(nvrtc.nvrtcGetCUBINSize(program))
    checked(nvrtc.nvrtcGetCUBIN(program, image))
    return image


torch.cuda.synchronize()  # makes torch's context the current one
image = np.frombuffer(cubin(), np.uint8)
module = checked(driver.cuModuleLoadData(image.ctypes.data))
function = checked(driver.cuModuleGetFunction(module, b"add"))


def kernel(a, b, out):
    n = a.numel()
    arguments = (a.data_ptr(), b.data_ptr(), out.data_ptr(), n), TYPES
    stream = torch.cuda.current_stream().cuda_stream
    checked(driver.cuLaunchKernel(function, (n + 255) // 256, 1, 1, 256, 1, 1, 0, stream, arguments, 0))
