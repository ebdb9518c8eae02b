// expect: accepted
// b is widened to float32 once. Then four rows of c at a time in the order l, j: a row of b is read once for four.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

namespace {

float widened(uint16_t bits) {  // bfloat16 is the upper half of float32
    const uint32_t word = static_cast<uint32_t>(bits) << 16;
    float value;
    std::memcpy(&value, &word, sizeof value);
    return value;
}

uint16_t rounded(float value) {  // to nearest, ties to even
    uint32_t word;
    std::memcpy(&word, &value, sizeof word);
    return static_cast<uint16_t>((word + 0x7FFF + (word >> 16 & 1)) >> 16);
}

}  // namespace

extern "C" int kernel(const uint16_t* a, const uint16_t* b, uint16_t* c, int64_t m, int64_t k, int64_t n) {
    constexpr int64_t kRows = 4;
    std::vector<float> wide(k * n), sums(kRows * n);
    for (int64_t i = 0; i < k * n; ++i) wide[i] = widened(b[i]);
    for (int64_t i = 0; i < m; i += kRows) {
        const int64_t rows = std::min(kRows, m - i);
        std::fill(sums.begin(), sums.end(), 0.0f);
        for (int64_t l = 0; l < k; ++l) {
            float factor[kRows];
            for (int64_t r = 0; r < kRows; ++r) factor[r] = r < rows ? widened(a[(i + r) * k + l]) : 0.0f;
            const float* __restrict row = &wide[l * n];
            float* __restrict sum = sums.data();
            for (int64_t j = 0; j < n; ++j) {
                sum[j] += factor[0] * row[j];
                sum[n + j] += factor[1] * row[j];
                sum[2 * n + j] += factor[2] * row[j];
                sum[3 * n + j] += factor[3] * row[j];
            }
        }
        for (int64_t j = 0; j < rows * n; ++j) c[i * n + j] = rounded(sums[j]);
    }
    return 0;
}
