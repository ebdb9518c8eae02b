// expect: accepted
// device: gpu
// CUB's radix sort, which comes with the CUDA toolkit, with 32-bit positions as payload: half the traffic of 64-bit
// ones, which the last kernel makes of them. `prepare` allocates; the kernel itself only queues.
#include <cstddef>
#include <cstdint>
#include <cub/cub.cuh>
#include <cuda_runtime.h>

namespace {

void* scratch = nullptr;  // CUB's own part, positions before, positions after
size_t scratch_bytes = 0;

size_t aligned(size_t bytes) { return (bytes + 255) / 256 * 256; }

cudaError_t sort_pairs(void* temporary, size_t& bytes, const float* x, float* y, const uint32_t* positions,
                       uint32_t* sorted, uint32_t n, cudaStream_t stream) {
    return cub::DeviceRadixSort::SortPairs(temporary, bytes, x, y, positions, sorted, n, 0, 32, stream);
}

__global__ void count_up(uint32_t* positions, uint32_t n) {
    const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) positions[i] = i;
}

__global__ void widen(const uint32_t* positions, int64_t* order, uint32_t n) {
    const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) order[i] = positions[i];
}

}  // namespace

extern "C" int prepare(int64_t n) {
    if (n > INT32_MAX) return cudaErrorInvalidValue;
    size_t temporary = 0;
    const cudaError_t asked =
        sort_pairs(nullptr, temporary, nullptr, nullptr, nullptr, nullptr, static_cast<uint32_t>(n), nullptr);
    if (asked != cudaSuccess) return asked;
    const size_t wanted = aligned(temporary) + 2 * aligned(4 * n);
    if (wanted <= scratch_bytes) return cudaSuccess;
    cudaFree(scratch);
    scratch_bytes = 0;
    const cudaError_t allocated = cudaMalloc(&scratch, wanted);
    if (allocated == cudaSuccess) scratch_bytes = wanted;
    return allocated;
}

extern "C" int kernel(const float* x, float* y, int64_t* order, int64_t n, cudaStream_t stream) {
    const size_t part = aligned(4 * n);
    if (scratch_bytes < 2 * part) return cudaErrorInvalidValue;  // prepare was not called for this size
    auto* positions = static_cast<uint32_t*>(scratch);
    auto* sorted = reinterpret_cast<uint32_t*>(static_cast<char*>(scratch) + part);
    void* temporary = static_cast<char*>(scratch) + 2 * part;
    size_t temporary_bytes = scratch_bytes - 2 * part;
    const auto count = static_cast<uint32_t>(n);
    const unsigned blocks = (count + 255) / 256;
    count_up<<<blocks, 256, 0, stream>>>(positions, count);
    const cudaError_t sorting = sort_pairs(temporary, temporary_bytes, x, y, positions, sorted, count, stream);
    if (sorting != cudaSuccess) return sorting;
    widen<<<blocks, 256, 0, stream>>>(sorted, order, count);
    return cudaGetLastError();
}
