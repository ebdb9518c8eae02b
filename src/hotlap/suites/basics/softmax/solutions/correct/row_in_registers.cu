// expect: accepted
// device: gpu
// Each row is read once, into registers, and written once. What holds a row depends on its length: a warp, a block,
// or a cluster of four blocks that exchange their maxima and sums through distributed shared memory. Rows longer
// than that are read twice, with a running maximum and sum.
//
// A row of an odd number of columns starts at no 16-byte boundary. So a row is taken as the 16-byte pieces that it
// touches; only the first and the last may be shared with its neighbours, and those go element by element.
#include <cfloat>
#include <climits>
#include <cmath>
#include <cooperative_groups.h>
#include <cstdint>
#include <cuda_runtime.h>

namespace cg = cooperative_groups;

namespace {

constexpr float kLog2e = 1.4426950408889634f;
constexpr int kBlocks = 4;  // of a cluster

// exp(x - highest); 0 for x = -infinity, which stands for what is not of the row. `highest` is finite.
__device__ float exponential(float x, float highest) { return exp2f((x - highest) * kLog2e); }

// The row from the boundary at or before its start: its elements are [head, end).
struct Row {
    const float* x;
    float* y;
    int head, end;

    __device__ Row(const float* all_x, float* all_y, int64_t row, int64_t cols) {
        const int64_t start = row * cols;
        head = static_cast<int>(start % 4);
        end = head + static_cast<int>(cols);
        x = all_x + (start - head);
        y = all_y + (start - head);
    }

    __device__ bool holds(int i) const { return head <= i && i < end; }

    __device__ float4 load(int piece) const {
        const int i = 4 * piece;
        if (head <= i && i + 4 <= end) return __ldcs(reinterpret_cast<const float4*>(x + i));
        return make_float4(holds(i) ? x[i] : -INFINITY, holds(i + 1) ? x[i + 1] : -INFINITY,
                           holds(i + 2) ? x[i + 2] : -INFINITY, holds(i + 3) ? x[i + 3] : -INFINITY);
    }

    __device__ void store(int piece, float4 values) const {
        const int i = 4 * piece;
        if (head <= i && i + 4 <= end) {
            __stcs(reinterpret_cast<float4*>(y + i), values);
            return;
        }
        if (holds(i)) y[i] = values.x;
        if (holds(i + 1)) y[i + 1] = values.y;
        if (holds(i + 2)) y[i + 2] = values.z;
        if (holds(i + 3)) y[i + 3] = values.w;
    }
};

// A thread's share of a row: pieces first, first + stride, ...
template <int Pieces>
struct Share {
    float4 values[Pieces];

    __device__ void load(const Row& row, int first, int stride) {
#pragma unroll
        for (int i = 0; i < Pieces; ++i) values[i] = row.load(first + i * stride);
    }

    __device__ void store(const Row& row, int first, int stride, float factor) const {
#pragma unroll
        for (int i = 0; i < Pieces; ++i)
            row.store(first + i * stride, make_float4(values[i].x * factor, values[i].y * factor,
                                                      values[i].z * factor, values[i].w * factor));
    }

    __device__ float highest() const {  // never below the lowest float, so that a share of nothing has one
        float found = -FLT_MAX;
#pragma unroll
        for (int i = 0; i < Pieces; ++i)
            found = fmaxf(found, fmaxf(fmaxf(values[i].x, values[i].y), fmaxf(values[i].z, values[i].w)));
        return found;
    }

    __device__ float take_exponentials(float highest) {  // in place; returns their sum
        float sum = 0.0f;
#pragma unroll
        for (int i = 0; i < Pieces; ++i) {
            float4& v = values[i];
            v = make_float4(exponential(v.x, highest), exponential(v.y, highest), exponential(v.z, highest),
                            exponential(v.w, highest));
            sum += (v.x + v.y) + (v.z + v.w);
        }
        return sum;
    }
};

struct Larger {
    static constexpr float neutral = -FLT_MAX;
    __device__ float operator()(float a, float b) const { return fmaxf(a, b); }
};

struct Sum {
    static constexpr float neutral = 0.0f;
    __device__ float operator()(float a, float b) const { return a + b; }
};

template <class Operation>
__device__ float reduce_warp(float value, Operation combine) {
#pragma unroll
    for (int distance = 16; distance > 0; distance /= 2)
        value = combine(value, __shfl_xor_sync(0xFFFFFFFFu, value, distance));
    return value;
}

// The result in every thread of the block. `parts`: 32 floats that no earlier reduction used.
template <int Threads, class Operation>
__device__ float reduce_block(float value, Operation combine, float* parts) {
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    value = reduce_warp(value, combine);
    if (lane == 0) parts[warp] = value;
    __syncthreads();
    return reduce_warp(lane < Threads / 32 ? parts[lane] : Operation::neutral, combine);
}

template <int Pieces>
__global__ void __launch_bounds__(256) row_a_warp(const float* x, float* y, int64_t rows, int64_t cols) {
    const int64_t index = static_cast<int64_t>(blockIdx.x) * (blockDim.x / 32) + threadIdx.x / 32;
    if (index >= rows) return;  // a whole warp at a time
    const int lane = threadIdx.x % 32;
    const Row row(x, y, index, cols);
    Share<Pieces> share;
    share.load(row, lane, 32);
    const float highest = reduce_warp(share.highest(), Larger());
    const float sum = reduce_warp(share.take_exponentials(highest), Sum());
    share.store(row, lane, 32, 1.0f / sum);
}

template <int Threads, int Pieces>
__global__ void __launch_bounds__(Threads) row_a_block(const float* x, float* y, int64_t cols) {
    __shared__ float parts[2][32];
    const Row row(x, y, blockIdx.x, cols);
    Share<Pieces> share;
    share.load(row, threadIdx.x, Threads);
    const float highest = reduce_block<Threads>(share.highest(), Larger(), parts[0]);
    const float sum = reduce_block<Threads>(share.take_exponentials(highest), Sum(), parts[1]);
    share.store(row, threadIdx.x, Threads, 1.0f / sum);
}

template <int Threads, int Pieces>
__global__ void __cluster_dims__(kBlocks, 1, 1) __launch_bounds__(Threads, 2)
row_a_cluster(const float* x, float* y, int64_t cols) {
    __shared__ float parts[2][32];
    __shared__ float highests[kBlocks], sums[kBlocks];  // of every block of the cluster
    const cg::cluster_group cluster = cg::this_cluster();
    const unsigned rank = cluster.block_rank();
    const Row row(x, y, blockIdx.x / kBlocks, cols);
    const int first = static_cast<int>(rank) * Threads + threadIdx.x;
    Share<Pieces> share;
    share.load(row, first, kBlocks * Threads);
    const float own_highest = reduce_block<Threads>(share.highest(), Larger(), parts[0]);
    const float own_sum = reduce_block<Threads>(share.take_exponentials(own_highest), Sum(), parts[1]);

    cluster.sync();  // every block runs, so its shared memory may be written
    if (threadIdx.x < kBlocks) {
        *cluster.map_shared_rank(&highests[rank], threadIdx.x) = own_highest;
        *cluster.map_shared_rank(&sums[rank], threadIdx.x) = own_sum;
    }
    cluster.sync();  // all of them have arrived; from here on a block reads only its own
    float highest = highests[0], sum = 0.0f;
#pragma unroll
    for (int block = 1; block < kBlocks; ++block) highest = fmaxf(highest, highests[block]);
#pragma unroll
    for (int block = 0; block < kBlocks; ++block) sum += sums[block] * exponential(highests[block], highest);
    share.store(row, first, kBlocks * Threads, exponential(own_highest, highest) / sum);
}

template <int Threads>
__global__ void __launch_bounds__(Threads) row_read_twice(const float* all_x, float* all_y, int64_t cols) {
    __shared__ float parts[2][32];
    const float* x = all_x + blockIdx.x * cols;
    float* y = all_y + blockIdx.x * cols;
    float own_highest = -FLT_MAX, own_sum = 0.0f;
#pragma unroll 4
    for (int64_t i = threadIdx.x; i < cols; i += Threads) {
        const float value = x[i], before = own_highest;
        own_highest = fmaxf(before, value);
        own_sum = own_sum * exponential(before, own_highest) + exponential(value, own_highest);
    }
    const float highest = reduce_block<Threads>(own_highest, Larger(), parts[0]);
    const float sum = reduce_block<Threads>(own_sum * exponential(own_highest, highest), Sum(), parts[1]);
    const float factor = 1.0f / sum;
#pragma unroll 4
    for (int64_t i = threadIdx.x; i < cols; i += Threads) y[i] = exponential(x[i], highest) * factor;
}

template <int Pieces>
void launch_warps(const float* x, float* y, int64_t rows, int64_t cols, cudaStream_t stream) {
    row_a_warp<Pieces><<<static_cast<unsigned>((rows + 7) / 8), 256, 0, stream>>>(x, y, rows, cols);
}

template <int Threads, int Pieces>
void launch_blocks(const float* x, float* y, int64_t rows, int64_t cols, cudaStream_t stream) {
    row_a_block<Threads, Pieces><<<static_cast<unsigned>(rows), Threads, 0, stream>>>(x, y, cols);
}

}  // namespace

extern "C" int kernel(const float* x, float* y, int64_t rows, int64_t cols, cudaStream_t stream) {
    if (rows > INT_MAX / kBlocks) return cudaErrorInvalidValue;  // more than a grid has blocks
    // Pieces that the worst row touches: with an odd number of columns one may begin 3 elements into a piece.
    const int64_t pieces = cols % 4 == 0 ? cols / 4 : (cols + 3 + 3) / 4;
    constexpr int kThreads = 512, kPieces = 7;
    if (pieces <= 32) launch_warps<1>(x, y, rows, cols, stream);
    else if (pieces <= 64) launch_warps<2>(x, y, rows, cols, stream);
    else if (pieces <= 128) launch_warps<4>(x, y, rows, cols, stream);
    else if (pieces <= 256) launch_warps<8>(x, y, rows, cols, stream);
    else if (pieces <= 512) launch_blocks<128, 4>(x, y, rows, cols, stream);
    else if (pieces <= 1024) launch_blocks<256, 4>(x, y, rows, cols, stream);
    else if (pieces <= 2048) launch_blocks<512, 4>(x, y, rows, cols, stream);
    else if (pieces <= 4096) launch_blocks<512, 8>(x, y, rows, cols, stream);
    else if (pieces <= kBlocks * kThreads * kPieces)
        row_a_cluster<kThreads, kPieces><<<static_cast<unsigned>(rows * kBlocks), kThreads, 0, stream>>>(x, y, cols);
    else row_read_twice<1024><<<static_cast<unsigned>(rows), 1024, 0, stream>>>(x, y, cols);
    return cudaGetLastError();
}
