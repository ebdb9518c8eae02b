// Matrix product in bfloat16: c = a @ b. Correct and simple; make it faster.
// a is (m, k), b is (k, n), c is (m, n), all in C order: a[i][l] is a[i*k + l].
#include <cstdint>
#include <cstring>
#include <vector>

static float widened(uint16_t bits) {  // bfloat16 is the upper half of float32
    const uint32_t word = static_cast<uint32_t>(bits) << 16;
    float value;
    std::memcpy(&value, &word, sizeof value);
    return value;
}

static uint16_t rounded(float value) {  // to nearest, ties to even
    uint32_t word;
    std::memcpy(&word, &value, sizeof word);
    return static_cast<uint16_t>((word + 0x7FFF + (word >> 16 & 1)) >> 16);
}

extern "C" int kernel(const uint16_t* a, const uint16_t* b, uint16_t* c, int64_t m, int64_t k, int64_t n) {
    std::vector<float> row(n);  // of c, added up in float32
    for (int64_t i = 0; i < m; ++i) {
        for (int64_t j = 0; j < n; ++j) row[j] = 0.0f;
        for (int64_t l = 0; l < k; ++l)
            for (int64_t j = 0; j < n; ++j) row[j] += widened(a[i * k + l]) * widened(b[l * n + j]);
        for (int64_t j = 0; j < n; ++j) c[i * n + j] = rounded(row[j]);
    }
    return 0;
}
