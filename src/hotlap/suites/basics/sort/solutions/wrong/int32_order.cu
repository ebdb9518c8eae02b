// expect: wrong
// reason: output order:
// device: gpu
// Sorts with 32-bit positions and writes them as they are into the 64-bit array: two to a word, and half stays unwritten.
#include <cstddef>
#include <cstdint>
#include <cub/cub.cuh>
#include <cuda_runtime.h>

static void *temporary = nullptr, *positions = nullptr;
static size_t temporary_bytes = 0;

__global__ void count_up(uint32_t* positions, int64_t n) {
    const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < n) positions[i] = static_cast<uint32_t>(i);
}

static cudaError_t sort_pairs(size_t& bytes, const float* x, float* y, int64_t* order, int64_t n, cudaStream_t stream) {
    return cub::DeviceRadixSort::SortPairs(temporary, bytes, x, y, static_cast<uint32_t*>(positions),
                                           reinterpret_cast<uint32_t*>(order), static_cast<int>(n), 0, 32, stream);
}

extern "C" int prepare(int64_t n) {
    cudaFree(temporary);
    cudaFree(positions);
    temporary = nullptr;
    if (cudaError_t error = sort_pairs(temporary_bytes, nullptr, nullptr, nullptr, n, nullptr)) return error;
    if (cudaError_t error = cudaMalloc(&temporary, temporary_bytes)) return error;
    return cudaMalloc(&positions, n * sizeof(uint32_t));
}

extern "C" int kernel(const float* x, float* y, int64_t* order, int64_t n, cudaStream_t stream) {
    count_up<<<static_cast<unsigned>((n + 255) / 256), 256, 0, stream>>>(static_cast<uint32_t*>(positions), n);
    return sort_pairs(temporary_bytes, x, y, order, n, stream);
}
