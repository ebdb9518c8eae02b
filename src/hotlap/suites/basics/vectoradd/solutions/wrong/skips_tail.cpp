// expect: wrong
// reason: output y:
// Eight elements at a time and nothing after the last whole group: right whenever 8 divides n.
#include <cstdint>

extern "C" int kernel(const float* a, const float* b, float* y, int64_t n) {
    for (int64_t i = 0; i + 8 <= n; i += 8)
        for (int64_t j = i; j < i + 8; ++j) y[j] = a[j] + b[j];
    return 0;
}
