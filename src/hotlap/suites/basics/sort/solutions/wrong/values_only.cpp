// expect: wrong
// reason: output order:
// Sorts the values and never writes the order.
#include <algorithm>
#include <cstdint>

extern "C" int kernel(const float* x, float* y, int64_t*, int64_t n) {
    std::copy(x, x + n, y);
    std::sort(y, y + n);
    return 0;
}
