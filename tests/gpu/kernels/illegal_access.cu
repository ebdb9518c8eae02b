// expect: failed
// fault: submission
// reason: illegal
// problem: basics/vectoradd
// Writes 8 TB behind its output.
#include <cstdint>

__global__ void add(const float* a, const float* b, float* y, int64_t n) {
  const int64_t i = blockIdx.x * int64_t(blockDim.x) + threadIdx.x;
  if (i < n) y[i + (int64_t(1) << 41)] = a[i] + b[i];
}

extern "C" int kernel(const float* a, const float* b, float* y, int64_t n, cudaStream_t stream) {
  add<<<unsigned((n + 255) / 256), 256, 0, stream>>>(a, b, y, n);
  return cudaGetLastError();
}
