// Small addition: y[i] = a[i] + b[i]. Correct and simple; make it faster.
#include <cstdint>

extern "C" int kernel(const float* a, const float* b, float* y, int64_t n) {
    for (int64_t i = 0; i < n; ++i) y[i] = a[i] + b[i];
    return 0;
}
