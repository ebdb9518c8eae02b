//! hotlap arch sm_80a
// expect: failed
// fault: submission
// reason: sm_80a|compute_80a|no ?kernel ?image
// problem: basics/vectoradd
// There is no such architecture, so no device can run it.
#include <cstdint>

__global__ void add(const float* a, const float* b, float* y, int64_t n) {
  const int64_t i = blockIdx.x * int64_t(blockDim.x) + threadIdx.x;
  if (i < n) y[i] = a[i] + b[i];
}

extern "C" int kernel(const float* a, const float* b, float* y, int64_t n, cudaStream_t stream) {
  add<<<unsigned((n + 255) / 256), 256, 0, stream>>>(a, b, y, n);
  return cudaGetLastError();
}
