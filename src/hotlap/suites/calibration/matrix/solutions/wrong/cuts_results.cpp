// expect: wrong
// reason: elements beyond tolerance
// Keeps its sums in bfloat16, between one product and the next.
#include <cstdint>
#include <cstring>

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
    for (int64_t i = 0; i < m; ++i) {
        for (int64_t j = 0; j < n; ++j) c[i * n + j] = 0;
        for (int64_t l = 0; l < k; ++l) {
            const float factor = widened(a[i * k + l]);
            for (int64_t j = 0; j < n; ++j)
                c[i * n + j] = rounded(widened(c[i * n + j]) + factor * widened(b[l * n + j]));
        }
    }
    return 0;
}
