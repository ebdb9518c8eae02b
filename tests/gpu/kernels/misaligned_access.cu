// expect: failed
// fault: submission
// reason: misaligned
// problem: basics/vectoradd
// Loads four floats at once from an address that is no multiple of 16 bytes.
#include <cstdint>

__global__ void add(const float* a, const float* b, float* y, int64_t n) {
  const float4 four = *reinterpret_cast<const float4*>(a + 1);
  const int64_t i = blockIdx.x * int64_t(blockDim.x) + threadIdx.x;
  if (i < n) y[i] = a[i] + b[i] + 0.0f * (four.x + four.y + four.z + four.w);
}

extern "C" int kernel(const float* a, const float* b, float* y, int64_t n, cudaStream_t stream) {
  add<<<unsigned((n + 255) / 256), 256, 0, stream>>>(a, b, y, n);
  return cudaGetLastError();
}
