// expect: wrong
// reason: elements beyond tolerance
// e^t by writing t / ln 2 into the exponent bits of a float (Schraudolph): very fast, and off by up to 3 %.
#include <algorithm>
#include <bit>
#include <cstdint>

extern "C" int kernel(const float* x, float* y, int64_t rows, int64_t cols) {
    for (int64_t r = 0; r < rows; ++r, x += cols, y += cols) {
        const float highest = *std::max_element(x, x + cols);
        float sum = 0.0f;
        for (int64_t c = 0; c < cols; ++c) {
            y[c] = std::bit_cast<float>(static_cast<int32_t>(12102203.0f * (x[c] - highest)) + 1064986823);
            sum += y[c];
        }
        for (int64_t c = 0; c < cols; ++c) y[c] /= sum;
    }
    return 0;
}
