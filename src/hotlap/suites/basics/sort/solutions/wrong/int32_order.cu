// expect: wrong
// reason: output order:
// device: gpu
// The starter's ranking, but it writes 32-bit positions into the 64-bit array: two to a word, and half stays unwritten.
#include <cstdint>
#include <cuda_runtime.h>

__global__ void sort(const float* x, float* y, int* order, int64_t n) {
    const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int64_t place = 0;
    for (int64_t j = 0; j < n; ++j) place += x[j] < x[i] || (x[j] == x[i] && j < i);
    y[place] = x[i];
    order[place] = static_cast<int>(i);
}

extern "C" int kernel(const float* x, float* y, int64_t* order, int64_t n, cudaStream_t stream) {
    sort<<<static_cast<unsigned>((n + 255) / 256), 256, 0, stream>>>(x, y, reinterpret_cast<int*>(order), n);
    return cudaGetLastError();
}
