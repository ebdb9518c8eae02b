// expect: wrong
// reason: output y:
// Sixteen elements at a time and nothing after the last whole group.
#include <cstdint>

extern "C" int kernel(const float* x, float* y, int64_t n) {
    for (int64_t i = 0; i + 16 <= n; i += 16)
        for (int64_t j = i; j < i + 16; ++j) y[j] = 3.0f * x[j];
    return 0;
}
