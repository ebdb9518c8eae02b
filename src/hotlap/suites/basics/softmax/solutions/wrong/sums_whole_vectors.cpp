// expect: wrong
// reason: elements beyond tolerance
// Writes every element, but the sum leaves out what follows the last whole group of eight.
#include <algorithm>
#include <cmath>
#include <cstdint>

extern "C" int kernel(const float* x, float* y, int64_t rows, int64_t cols) {
    for (int64_t r = 0; r < rows; ++r, x += cols, y += cols) {
        const float highest = *std::max_element(x, x + cols);
        float sum = 0.0f;
        for (int64_t c = 0; c < cols; ++c) {
            y[c] = std::exp(x[c] - highest);
            if (c < cols / 8 * 8) sum += y[c];
        }
        for (int64_t c = 0; c < cols; ++c) y[c] /= sum;
    }
    return 0;
}
