// Sort with order: y ascending, x[order[i]] == y[i]. Correct and simple; make it faster.
//
// A merge sort: runs of 1 are merged in pairs to runs of 2, these to runs of 4, and so on. In a merge every element
// finds its own place: where it is in its run, plus how many of the other run come before it.
#include <cstdint>
#include <cuda_runtime.h>
#include <utility>

struct Arrays {
    float* values;
    int64_t* order;
};

static Arrays scratch = {};  // made by `prepare`: merging needs a second place
static int64_t room = 0;     // how many elements fit there

// Runs once in every thread, as the kernel below; thread i looks after element i.
__global__ void start(const float* x, Arrays to, int64_t n) {
    const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i >= n) return;  // the last block has threads left over
    to.values[i] = x[i];
    to.order[i] = i;
}

__global__ void merge(Arrays from, Arrays to, int64_t n, int64_t run) {
    const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const float value = from.values[i];
    const int64_t start = i / (2 * run) * (2 * run);  // of the two runs that are merged; the last may be short
    const int64_t middle = start + run < n ? start + run : n;
    const int64_t end = start + 2 * run < n ? start + 2 * run : n;
    const bool is_left = i < middle;

    // Binary search in the other run. Of equal elements those of the left run come first.
    const int64_t other = is_left ? middle : start;
    int64_t low = other, high = is_left ? end : middle;
    while (low < high) {
        const int64_t probe = (low + high) / 2;
        const float found = from.values[probe];
        if (is_left ? found < value : found <= value) low = probe + 1;
        else high = probe;
    }
    const int64_t place = start + (i - (is_left ? start : middle)) + (low - other);
    to.values[place] = value;
    to.order[place] = from.order[i];
}

// Called on the host before inputs of a size exist, and never timed: the place to allocate.
extern "C" int prepare(int64_t n) {
    if (n <= room) return 0;
    cudaFree(scratch.values);
    cudaFree(scratch.order);
    scratch = {};
    room = 0;
    if (const cudaError_t error = cudaMalloc(&scratch.values, n * sizeof(float))) return error;
    if (const cudaError_t error = cudaMalloc(&scratch.order, n * sizeof(int64_t))) return error;
    room = n;
    return 0;
}

// Called on the host. It only queues launches on `stream`: it neither waits nor allocates. Kernels on one stream run
// one after the other, so each merge sees what the last one did.
extern "C" int kernel(const float* x, float* y, int64_t* order, int64_t n, cudaStream_t stream) {
    if (n > room) return cudaErrorInvalidValue;
    const unsigned blocks = static_cast<unsigned>((n + 255) / 256);
    Arrays from = {y, order}, to = scratch;
    int merges = 0;
    for (int64_t run = 1; run < n; run *= 2) ++merges;
    if (merges % 2 == 1) std::swap(from, to);  // so that the last merge writes the outputs
    start<<<blocks, 256, 0, stream>>>(x, from, n);
    for (int64_t run = 1; run < n; run *= 2) {
        merge<<<blocks, 256, 0, stream>>>(from, to, n, run);
        std::swap(from, to);
    }
    return cudaGetLastError();  // 0 if all launches were accepted
}
