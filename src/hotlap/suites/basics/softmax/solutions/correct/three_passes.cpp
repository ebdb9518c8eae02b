// expect: accepted
// Three plain passes a row (maximum, exponentials and sum, scale); the row stays in the first-level cache between them.
// The sum is kept in double, which costs nothing beside expf.
#include <algorithm>
#include <cmath>
#include <cstdint>

extern "C" int kernel(const float* x, float* y, int64_t rows, int64_t cols) {
    for (int64_t r = 0; r < rows; ++r, x += cols, y += cols) {
        const float highest = *std::max_element(x, x + cols);
        double sum = 0.0;
        for (int64_t c = 0; c < cols; ++c) sum += y[c] = expf(x[c] - highest);
        const float scale = static_cast<float>(1.0 / sum);
        for (int64_t c = 0; c < cols; ++c) y[c] *= scale;
    }
    return 0;
}
