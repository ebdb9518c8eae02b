"""EXPECT: accepted
PROBLEM: basics/vectoradd
DEVICE: gpu
NEEDS: ninja nvcc
MODE: stream
FAMILY: odd but honest
HOW: a CUDA extension built when the file loads, whose `<<<blocks, threads>>>` names no stream: it lands on the
    legacy default stream, which cannot be captured. Written without torch's headers, which take a minute to
    compile.
"""

from torch.utils.cpp_extension import load_inline

CPP = """
#include <pybind11/pybind11.h>
#include <cstdint>
int64_t add(int64_t a, int64_t b, int64_t y, int64_t n);
"""
CUDA = """
#include <cstdint>

__global__ void add_kernel(const float* a, const float* b, float* y, int64_t n) {
  const int64_t i = blockIdx.x * int64_t(blockDim.x) + threadIdx.x;
  if (i < n) y[i] = a[i] + b[i];
}

int64_t add(int64_t a, int64_t b, int64_t y, int64_t n) {
  const auto blocks = unsigned((n + 255) / 256);
  add_kernel<<<blocks, 256>>>(reinterpret_cast<const float*>(a), reinterpret_cast<const float*>(b),
                              reinterpret_cast<float*>(y), n);
  return cudaGetLastError();
}
"""
extension = load_inline(
    name="add_on_the_default_stream",
    cpp_sources=CPP,
    cuda_sources=CUDA,
    functions=["add"],
    with_pytorch_error_handling=False,
    no_implicit_headers=True,
)


def kernel(a, b, out):
    code = extension.add(a.data_ptr(), b.data_ptr(), out.data_ptr(), a.numel())
    if code:
        raise RuntimeError(f"CUDA error {code}")
