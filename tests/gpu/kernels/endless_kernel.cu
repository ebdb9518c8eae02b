// expect: failed
// fault: submission
// reason: within [\d.]+ s
// problem: basics/vectoradd
// limits: call_s=2
// Waits on the device for a number that nobody writes.
#include <cstdint>

__global__ void add(const float*, const float*, float* y, int64_t) {
  volatile int* word = reinterpret_cast<volatile int*>(y);
  *word = 1;
  while (*word != 2) {
  }
}

extern "C" int kernel(const float* a, const float* b, float* y, int64_t n, cudaStream_t stream) {
  add<<<1, 1, 0, stream>>>(a, b, y, n);
  return cudaGetLastError();
}
