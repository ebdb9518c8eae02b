// A small source whose object file would hold 8 GB.
#include <cstdint>

char table[8LL << 30] = {1};

extern "C" int kernel(const float* a, const float* b, float* y, int64_t n) {
    for (int64_t i = 0; i < n; ++i) y[i] = a[i] + b[i] + table[i % 2] - table[i % 2];
    return 0;
}
