// expect: wrong
// reason: output c:
// 8 x 8 tiles, and none for the edge: right when 8 divides m and n, and the rest is never written.
#include <cstdint>

extern "C" int kernel(const float* a, const float* b, float* c, int64_t m, int64_t k, int64_t n) {
    for (int64_t i = 0; i < m / 8 * 8; ++i)
        for (int64_t j = 0; j < n / 8 * 8; ++j) {
            float sum = 0.0f;
            for (int64_t l = 0; l < k; ++l) sum += a[i * k + l] * b[l * n + j];
            c[i * n + j] = sum;
        }
    return 0;
}
