// expect: wrong
// reason: output y:
// device: gpu
// 16 bytes at a time and nothing after the last whole group of four: right whenever 4 divides n.
#include <cstdint>
#include <cuda_runtime.h>

__global__ void add(const float4* a, const float4* b, float4* y, int64_t pieces) {
    const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < pieces) y[i] = make_float4(a[i].x + b[i].x, a[i].y + b[i].y, a[i].z + b[i].z, a[i].w + b[i].w);
}

extern "C" int kernel(const float* a, const float* b, float* y, int64_t n, cudaStream_t stream) {
    const unsigned blocks = static_cast<unsigned>(n / 4 / 256 + 1);
    add<<<blocks, 256, 0, stream>>>(reinterpret_cast<const float4*>(a), reinterpret_cast<const float4*>(b),
                                    reinterpret_cast<float4*>(y), n / 4);
    return cudaGetLastError();
}
