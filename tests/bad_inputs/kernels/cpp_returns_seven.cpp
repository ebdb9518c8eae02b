#include <cstdint>

extern "C" int kernel(const float* a, const float* b, float* y, int64_t n) {
    return 7;
}
