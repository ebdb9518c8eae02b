// expect: wrong
// reason: output y:
// device: gpu
// One block and no loop, to save the launch of others: the elements after the first 1024 are never written.
#include <cstdint>
#include <cuda_runtime.h>

__global__ void add(const float* a, const float* b, float* y, int64_t n) {
    if (threadIdx.x < n) y[threadIdx.x] = a[threadIdx.x] + b[threadIdx.x];
}

extern "C" int kernel(const float* a, const float* b, float* y, int64_t n, cudaStream_t stream) {
    add<<<1, 1024, 0, stream>>>(a, b, y, n);
    return cudaGetLastError();
}
