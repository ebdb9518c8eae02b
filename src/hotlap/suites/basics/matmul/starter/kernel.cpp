// Matrix multiplication: c = a @ b. Correct and simple; make it faster.
// a is (m, k), b is (k, n), c is (m, n), all in C order: a[i][l] is a[i*k + l].
#include <cstdint>

extern "C" int kernel(const float* a, const float* b, float* c, int64_t m, int64_t k, int64_t n) {
    for (int64_t i = 0; i < m; ++i)
        for (int64_t j = 0; j < n; ++j) {
            float sum = 0.0f;
            for (int64_t l = 0; l < k; ++l) sum += a[i * k + l] * b[l * n + j];
            c[i * n + j] = sum;
        }
    return 0;
}
