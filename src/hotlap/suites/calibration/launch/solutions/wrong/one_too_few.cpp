// expect: wrong
// reason: output y:
// Stops before the last element.
#include <cstdint>

extern "C" int kernel(const float* a, const float* b, float* y, int64_t n) {
    for (int64_t i = 0; i + 1 < n; ++i) y[i] = a[i] + b[i];
    return 0;
}
