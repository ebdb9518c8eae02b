// expect: wrong
// reason: elements beyond tolerance
// Unrolls the sum by two and forgets the last term when k is odd.
#include <cstdint>

extern "C" int kernel(const float* a, const float* b, float* c, int64_t m, int64_t k, int64_t n) {
    for (int64_t i = 0; i < m; ++i)
        for (int64_t j = 0; j < n; ++j) {
            float sum = 0.0f;
            for (int64_t l = 0; l + 2 <= k; l += 2)
                sum += a[i * k + l] * b[l * n + j] + a[i * k + l + 1] * b[(l + 1) * n + j];
            c[i * n + j] = sum;
        }
    return 0;
}
