// expect: wrong
// reason: neighbours are not in ascending order
// Compares floats as unsigned integers: right for positive numbers; negative ones come last, in reverse.
#include <algorithm>
#include <bit>
#include <cstdint>
#include <numeric>

extern "C" int kernel(const float* x, float* y, int64_t* order, int64_t n) {
    std::iota(order, order + n, int64_t{0});
    std::sort(order, order + n, [x](int64_t i, int64_t j) {
        return std::bit_cast<uint32_t>(x[i]) < std::bit_cast<uint32_t>(x[j]);
    });
    for (int64_t i = 0; i < n; ++i) y[i] = x[order[i]];
    return 0;
}
