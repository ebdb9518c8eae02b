// Matrix product in bfloat16: c = a @ b. Correct and simple; make it faster.
// a is (m, k), b is (k, n), c is (m, n), all in C order: a[row][l] is a[row * k + l].
#include <cstdint>
#include <cuda_bf16.h>
#include <cuda_runtime.h>

// Runs once in every thread; each thread makes one element of c.
__global__ void multiply(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* c, int64_t m, int64_t k,
                         int64_t n) {
    // Neighbouring threads (threadIdx.x) take neighbouring columns: they read b and write c side by side.
    const int64_t row = static_cast<int64_t>(blockIdx.y) * blockDim.y + threadIdx.y;
    const int64_t col = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (row >= m || col >= n) return;  // the last blocks reach past the edge
    float sum = 0.0f;                  // in float32: bfloat16 would lose too much
    for (int64_t l = 0; l < k; ++l) sum += __bfloat162float(a[row * k + l]) * __bfloat162float(b[l * n + col]);
    c[row * n + col] = __float2bfloat16(sum);
}

// Called on the host. It only queues the launch on `stream`: it neither waits nor allocates.
extern "C" int kernel(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* c, int64_t m, int64_t k,
                      int64_t n, cudaStream_t stream) {
    const dim3 threads(32, 8);  // in a block
    const dim3 blocks(static_cast<unsigned>((n + 31) / 32), static_cast<unsigned>((m + 7) / 8));  // rounded up
    multiply<<<blocks, threads, 0, stream>>>(a, b, c, m, k, n);
    return cudaGetLastError();  // 0 if the launch was accepted
}
