// expect: failed
// fault: submission
// reason: kernel returned 7\b
// problem: basics/vectoradd
#include <cstdint>

extern "C" int kernel(const float* a, const float* b, float* y, int64_t n, cudaStream_t stream) {
  return 7;
}
