// expect: accepted
// A plain loop; without a library around it a call takes a third of the time. __restrict: y overlaps no input.
#include <cstdint>

extern "C" int kernel(const float* __restrict a, const float* __restrict b, float* __restrict y, int64_t n) {
    for (int64_t i = 0; i < n; ++i) y[i] = a[i] + b[i];
    return 0;
}
