// expect: accepted
// device: gpu
// Radix sort by hand: four stable passes over 8 bits of the key, the position as payload. A pass is three kernels:
// count the digits of every tile, add up the counts of the tiles before it, move each tile's elements to their places.
// A tile is sorted by its digit in shared memory first, so that it is written in runs, not element by element.
//
// Floats become unsigned integers of the same order by flipping bits: all of a negative number, else the sign.
// Positions are the indices themselves in the first pass, which so reads only x, and become 64-bit in the last. Pairs
// go x -> scratch -> outputs -> scratch -> outputs: y and the first half of order serve as the second buffer.
#include <cstddef>
#include <cstdint>
#include <cuda_runtime.h>

namespace {

constexpr int kDigits = 256, kPasses = 4;
constexpr int kThreads = 512, kWarps = kThreads / 32, kItems = 16;  // of each thread
constexpr int kTile = kThreads * kItems;
constexpr int kScanThreads = 1024;
constexpr unsigned kAll = 0xFFFFFFFFu;

void* scratch = nullptr;
size_t scratch_bytes = 0;

__device__ uint32_t key_of(float value) {
    const uint32_t bits = __float_as_uint(value);
    return bits ^ (bits >> 31 ? 0xFFFFFFFFu : 0x80000000u);
}

__device__ float value_of(uint32_t key) {
    return __uint_as_float(key ^ (key >> 31 ? 0x80000000u : 0xFFFFFFFFu));
}

__device__ uint32_t load_key(const float* keys, uint32_t i) { return key_of(__ldcs(keys + i)); }
__device__ uint32_t load_key(const uint32_t* keys, uint32_t i) { return __ldcs(keys + i); }

__device__ uint32_t digit_of(uint32_t key, int shift) { return key >> shift & (kDigits - 1); }

// The sum over this lane and those before it.
__device__ uint32_t scan_warp(uint32_t value) {
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int distance = 1; distance < 32; distance *= 2) {
        const uint32_t before = __shfl_up_sync(kAll, value, distance);
        if (lane >= distance) value += before;
    }
    return value;
}

// The sum over all threads before this one, of Threads that all call it. `parts`: 32 words that nobody uses; they may
// be used again after the next barrier.
template <int Threads>
__device__ uint32_t scan_block_exclusive(uint32_t value, uint32_t* parts, uint32_t* total) {
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const uint32_t inclusive = scan_warp(value);
    if (lane == 31) parts[warp] = inclusive;
    __syncthreads();
    const uint32_t part = lane < Threads / 32 ? parts[lane] : 0;
    const uint32_t upto = scan_warp(part);
    *total = __shfl_sync(kAll, upto, 31);
    const uint32_t before_warp = __shfl_sync(kAll, upto - part, warp);
    return before_warp + inclusive - value;
}

// counts[digit * stride + tile]: how often the tile holds the digit.
template <class Key>
__global__ void __launch_bounds__(kThreads) count(const Key* keys, uint32_t* counts, uint32_t n, uint32_t stride,
                                                  int shift) {
    __shared__ uint32_t found[kDigits];
    if (threadIdx.x < kDigits) found[threadIdx.x] = 0;
    __syncthreads();
    const uint32_t first = blockIdx.x * kTile + threadIdx.x;
    uint32_t key[kItems];
#pragma unroll
    for (int i = 0; i < kItems; ++i)
        if (first + i * kThreads < n) key[i] = load_key(keys, first + i * kThreads);
#pragma unroll
    for (int i = 0; i < kItems; ++i)
        if (first + i * kThreads < n) atomicAdd(&found[digit_of(key[i], shift)], 1u);
    __syncthreads();
    if (threadIdx.x < kDigits) counts[threadIdx.x * stride + blockIdx.x] = found[threadIdx.x];
}

// Block d: the counts of digit d become sums over the tiles before; totals[d] is the sum over all.
__global__ void __launch_bounds__(kScanThreads) add_up(uint32_t* all_counts, uint32_t* totals, uint32_t tiles,
                                                       uint32_t stride) {
    __shared__ uint32_t parts[2][32];  // in turn, so that one barrier a step is enough
    uint32_t* counts = all_counts + blockIdx.x * stride;
    uint32_t carry = 0;
    int turn = 0;
    for (uint32_t start = 0; start < tiles; start += 4 * kScanThreads, turn ^= 1) {
        const uint32_t at = start + 4 * threadIdx.x;  // stride is a multiple of 4, so four are there or none
        uint4 four = make_uint4(0, 0, 0, 0);
        if (at < tiles) four = *reinterpret_cast<const uint4*>(counts + at);
        if (at + 1 >= tiles) four.y = 0;  // padding holds anything
        if (at + 2 >= tiles) four.z = 0;
        if (at + 3 >= tiles) four.w = 0;
        uint32_t total;
        const uint32_t sum = four.x + four.y + four.z + four.w;
        const uint32_t before = carry + scan_block_exclusive<kScanThreads>(sum, parts[turn], &total);
        if (at < tiles)
            *reinterpret_cast<uint4*>(counts + at) =
                make_uint4(before, before + four.x, before + four.x + four.y, before + four.x + four.y + four.z);
        carry += total;
    }
    if (threadIdx.x == 0) totals[blockIdx.x] = carry;
}

// Where the positions come from, and where pairs go.
struct Pairs {
    const uint32_t* positions;
    uint32_t* keys_out;
    uint32_t* positions_out;
    float* y;
    int64_t* order;
};

template <class Key, bool IsFirst, bool IsLast>
__global__ void __launch_bounds__(kThreads, 2)
move(const Key* keys, Pairs pairs, const uint32_t* counts, const uint32_t* totals, uint32_t n, uint32_t stride,
     int shift) {
    __shared__ union {
        uint32_t ranks[kWarps][kDigits];  // how many of a digit each warp holds, then how many come before it
        uint32_t words[kTile];            // the tile, sorted by its digit: keys, then positions
    } shared;
    __shared__ uint32_t parts[2][32];
    __shared__ uint32_t start_in_tile[kDigits];  // where the digit starts in the sorted tile
    __shared__ uint32_t shift_to_place[kDigits];  // what to add to a place in the tile for that in the output

    const uint32_t tile = blockIdx.x, tile_start = tile * kTile;
    const uint32_t size = n - tile_start < kTile ? n - tile_start : kTile;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    // A warp has 32 * kItems elements in a row, 32 at a time: their order is that of (item, lane).
    const uint32_t first = warp * (32 * kItems) + lane;

    uint32_t key[kItems], place[kItems];
#pragma unroll
    for (int i = 0; i < kItems; ++i) {
        const uint32_t at = first + 32 * i;
        // What lies beyond the end has the last digit, and comes after all of it that the tile holds.
        key[i] = at < size ? load_key(keys, tile_start + at) : 0xFFFFFFFFu;
    }

    for (int i = threadIdx.x; i < kWarps * kDigits; i += kThreads) (&shared.ranks[0][0])[i] = 0;
    __syncthreads();
#pragma unroll
    for (int i = 0; i < kItems; ++i) {
        const uint32_t digit = digit_of(key[i], shift);
        unsigned same = kAll;  // the lanes that hold the same digit
#pragma unroll
        for (int bit = 0; bit < 8; ++bit) {
            const bool is_set = digit >> bit & 1;
            const unsigned set = __ballot_sync(kAll, is_set);
            same &= is_set ? set : ~set;
        }
        uint32_t& held = shared.ranks[warp][digit];
        const uint32_t before = held;
        __syncwarp();  // all lanes have read it
        const unsigned lower = same & ((1u << lane) - 1);
        if (lower == 0) held = before + __popc(same);
        __syncwarp();
        place[i] = before + __popc(lower);
    }
    __syncthreads();

    // Thread d looks after digit d.
    const int d = threadIdx.x;
    uint32_t in_tile = 0, in_all = 0, total;
    if (d < kDigits) {
#pragma unroll
        for (int w = 0; w < kWarps; ++w) {
            const uint32_t held = shared.ranks[w][d];
            shared.ranks[w][d] = in_tile;
            in_tile += held;
        }
        in_all = totals[d];
    }
    const uint32_t tile_offset = scan_block_exclusive<kThreads>(in_tile, parts[0], &total);
    const uint32_t offset = scan_block_exclusive<kThreads>(in_all, parts[1], &total);
    if (d < kDigits) {
        start_in_tile[d] = tile_offset;
        shift_to_place[d] = offset + counts[d * stride + tile] - tile_offset;  // may wrap, and wraps back
    }
    __syncthreads();

#pragma unroll
    for (int i = 0; i < kItems; ++i) {
        const uint32_t digit = digit_of(key[i], shift);
        place[i] += start_in_tile[digit] + shared.ranks[warp][digit];
    }
    __syncthreads();  // nobody needs the ranks any more
#pragma unroll
    for (int i = 0; i < kItems; ++i) shared.words[place[i]] = key[i];
    __syncthreads();

    uint32_t target[kItems];
#pragma unroll
    for (int i = 0; i < kItems; ++i) {
        const uint32_t at = i * kThreads + threadIdx.x;
        const uint32_t sorted = shared.words[at];
        target[i] = at + shift_to_place[digit_of(sorted, shift)];
        if (at >= size) continue;
        if (IsLast) pairs.y[target[i]] = value_of(sorted);
        else pairs.keys_out[target[i]] = sorted;
    }

    uint32_t position[kItems];
#pragma unroll
    for (int i = 0; i < kItems; ++i) {
        const uint32_t at = first + 32 * i;
        position[i] = tile_start + at;
        if (!IsFirst && at < size) position[i] = __ldcs(pairs.positions + tile_start + at);
    }
    __syncthreads();  // all keys are read
#pragma unroll
    for (int i = 0; i < kItems; ++i) shared.words[place[i]] = position[i];
    __syncthreads();
#pragma unroll
    for (int i = 0; i < kItems; ++i) {
        const uint32_t at = i * kThreads + threadIdx.x;
        if (at >= size) continue;
        if (IsLast) pairs.order[target[i]] = shared.words[at];
        else pairs.positions_out[target[i]] = shared.words[at];
    }
}

uint32_t tiles_of(int64_t n) { return static_cast<uint32_t>((n + kTile - 1) / kTile); }

size_t padded(size_t count) { return (count + 63) / 64 * 64; }  // words, so that all that follows is aligned

size_t words_needed(int64_t n) { return 2 * padded(n) + kDigits * padded(tiles_of(n)) + kDigits; }

}  // namespace

extern "C" int prepare(int64_t n) {
    if (n > INT32_MAX) return cudaErrorInvalidValue;  // positions and places are 32-bit
    const size_t wanted = words_needed(n) * sizeof(uint32_t);
    if (wanted <= scratch_bytes) return cudaSuccess;
    cudaFree(scratch);
    scratch_bytes = 0;
    const cudaError_t allocated = cudaMalloc(&scratch, wanted);
    if (allocated == cudaSuccess) scratch_bytes = wanted;
    return allocated;
}

extern "C" int kernel(const float* x, float* y, int64_t* order, int64_t n, cudaStream_t stream) {
    if (scratch_bytes < words_needed(n) * sizeof(uint32_t)) return cudaErrorInvalidValue;  // not prepared
    const uint32_t tiles = tiles_of(n), stride = static_cast<uint32_t>(padded(tiles)), size = static_cast<uint32_t>(n);
    auto* keys = static_cast<uint32_t*>(scratch);
    uint32_t* positions = keys + padded(n);
    uint32_t* counts = positions + padded(n);
    uint32_t* totals = counts + kDigits * padded(tiles);
    auto* keys_y = reinterpret_cast<uint32_t*>(y);
    auto* positions_order = reinterpret_cast<uint32_t*>(order);
    const Pairs to_scratch = {positions_order, keys, positions, nullptr, nullptr};
    const Pairs to_outputs = {positions, keys_y, positions_order, y, order};

    for (int pass = 0; pass < kPasses; ++pass) {
        const int shift = 8 * pass;
        if (pass == 0) count<<<tiles, kThreads, 0, stream>>>(x, counts, size, stride, shift);
        else count<<<tiles, kThreads, 0, stream>>>(pass == 2 ? keys_y : keys, counts, size, stride, shift);
        add_up<<<kDigits, kScanThreads, 0, stream>>>(counts, totals, tiles, stride);
        if (pass == 0)
            move<float, true, false>
                <<<tiles, kThreads, 0, stream>>>(x, to_scratch, counts, totals, size, stride, shift);
        else if (pass == 1)
            move<uint32_t, false, false>
                <<<tiles, kThreads, 0, stream>>>(keys, to_outputs, counts, totals, size, stride, shift);
        else if (pass == 2)
            move<uint32_t, false, false>
                <<<tiles, kThreads, 0, stream>>>(keys_y, to_scratch, counts, totals, size, stride, shift);
        else
            move<uint32_t, false, true>
                <<<tiles, kThreads, 0, stream>>>(keys, to_outputs, counts, totals, size, stride, shift);
    }
    return cudaGetLastError();
}
