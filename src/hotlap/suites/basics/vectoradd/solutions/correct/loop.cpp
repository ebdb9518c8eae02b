// expect: accepted
// A plain loop. __restrict says that y overlaps no input, so the compiler vectorises without a run-time check.
#include <cstdint>

extern "C" int kernel(const float* __restrict a, const float* __restrict b, float* __restrict y, int64_t n) {
    for (int64_t i = 0; i < n; ++i) y[i] = a[i] + b[i];
    return 0;
}
