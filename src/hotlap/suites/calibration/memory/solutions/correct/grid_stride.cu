// expect: accepted
// device: gpu
// As many blocks as fit at once and a loop: 16 bytes a load and store, and the last n % 4 elements one by one. Buffers
// are 256-byte aligned.
#include <cstdint>
#include <cuda_runtime.h>

__global__ void scale(const float* __restrict__ x, float* __restrict__ y, int64_t n) {
    const auto* x4 = reinterpret_cast<const float4*>(x);
    auto* y4 = reinterpret_cast<float4*>(y);
    const int64_t first = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    const int64_t threads = static_cast<int64_t>(gridDim.x) * blockDim.x;
    for (int64_t i = first; i < n / 4; i += threads) {
        const float4 v = __ldcs(x4 + i);
        __stcs(y4 + i, make_float4(3.0f * v.x, 3.0f * v.y, 3.0f * v.z, 3.0f * v.w));
    }
    for (int64_t i = n / 4 * 4 + first; i < n; i += threads) y[i] = 3.0f * x[i];
}

extern "C" int kernel(const float* x, float* y, int64_t n, cudaStream_t stream) {
    scale<<<132 * 8, 256, 0, stream>>>(x, y, n);
    return cudaGetLastError();
}
