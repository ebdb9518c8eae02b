#include <cstdint>
#include <stdexcept>

extern "C" int kernel(const float* a, const float* b, float* y, int64_t n) {
    throw std::runtime_error("tile of 48 does not divide the rows");
}
