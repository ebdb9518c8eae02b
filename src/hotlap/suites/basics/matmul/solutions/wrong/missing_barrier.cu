// expect: wrong
// reason: elements beyond tolerance
// device: gpu
// Tiles in shared memory without the barrier between filling and reading them: warps read what others have not
// written yet.
#include <cstdint>
#include <cuda_runtime.h>

constexpr int kTile = 32;

__global__ void multiply(const float* a, const float* b, float* c, int64_t m, int64_t k, int64_t n) {
    __shared__ float left[kTile][kTile], right[kTile][kTile];
    const int x = threadIdx.x, y = threadIdx.y;
    const int64_t row = static_cast<int64_t>(blockIdx.y) * kTile + y;
    const int64_t col = static_cast<int64_t>(blockIdx.x) * kTile + x;
    float sum = 0.0f;
    for (int64_t l = 0; l < k; l += kTile) {
        left[y][x] = row < m && l + x < k ? a[row * k + l + x] : 0.0f;
        right[y][x] = l + y < k && col < n ? b[(l + y) * n + col] : 0.0f;
        // __syncthreads();
        for (int i = 0; i < kTile; ++i) sum += left[y][i] * right[i][x];
        __syncthreads();
    }
    if (row < m && col < n) c[row * n + col] = sum;
}

extern "C" int kernel(const float* a, const float* b, float* c, int64_t m, int64_t k, int64_t n,
                      cudaStream_t stream) {
    const dim3 blocks(static_cast<unsigned>((n + kTile - 1) / kTile), static_cast<unsigned>((m + kTile - 1) / kTile));
    multiply<<<blocks, dim3(kTile, kTile), 0, stream>>>(a, b, c, m, k, n);
    return cudaGetLastError();
}
