#include <cstdint>

extern "C" int kernel(const float* a, const float* b, float* y, int64_t n) {
    *reinterpret_cast<volatile int*>(0) = 1;
    return 0;
}
