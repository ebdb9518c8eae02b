// expect: failed
// fault: submission
// reason: returned 1\b
// problem: basics/vectoradd
// Asks for 1 MB of shared memory a block; the launch is refused with cudaErrorInvalidValue.
#include <cstdint>

__global__ void add(const float* a, const float* b, float* y, int64_t n) {
  extern __shared__ float tile[];
  const int64_t i = blockIdx.x * int64_t(blockDim.x) + threadIdx.x;
  if (i >= n) return;
  tile[threadIdx.x] = a[i] + b[i];
  y[i] = tile[threadIdx.x];
}

extern "C" int kernel(const float* a, const float* b, float* y, int64_t n, cudaStream_t stream) {
  add<<<unsigned((n + 255) / 256), 256, 1 << 20, stream>>>(a, b, y, n);
  return cudaGetLastError();
}
