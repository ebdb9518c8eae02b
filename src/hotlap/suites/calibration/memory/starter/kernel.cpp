// Scale: y[i] = 3 * x[i]. Correct and simple; make it faster.
#include <cstdint>

extern "C" int kernel(const float* x, float* y, int64_t n) {
    for (int64_t i = 0; i < n; ++i) y[i] = 3.0f * x[i];
    return 0;
}
