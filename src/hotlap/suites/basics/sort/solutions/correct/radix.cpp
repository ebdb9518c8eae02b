// expect: accepted
// Radix sort: three stable passes over 11 bits of the key, no comparison at all. Flipping bits makes floats sort as
// unsigned integers: the sign bit of positive ones, all bits of negative ones. Key and position travel as one 64-bit
// word, and a single read of x counts the digits of all three passes.
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace {

constexpr int kBits = 11, kPasses = 3, kBuckets = 1 << kBits;

inline uint32_t key_of(float value) {
    const uint32_t bits = std::bit_cast<uint32_t>(value);
    return bits ^ (static_cast<uint32_t>(static_cast<int32_t>(bits) >> 31) | 0x80000000u);
}

inline float value_of(uint32_t key) {
    return std::bit_cast<float>(key ^ (key & 0x80000000u ? 0x80000000u : 0xFFFFFFFFu));
}

inline uint32_t digit(uint64_t pair, int pass) {
    return static_cast<uint32_t>(pair >> (32 + kBits * pass)) & (kBuckets - 1);
}

}  // namespace

extern "C" int kernel(const float* x, float* y, int64_t* order, int64_t n) {
    static thread_local std::vector<uint64_t> first, second;
    first.resize(static_cast<std::size_t>(n));
    second.resize(static_cast<std::size_t>(n));
    uint64_t *from = first.data(), *to = second.data();

    uint32_t start[kPasses][kBuckets] = {};
    for (int64_t i = 0; i < n; ++i) {
        from[i] = static_cast<uint64_t>(key_of(x[i])) << 32 | static_cast<uint64_t>(i);
        for (int pass = 0; pass < kPasses; ++pass) ++start[pass][digit(from[i], pass)];
    }
    for (auto& counts : start) {
        uint32_t total = 0;
        for (uint32_t& count : counts) total += std::exchange(count, total);
    }

    for (int pass = 0; pass < kPasses - 1; ++pass, std::swap(from, to))
        for (int64_t i = 0; i < n; ++i) to[start[pass][digit(from[i], pass)]++] = from[i];
    for (int64_t i = 0; i < n; ++i) {
        const uint32_t place = start[kPasses - 1][digit(from[i], kPasses - 1)]++;
        y[place] = value_of(static_cast<uint32_t>(from[i] >> 32));
        order[place] = static_cast<int64_t>(from[i] & 0xFFFFFFFFu);
    }
    return 0;
}
