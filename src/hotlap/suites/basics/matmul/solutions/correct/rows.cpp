// expect: accepted
// Loops in the order i, l, j: the inner one runs along rows of b and c, so it is contiguous and vectorises.
#include <cstdint>

extern "C" int kernel(const float* __restrict a, const float* __restrict b, float* __restrict c,
                      int64_t m, int64_t k, int64_t n) {
    for (int64_t i = 0; i < m; ++i) {
        for (int64_t j = 0; j < n; ++j) c[i * n + j] = 0.0f;
        for (int64_t l = 0; l < k; ++l) {
            const float factor = a[i * k + l];
            for (int64_t j = 0; j < n; ++j) c[i * n + j] += factor * b[l * n + j];
        }
    }
    return 0;
}
