// One block that waits on the device's clock until its microseconds are over, then copies.
#include <cstdint>

__device__ int64_t now_ns() {
  int64_t ns;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
  return ns;
}

__global__ void spin(const float* x, float* y, int64_t us) {
  const int64_t end_ns = now_ns() + 1000 * us;
  while (now_ns() < end_ns) {
  }
  for (int64_t i = threadIdx.x; i < us; i += blockDim.x) y[i] = x[i];
}

extern "C" int kernel(const float* x, float* y, int64_t us, cudaStream_t stream) {
  spin<<<1, 32, 0, stream>>>(x, y, us);
  return cudaGetLastError();
}
