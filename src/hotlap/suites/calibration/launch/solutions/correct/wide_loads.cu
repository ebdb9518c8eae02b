// expect: accepted
// device: gpu
// 16 bytes a load and store, a quarter of the threads. Buffers are 256-byte aligned; the last n % 4 elements go one by
// one.
#include <cstdint>
#include <cuda_runtime.h>

__global__ void add(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ y, int64_t n) {
    const int64_t at = 4 * (static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x);
    if (at + 4 <= n) {
        const float4 left = *reinterpret_cast<const float4*>(a + at);
        const float4 right = *reinterpret_cast<const float4*>(b + at);
        *reinterpret_cast<float4*>(y + at) =
            make_float4(left.x + right.x, left.y + right.y, left.z + right.z, left.w + right.w);
    } else {
        for (int64_t i = at; i < n; ++i) y[i] = a[i] + b[i];
    }
}

extern "C" int kernel(const float* a, const float* b, float* y, int64_t n, cudaStream_t stream) {
    add<<<static_cast<unsigned>((n + 1023) / 1024), 256, 0, stream>>>(a, b, y, n);
    return cudaGetLastError();
}
