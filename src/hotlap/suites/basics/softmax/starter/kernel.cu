// Row softmax: y[r][c] = exp(x[r][c] - max of row r) / sum of these over the row. Correct and simple; make it faster.
#include <cmath>
#include <cstdint>
#include <cuda_runtime.h>

constexpr int kThreads = 256;  // of a block; a power of two, for the halving below

// One block a row. Each thread looks after every 256th column; what the threads found is then combined by halving:
// 128 threads take in what the other 128 hold, then 64, and so on, until thread 0 holds the result.
__global__ void softmax(const float* all_x, float* all_y, int64_t cols) {
    __shared__ float shared[kThreads];  // memory that all threads of the block see
    const float* x = all_x + blockIdx.x * cols;
    float* y = all_y + blockIdx.x * cols;
    const int thread = threadIdx.x;

    float highest = -INFINITY;
    for (int64_t c = thread; c < cols; c += kThreads) highest = fmaxf(highest, x[c]);
    shared[thread] = highest;
    __syncthreads();  // all threads have written before any reads
    for (int half = kThreads / 2; half > 0; half /= 2) {
        if (thread < half) shared[thread] = fmaxf(shared[thread], shared[thread + half]);
        __syncthreads();
    }
    highest = shared[0];
    __syncthreads();  // all have read it before it is overwritten

    float sum = 0.0f;
    for (int64_t c = thread; c < cols; c += kThreads) {
        y[c] = expf(x[c] - highest);  // without subtracting, large numbers overflow
        sum += y[c];
    }
    shared[thread] = sum;
    __syncthreads();
    for (int half = kThreads / 2; half > 0; half /= 2) {
        if (thread < half) shared[thread] += shared[thread + half];
        __syncthreads();
    }
    sum = shared[0];
    for (int64_t c = thread; c < cols; c += kThreads) y[c] /= sum;
}

// Called on the host. It only queues the launch on `stream`: it neither waits nor allocates.
extern "C" int kernel(const float* x, float* y, int64_t rows, int64_t cols, cudaStream_t stream) {
    softmax<<<static_cast<unsigned>(rows), kThreads, 0, stream>>>(x, y, cols);
    return cudaGetLastError();  // 0 if the launch was accepted
}
