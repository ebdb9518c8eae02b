// Matrix multiplication: c = a @ b. Correct and simple; make it faster.
// a is (m, k), b is (k, n), c is (m, n), all in C order: a[row][l] is a[row * k + l].
#include <cstdint>
#include <cuda_runtime.h>

// Runs once in every thread; each thread makes one element of c.
__global__ void multiply(const float* a, const float* b, float* c, int64_t m, int64_t k, int64_t n) {
    // Neighbouring threads (threadIdx.x) take neighbouring columns: they read b and write c side by side.
    const int64_t row = static_cast<int64_t>(blockIdx.y) * blockDim.y + threadIdx.y;
    const int64_t col = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (row >= m || col >= n) return;  // the last blocks reach past the edge
    float sum = 0.0f;
    for (int64_t l = 0; l < k; ++l) sum += a[row * k + l] * b[l * n + col];
    c[row * n + col] = sum;
}

// Called on the host. It only queues the launch on `stream`: it neither waits nor allocates.
extern "C" int kernel(const float* a, const float* b, float* c, int64_t m, int64_t k, int64_t n,
                      cudaStream_t stream) {
    const dim3 threads(16, 16);  // in a block
    const dim3 blocks(static_cast<unsigned>((n + 15) / 16), static_cast<unsigned>((m + 15) / 16));  // rounded up
    multiply<<<blocks, threads, 0, stream>>>(a, b, c, m, k, n);
    return cudaGetLastError();  // 0 if the launch was accepted
}
