// expect: wrong
// reason: output c:
// device: gpu
// Counts the blocks across from the number of rows: columns beyond the m-th, rounded up to a block, are never written.
#include <cstdint>
#include <cuda_bf16.h>
#include <cuda_runtime.h>

__global__ void multiply(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* c, int64_t m, int64_t k,
                         int64_t n) {
    const int64_t row = static_cast<int64_t>(blockIdx.y) * blockDim.y + threadIdx.y;
    const int64_t col = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (row >= m || col >= n) return;
    float sum = 0.0f;
    for (int64_t l = 0; l < k; ++l) sum += __bfloat162float(a[row * k + l]) * __bfloat162float(b[l * n + col]);
    c[row * n + col] = __float2bfloat16(sum);
}

extern "C" int kernel(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* c, int64_t m, int64_t k,
                      int64_t n, cudaStream_t stream) {
    const unsigned blocks = static_cast<unsigned>((m + 15) / 16);
    multiply<<<dim3(blocks, blocks), dim3(16, 16), 0, stream>>>(a, b, c, m, k, n);
    return cudaGetLastError();
}
