// expect: accepted
// device: gpu
// Tensor cores by the wmma interface. A block of 4 warps makes a 64 x 64 tile of c, each warp 32 x 32 of it. Slices of
// a and b, 32 steps of k deep, go through shared memory, filled with zeros beyond the edge; so does the tile of c,
// which is rounded on its way out.
#include <cstdint>
#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <mma.h>

namespace {

namespace wmma = nvcuda::wmma;
constexpr int kTile = 64, kDepth = 32, kThreads = 128, kPart = 16;
constexpr int kStrideA = kDepth + 8, kStrideB = kTile + 8, kStrideC = kTile + 4;  // apart, for the sake of the banks

__global__ void __launch_bounds__(kThreads)
multiply(const __nv_bfloat16* __restrict__ a, const __nv_bfloat16* __restrict__ b, __nv_bfloat16* __restrict__ c,
         int64_t m, int64_t k, int64_t n) {
    __shared__ alignas(32) __nv_bfloat16 left[kTile * kStrideA];
    __shared__ alignas(32) __nv_bfloat16 right[kDepth * kStrideB];
    __shared__ alignas(32) float result[kTile * kStrideC];
    const int thread = static_cast<int>(threadIdx.x), warp = thread / 32;
    const int warp_row = warp / 2 * 32, warp_col = warp % 2 * 32;
    const int64_t tile_row = static_cast<int64_t>(blockIdx.y) * kTile;
    const int64_t tile_col = static_cast<int64_t>(blockIdx.x) * kTile;
    const __nv_bfloat16 zero = __float2bfloat16(0.0f);

    wmma::fragment<wmma::accumulator, kPart, kPart, kPart, float> sum[2][2];
    for (auto& row : sum)
        for (auto& part : row) wmma::fill_fragment(part, 0.0f);

    for (int64_t l = 0; l < k; l += kDepth) {
        for (int i = thread; i < kTile * kDepth; i += kThreads) {
            const int64_t row = tile_row + i / kDepth, col = l + i % kDepth;
            left[i / kDepth * kStrideA + i % kDepth] = row < m && col < k ? a[row * k + col] : zero;
        }
        for (int i = thread; i < kDepth * kTile; i += kThreads) {
            const int64_t row = l + i / kTile, col = tile_col + i % kTile;
            right[i / kTile * kStrideB + i % kTile] = row < k && col < n ? b[row * n + col] : zero;
        }
        __syncthreads();
        for (int step = 0; step < kDepth; step += kPart) {
            wmma::fragment<wmma::matrix_a, kPart, kPart, kPart, __nv_bfloat16, wmma::row_major> x[2];
            wmma::fragment<wmma::matrix_b, kPart, kPart, kPart, __nv_bfloat16, wmma::row_major> y[2];
            for (int i = 0; i < 2; ++i) {
                wmma::load_matrix_sync(x[i], left + (warp_row + i * kPart) * kStrideA + step, kStrideA);
                wmma::load_matrix_sync(y[i], right + step * kStrideB + warp_col + i * kPart, kStrideB);
            }
            for (int i = 0; i < 2; ++i)
                for (int j = 0; j < 2; ++j) wmma::mma_sync(sum[i][j], x[i], y[j], sum[i][j]);
        }
        __syncthreads();
    }

    for (int i = 0; i < 2; ++i)
        for (int j = 0; j < 2; ++j)
            wmma::store_matrix_sync(result + (warp_row + i * kPart) * kStrideC + warp_col + j * kPart, sum[i][j],
                                    kStrideC, wmma::mem_row_major);
    __syncthreads();
    for (int i = thread; i < kTile * kTile; i += kThreads) {
        const int64_t row = tile_row + i / kTile, col = tile_col + i % kTile;
        if (row < m && col < n) c[row * n + col] = __float2bfloat16(result[i / kTile * kStrideC + i % kTile]);
    }
}

}  // namespace

extern "C" int kernel(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* c, int64_t m, int64_t k,
                      int64_t n, cudaStream_t stream) {
    const dim3 blocks(static_cast<unsigned>((n + kTile - 1) / kTile), static_cast<unsigned>((m + kTile - 1) / kTile));
    multiply<<<blocks, kThreads, 0, stream>>>(a, b, c, m, k, n);
    return cudaGetLastError();
}
