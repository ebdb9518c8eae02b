// expect: failed
// fault: submission
// reason: launch.fail
// problem: basics/vectoradd
// A trap ends the kernel, and with it the context.
#include <cstdint>

__global__ void add(const float*, const float*, float*, int64_t) { __trap(); }

extern "C" int kernel(const float* a, const float* b, float* y, int64_t n, cudaStream_t stream) {
  add<<<1, 1, 0, stream>>>(a, b, y, n);
  return cudaGetLastError();
}
