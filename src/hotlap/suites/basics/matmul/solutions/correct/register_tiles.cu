// expect: accepted
// device: gpu
// Full float32 on the ordinary cores. A block of 128 threads makes a 128 x 128 tile of c, each thread 8 x 16 of it in
// registers: a step of k reads 24 floats from shared memory for 128 multiply-adds. Slices of a and b, 16 steps of k
// deep, come through cp.async into one of two buffers while the other is used, so a slice costs one barrier.
// What lies outside a and b is filled with zeros on the way; only the stores see the edge.
#include <cstdint>
#include <cuda_pipeline.h>
#include <cuda_runtime.h>

namespace {

constexpr int kTile = 128, kDepth = 16, kThreads = 128;
constexpr int kWarpTile = 64;                    // 2 x 2 warps share the tile
constexpr int kRows = 8, kCols = 4, kVec = 4;    // of a thread: 8 rows and 4 groups of 4 columns
// Eight rows of a that are read at once start in eight different groups of four banks: 20 * r mod 32.
constexpr int kStride = kDepth + 4;

struct Slices {
    alignas(16) float a[kTile][kStride];
    alignas(16) float b[kDepth][kTile];
};

// Starts copying a Rows x Cols part, Vec floats at a time. `rows` and `cols`: how many there are from `source` on.
template <int Rows, int Cols, int Stride, int Vec>
__device__ void copy(float* target, const float* source, int64_t stride, int64_t rows, int64_t cols) {
    constexpr int kPieces = Cols / Vec;
#pragma unroll 4  // not more: addresses of pieces to come would take registers from the sums
    for (int i = 0; i < Rows * kPieces / kThreads; ++i) {
        const int piece = i * kThreads + static_cast<int>(threadIdx.x);
        const int r = piece / kPieces, c = piece % kPieces * Vec;
        const bool is_inside = r < rows && c < cols;
        __pipeline_memcpy_async(target + r * Stride + c, is_inside ? source + r * stride + c : source,
                                Vec * sizeof(float), is_inside ? 0 : Vec * sizeof(float));
    }
}

template <int Vec>
__global__ void __launch_bounds__(kThreads, 2)
multiply(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, int64_t m, int64_t k,
         int64_t n, int64_t tiles_across) {
    __shared__ Slices buffers[2];
    const int64_t tile_row = blockIdx.x / tiles_across * kTile, tile_col = blockIdx.x % tiles_across * kTile;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int row = warp / 2 * kWarpTile + lane % 8;           // and 7 more, 8 apart
    const int col = warp % 2 * kWarpTile + lane / 8 * kVec;    // and 3 more groups, 16 apart

    const auto fetch = [&](int buffer, int64_t l) {
        copy<kTile, kDepth, kStride, Vec>(&buffers[buffer].a[0][0], a + tile_row * k + l, k, m - tile_row, k - l);
        copy<kDepth, kTile, kTile, Vec>(&buffers[buffer].b[0][0], b + l * n + tile_col, n, k - l, n - tile_col);
        __pipeline_commit();
    };

    float sum[kRows][kCols][kVec] = {};
    fetch(0, 0);
    int buffer = 0;
    for (int64_t l = 0; l < k; l += kDepth, buffer ^= 1) {
        __pipeline_wait_prior(0);
        __syncthreads();  // this slice is there for all, and nobody reads the other buffer any more
        if (l + kDepth < k) fetch(buffer ^ 1, l + kDepth);
        const Slices& slices = buffers[buffer];
#pragma unroll
        for (int group = 0; group < kDepth; group += kVec) {
            float left[kRows][kVec];
#pragma unroll
            for (int i = 0; i < kRows; ++i)
                *reinterpret_cast<float4*>(left[i]) =
                    *reinterpret_cast<const float4*>(&slices.a[row + 8 * i][group]);
#pragma unroll
            for (int step = 0; step < kVec; ++step) {
                float right[kCols][kVec];
#pragma unroll
                for (int j = 0; j < kCols; ++j)
                    *reinterpret_cast<float4*>(right[j]) =
                        *reinterpret_cast<const float4*>(&slices.b[group + step][col + 16 * j]);
#pragma unroll
                for (int i = 0; i < kRows; ++i)
#pragma unroll
                    for (int j = 0; j < kCols; ++j)
#pragma unroll
                        for (int v = 0; v < kVec; ++v) sum[i][j][v] += left[i][step] * right[j][v];
            }
        }
    }

#pragma unroll
    for (int i = 0; i < kRows; ++i) {
        const int64_t r = tile_row + row + 8 * i;
        if (r >= m) break;
#pragma unroll
        for (int j = 0; j < kCols; ++j) {
            const int64_t at = tile_col + col + 16 * j;
            if (Vec == kVec) {  // 4 divides n: a group is inside as a whole, or outside
                if (at < n)
                    *reinterpret_cast<float4*>(c + r * n + at) = *reinterpret_cast<const float4*>(sum[i][j]);
            } else {
#pragma unroll
                for (int v = 0; v < kVec; ++v)
                    if (at + v < n) c[r * n + at + v] = sum[i][j][v];
            }
        }
    }
}

}  // namespace

extern "C" int kernel(const float* a, const float* b, float* c, int64_t m, int64_t k, int64_t n,
                      cudaStream_t stream) {
    const int64_t across = (n + kTile - 1) / kTile, down = (m + kTile - 1) / kTile;
    const auto blocks = static_cast<unsigned>(across * down);
    if (k % kVec == 0 && n % kVec == 0)
        multiply<kVec><<<blocks, kThreads, 0, stream>>>(a, b, c, m, k, n, across);
    else  // rows start anywhere: 4 bytes a copy
        multiply<1><<<blocks, kThreads, 0, stream>>>(a, b, c, m, k, n, across);
    return cudaGetLastError();
}
