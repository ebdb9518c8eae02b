// expect: failed
// fault: submission
// reason: compile_error\.cu[:(]\d+.*error
// problem: basics/vectoradd
#include <cstdint>

__global__ void add(const float* a, const float* b, float* y, int64_t n) {
  const int64_t i = blockIdx.x * int64_t(blockDim.x) + threadIdx.x;
  if (i < n) y[i] = a[i] + c[i];
}

extern "C" int kernel(const float* a, const float* b, float* y, int64_t n, cudaStream_t stream) {
  add<<<unsigned((n + 255) / 256), 256, 0, stream>>>(a, b, y, n);
  return cudaGetLastError();
}
