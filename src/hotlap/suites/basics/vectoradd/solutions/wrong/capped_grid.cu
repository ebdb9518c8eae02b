// expect: wrong
// reason: output y:
// device: gpu
// Keeps to a grid of 65,535 blocks, a limit that was real once, and has no loop for what they do not cover:
// right up to 16,776,960 elements.
#include <cstdint>
#include <cuda_runtime.h>

__global__ void add(const float* a, const float* b, float* y, int64_t n) {
    const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a[i] + b[i];
}

extern "C" int kernel(const float* a, const float* b, float* y, int64_t n, cudaStream_t stream) {
    const int64_t blocks = (n + 255) / 256;
    add<<<static_cast<unsigned>(blocks < 65535 ? blocks : 65535), 256, 0, stream>>>(a, b, y, n);
    return cudaGetLastError();
}
