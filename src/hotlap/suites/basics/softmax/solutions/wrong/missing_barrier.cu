// expect: wrong
// reason: elements beyond tolerance
// device: gpu
// One thread combines what the warps found, and the others do not wait for it: they use whatever shared memory held.
#include <cmath>
#include <cstdint>
#include <cuda_runtime.h>

constexpr int kThreads = 256;

__global__ void softmax(const float* all_x, float* all_y, int64_t cols) {
    __shared__ float found[kThreads], result[2];
    const float* x = all_x + blockIdx.x * cols;
    float* y = all_y + blockIdx.x * cols;
    const int thread = threadIdx.x;

    float highest = -INFINITY;
    for (int64_t i = thread; i < cols; i += kThreads) highest = fmaxf(highest, x[i]);
    found[thread] = highest;
    __syncthreads();
    if (thread == 0) {
        for (int i = 1; i < kThreads; ++i) highest = fmaxf(highest, found[i]);
        result[0] = highest;
    }
    // __syncthreads();
    highest = result[0];

    float sum = 0.0f;
    for (int64_t i = thread; i < cols; i += kThreads) sum += expf(x[i] - highest);
    __syncthreads();
    found[thread] = sum;
    __syncthreads();
    if (thread == 0) {
        for (int i = 1; i < kThreads; ++i) sum += found[i];
        result[1] = sum;
    }
    // __syncthreads();
    sum = result[1];
    for (int64_t i = thread; i < cols; i += kThreads) y[i] = expf(x[i] - highest) / sum;
}

extern "C" int kernel(const float* x, float* y, int64_t rows, int64_t cols, cudaStream_t stream) {
    softmax<<<static_cast<unsigned>(rows), kThreads, 0, stream>>>(x, y, cols);
    return cudaGetLastError();
}
