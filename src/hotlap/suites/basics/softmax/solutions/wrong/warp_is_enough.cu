// expect: wrong
// reason: elements beyond tolerance
// device: gpu
// Sums by shuffles, which reach the 32 threads of a warp, in a block of 128: each warp divides by a sum of its own.
#include <cmath>
#include <cstdint>
#include <cuda_runtime.h>

constexpr int kThreads = 128;

__global__ void softmax(const float* all_x, float* all_y, int64_t cols) {
    const float* x = all_x + blockIdx.x * cols;
    float* y = all_y + blockIdx.x * cols;
    float highest = -INFINITY, sum = 0.0f;
    for (int64_t i = 0; i < cols; ++i) highest = fmaxf(highest, x[i]);
    for (int64_t i = threadIdx.x; i < cols; i += kThreads) sum += expf(x[i] - highest);
    for (int distance = 16; distance > 0; distance /= 2) sum += __shfl_xor_sync(0xFFFFFFFFu, sum, distance);
    for (int64_t i = threadIdx.x; i < cols; i += kThreads) y[i] = expf(x[i] - highest) / sum;
}

extern "C" int kernel(const float* x, float* y, int64_t rows, int64_t cols, cudaStream_t stream) {
    softmax<<<static_cast<unsigned>(rows), kThreads, 0, stream>>>(x, y, cols);
    return cudaGetLastError();
}
