// expect: wrong
// reason: output y:
// device: gpu
// A grid of a fixed size and no loop: right up to 270,336 elements, and the rest is never written.
#include <cstdint>
#include <cuda_runtime.h>

__global__ void scale(const float* x, float* y, int64_t n) {
    const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 3.0f * x[i];
}

extern "C" int kernel(const float* x, float* y, int64_t n, cudaStream_t stream) {
    scale<<<132 * 8, 256, 0, stream>>>(x, y, n);
    return cudaGetLastError();
}
