// expect: accepted
// Sorts (value, position) pairs: comparisons read what they compare from the pair, not through an index.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

extern "C" int kernel(const float* x, float* y, int64_t* order, int64_t n) {
    static thread_local std::vector<std::pair<float, int32_t>> pairs;
    pairs.resize(static_cast<std::size_t>(n));
    for (int64_t i = 0; i < n; ++i) pairs[i] = {x[i], static_cast<int32_t>(i)};
    std::sort(pairs.begin(), pairs.end());
    for (int64_t i = 0; i < n; ++i) {
        y[i] = pairs[i].first;
        order[i] = pairs[i].second;
    }
    return 0;
}
