// expect: accepted
// x + x is exact, so that x + x + x is rounded once, as the product is.
#include <cstdint>

extern "C" int kernel(const float* __restrict x, float* __restrict y, int64_t n) {
    for (int64_t i = 0; i < n; ++i) y[i] = x[i] + x[i] + x[i];
    return 0;
}
